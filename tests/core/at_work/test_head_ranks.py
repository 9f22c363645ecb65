"""Ranks of heads over texts against singular values of outputs written out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.at_work.rank import effective_rank, ranks
from gating_core.attention import GateConfig
from gating_core.language import LanguageModel, ModelConfig, encode

CONFIG = ModelConfig(depth=2, width=12, heads=3, context=24)
TEXTS = ["In the beginning", "Y dijo Dios: Sea la luz", "God said", "the day", "no"]
GATES = {
    "none": None,
    "G1": GateConfig(),
    "head": GateConfig(granularity="headwise"),
    "G2": GateConfig(position="G2"),
}


def lively(gate):
    model = LanguageModel(replace(CONFIG, gate=gate), 0).requires_grad_(False)
    for weight in model.parameters():
        weight.mul_(8)
    return model


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_ranks_are_those_of_all_characters_written_out(gate):
    model = lively(gate)
    found = ranks(model, TEXTS)
    assert found["outputs"].shape == (3, 2, 3)
    for layer in range(2):
        before, after, projected = [], [], []
        for text in TEXTS:
            records = []
            model(encode(text)[None], records=records)
            record = records[layer].attention
            before.append(record.ungated[0])
            after.append(record.mixed[0])
            weights = model.layers[layer].attention.project.weight
            projected.append(torch.stack([
                record.mixed[0, head] @ weights[:, 4 * head : 4 * head + 4].T for head in range(3)
            ]))  # fmt: skip
        for stage, parts in enumerate((before, after, projected)):
            values = torch.linalg.svdvals(torch.cat(parts, 1).double())
            np.testing.assert_allclose(found["outputs"][stage, layer], effective_rank(values),
                                       rtol=1e-4)  # fmt: skip
            assert values.shape[-1] >= 4
            # No gate and no projection makes more independent outputs than channels.
            assert (found["outputs"][stage, layer] <= 4 * (1 + 1e-6)).all()
    low, high = found["range"]
    assert (low <= high).all()
    same = found["outputs"][0] == found["outputs"][1]
    assert same.all() == (gate is None)
    one_map = gate is None or gate.granularity == "headwise"
    assert np.allclose(found["opened"], 1, atol=1e-4) == one_map


def test_intervals_over_texts_hold_the_ranks_and_know_the_pairing():
    found = ranks(lively(GATES["G1"]), TEXTS * 8)
    low, high = found["range"]
    assert ((low < found["outputs"]) & (found["outputs"] < high)).all()
    quotient = found["outputs"][1] / found["outputs"][0]
    low, high = found["lift"]
    assert ((low < quotient) & (quotient < high)).all()
    ungated = ranks(lively(None), TEXTS)
    np.testing.assert_allclose(ungated["lift"], 1, rtol=1e-6)

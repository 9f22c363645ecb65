"""Effective ranks in cases known by hand, and of heads over texts written out."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.characters import encode
from gating_core.lm.config import ModelConfig
from gating_core.lm.measurements.rank import (
    effective_rank,
    rank_ratio,
    ranks,
)
from tests.core.lm.lively import GATES, lively

CONFIG = ModelConfig(depth=2, width=12, heads=3, context=40)
TEXTS = ["In the beginning", "Y dijo Dios: Sea la luz", "God said", "the day", "no"]


def test_ranks_of_other_models_are_compared_by_their_means_over_heads():
    others = np.array([[[2.0, 6.0]], [[1.0, 3.0]]])  # means 4 and 2
    ranks = np.array([[[1.0, 5.0]], [[2.0, 3.0]]])  # means 3 and 2.5
    found = rank_ratio(ranks, others)
    assert found.mean == pytest.approx((0.75 + 1.25) / 2)
    assert found.half_width == pytest.approx(12.706205 * 0.25, rel=1e-6)  # t of one degree
    assert rank_ratio(others, others).half_width == 0
    assert rank_ratio(ranks[..., ::-1], others).mean == pytest.approx(
        found.mean
    )  # heads in any order


def test_the_effective_rank_counts_equal_singular_values():
    values = torch.tensor([[2.0, 2.0, 2.0], [5.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    ranks = effective_rank(values).tolist()
    assert ranks[:3] == pytest.approx([3, 1, 2])
    assert math.isnan(ranks[3])
    assert float(effective_rank(torch.tensor([0.5, 0.25, 0.25]))) == pytest.approx(2**1.5)


# --- Over texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("gate", GATES)
def test_ranks_are_those_of_all_characters_written_out(gate):
    model = lively(replace(CONFIG, gate=gate)).float()
    found = ranks(model, TEXTS)
    assert found["outputs"].shape == (3, 2, 3)
    for layer in range(2):
        before, after, projected = [], [], []
        for text in TEXTS:
            _, records = model.record(encode(text)[None])
            record = records[layer]
            before.append(record.ungated[0])
            after.append(record.mixed[0])
            weights = model.layers[layer].attention.project.weight
            projected.append(
                torch.stack(
                    [
                        record.mixed[0, head] @ weights[:, 4 * head : 4 * head + 4].T
                        for head in range(3)
                    ]
                )
            )
        for stage, parts in enumerate((before, after, projected)):
            values = torch.linalg.svdvals(torch.cat(parts, 1).double())
            np.testing.assert_allclose(
                found["outputs"][stage, layer], effective_rank(values), rtol=1e-4
            )
            assert values.shape[-1] >= 4
            # No gate and no projection makes more independent outputs than channels.
            assert (found["outputs"][stage, layer] <= 4 * (1 + 1e-6)).all()
    same = found["outputs"][0] == found["outputs"][1]
    assert same.all() == (gate is None)

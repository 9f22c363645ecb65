"""Attribution adds up, and steering adds what it says, where it says, and nothing else."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.lm.model import LanguageModel, ModelConfig
from gating_core.lm.steering.streams import (
    Steering,
    direct_attribution,
    streams,
    trailing_means,
    write_steered,
)
from tests.core.lm.lively import GATES

CONFIG = ModelConfig(depth=3, width=12, heads=3, context=40)
TEXTS = ["In the beginning, ñ", "Y dijo Dios", "He"]


def made(gate=None, topology="usual"):
    model = LanguageModel(replace(CONFIG, gate=gate, topology=topology), 0)
    return model.double().requires_grad_(False)


@pytest.mark.parametrize("topology", ["usual", "fal_plus"])
@pytest.mark.parametrize("gate", GATES)
def test_the_parts_add_up_to_the_stream(gate, topology):
    model, numbers = made(gate, topology), encode("In the beginning")[None]
    direction = torch.randn(12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for layer in range(3):
        parts = direct_attribution(model, numbers, layer, direction)
        assert parts.heads.shape == (layer + 1, 3, 1, 17)
        whole = parts.embedding + parts.heads.sum((0, 1)) + parts.mlps.sum(0)
        torch.testing.assert_close(whole, parts.total, rtol=0, atol=1e-12)


def test_a_head_is_its_values_mixed_and_projected():
    model, numbers = made(GateConfig()), encode("And God")[None]
    direction = torch.linspace(-1, 1, 12, dtype=torch.float64)
    parts = direct_attribution(model, numbers, 1, direction)
    _, records = model.record(numbers)
    record, weight = records[1], model.layers[1].attention.project.weight
    for head in range(3):
        for place in range(8):
            mixed = sum(
                record.weights[0, head, place, seen] * record.values[0, head, seen]
                for seen in range(place + 1)
            )
            gated = mixed * record.gate[0, place].unflatten(-1, (3, -1))[head]
            columns = weight[:, 4 * head : 4 * head + 4]
            want = float(direction @ (columns @ gated))
            assert float(parts.heads[1, head, 0, place]) == pytest.approx(want, abs=1e-12)


def test_wrong_layers_and_directions_are_named():
    with pytest.raises(ValueError, match="layer is 3; the model has layers 0 to 2"):
        direct_attribution(made(), encode("a")[None], 3, torch.zeros(12))
    with pytest.raises(ValueError, match=r"direction has shape \(5,\); it must be \(12,\)"):
        direct_attribution(made(), encode("a")[None], 0, torch.zeros(5))


def written(model, steering, count=20, prompts="In the"):
    rows = torch.stack([encode(prompts), encode(prompts[::-1])])
    return torch.stack(list(islice(write_steered(model, rows, steering, 3), count)), 1)


def test_without_a_push_no_bit_changes():
    model = made().float()
    nothing = Steering(1, torch.zeros(12))
    assert torch.equal(written(model, nothing), written(model, None))
    plain = model(encode("In the")[None])
    assert torch.equal(plain, model(encode("In the")[None], hooks=nothing.hooks(0)))


def test_a_push_is_added_to_one_layer_and_every_character():
    model, push = made(), torch.linspace(-2, 2, 12, dtype=torch.float64)
    numbers = encode("In the")[None]
    _, plain = model.record(numbers)
    _, pushed = model.record(numbers, hooks=Steering(1, push).hooks(0))
    assert torch.equal(pushed[0].stream, plain[0].stream)
    torch.testing.assert_close(pushed[1].stream, plain[1].stream + push)
    last = model.blocks[2]
    own = last.attention(last.norm_attention(pushed[1].stream))
    by_hand = pushed[1].stream + own + last.mlp(last.norm_mlp(pushed[1].stream + own))
    torch.testing.assert_close(pushed[2].stream, by_hand)


def test_a_push_is_released():
    model, push = made(), 50 * torch.linspace(-2, 2, 12, dtype=torch.float64)
    held, released = Steering(1, push), Steering(1, push, released_after=5)
    assert torch.equal(written(model, held)[:, :6], written(model, released)[:, :6])
    assert not torch.equal(written(model, held), written(model, released))
    assert released.hooks(4) is not None
    assert released.hooks(5) is None


def test_a_break_is_never_written_and_the_context_is_filled():
    model = made()
    with torch.no_grad():
        model.read_out.weight[0] += 100  # a break is what it wants to write
    texts = written(model, None, count=99)
    assert texts.shape == (2, 40 - 6)  # the last character is drawn, and read by nobody
    assert (texts > 0).all()


def test_a_wrong_seed_is_named():
    with pytest.raises(ValueError, match="seed is -1"):
        next(write_steered(made(), encode("a")[None], None, -1))


def test_streams_are_those_of_each_text_alone():
    model = made()
    of = streams(model, TEXTS, skipped=1)
    for row, text in enumerate(TEXTS):
        _, records = model.record(encode(text)[None])
        want = torch.stack([record.stream[0, 1:] for record in records])
        mine = of.texts == row
        assert of.positions[mine].tolist() == list(range(1, len(text) + 1))
        torch.testing.assert_close(of.states[:, mine], want)


def test_trailing_means_stay_within_a_text():
    of = streams(made(), TEXTS, skipped=1)
    means = trailing_means(of, over=4)
    assert len(means.texts) == sum(max(0, len(text) - 3) for text in TEXTS)
    for column, (text, place) in enumerate(zip(means.texts, means.positions, strict=True)):
        rows = [
            n
            for n in range(len(of.texts))
            if of.texts[n] == text and place - 4 < of.positions[n] <= place
        ]
        assert len(rows) == 4
        want = np.mean([of.states[:, n].numpy() for n in rows], axis=0)
        np.testing.assert_allclose(means.states[:, column], want, atol=1e-12)

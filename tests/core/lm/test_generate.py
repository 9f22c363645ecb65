"""A text is read as its parts say; the same characters are written from the same seed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import BREAK, CHARACTERS, encode
from gating_core.lm import generate as module
from gating_core.lm.generate import (
    WriteRequest,
    generate,
    next_probabilities,
    probabilities_after,
    read_text,
    write_on,
)
from gating_core.lm.model import LanguageModel, ModelConfig
from tests.core.lm.lively import GATES

CONFIG = ModelConfig(depth=2, width=16, heads=2, context=24, gate=GateConfig(), topology="fal_plus")


@pytest.fixture(scope="module")
def model():
    return LanguageModel(CONFIG, 0).requires_grad_(False)


def written(model, *arguments, **more):
    return "".join(generate(model, *arguments, **more))


def test_a_seed_gives_the_same_text_and_another_seed_another(model):
    assert written(model, "In the", 1) == written(model, "In the", 1) != written(model, "In the", 2)


def test_every_character_is_drawn_as_a_model_without_a_cache_would(model, monkeypatch):
    text, drawn = "Y dijo", []

    def spied(*given):
        drawn.append(next_probabilities(*given))
        return drawn[-1]

    monkeypatch.setattr(module, "next_probabilities", spied)
    for one in generate(model, text, 3, temperature=0.8, strength=0.5):
        want = (model(encode(text)[None], strength=0.5)[0, -1] / 0.8).softmax(-1)
        torch.testing.assert_close(drawn[-1][0], want, rtol=1e-4, atol=1e-6)
        text += one
    assert len(text) > 6


def test_writing_ends_where_the_context_is_full_or_at_a_break(model):
    silent = LanguageModel(CONFIG, 0).requires_grad_(False)
    silent.norm.weight.zero_()  # all characters alike: the largest is the first
    assert written(silent, "a", 0, temperature=0.0) == ""
    lengths = {len(written(model, "a" * 20, seed)) for seed in range(60)}
    assert max(lengths) == 4  # 24 with the break before them, of which the last is not read
    assert min(lengths) < 4
    with pytest.raises(ValueError, match="text contains '7'"):
        written(model, "7", 0)
    assert CHARACTERS[0] == BREAK


def test_temperature_sharpens_and_at_zero_the_largest_takes_all():
    logits = torch.tensor([1.0, 3.0, 2.0])
    assert next_probabilities(logits, 0).tolist() == [0.0, 1.0, 0.0]
    assert next_probabilities(logits, 0.5)[1] > next_probabilities(logits, 1.0)[1]
    torch.testing.assert_close(next_probabilities(logits, 2.0), (logits / 2).softmax(-1))


@pytest.mark.parametrize(("arguments", "message"), [
    ({"temperature": -1.0}, "temperature is -1.0; it must be a number from 0 to 5"),
    ({"strength": 2.0}, "strength is 2.0; it must be a number from 0 to 1"),
    ({"seed": -1}, "seed is -1; it must be a whole number"),
])  # fmt: skip
def test_arguments_out_of_range_are_named(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        list(generate(model, "a", **{"seed": 0} | arguments))


@pytest.mark.parametrize("gate", GATES)
def test_a_reading_is_put_together_from_its_parts(gate):
    model = LanguageModel(replace(CONFIG, gate=gate)).requires_grad_(False)
    found = read_text(model, "He said, ñ")
    logits, blocks = model.record(encode("He said, ñ")[None])
    np.testing.assert_array_equal(found.logits, logits[0, -1])
    np.testing.assert_array_equal(found.weights[1], blocks[1].weights[0])
    if gate is None:
        assert found.opened is None
    else:
        assert found.opened.shape == (2, 2, 11)
        third = blocks[1].gate[0, 2].unflatten(-1, (2, -1))
        np.testing.assert_allclose(found.opened[1, :, 2], third.mean(-1), rtol=1e-6)
        assert read_text(model, "He", 0.0).opened is None
    chances = probabilities_after(found, 0.5)
    want = np.exp(2 * found.logits.astype(float))
    np.testing.assert_allclose(chances, want / want.sum(), rtol=1e-4)


def test_what_is_written_is_what_the_model_generates(monkeypatch):
    model = LanguageModel(CONFIG).requires_grad_(False)
    monkeypatch.setattr(module, "load_model", lambda name, seed: (model, None))
    request = WriteRequest("none", 0, "In", 0.9, 1.0, seed=3)
    found = "".join(write_on(request))
    assert found == "".join(generate(model, "In", 3, 0.9))
    assert len(found) > 1
    assert set(found) <= set(CHARACTERS)

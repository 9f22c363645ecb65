"""Does one reading hold what the model computes, and does the toy's run keep what it measured?"""

from dataclasses import replace

import numpy as np
import pytest

from gating_core.characters import CHARACTERS, encode
from gating_core.lm.config import ModelConfig
from gating_core.lm.generate import generate
from gating_core.lm.measurements import reading as module
from gating_core.lm.measurements.backcopy import (
    KINDS,
    ToyRequest,
    ToyTraining,
    joined,
    load_toy,
    train_toy,
)
from gating_core.lm.measurements.reading import (
    WriteRequest,
    probabilities_after,
    read_text,
    write_on,
)
from gating_core.lm.model import LanguageModel
from tests.core.lm.lively import GATES

CONFIG = ModelConfig(depth=2, width=8, heads=2, context=16)
SMALL = ToyRequest(seeds=(0, 1), steps=60, batch=4, length=8, letters=9, width=8)


@pytest.mark.parametrize("gate", GATES)
def test_a_reading_is_put_together_from_its_parts(gate):
    model = LanguageModel(replace(CONFIG, gate=gate)).requires_grad_(False)
    found = read_text(model, "He said, ñ")
    logits, blocks = model.record(encode("He said, ñ")[None])
    np.testing.assert_array_equal(found.logits, logits[0])
    np.testing.assert_array_equal(found.weights[1], blocks[1].weights[0])
    if gate is None:
        assert found.opened is None
    else:
        assert found.opened.shape == (2, 2, 11)
        third = blocks[1].gate[0, 2].unflatten(-1, (2, -1))
        np.testing.assert_allclose(found.opened[1, :, 2], third.mean(-1), rtol=1e-6)
        assert read_text(model, "He", 0.0).opened is None
    chances = probabilities_after(found, 0.5)
    want = np.exp(2 * found.logits[-1].astype(float))
    np.testing.assert_allclose(chances, want / want.sum(), rtol=1e-4)


def test_what_is_written_is_what_the_model_generates(monkeypatch):
    model = LanguageModel(CONFIG).requires_grad_(False)
    monkeypatch.setattr(module, "load_model", lambda name, seed: (model, None))
    request = WriteRequest("none", 0, "In", 0.9, 1.0, seed=3)
    found = "".join(write_on(request))
    assert found == "".join(generate(model, "In", 3, 0.9))
    assert len(found) > 1
    assert set(found) <= set(CHARACTERS)


def test_a_toy_run_is_what_the_training_measures():
    runs = [*train_toy(SMALL)]
    assert [run.steps[-1] for run in runs] == [0, 25, 50, 60]
    assert [run.share for run in runs] == [0, 25 / 60, 50 / 60, 1]
    training = ToyTraining(SMALL)
    for _ in training.advance(60):
        pass
    result = training.measure()
    np.testing.assert_array_equal(runs[-1].sink[-1], result.sink[0])
    assert runs[-1].sink.shape == (4, 4, 2)
    assert runs[-1].triggers.sum(-1).tolist() == [3, 3]


def test_kinds_that_are_trained_apart_make_the_same_run():
    request = replace(SMALL, steps=26)
    *_, whole = train_toy(request)
    apart = []
    for kinds in (KINDS[1::2], KINDS[0::2]):
        *_, part = train_toy(replace(request, kinds=kinds))
        apart.append(part)
    run = joined(request, apart)
    assert run.request == request
    for name in ("sink", "steps", "letters", "triggers", "weights"):
        np.testing.assert_array_equal(getattr(run, name), getattr(whole, name))


def test_the_shipped_toy_has_a_sink_that_gates_shrink():
    run = load_toy()
    assert run.request == ToyRequest()
    shares = dict(zip(run.request.kinds, run.sink[-1].mean(-1), strict=True))
    assert shares["none"] > shares["elementwise"] > shares["relu"]
    assert shares["none"] > shares["headwise"] > shares["relu"]

"""Measurements over many texts are those of each text alone, and the shipped file is theirs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.lm.config import ModelConfig
from gating_core.lm.losses import TEXTS_AT_ONCE, mean_loss, text_losses
from gating_core.lm.measurements import stored as files
from gating_core.lm.measurements.calibration import QUANTITIES
from gating_core.lm.measurements.sinks import sinks
from gating_core.lm.measurements.stored import MEASUREMENTS, STRENGTHS, load_measured, measure
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import MODELS, shipped
from tests.core.lm.lively import GATES, lively
from tests.each import each

CONFIG = ModelConfig(depth=2, width=8, heads=2, context=24, gate=GateConfig())
ALPHABET = "abc, ñ"


def some_texts(count=TEXTS_AT_ONCE + 3):
    draw = np.random.default_rng(0)
    return ["".join(draw.choice([*ALPHABET], draw.integers(2, 23))) for _ in range(count)]


@pytest.fixture(scope="module")
def model():
    return lively(CONFIG).float()


@torch.no_grad()
def alone(model, text):
    """A text's own records, cut where it ends."""
    return model.record(encode(text)[None])[1]


def test_sinks_of_many_texts_are_those_of_each_alone(model):
    texts = some_texts()
    found = MEASUREMENTS["sinks"](model, texts)
    shares, ratios, sunk = [], [], []
    for text in texts:
        layers = alone(model, text)
        weights = np.stack([x.weights[0].numpy() for x in layers])
        lengths = np.linalg.norm(np.stack([x.values[0].numpy() for x in layers]), axis=-1)
        shares.append(weights[..., 1:, 0].mean(-1))
        ratios.append(lengths[..., 0] / lengths[..., 1:].mean(-1))
        sunk.append(weights[..., 0].mean(-1) > 0.3)
    np.testing.assert_allclose(found["by_text"], np.mean(shares, -1), rtol=1e-4)
    np.testing.assert_allclose(found["by_head"], np.mean(shares, 0), rtol=1e-4)
    np.testing.assert_allclose(found["value_ratio"], np.mean(ratios, 0), rtol=1e-4)
    np.testing.assert_allclose(found["metric"], np.mean(sunk, 0), rtol=1e-4)
    assert 0 < found["metric"].min() < found["metric"].max() < 1


@pytest.mark.parametrize("gate", GATES[1:])
def test_shut_gates_of_many_texts_are_those_of_each_alone(gate):
    model = lively(replace(CONFIG, gate=gate)).float()
    texts = some_texts()
    found = MEASUREMENTS["gates"](model, texts)
    values = []
    for text in texts:
        gates = [x.gate[0].numpy() for x in alone(model, text)]
        values.append(np.stack([x.reshape(len(x), 2, -1) for x in gates], 1))  # (T, L, H, .)
    every = np.concatenate(values)
    np.testing.assert_allclose(found["shut"], (every < 0.1).mean((0, 3)), atol=1e-6)


def test_a_model_without_a_gate_has_no_gates_and_one_loss(model):
    plain = LanguageModel(replace(CONFIG, gate=None))
    texts = some_texts(3)
    assert MEASUREMENTS["gates"](plain, texts) == {}
    assert MEASUREMENTS["strengths"](plain, texts)["sums"].shape == (1, 3)
    found = MEASUREMENTS["strengths"](model, texts)
    losses = found["sums"].sum(-1) / found["counts"].sum()
    assert losses[0] != losses[-1]
    for strength, loss in zip(STRENGTHS, losses, strict=True):
        assert loss == pytest.approx(mean_loss(model, texts, strength=strength), rel=1e-5)


# --- The shipped file -----------------------------------------------------------------------------


def test_what_was_measured_is_of_a_model_with_the_same_file():
    assert files.is_current("none", 0, files.digest("none", 0))
    assert not files.is_current("none", 0, files.digest("none", 1))
    assert not files.is_current("nothing", 0, files.digest("none", 0))


def test_only_what_a_model_lacks_is_measured_and_files_do_not_depend_on_the_order(
    tmp_path, monkeypatch
):
    """What was measured of other weights is measured again."""
    made = []

    def in_turn(work, tasks):
        for task in tasks[::-1]:
            made.append((task[0], [*task[1]]))
            yield work(*task)

    monkeypatch.setattr(files, "in_processes", in_turn)
    path, texts = tmp_path / "measured.safetensors", files.excerpt_texts()[:2]
    some, two = [("none", 0), ("none", 1)], {"sinks": sinks, "strengths": MEASUREMENTS["strengths"]}
    files.measure_missing(path, {"sinks": sinks}, some, texts)
    found = files.read_measured(path)
    assert [*found] == some
    old = files.Measured("other weights", ("sinks",), found[some[0]].arrays)
    files.save_measured(found | {some[0]: old}, path)
    del made[:]
    files.measure_missing(path, two, some, texts)
    assert made == [(some[1], ["strengths"]), (some[0], ["sinks", "strengths"])]
    again = load_measured(path, two)
    assert [*again] == some
    np.testing.assert_equal(again[some[1]]["sinks.by_text"], found[some[1]].arrays["sinks.by_text"])


def test_every_shipped_model_is_measured():
    assert [*load_measured()] == shipped()
    assert {name for name, _ in shipped()} <= {*MODELS}


@pytest.mark.soak
@each(shipped())
def test_rows_are_those_of_the_shipped_weights(name, seed):
    """Their losses are the card's: rows of other weights had been filed under these once."""
    kept, (_, card) = load_measured()[name, seed], files.load_model(name, seed)
    loss = kept["confidence.values"][QUANTITIES.index("loss")]
    assert loss == pytest.approx(card.losses["both"], abs=1e-4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("model", [model for model in load_measured() if model[1] == 0][:2])
def test_what_is_shipped_is_measured_again(model):
    kept, texts = load_measured()[model], files.excerpt_texts()
    some = measure(model, {"sinks": sinks}, texts[:TEXTS_AT_ONCE])[1].arrays
    np.testing.assert_allclose(
        kept["sinks.by_text"][:TEXTS_AT_ONCE], some["sinks.by_text"], rtol=1e-3
    )
    loaded, card = files.load_model(*model)
    sums, counts = (x.numpy() for x in text_losses(loaded, texts[-TEXTS_AT_ONCE:]))
    np.testing.assert_allclose(kept["strengths.sums"][-1, -TEXTS_AT_ONCE:], sums, rtol=1e-4)
    np.testing.assert_array_equal(kept["strengths.counts"][-TEXTS_AT_ONCE:], counts)
    whole = kept["strengths.sums"][-1].sum() / kept["strengths.counts"].sum()
    assert whole == pytest.approx(card.losses["both"], abs=1e-4)

"""Confidence over texts against scikit-learn, loops, and models that are calibrated by design."""

import numpy as np
import pytest
import torch

from gating_core.characters import encode
from gating_core.lm.config import ModelConfig
from gating_core.lm.losses import mean_loss, rows_of
from gating_core.lm.measurements.calibration import QUANTITIES, confidence, reliability
from gating_core.lm.model import LanguageModel
from tests.core.lm.lively import lively

CONFIG = ModelConfig(depth=2, width=12, heads=3, context=24)
TEXTS = ["In the beginning", "Y dijo Dios: Sea la luz", "God said", "the day", "no"] * 3


@pytest.fixture(scope="module")
def model():
    return lively(CONFIG, scale=5.0).float()


@pytest.fixture(scope="module")
def found(model):
    return confidence(model, TEXTS)


@pytest.fixture(scope="module")
def predictions(model):
    """Probabilities, followers and the entropies of weights, text by text."""
    chances, followed, entropies = [], [], []
    rows = rows_of(TEXTS, 24)  # together: a last bit would move a character to another bin
    together = model(rows.read)
    for text, logits in zip(TEXTS, together, strict=True):
        numbers = torch.cat([encode(text), torch.zeros(1, dtype=torch.int64)])[: 24 + 1]
        (alone,), records = model.record(numbers[None, :-1])
        torch.testing.assert_close(logits[: len(alone)], alone, rtol=1e-4, atol=1e-4)
        chances.append(logits[: len(alone)].double().softmax(-1))
        followed.append(numbers[1:])
        weights = torch.stack([record.weights[0] for record in records]).double()
        entropies.append(torch.special.entr(weights).sum(-1))
    return torch.cat(chances).numpy(), torch.cat(followed).numpy(), torch.cat(entropies, -1).numpy()


def value(found, name):
    return found["values"][QUANTITIES.index(name)]


def test_bins_are_those_of_the_likeliest_characters(found, predictions):
    chances, followed, _ = predictions
    want = reliability(chances.max(-1), chances.argmax(-1) == followed)
    bins = [want.confidence, want.frequency, want.counts]
    np.testing.assert_allclose(found["bins"], bins, rtol=1e-4, atol=1e-6)
    assert value(found, "calibration") == pytest.approx(want.error, rel=1e-4)
    low, high = found["range"]
    assert (low <= want.frequency + 1e-6).all()
    assert (want.frequency <= high + 1e-6).all()


def test_loss_and_entropies_are_means_over_all_characters(found, model, predictions):
    chances, followed, entropies = predictions
    assert value(found, "loss") == pytest.approx(mean_loss(model, TEXTS), rel=1e-5)
    assert value(found, "loss") == pytest.approx(
        -np.log(chances[np.arange(len(followed)), followed]).mean(), rel=1e-4
    )
    assert value(found, "prediction") == pytest.approx(
        -(chances * np.log(chances)).sum(-1).mean(), rel=1e-4
    )
    assert value(found, "attention") == pytest.approx(entropies.mean(), rel=1e-4)


def test_logits_of_frequencies_are_calibrated_and_others_are_not():
    model = LanguageModel(CONFIG, 0).requires_grad_(False)
    numbers = [torch.cat([encode(text)[1:], torch.zeros(1, dtype=torch.int64)]) for text in TEXTS]
    counts = torch.cat(numbers).bincount(minlength=CONFIG.characters).double()
    shares = counts / counts.sum()

    def of(logits):
        model.read_out.forward = lambda stream: logits.float().expand(*stream.shape[:-1], -1)
        return confidence(model, TEXTS)

    right = of(shares.log().clamp(min=-40))
    assert value(right, "calibration") < 1e-3
    assert value(right, "classwise") < 1e-4
    entropy = float(torch.special.entr(shares).sum())
    assert value(right, "loss") == pytest.approx(entropy, rel=1e-4)
    too_sure = of(3 * shares.log().clamp(min=-40))
    assert value(too_sure, "calibration") > 0.05
    assert value(too_sure, "classwise") > value(right, "classwise")

"""Sinks counted by hand, and entropies."""

import math

import pytest
import torch
from scipy.stats import entropy

from gating_core.lm.measurements.calibration import attention_entropies, prediction_entropies
from gating_core.lm.measurements.sinks import (
    first_shares,
    importances,
)

WEIGHTS = torch.tensor([
    [1.0, 0.0, 0.0],
    [0.5, 0.5, 0.0],
    [0.2, 0.2, 0.6],
])[None, None]  # fmt: skip
WHOLE = torch.ones(1, 3, dtype=torch.bool)
SHORT = torch.tensor([[True, True, False]])


def test_importance_is_the_mean_over_the_queries_that_see_a_key():
    assert importances(WEIGHTS, WHOLE)[0, 0].tolist() == pytest.approx([1.7 / 3, 0.35, 0.6])
    assert importances(WEIGHTS, SHORT)[0, 0].tolist() == pytest.approx([0.75, 0.5, 0.0])


def test_the_first_query_does_not_count_in_the_share_on_the_first_key():
    assert float(first_shares(WEIGHTS, WHOLE)) == pytest.approx(0.35)
    assert float(first_shares(WEIGHTS, SHORT)) == pytest.approx(0.5)
    assert float(first_shares(3 * WEIGHTS, WHOLE)) == pytest.approx(0.35)  # shares, not weights
    nothing = WEIGHTS.clone()
    nothing[..., 2, :] = 0.0
    assert float(first_shares(nothing, WHOLE)) == pytest.approx(0.25)
    assert first_shares(WEIGHTS, torch.tensor([[True, False, False]])).isnan().all()


def test_entropies_are_those_of_scipy():
    draw = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 3, 5, generator=draw, dtype=torch.float64)
    want = entropy(scores.softmax(-1).numpy(), axis=-1)
    torch.testing.assert_close(prediction_entropies(scores), torch.from_numpy(want))
    torch.testing.assert_close(attention_entropies(7 * scores.softmax(-1)), torch.from_numpy(want))
    assert attention_entropies(WEIGHTS)[0, 0, :2].tolist() == pytest.approx([0, math.log(2)])
    assert attention_entropies(torch.zeros(1, 3)).isnan().all()

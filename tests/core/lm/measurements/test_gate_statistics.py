"""Gate statistics counted by hand."""

import pytest
import torch

from gating_core.lm.measurements.gate_sparsity import histogram, means_by_character, shut_shares

GATES = torch.tensor([
    [[0.05, 0.99], [0.15, 1.0], [0.5, 0.5]],
    [[0.0, 0.1], [0.31, 0.2], [0.3, 0.3]],
])  # fmt: skip
COUNTED = torch.tensor([[True, True, False], [True, True, True]])


def test_a_histogram_counts_what_is_read_and_holds_both_ends():
    found = histogram(GATES, COUNTED, 10)
    assert found.tolist() == [[2, 1, 0, 2, 0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0, 0, 2]]


def test_shut_is_below_a_tenth():
    assert shut_shares(GATES, COUNTED).tolist() == pytest.approx([0.4, 0.0])
    assert shut_shares(GATES, COUNTED, 0.2).tolist() == pytest.approx([0.6, 0.2])


def test_means_are_taken_character_by_character():
    numbers = torch.tensor([[0, 2, 2], [0, 2, 1]])
    means, counts = means_by_character(GATES, COUNTED, numbers, 4)
    assert counts.tolist() == [2, 1, 2, 0]
    want = torch.tensor([[0.025, 0.545], [0.3, 0.3], [0.23, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(means[:3], want)
    assert means[3].isnan().all()

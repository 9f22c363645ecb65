"""Gate statistics counted by hand."""

import pytest
import torch

from gating_core.lm.measurements.gate_sparsity import shut_shares

GATES = torch.tensor([
    [[0.05, 0.99], [0.15, 1.0], [0.5, 0.5]],
    [[0.0, 0.1], [0.31, 0.2], [0.3, 0.3]],
])  # fmt: skip
COUNTED = torch.tensor([[True, True, False], [True, True, True]])


def test_shut_is_below_a_tenth():
    assert shut_shares(GATES, COUNTED).tolist() == pytest.approx([0.4, 0.0])
    assert shut_shares(GATES, COUNTED, 0.2).tolist() == pytest.approx([0.6, 0.2])

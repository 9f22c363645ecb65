"""Every counterexample curves beyond its bounds, and its twin is flat."""

import numpy as np
import pytest

from gating_core.geometry.grid import square_grid
from gating_core.geometry.verdict import CURVED, FLAT
from gating_core.theory.ungated import COUNTEREXAMPLES, measure_counterexample

GRID = square_grid(11)


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
@pytest.mark.parametrize("seed", range(4))
def test_it_curves_without_a_gate_and_its_twin_does_not(name, seed):
    found = measure_counterexample(name, seed, GRID)
    (curved,), (flat,) = found.surface.verdicts, found.twin.verdicts
    assert curved.word == CURVED
    assert curved.bound_kind == "rigorous"
    assert curved.curved > 0.5
    assert flat.word == FLAT
    assert flat.proof is not None
    twin = found.twin
    assert (~twin.resolved | (abs(twin.gaussian) <= twin.gaussian_error)).all()


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_it_is_ungated_and_differs_from_its_twin_in_one_part(name):
    record = COUNTEREXAMPLES[name]
    assert record.config.gate is None
    assert record.twin.gate is None
    assert record.twin.value_count == 3
    own, other = vars(record.config), vars(record.twin)
    assert len([key for key in own if own[key] != other[key]]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_rms_norm_gives_one_over_d(seed):
    found = measure_counterexample("rms norm", seed, GRID)
    gap = np.abs(found.surface.gaussian - found.exact)
    assert found.exact == 1 / 3
    assert (gap <= found.surface.gaussian_error)[found.surface.resolved].all()
    assert found.surface.resolved.any()


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="counterexample is 'gate'"):
        measure_counterexample("gate", 0, GRID)
    with pytest.raises(ValueError, match="seed is -1"):
        measure_counterexample("tokens", -1, GRID)

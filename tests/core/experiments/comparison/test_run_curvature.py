"""Curvature along a run equals that of each seed and snapshot, measured alone."""

import numpy as np
import pytest

from gating_core.attention.stack import restore
from gating_core.experiments import measuring
from gating_core.experiments.comparison import frames
from gating_core.experiments.comparison.frames import (
    CurvatureSummary,
    drawn_frames,
    final_curvature,
    nearest_to_medians,
    pending_measurements,
)
from gating_core.experiments.measuring import affordable_integrals
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.geometry.verdict import CURVED, FLAT


@pytest.mark.parametrize(
    ("quantities", "member"),
    [
        ([[0.5, 0.9, 0.7]], 2),
        ([[1, 2, 3, 4, 5], [5, 3, 1, 2, 4]], 1),  # the median of one is the least of the other
        ([[1, 2, 3, 4, 5], [0, 0, 0, 0, 0]], 2),  # what is equal for all says nothing
        ([[7.0]], 0),
    ],
)
def test_the_typical_member_is_far_from_no_median(quantities, member):
    assert nearest_to_medians(np.array(quantities)) == member


def measured(run, first=0, **known):
    pieces = pending_measurements(run, run.setting.compared, first, **known)
    found = [function(run, name, member) for function, name, member in pieces]
    assert all(isinstance(x, CurvatureSummary) for x in found)
    paths = {(x.variant, x.member): x for x in found if not x.at_end}
    finals = {(x.variant, x.member): x for x in found if x.at_end}
    assert len(paths) + len(finals) == len(found)
    return paths, finals


def alone(run, name, member, frame, size, bound):
    """One snapshot of one seed, restored with all seeds and measured without the others."""
    config = run.variants[name].ensemble.config
    model = restore(config, run.task.seeds, run.frames[frame].snapshots[name].state)
    return measure_surface(model.attention.member(member), square_grid(size), bound=bound)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "run",
    [
        "two classes",
        "deep",
        pytest.param("tokens", marks=pytest.mark.soak),
    ],
    indirect=True,
)
def test_every_seed_and_frame_is_measured_as_if_alone(run, monkeypatch):
    # How far totals are refined, and on how many points one measures, proves nothing here.
    monkeypatch.setattr(measuring, "AFFORDABLE_COST", 1e6)
    monkeypatch.setattr(frames, "FRAME_GRID", 15)
    monkeypatch.setattr(frames, "FINAL_GRID", 21)
    paths, finals = measured(run, 1)
    names, seeds = run.setting.compared, range(len(run.task.seeds))
    assert set(paths) == {(name, member) for name in names for member in seeds}
    assert set(finals) == {(name, 1) for name in names}
    for (name, member), found in paths.items():
        assert len(found.total.value) == len(drawn_frames(run))
        for frame in (0, 7, -1) if member == 1 else (-1,):
            wanted = alone(run, name, member, frame, frames.FRAME_GRID, "estimate")
            total, error = float(found.total.value[frame]), float(found.total.error[frame])
            assert total == pytest.approx(wanted.total[0], rel=1e-9, abs=1e-12)
            assert error >= wanted.total_error[0] * (1 - 1e-6) - 1e-12
            assert found.total.complete[frame] == wanted.complete[0]
            assert_same(found.verdicts[frame], wanted.verdicts[0])
            assert_known(found.known[frame], wanted)
    for (name, member), final in finals.items():
        wanted = alone(run, name, member, -1, frames.FINAL_GRID, "rigorous")
        assert_same(final.verdicts[0], wanted.verdicts[0])
        ensemble = run.variants[name].ensemble
        model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention.member(member)
        refined = affordable_integrals(model, ensemble.config).absolute
        for part in ("value", "error", "complete"):
            assert getattr(final.total, part) == getattr(refined, part)


def assert_same(found, wanted):
    assert (found.word, found.proof) == (wanted.word, wanted.proof)
    for part in ("positive", "negative", "flat", "undetermined", "unresolved"):
        assert getattr(found, part) == pytest.approx(getattr(wanted, part), abs=1e-12)


def assert_known(found, wanted):
    """K where it differs from 0, 0 where it is zero and surely so, NaN where nobody knows."""
    values, error = wanted.values[0], wanted.gaussian_error[0]
    diameter = np.linalg.norm(values.max((0, 1)) - values.min((0, 1)))
    k, resolved = wanted.gaussian[0], wanted.resolved[0]
    proved = wanted.proof[0] is not None
    decided = resolved & (abs(k) > error) & (not proved)
    surely_zero = (resolved & ~decided & (error * diameter**2 < 1e-3)) | proved
    np.testing.assert_allclose(found[decided], k[decided], rtol=1e-5)
    assert (found[surely_zero] == 0).all()
    assert np.isnan(found[~decided & ~surely_zero]).all()


def test_the_final_total_says_how_sure_it_is(circle):
    """A much finer integral lies within both errors; those of a fixed grid would be too small."""
    ensemble = circle.variants["sigmoid"].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    paths = {(name, member) for name in circle.setting.compared for member in range(3)}
    for member in (1, 2):
        _, finals = measured(circle, member, known=paths)
        refined = adaptive_integrals(model.member(member), None, 1e-3).absolute
        total = finals["sigmoid", member].total
        allowed = float(total.error) + float(refined.error)
        assert abs(float(total.value) - float(refined.value)) <= allowed
        assert finals["sigmoid", member].verdicts[0].word == CURVED
        assert finals["ungated", member].verdicts[0].word == FLAT
        assert finals["ungated", member].verdicts[0].proof


def kinds(run, first, **known):
    return [
        (function is final_curvature, member)
        for function, _, member in pending_measurements(run, ("sigmoid",), first, **known)
    ]


def test_the_seed_that_is_looked_at_comes_first_and_alone_to_its_end(circle):
    path, end = False, True
    assert kinds(circle, 2) == [(path, 2), (end, 2), (path, 0), (path, 1)]
    assert kinds(circle, 1, known={("sigmoid", 0)}) == [(path, 1), (end, 1), (path, 2)]
    known = {("sigmoid", member) for member in range(3)}
    assert kinds(circle, 2, known=known) == [(end, 2)]
    assert kinds(circle, 2, known=known, final={("sigmoid", 2)}) == []
    assert kinds(circle, 1, known=known, final={("sigmoid", 2)}) == [(end, 1)]

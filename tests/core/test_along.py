"""Is the curvature along a run that of each seed, each snapshot, measured by itself?"""

from dataclasses import replace

import numpy as np
import pytest

from gating_core import along
from gating_core.along import CurvatureAlong, FinalCurvature, measure_run
from gating_core.classifier import restore
from gating_core.film import FILM_GRID, drawn_frames
from gating_core.integrals import adaptive_total_absolute_curvature
from gating_core.measure import measure_surface
from gating_core.sample import square_grid
from tests.core.test_film import SETTINGS, SMALL, run_of


@pytest.fixture(scope="module", params=SETTINGS)
def run(request):
    return run_of(SETTINGS[request.param])


@pytest.fixture(scope="module")
def circle():
    return run_of(SMALL)


def measured(run, names=None, wanted=lambda: 0):
    found = [x for x in measure_run(run, names or run.setting.compared, wanted) if x is not None]
    paths = {(x.variant, x.member): x for x in found if isinstance(x, CurvatureAlong)}
    finals = {(x.variant, x.member): x for x in found if isinstance(x, FinalCurvature)}
    assert len(paths) + len(finals) == len(found)
    return paths, finals


def alone(run, name, member, frame, size, bound):
    """One snapshot of one seed, restored with all seeds and measured without the others."""
    config = run.variants[name].ensemble.config
    model = restore(config, run.task.seeds, run.frames[frame].snapshots[name].state)
    return measure_surface(model.attention.member(member), square_grid(size), bound=bound)


def test_every_seed_and_frame_is_measured_as_if_alone(run):
    paths, finals = measured(run)
    names, seeds = run.setting.compared, range(len(run.task.seeds))
    assert set(paths) == set(finals) == {(name, member) for name in names for member in seeds}
    for (name, member), found in paths.items():
        assert len(found.total) == len(drawn_frames(run))
        for frame in (0, 7, -1):
            wanted = alone(run, name, member, frame, FILM_GRID, "estimate")
            assert found.total[frame] == pytest.approx(wanted.total[0], rel=1e-9, abs=1e-12)
            assert found.error[frame] == pytest.approx(wanted.total_error[0], rel=1e-6, abs=1e-12)
            assert found.complete[frame] == wanted.complete[0]
            known = np.isfinite(found.gaussian[frame])
            np.testing.assert_array_equal(known, wanted.resolved[0])
            np.testing.assert_allclose(
                found.gaussian[frame][known], wanted.gaussian[0][known], rtol=1e-6, atol=1e-6
            )
    for (name, member), final in finals.items():
        wanted = alone(run, name, member, -1, along.FINAL_GRID, "rigorous")
        assert float(final.total.value) == pytest.approx(wanted.total[0], rel=1e-9, abs=1e-12)
        assert float(final.total.error) == pytest.approx(wanted.total_error[0], rel=1e-6)
        assert bool(final.total.complete) == wanted.complete[0]
        assert final.flat == wanted.flat[0]


def test_the_final_total_agrees_with_a_refined_one_to_its_error(circle):
    _, finals = measured(circle)
    ensemble = circle.variants["sigmoid"].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    for member in range(3):
        refined = adaptive_total_absolute_curvature(model.member(member), None, 1e-4)
        total = finals["sigmoid", member].total
        allowed = float(total.error) + float(refined.error)
        assert abs(float(total.value) - float(refined.value)) <= allowed
        assert not finals["sigmoid", member].flat
        assert finals["ungated", member].flat


def test_the_seed_that_is_looked_at_comes_first(circle):
    order = [x.member for x in measure_run(circle, ("sigmoid",), lambda: 2) if x is not None]
    assert order == [2, 2, 0, 0, 1, 1]
    looked = iter((1, 2, 2))  # and may change while it is measured; 1 once more is done already
    order = [x.member for x in measure_run(circle, ("sigmoid",), lambda: next(looked)) if x]
    assert order == [1, 1, 2, 2, 0, 0]


def test_it_gives_way_often_enough_to_be_cancelled():
    """Half a second is allowed; the smallest part that never gives way must be far below."""
    heavy = replace(
        SMALL, source="tokens", model_dim=8, value_count=6, depth=3, seed_count=2, steps=20,
        points=64, batch_size=16, variants=("silu", "tanh"),
    )  # fmt: skip
    work = measure_run(run_of(heavy), ("silu",), lambda: 0)
    yields = sum(1 for x, _ in zip(work, range(40), strict=False) if x is None)
    assert yields > 5


def test_parts_change_no_number(circle, monkeypatch):
    whole = measured(circle)
    monkeypatch.setattr(along, "PART_NUMBERS", 5_000)
    parts = measured(circle)
    for key, found in whole[0].items():
        np.testing.assert_allclose(parts[0][key].total, found.total, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(parts[0][key].complete, found.complete)
    for key, final in whole[1].items():
        assert float(parts[1][key].total.value) == pytest.approx(
            float(final.total.value), rel=1e-12, abs=1e-14
        )

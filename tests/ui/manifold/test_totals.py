"""The page draws before its totals are refined, and they are refined once for everybody."""

from dataclasses import replace

import pytest
import torch

from gating_core.experiments import budget
from gating_core.experiments.instance import integrate_instance, measure_instance
from gating_core.geometry import Integral, SurfaceIntegrals
from tests.ui.held import held_in
from tests.ui.manifold.test_manifold_page import payload
from tests.ui.opening import TIMEOUT_SECONDS, open_page
from ui.manifold import shared
from ui.manifold.error_analysis import _as_in_captions, _integrals_table
from ui.manifold.model import ManifoldRequest, resolve
from ui.manifold.shared import best_total
from ui.manifold.surface import caption, total_caption, total_of
from ui.work.pool import Rank

PAGE = "pages/1_Manifold.py"
FOLDED = dict(layers="4", model="72", grid="31")  # its grid leaves more than a tenth in doubt


@pytest.fixture
def held(monkeypatch):
    """Jobs that wait, and refine for tenths of a second."""
    monkeypatch.setattr(budget, "AFFORDABLE_COST", 1e6)
    with held_in(shared.TOTALS, Rank.REST, monkeypatch) as held:
        yield held


def job_of(app):
    return app.session_state["_jobs"][shared.TOTALS.name][0]


def numbers(app):
    return [metric.value for metric in app.metric[::2]]


def test_pictures_wait_for_no_totals_and_others_find_them(held):
    app = open_page(PAGE, **FOLDED)
    assert app.get("bidi_component")  # the picture is there
    assert numbers(app) == ["0", "…"]
    assert not job_of(app).over
    held.go.set()
    job_of(app).join(TIMEOUT_SECONDS)
    assert job_of(app).over
    app.run()
    assert not app.exception
    first = numbers(app)
    assert first[0] == "0"
    assert "±" in first[1]
    asked = len(held.asked)
    assert asked == 1
    assert numbers(open_page(PAGE, **FOLDED)) == first
    assert len(held.asked) == asked


def test_doubt_says_which_integrals_are_not_there_yet(held):
    app = open_page(PAGE, grid="31", tab="Error analysis")
    assert shared.DIALS.name not in app.session_state["_jobs"]  # it shows the requested strength
    table = app.table[1].value
    assert set(table.to_numpy()[:, 1:].ravel()) == {"…"}
    held.go.set()
    job_of(app).join(TIMEOUT_SECONDS)
    assert job_of(app).over
    app.run()
    assert "…" not in set(app.table[1].value.to_numpy().ravel())
    assert "Difference" in app.table[1].value


def test_a_total_that_the_grid_knows_to_a_tenth_is_refined_by_nobody(held):
    app = open_page(PAGE, grid="31")
    flat, curved = numbers(app)
    assert flat == "0"
    assert "±" in curved
    assert not held.asked
    header, _ = payload(app)
    assert f"total curvature **{curved}**" in header["columns"][1]["captions"][header["frame"]]


def test_the_table_of_integrals_has_the_total_of_the_captions():
    sure, refined = measured_with(11.0, 1.0), refined_to(12.0, 0.1)
    said = _integrals_table([_as_in_captions(sure, refined)])["Without gate"][1]
    assert said == total_of(sure, best_total(sure, refined))
    doubtful = measured_with(11.0, 5.0)
    assert _as_in_captions(doubtful, refined).absolute is refined.absolute
    assert _as_in_captions(doubtful, None) is None


def measured_with(total, error):
    """A folded surface whose grid leaves so much in doubt."""
    side = measure_instance(resolve(ManifoldRequest(depth=4, seed=72, grid=31)).variants[1], 31)
    return replace(side, total=integral(total, error))


def integral(value, error):
    numbers = (torch.tensor(value), torch.tensor(error), torch.tensor(True))
    return Integral(*numbers)


def refined_to(value, error):
    found = integral(value, error)
    return SurfaceIntegrals(found, found, found, found, found)


def test_a_total_is_refined_to_a_tenth_or_the_page_says_that_it_cannot_be():
    sure, doubtful = measured_with(11.0, 1.0), measured_with(11.0, 5.0)
    assert best_total(sure, refined_to(12.0, 0.1)) is sure.total
    assert "**11.0 ± 1.0**" in caption(sure) or "**11 ± 1**" in caption(sure)
    assert best_total(doubtful, None) is None
    assert caption(doubtful).endswith(" · total curvature being refined …")  # no number yet
    good, bad = refined_to(12.0, 0.1), refined_to(12.0, 3.0)
    assert "**12.00 ± 0.11**" in caption(doubtful, good)  # 0.1 in float32 is more than a tenth
    assert "refining does not help" not in caption(doubtful, good)
    assert "**12 ± 3**, refining does not help" in caption(doubtful, bad)
    assert "do not help" in total_caption(doubtful, bad.absolute)
    assert "do not help" not in total_caption(doubtful, good.absolute)


@pytest.mark.soak  # long
def test_refining_settles_a_ridge():
    instance = resolve(ManifoldRequest(depth=2, seed=0)).variants[1]
    variant = measure_instance(instance, 61)
    assert not variant.total.converged()
    refined = integrate_instance(instance)
    assert bool(refined.absolute.converged())
    assert "refining does not help" not in caption(variant, refined)

"""A model is shown at its own strength at once, a moment later at all, and so for everybody."""

import threading
from dataclasses import fields

import numpy as np
import pytest

from gating_core.experiments.instance import measure_instance
from tests.ui.held import held_in
from tests.ui.manifold.test_manifold_page import payload
from tests.ui.opening import TIMEOUT_SECONDS, open_page
from ui import limits
from ui.manifold import shared as page
from ui.manifold.model import ManifoldRequest, at_strength, resolve
from ui.work.cache import bytes_of
from ui.work.pool import Rank

PAGE = "pages/1_Manifold.py"
ALL = [f"λ = {i / 20:.2f}" for i in range(21)]


@pytest.fixture
def held(monkeypatch):
    with held_in(page.DIALS, Rank.FIRST, monkeypatch) as held:
        yield held


def job_of(app):
    return app.session_state["_jobs"][page.DIALS.name][0]


def labels(app):
    return payload(app)[0]["frame_labels"]


def let_go(app, held):
    held.go.set()
    job_of(app).join(TIMEOUT_SECONDS)
    assert job_of(app).over
    app.run()
    assert not app.exception


def test_the_requested_strength_is_there_first_then_all(held):
    app = open_page(PAGE, grid="31", **{"lambda": "0.35"})
    assert labels(app) == ["λ = 0.35"]
    before = payload(app)
    let_go(app, held)
    after = payload(app)
    assert labels(app) == ALL
    assert after[0]["frame"] == 7
    assert after[0]["readings"][7] == before[0]["readings"][0]
    assert after[0]["scene"] == before[0]["scene"]  # the camera stays, if the visitor has turned it
    for name in ("right_x", "right_gaussian"):
        assert (after[1][name][7] == before[1][name]).all()


def settled(app):
    """What must not change when the strengths arrive: scale, camera, boxes, words of a frame."""
    header, arrays = payload(app)
    place = header["frame"]
    scenes = [column["panels"][0] for column in header["columns"]]
    shown = [(scene["layouts"] or [scene["layout"]] * (place + 1)) for scene in scenes]
    return {
        "scale": {**header["legend"], "note": header["legend"]["note"][place]},
        "camera": (header["camera"], header["edge_on"], header["scene"]),
        "seen": [(scene["inside"], scene["fits"], scene["notes"]) for scene in scenes],
        "traces": [[trace["type"] for trace in scene["traces"]] for scene in scenes],
        "boxes": [layouts[min(place, len(layouts) - 1)] for layouts in shown],
        "captions": [
            column["captions"][min(place, len(column["captions"]) - 1)]
            for column in header["columns"]
        ],
        "reading": header["readings"][place],
        "colours": arrays["right_shade"].reshape(-1, 31, 31)[place].tolist(),
    }


MODELS = [
    {"lambda": "0.35", "kind": "silu"}, {"layers": "4", "model": "72"},
    *(pytest.param(link, marks=pytest.mark.soak) for link in (
        {"chart": "weights", "position": "G4"}, {"dim": "8", "layers": "2", "by": "mean"})),
]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("link", MODELS, ids=str)
def test_the_first_picture_is_the_one_that_stays(held, monkeypatch, link):
    monkeypatch.setattr(limits, "DIAL_COST", 1e6)  # a few strengths
    with held_in(page.TOTALS, Rank.REST, monkeypatch):  # that one is on its way is said
        app = open_page(PAGE, grid="31", **link)
        assert len(labels(app)) == 1
        before = settled(app)
        let_go(app, held)
        assert len(labels(app)) > 1
        after = settled(app)
    for name, each in before.items():
        assert after[name] == each, name


@pytest.mark.soak
def test_what_is_done_while_the_page_is_drawn_is_drawn_with_it(monkeypatch):
    """The job ends after the page has looked for all strengths, before it would watch the job."""
    page.DIALS.cache.clear()
    real, answers = page.DIALS.cached, [{}, {}]

    def cached(requests):
        of_the_page = answers and threading.current_thread().name != "job"
        return answers.pop() if of_the_page else real(requests)

    monkeypatch.setattr(page.DIALS, "cached", cached)
    assert labels(open_page(PAGE, grid="31")) == ALL
    assert not answers


def changed(old, new):
    return {
        field.name
        for field in fields(old)
        if getattr(old, field.name) is not getattr(new, field.name)
    }


@pytest.mark.parametrize("layers", [1, 2])
def test_what_no_strength_changes_is_kept_once(layers):
    """Attention in the first layer has not met a gate: it is a seventh of the memory and more."""
    resolved = resolve(ManifoldRequest(depth=layers, grid=31))
    apart = [measure_instance(at_strength(resolved.variants[1], x), 31) for x in (0.0, 0.5, 1.0)]
    together = page.without_copies(tuple(apart))
    assert together[0].surface.quadrature is apart[0].surface.quadrature
    for old, new in zip(apart[1:], together[1:], strict=True):
        np.testing.assert_array_equal(new.weights, old.weights)
        np.testing.assert_array_equal(new.surface.quadrature, old.surface.quadrature)
        assert changed(old, new) == {"surface", "weights"}
        assert changed(old.surface, new.surface) == {"quadrature"}
        assert new.weights[0] is together[0].weights[0]
        assert new.surface.quadrature is together[0].surface.quadrature
    assert bytes_of(apart) - bytes_of(together) == 2 * (
        apart[0].weights[0].nbytes + apart[0].surface.quadrature.nbytes
    )

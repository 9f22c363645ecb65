"""Does the landing page open on the stage, fed with its model, and obey its link?"""

import json
import re

import numpy as np
import pytest

from gating_core.experiments.comparison import load_preset, load_sweep
from gating_core.geometry import square_grid
from tests.ui.opening import component, mistakes, open_page, report, sent
from ui.landing.pair import VIEW_KEY
from ui.landing.picture import measure_stage
from ui.landing.stage import STAGE_KEY

PLANE = "0.6,0,0.8,-0.25"


def test_the_first_paint_asks_and_the_fair_comparison_leads_its_line():
    app = open_page()
    assert not app.exception
    assert component(app, VIEW_KEY) is None
    header, arrays = sent(app, STAGE_KEY)
    assert (header["ask"], header["flat"]) == (True, True)
    assert header["strengths"] == [0, 1]
    assert header["strength"] == 1
    assert header["plane"] is None
    assert arrays["surfaces"].shape == (2, 41, 41, 3)
    assert np.abs(arrays["surfaces"][0, ..., 2]).max() < 1e-6
    (line,) = [x.value for x in app.markdown if "models without a gate" in x.value]
    run = load_preset("circle")
    means = [100 * x.ensemble.test_accuracy[-1].mean() for x in run.variants.values()]
    said = [float(x) for x in re.findall(r"\*\*([\d.]+) ±", line)]
    assert said == pytest.approx(means, abs=0.5)
    assert "**The gate helps by 17.6 ± 3.8 points**, paired over 16 seeds." in line
    # The entropy term is in both losses.
    assert "models without a gate (entropy term in the loss):" in line
    assert "with one (entropy and gate-logit terms in the loss):" in line


def test_what_the_ring_earns_is_said_and_of_which_model():
    (line,) = [x.value for x in open_page().markdown if "the ring" in x.value]
    stage = measure_stage(load_preset("circle"), load_sweep("circle"), square_grid(41))
    found = re.search(r"seed (\d+).* λ = ([\d.]+), ([\d.]+)\s%, .* last ([\d.]+) points", line)
    seed, strength, before, earned = map(float, found.groups())
    assert seed == stage.seed
    opened, closed = (stage.cut(x, stage.plane(x)) for x in (strength, strength + 0.05))
    assert (opened.loops, closed.loops) == (0, 1)
    right = [100 * stage.accuracy(x, stage.plane(x)) for x in (strength, 1)]
    assert [before, before + earned] == pytest.approx(right, abs=0.01)
    other = open_page(task="moons")  # its cut is open at the full gate
    assert not any("the ring" in x.value for x in other.markdown)


def test_a_link_says_strength_and_plane_and_whoever_comes_by_it_is_not_asked():
    app = open_page(task="xor", strength="0.35", plane=PLANE)
    assert not app.exception
    assert not mistakes(app)
    header, _ = sent(app, STAGE_KEY)
    assert header["strength"] == 0.35
    assert header["plane"] == [0.6, 0, 0.8, -0.25]
    assert not header["ask"]


def test_what_is_left_goes_into_the_link_and_the_fitted_plane_out_of_it():
    app = open_page(task="moons")
    plane = [0.0, -0.6, 0.8, 0.125]
    app = report(app, STAGE_KEY, "left", {"strength": 0.4, "plane": plane, "serial": 10**12})
    assert not app.exception
    assert app.query_params["strength"] == "0.4"
    assert app.query_params["plane"] == "0,-0.6,0.8,0.125"
    assert sent(app, STAGE_KEY)[0]["plane"] == plane
    app = report(app, STAGE_KEY, "left", {"strength": 1, "plane": None, "serial": 10**12 + 1})
    assert "plane" not in app.query_params
    assert sent(app, STAGE_KEY)[0]["plane"] is None


@pytest.mark.parametrize("plane", ["1,1,1,0", "0,0,1", "0,0,1,99", "0,0,nan,1", "x"])
def test_a_plane_that_is_none_is_named(plane):
    app = open_page(plane=plane)
    assert not app.exception
    (note,) = mistakes(app)
    assert "`plane`" in note
    assert sent(app, STAGE_KEY)[0]["plane"] is None


@pytest.mark.parametrize("query", [
    {"colour": "curvature"}, {"pick": "20.30"}, {"beside": "gate ablated"},
    {"picture": "two models"},
])  # fmt: skip
def test_links_to_two_models_still_open_them(query):
    app = open_page(**query)
    assert not app.exception
    assert component(app, STAGE_KEY) is None
    assert len(json.loads(component(app, VIEW_KEY).proto.bytes)["places"]) == 21

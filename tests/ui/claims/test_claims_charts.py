"""The charts show the rows, all of them, with the numbers and intervals of the core."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from gating_core.claims.claim import Brief, Mark
from gating_core.claims.rows import sorted_out
from gating_core.claims.verdicts import CLAIMS, verdict, verdicts
from tests.core.claims.made_rows import curved, failed, kin, made, stacks, study
from ui.claims.charts import claim_charts, small_plot

ROWS = made()
KEYS = {row.key: row for row in ROWS}


@cache
def judged():
    """Of C3, C4 and C6 from rows of the seeds of criteria v2, of others from those of v1."""
    rows = [*study(curved(total_curvature=9.0)), *kin(1.2, -0.6)]
    models = sorted_out(ROWS, stacks())
    return {
        name: verdict(claim, sorted_out(rows) if name in ("C3", "C6") else models)
        for name, claim in CLAIMS.items()
    }


def traces(claim):
    charts = claim_charts(claim, judged()[claim])
    return [trace for chart in charts for trace in chart.figure.data]


def models_of(trace):
    """Key, x and y of the points that have a model."""
    keys = trace.customdata if trace.customdata is not None else ()
    return [(key, x, y) for key, x, y in zip(keys, trace.x, trace.y, strict=bool(len(keys))) if key]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("claim", CLAIMS)
def test_charts_are_drawn_of_any_rows_and_none_without(claim):
    some = [failed(row) if row.task == "xor" else row for row in made(seeds=(3,))]
    few = verdict(CLAIMS[claim], sorted_out(some, stacks(seeds=(3,))))
    for found in (judged()[claim], few):
        for chart in claim_charts(claim, found):
            assert json.loads(chart.figure.to_json())["data"]
            assert chart.alt
            assert chart.explanation
    assert len(claim_charts(claim, judged()[claim])) == (2 if claim in ("C4", "C6") else 1)
    assert claim_charts(claim, verdicts([], [])[claim]) == []


def test_models_beyond_the_frame_and_without_a_logarithm_are_counted():
    rows = [
        replace(row, chart_largest=1e150, chart_bound=1e100, chart_flat=False)
        if row.key == "xor/sigmoid/3"
        else replace(row, chart_largest=0.0)
        if row.variant == "ungated"
        else row
        for row in ROWS
    ]
    (chart,) = claim_charts("C2", verdicts(rows, [])["C2"])
    assert chart.figure.layout.yaxis.range[1] < 150
    assert "Beyond the axes: 1 model." in chart.explanation
    assert "80 models with K exactly 0" in chart.explanation


SMALL = Brief(
    marks=[Mark(2, 4, 3, "a < b"), Mark(0, 8), Mark(np.nan, np.nan, 5)], ticks=(-5, 0, 10),
    axis="points", aim=(-1, 1),
)  # fmt: skip


def test_a_small_plot_has_its_marks_aim_and_words_to_scale():
    """Its axis goes from 136 to 326, or farther in its unit; what is unknown is not drawn."""
    drawn = ET.fromstring(small_plot(vars(SMALL), "red", "black"))
    parts = [(x.tag.partition("}")[2], x.attrib, x.text) for x in drawn]
    unit = (326 - 136) / 15
    zero = 136 + 5 * unit
    bars = [(float(x["x"]), float(x["width"])) for tag, x, _ in parts if tag == "rect"]
    expected = [(-1, 2), (2, 2), (0, 8), (0, 10)]
    for found, (low, length) in zip(bars, expected, strict=True):
        assert found == pytest.approx((zero + low * unit, length * unit), abs=0.11)
    dots = [float(x["cx"]) for tag, x, _ in parts if tag == "circle"]
    assert dots == [pytest.approx(zero + 3 * unit, abs=0.06)]
    words = {text: float(x["x"]) for tag, x, text in parts if tag == "text" and text}
    assert words == pytest.approx(
        {"a < b": 124, "points": 124, "−5": 136, "0": zero, "10": 326}, abs=0.06
    )
    far = ET.fromstring(small_plot(vars(Brief(marks=[Mark(0, 2, 1)])), "red", "black"))
    assert [x.get("x") for x in far if x.text == "1"] == ["231.0"]  # the axis ends at 2
    assert len(ET.fromstring(small_plot(vars(Brief()), "red", "black"))) == 5


def test_a_forest_has_the_differences_and_their_interval():
    ungated = {(row.task, row.seed): row.test_accuracy for row in ROWS if row.variant == "ungated"}
    decides, chart = claim_charts("C4", judged()["C4"])
    names = chart.figure.layout.yaxis.ticktext
    seeds, means = {}, {}
    for trace in chart.figure.data:
        if trace.customdata is None:
            for x, y, half in zip(trace.x, trace.y, trace.error_x.array, strict=True):
                means[names[int(y)]] = x, half
        for key, x, _ in models_of(trace):
            row = KEYS[key]
            expected = 100 * (row.test_accuracy - ungated[row.task, row.seed])
            assert x == pytest.approx(expected, abs=1e-9)
            seeds.setdefault(f"{row.task}: {row.variant}", []).append(x)
    assert set(seeds) == set(means) == set(names)
    assert len(seeds) == 3 * 3
    for row, (mean, half) in means.items():
        x = np.array(seeds[row])
        assert mean == pytest.approx(x.mean(), abs=1e-9)
        assert half == pytest.approx(stats.t.ppf(0.975, 15) * stats.sem(x))
    shown = {x for x in names if "sigmoid" in x or "additive" in x}
    assert set(decides.figure.layout.yaxis.ticktext) == shown


def test_open_marks_are_outside_the_regime():
    rows = {row.key: row for row in stacks()}
    for trace in traces("C7"):
        keys = trace.customdata if trace.customdata is not None else ()
        for key, symbol in zip(keys, trace.marker.symbol or (), strict=bool(len(keys))):
            assert not key or symbol.endswith("-open") == (not rows[key].small)

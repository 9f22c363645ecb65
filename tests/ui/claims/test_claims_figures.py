"""Do the pictures show the rows, all of them, and open the models they show?"""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy import stats

from gating_core.claims import SECOND
from gating_core.claims.report import write_report
from gating_core.claims.verdicts import CLAIMS, verdicts
from tests.core.claims.made_rows import SEEDS, failed, made, stacks
from tests.core.claims.test_report import NASTY, Page
from tests.core.claims.test_second_edition import curved, kin, study
from ui.claims.figures import figures
from ui.claims.model_figures import fitted
from ui.claims.picture import DARK, LIGHT, Palette, colours, merged
from ui.claims.report_pictures import illustrations, plotly_js

ROWS = made()
KEYS = {row.key: row for row in ROWS}


@cache
def judged():
    """Verdicts of the first edition, by claim."""
    return verdicts(ROWS, stacks())


@cache
def judged_again():
    """Verdicts of the second edition, by claim."""
    rows = [*study(curved(total_curvature=9.0)), *kin(1.2, -0.6)]
    return verdicts(rows, [], edition=SECOND)


def traces(claim: str, palette: Palette = LIGHT) -> list[dict]:
    return [trace for one in figures(judged()[claim], palette) for trace in one.figure["data"]]


def test_nothing_is_drawn_where_there_is_nothing():
    assert all(figures(one) == () for one in verdicts([], []).values())


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_plotly_understands_every_figure(claim, palette):
    some = figures(judged()[claim], palette)
    assert some
    for one in some:
        go.Figure(one.figure)  # raises on an unknown property or a wrong value
        json.dumps(one.figure, allow_nan=False)
        assert one.title
        assert one.alt
        assert "does not show" in one.explain or "shows no" in one.explain


@pytest.mark.parametrize("claim", CLAIMS)
def test_one_seed_and_failed_rows_can_be_drawn(claim):
    rows = [failed(row) if row.task == "xor" else row for row in made(seeds=(3,))]
    for one in figures(verdicts(rows, stacks(seeds=(3,)))[claim]):
        go.Figure(one.figure)
        json.dumps(one.figure, allow_nan=False)


@pytest.mark.parametrize("claim", ["C1", "C2", "C3", "C4", "C5", "C6"])
def test_every_point_of_a_model_has_its_key(claim):
    for trace in traces(claim):
        if "customdata" in trace:
            assert len(trace["customdata"]) == len(trace["x"]) == len(trace["y"])
            assert set(trace["customdata"]) <= set(KEYS)


def test_bounds_are_those_of_the_row():
    shown = {}
    for trace in traces("C1"):
        for key, *point in zip(trace.get("customdata", ()), trace["x"], trace["y"], strict=False):
            shown[key] = tuple(point)
    assert shown == {key: (row.chart_bound, row.chart_largest) for key, row in KEYS.items()}


@pytest.mark.parametrize(("bound", "largest", "arrow"), [
    (1e100, 1e150, "ne"), (1e-200, 1e-180, "sw"), (1e-12, 1e90, "up"), (1e-12, 1e-90, "down"),
    (1e70, 1.0, "right"), (1e-70, 1.0, "left"), (1e-70, 1e70, "nw"), (1e70, 1e-70, "se"),
])  # fmt: skip
def test_what_lies_beyond_the_frame_points_to_where_it_is(bound, largest, arrow):
    """At the edge nearest to it; its own numbers are told."""
    rows = [replace(row, chart_largest=largest, chart_bound=bound, chart_flat=False)
            if row.key == "xor/sigmoid/3" else row for row in ROWS]  # fmt: skip
    (one,) = figures(verdicts(rows, [])["C2"])
    (trace,) = [x for x in one.figure["data"] if "beyond" in x["name"]]
    assert trace["name"] == "1 beyond the frame"
    assert trace["customdata"] == ["xor/sigmoid/3"]
    assert trace["marker"]["symbol"] == [f"triangle-{arrow}"]
    assert f"|K| {largest:.3g}, bound {bound:.3g}" in trace["text"][0]
    for axis, drawn, value in (("xaxis", trace["x"], bound), ("yaxis", trace["y"], largest)):
        low, high = one.figure["layout"][axis]["range"]
        assert low == int(low)
        assert high == int(high)
        assert np.log10(drawn) == pytest.approx([np.clip(np.log10(value), low, high)])


def test_every_kind_has_its_middle_within_the_frame():
    """Many models of one kind do not push another out."""
    (one,) = figures(judged()["C1"])
    ends = [one.figure["layout"][axis]["range"] for axis in ("xaxis", "yaxis")]
    for trace in one.figure["data"]:
        if trace["mode"] == "markers":
            for (low, high), axis in zip(ends, "xy", strict=True):
                values = np.log10(trace[axis])
                assert low < np.quantile(values, 0.05)
                assert np.quantile(values, 0.95) < high


def test_a_model_with_k_exactly_zero_is_counted():
    rows = [replace(row, chart_largest=0.0) if row.variant == "ungated" else row for row in ROWS]
    (one,) = figures(verdicts(rows, [])["C1"])
    assert "80 models with K exactly 0" in one.explain
    (other,) = figures(judged()["C1"])
    assert "exactly 0" not in other.explain


def test_what_the_frame_cuts_off_is_counted():
    rows = [replace(row, chart_largest=1e150, chart_bound=1e140) if row.key == "xor/sigmoid/3"
            else row for row in ROWS]  # fmt: skip
    (one,) = figures(verdicts(rows, [])["C2"])
    layout = one.figure["layout"]
    assert layout["yaxis"]["range"][1] < 10
    assert ": 1 model with extreme numbers" in one.explain
    (other,) = figures(judged()["C2"])
    assert "extreme" not in other.explain


@pytest.mark.parametrize(("claim", "name", "factor"), [
    ("C3", "total_curvature", 1.0), ("C4", "test_accuracy", 100.0)
])  # fmt: skip
def test_a_forest_has_the_differences_and_their_interval(claim, name, factor):
    ungated = {(row.task, row.seed): getattr(row, name) for row in ROWS if row.variant == "ungated"}
    places = {}
    for trace in traces(claim):
        if "customdata" in trace:
            for key, x in zip(trace["customdata"], trace["x"], strict=True):
                row = KEYS[key]
                wanted = getattr(row, name) - ungated[row.task, row.seed]
                assert x == pytest.approx(factor * wanted, abs=1e-9)
            places[trace["name"]] = trace["x"]
        else:
            x = np.array(places[trace["name"]])
            (half,) = trace["error_x"]["array"]
            assert trace["x"] == pytest.approx([x.mean()])
            if not np.ptp(x):  # the matched model, which is as flat as the ungated one
                assert half == 0
                continue
            low, high = stats.t.interval(0.95, 15, x.mean(), stats.sem(x))
            assert (x.mean() - half, x.mean() + half) == pytest.approx((low, high))
    tasks = 3 if claim == "C4" else 5
    assert len(places) == 3 * tasks
    layout = figures(judged()[claim])[0].figure["layout"]["yaxis"]
    assert set(layout["ticktext"]) == set(places)
    heights = {t["name"]: t["y"][0] for t in traces(claim) if "customdata" not in t}
    assert [heights[name] for name in layout["ticktext"]] == layout["tickvals"]


def test_the_band_is_the_margin():
    (one,) = figures(judged()["C5"])
    band = one.figure["layout"]["shapes"][0]
    assert (band["x0"], band["x1"]) == (-1.0, 1.0)
    x = np.array(one.figure["data"][0]["x"])
    bar = one.figure["data"][1]["x"]
    assert bar == pytest.approx(stats.t.interval(0.90, 15, x.mean(), stats.sem(x)))


def test_a_fit_is_least_squares():
    rng = np.random.default_rng(0)
    x, y = np.exp(rng.normal(size=16)), rng.normal(size=16)
    places, heights = fitted(x, y)
    wanted = stats.linregress(x, y)
    assert heights == pytest.approx(wanted.intercept + wanted.slope * places)
    assert (places[0], places[-1]) == pytest.approx((x.min(), x.max()))


def test_curved_models_alone_are_drawn_against_accuracy():
    keys = [key for trace in traces("C6") for key in trace.get("customdata", ())]
    assert {KEYS[key].variant for key in keys} == {"sigmoid"}
    assert len(keys) == 2 * 5 * len(SEEDS)  # two measures


def test_open_marks_are_outside_the_regime():
    rows = {row.key: row for row in stacks()}
    for trace in traces("C7"):
        for key, symbol in zip(trace.get("customdata", ()), trace.get("marker", {}).get("symbol",
                               ()), strict=True):  # fmt: skip
            assert symbol.endswith("-open") == (not rows[key].small)


def test_every_colour_of_one_theme_has_one_of_the_other():
    light, dark = colours(LIGHT), colours(DARK)
    assert len(light) == len(dark) == len(set(light)) == len(set(dark))
    for claim in CLAIMS:
        drawn = json.dumps([one.figure for one in figures(judged()[claim], LIGHT)])
        assert not any(f'"{colour}"' in drawn for colour in dark)
        changed = drawn
        for one, other in zip(light, dark, strict=True):
            changed = changed.replace(f'"{one}"', f'"{other}"')
        wanted = [one.figure for one in figures(judged()[claim], DARK)]
        assert json.loads(changed) == json.loads(json.dumps(wanted))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("palette", "paper"), [(LIGHT, "#ffffff"), (DARK, "#14181d")])
def test_marks_stand_out_from_their_paper(palette, paper):
    """At least 3 to 1, as WCAG 2.1, 1.4.11, asks of graphics."""
    marks = (palette.ink, palette.gated, palette.ungated, palette.control, *palette.tasks)
    for colour in marks:
        one, other = sorted((luminance(colour), luminance(paper)))
        assert (other + 0.05) / (one + 0.05) >= 3, colour


# --- The second edition ---------------------------------------------------------------------------


@pytest.mark.parametrize("claim", SECOND.claims)
def test_pictures_of_the_second_edition_can_be_drawn_and_merged(claim):
    some = figures(judged_again()[claim])
    assert len(some) == (2 if claim == "C6" else 1)
    for one in some:
        go.Figure(merged(one.figure))
        json.dumps(merged(one.figure), allow_nan=False)
        count = sum(x is not None for trace in one.figure["data"] for x in trace["x"])
        joined = merged(one.figure)["data"]
        assert sum(x is not None for trace in joined for x in trace["x"]) == count
    assert figures(verdicts([], [], edition=SECOND)[claim]) == ()


def test_effects_are_means_over_deviations_and_filled_where_significant():
    (one,) = figures(judged_again()["C3"])
    found = {}
    for trace in one.figure["data"]:
        for x, reach, text, symbol in zip(trace["x"], trace["error_x"]["array"], trace["text"],
                                          trace["marker"]["symbol"], strict=True):  # fmt: skip
            found[trace["xaxis"], text.split(":")[0]] = x, reach, symbol
    cells = judged_again()["C3"].evidence.cells.values()
    assert len(found) == sum(map(len, cells)) == 3 * 6 * 4
    for axis, family in zip(("x", "x2", "x3"), cells, strict=True):
        for each in family:
            x, reach, symbol = found[axis, f"{each.pairs.conditions.text}, {each.pairs.task}"]
            values = each.measured.differences
            assert x == pytest.approx(values.mean() / values.std(ddof=1))
            assert reach == pytest.approx(stats.t.ppf(0.975, 15) / 4)
            assert symbol.endswith("-open") == (each.p > 0.05)


def test_groups_have_their_own_r_with_fishers_interval():
    exact = figures(judged_again()["C6"])[1]
    drawn = [trace for trace in exact.figure["data"] if "error_x" in trace]
    evidence = judged_again()["C6"].evidence
    groups = [x for of in evidence.kinds for x in evidence.pooled(of, "total_curvature").groups]
    wanted = [stats.pearsonr(group.x, group.y) for group in groups]
    found = []
    for trace in drawn:
        ends = trace["error_x"]["array"], trace["error_x"]["arrayminus"]
        found += [(x, x - down, x + up) for x, up, down in zip(trace["x"], *ends, strict=True)]
    ends = [each.confidence_interval(0.95) for each in wanted]
    np.testing.assert_allclose(sorted(found), sorted(
        (each.statistic, *end) for each, end in zip(wanted, ends, strict=True)
    ))  # fmt: skip


# --- In a report ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Rows, the HTML file, and the Markdown."""
    rows = made()
    rows[0] = replace(failed(rows[0]), error=NASTY)
    rows[1] = replace(rows[1], key=NASTY)
    paths = write_report(tmp_path_factory.mktemp("report"), rows, stacks(), {}, illustrations())
    return rows, *(path.read_text(encoding="utf-8") for path in paths)


def test_a_report_with_pictures_fetches_nothing_and_holds_the_library(report):
    _, page, _ = report
    for tag, attributes in Page(page).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {"src", "href", "srcset", "data"} & set(attributes)
    assert plotly_js() in page
    assert "</script" not in plotly_js().lower()
    own = page.replace(plotly_js(), "")
    assert "http" not in own
    assert "@import" not in own
    assert "url(" not in own
    assert "<script>alert" not in own


def test_a_report_has_the_figures_of_the_verdicts(report):
    rows, page, markdown = report
    found = Page(page)
    drawn = [json.loads(text) for text in found.scripts if text.startswith('{"data"')]
    assert len(drawn) == len(CLAIMS) + 1  # two of C6
    ids = [x["id"] for tag, x in found.tags if tag == "div" and x.get("class") == "figure"]
    assert ids == [f"figure-{i}" for i in range(len(drawn))]
    keys = {key for one in drawn for trace in one["data"] for key in trace.get("customdata", ())}
    assert {row.key for row in rows if row.error is None} <= keys
    assert markdown.count("(in the HTML report)") == len(drawn)

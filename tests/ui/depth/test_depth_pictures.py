"""Do chart, replay and sentences of the Depth page agree with the numbers?"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gating_core.experiments.depth import (
    ARRANGEMENTS,
    QUANTITIES,
    DepthRequest,
    DepthResult,
    load_gates,
    load_shipped,
    measure_regimes,
    replay,
)
from gating_core.experiments.specimen import measure_specimen
from tests.ui.payload import names_in
from ui.depth import words
from ui.depth.chart import THEORY, ChartCurve, depth_chart
from ui.depth.controls import QUANTITY_WORDS
from ui.depth.replay import GAP, REPLAY_GRID, replay_view
from ui.depth.request import STACKED, UNTRAINED, DepthSelection, manifold_link
from ui.manifold.model import ManifoldRequest, resolve

GRID = 7
QUICK = DepthRequest(depth=8, seed_count=6, grid=GRID)


@cache
def results() -> dict[str, DepthResult]:
    names = ("aligned", "strong", "random", "ungated_plain", "gated_plain")
    return {x.regime: x for x in measure_regimes(QUICK, names) if isinstance(x, DepthResult)}


def drawn(*names: str, quantity: str = "total") -> list[ChartCurve]:
    titles = {
        name: title
        for stacked in STACKED.values()
        for name, title in DepthSelection(stacked=stacked, around="plain").curves.items()
    }
    return [ChartCurve(name, titles[name], results()[name], quantity, "#123456") for name in names]


@cache
def surface(name: str, grid: int = REPLAY_GRID):
    return replay(QUICK, name, 1, grid)


def test_every_quantity_can_be_chosen_and_nothing_else():
    assert set(QUANTITY_WORDS.values()) == set(QUANTITIES)
    assert all(set(of) <= set(QUANTITIES) for of in THEORY.values())


@pytest.mark.parametrize(
    ("controls", "name"),
    [
        (dict(stacked="trained"), "gated"),
        (dict(stacked="trained", gated=False), "ungated"),
        (dict(stacked="aligned", strong=False, gated=True), "aligned"),
        (dict(stacked="aligned", gated=False), "strong"),
        (dict(stacked="random", gated=False, strong=False), "random"),
        (dict(stacked="stacks", around="both", gated=False), "ungated_both"),
    ],
    ids=str,
)
def test_a_selection_replays_what_its_switch_says(controls, name):
    assert DepthSelection(**controls).replayed == name


def test_only_trained_stacks_have_layers_and_seeds_of_their_own():
    controls = dict(layers=3, first_seed=40, member=2)
    trained, other = (DepthSelection(name, **controls) for name in ("trained", "random"))
    assert (trained.depth, trained.seed) == (3, 42)
    assert (other.depth, other.seed) == (UNTRAINED.depth, 2)


@pytest.mark.parametrize("around", ARRANGEMENTS)
def test_manifold_is_sent_the_same_stack(around):
    """Its surface there is that of the replay, after the same layer."""
    for gated in (False, True):
        selection = DepthSelection(stacked="stacks", around=around, gated=gated, member=5)
        link = manifold_link(selection, 3)
        depth, dim, count, seed = (int(link[name]) for name in ("layers", "dim", "n", "model"))
        side = resolve(ManifoldRequest(
            depth=depth, model_dim=dim, value_count=count, seed=seed, norm=link["norm"], grid=31,
            residual=link["residual"] == "true",
        )).variants[gated]  # fmt: skip
        found = measure_specimen(side, GRID).surface.values[0]
        wanted = replay(UNTRAINED, selection.replayed, selection.member, GRID).values[2]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
        assert manifold_link(selection, 16)["layers"] == "8"


# --- The chart ------------------------------------------------------------------------------------


def traces(figure, **about):
    return [t for t in figure.data if all(t[key] == value for key, value in about.items())]


def test_the_fitted_line_has_the_exponent_as_its_slope_and_theory_its_own():
    each = drawn("aligned")[0]
    figure = depth_chart([each], 0, 0)
    fitted, theory = (
        traces(figure, mode="lines", name="weak gates, fitted"),
        traces(figure, name="slope 2 (theory)"),
    )
    for (line,), slope in ((fitted, each.curve.exponent.over_seeds.value), (theory, 2.0)):
        found = np.diff(np.log(line.y)) / np.diff(np.log(line.x))
        np.testing.assert_allclose(found, slope, rtol=1e-9)
    # As many of the points that it is fitted to lie above it as below.
    line = fitted[0]
    heights = np.interp(np.log(each.curve.depths), np.log(line.x), np.log(line.y))
    residuals = (np.log(each.curve.values) - heights)[each.curve.fitted]
    assert abs(np.sign(residuals).sum()) <= 1


def test_every_seed_with_an_exponent_has_a_dot_and_the_bar_is_their_median():
    curves = drawn("aligned", "strong")
    figure = depth_chart(curves, 0, 0)
    dots = [t for t in figure.data if t.xaxis == "x2" and t.mode == "markers"]
    bars = [t for t in figure.data if t.xaxis == "x2" and t.line.width == 3]
    for each, dot, bar in zip(curves, dots, bars, strict=True):
        slopes = each.shown_exponent.slopes
        np.testing.assert_array_equal(dot.y, np.sort(slopes[np.isfinite(slopes)]))
        np.testing.assert_allclose(bar.y, np.nanmedian(slopes))
        low, high = figure.layout.yaxis2.range
        assert low <= min(dot.y) <= max(dot.y) <= high


def test_medians_stand_where_they_are_and_end_where_most_seeds_are_unknown():
    each = drawn("ungated_plain")[0]
    figure = depth_chart([each], 3, 3)
    (line,) = traces(figure, mode="lines+markers")
    there = np.isfinite(each.curve.median) & (each.curve.median > 0)
    np.testing.assert_array_equal(np.isfinite(line.y), there)
    np.testing.assert_array_equal(np.asarray(line.y)[there], each.curve.median[there])
    rings = np.array(line.marker.symbol) == "circle-open"
    np.testing.assert_array_equal(rings, each.curve.count < len(each.curve.values))


def test_the_single_seed_stays_within_the_frame():
    curves = trained()
    for member in range(16):
        low, high = depth_chart(curves, member, member).layout.yaxis.range
        for each in curves:
            logs = np.log10(each.curve.values[member][each.curve.values[member] > 0])
            assert low <= logs.min() <= logs.max() <= high


def test_strong_gates_have_a_limit_and_others_none():
    names = [trace.name for trace in depth_chart(drawn("aligned", "strong"), 0, 0).data]
    assert {"2π, half a sphere", "ellipsoid's cap"} <= set(names)
    for others in (drawn("aligned"), drawn("aligned", "strong", quantity="mean")):
        assert "2π, half a sphere" not in [t.name for t in depth_chart(others, 0, 0).data]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity_has_a_chart_with_a_finite_axis(quantity):
    for names in (("aligned", "strong"), ("random",), ("ungated_plain", "gated_plain")):
        low, high = depth_chart(drawn(*names, quantity=quantity), 0, 0).layout.yaxis.range
        assert np.isfinite([low, high]).all()
        assert low < high < low + 16


# --- The replay -----------------------------------------------------------------------------------


def test_a_replay_has_a_frame_for_every_layer_and_all_arrays_that_it_names():
    view = replay_view(surface("strong"), sheet=True).view
    assert view.frames == QUICK.depth
    for column in view.columns:
        for panel in column:
            assert names_in(panel.traces) <= set(view.arrays)
            assert set(panel.pick.values()) <= set(view.arrays)
    for name in view.framed:
        assert len(view.arrays[name]) == QUICK.depth
    np.testing.assert_array_equal(view.arrays["sheet_gaussian"], surface("strong").known)


def test_the_strip_is_the_map_of_every_layer_and_the_ring_stands_round_the_shown_one():
    view = replay_view(surface("strong"), sheet=True).view
    width = REPLAY_GRID + GAP
    for layer in range(QUICK.depth):
        first = layer * width + GAP // 2
        part = view.arrays["strip"][:, first : first + REPLAY_GRID]
        np.testing.assert_array_equal(part, view.arrays["sheet_shade"][layer])
        across = view.arrays["strip_x"][first : first + REPLAY_GRID]
        ring = view.arrays["now_u"][layer]
        assert ring.min() < across.min() < layer + 1 < across.max() < ring.max()


def test_surfaces_that_collapse_are_drawn_in_one_size_and_coloured_as_drawn():
    found = surface("gated_plain")
    replayed = replay_view(found, sheet=False)
    assert replayed.enlarged
    assert replayed.symbol == "K·d²"
    values = np.stack([replayed.view.arrays[f"sheet_{x}"] for x in "xyz"], -1)
    sizes = np.linalg.norm(np.ptp(values, axis=(1, 2)), axis=-1)
    np.testing.assert_allclose(sizes, 1, rtol=1e-9)
    field = replayed.view.arrays["sheet_field"]
    wanted = found.known * found.diameter[:, None, None] ** 2
    np.testing.assert_array_equal(field, wanted)
    # What is not known stays so, and is read as K itself.
    np.testing.assert_array_equal(replayed.view.arrays["sheet_gaussian"], found.known)


@pytest.mark.parametrize("name", ["aligned", "strong", "gated_plain"])
def test_no_layer_is_cut_off_by_the_scale_of_the_others(name):
    view = replay_view(surface(name), sheet=name != "gated_plain").view
    assert view.beyond <= 0.021
    assert -view.colour_range[0] == pytest.approx(view.colour_range[1])


def test_sheets_of_one_size_are_drawn_to_scale():
    found = surface("aligned")
    replayed = replay_view(found, sheet=True)
    assert not replayed.enlarged
    np.testing.assert_array_equal(replayed.view.arrays["sheet_x"], found.values[..., 0])


# --- Sentences ------------------------------------------------------------------------------------


def test_what_seeds_show_is_said_from_the_word_of_the_core():
    text = words.summary(drawn("aligned", "strong"))
    assert text.startswith("Total absolute curvature **grows like a power of depth** for *weak")
    assert "theory 2" in text
    assert "**saturates** for *strong gates*" in text
    assert abs(drawn("aligned")[0].curve.exponent.over_seeds.value - 2) < 0.02


def trained(quantity="total"):
    return [ChartCurve(name, name, load_shipped().results[name], quantity, "#123456")
            for name in ("ungated", "gated")]  # fmt: skip


def test_what_no_paired_test_tells_apart_is_not_told_apart_in_words():
    """Each alone has another word: "grows" and "saturates"."""
    curves = trained()
    assert len({each.curve.course.word for each in curves}) == 2
    text = words.summary(curves)
    assert not any(verb in text for verb in words.VERBS.values())
    assert "16 seeds cannot show a difference" in text


def test_what_a_paired_test_tells_apart_is_told_in_words():
    ungated, gated = trained()
    factor, known = ungated.curve.depths**-2.0, ungated.curve.known
    values, errors = (x * factor for x in (ungated.curve.values, ungated.curve.errors))
    steeper = replace(gated.curve, values=values, errors=errors, known=known)
    other = replace(gated.result, curves=gated.result.curves | {"total": steeper})
    text = words.summary([ungated, replace(gated, result=other)])
    assert "**grows like a power of depth** for *ungated*" in text
    assert "**shrinks** for *gated*" in text
    assert "the gate changes the exponent by −2.00 [−2.00, −2.00]" in text


def test_slopes_that_rest_on_fewer_seeds_say_so():
    early = load_shipped().results["gated"].curves["total"].course.early
    assert early.over_seeds.count < 16
    assert f"({early.over_seeds.count} of 16 seeds)" in words.exponent_text(early)
    assert "seeds" not in words.exponent_text(trained()[1].curve.course.whole)


# --- Side by side ---------------------------------------------------------------------------------


def test_shipped_gates_are_those_that_are_measured():
    for name, shipped in load_gates().items():
        (now,) = [x for x in measure_regimes(UNTRAINED, (name,)) if isinstance(x, DepthResult)]
        for quantity, curve in now.curves.items():
            np.testing.assert_allclose(shipped.curves[quantity].values, curve.values, rtol=1e-9)
            np.testing.assert_array_equal(shipped.curves[quantity].small, curve.small)


def test_twice_the_layers_is_said_exactly_only_where_it_is_exact():
    aligned, random = (ChartCurve(name, name, load_gates()[name], "centre", "#123456")
                       for name in ("aligned", "random"))  # fmt: skip
    assert "**four times** the curvature at the middle, exactly" in words.doubling(aligned)
    text = words.doubling(random)
    assert "exactly" not in text
    factor = 2**random.curve.exponent.over_seeds.value
    assert f"about **{factor:.1f} times**" in text
    nearly = replace(aligned.curve, values=aligned.curve.values * (1 + 1e-6 * np.eye(16)))
    near = replace(aligned, result=replace(aligned.result, curves={"centre": nearly}))
    assert "exactly" not in words.doubling(near)


def test_a_small_chart_has_no_single_seed():
    curves = drawn("aligned")
    large, small = depth_chart(curves, 0, 0), depth_chart(curves)
    assert len(large.data) == len(small.data) + 1
    assert small.layout.height < large.layout.height


def test_what_is_undecided_has_no_verb():
    each = ChartCurve("ungated", "ungated", load_shipped().results["ungated"], "centre", "#000000")
    assert each.curve.course.word == "undecided"
    text = words.summary([each])
    assert text.startswith("|K| at the centre is undecided by these seeds:")
    assert not any(verb in text for verb in words.VERBS.values())


def test_missing_seeds_are_said_and_whole_curves_say_nothing():
    assert words.missing_seeds(drawn("aligned", "strong")) == ""
    trained = load_shipped().results["gated"]
    assert words.missing_seeds([ChartCurve("gated", "gated", trained, "total", "#000000")]) == ""
    each = drawn("ungated_plain")
    assert (each[0].curve.count < QUICK.seed_count).any()
    missing = words.missing_seeds(each)
    assert missing.startswith("An open ring: not all of 6 seeds are known (ungated")


def test_an_empty_lower_estimate_is_no_number():
    found = replay(UNTRAINED, "gated_plain", 0, GRID)
    lines = words.captions(found, found.diameter)
    assert not [line for line in lines if "at least 0" in line]
    assert "cannot tell" in lines[-1]
    assert len(lines) == len(words.readings(found)) == UNTRAINED.depth


def test_the_explanation_has_the_numbers_that_are_known():
    assert "Measured" not in words.theory_text({})
    text = words.theory_text(results())
    assert "Measured: aligned" in text
    assert "With strong gates, after 8 layers" in text
    assert "gated, nothing else: diameter shrinks" in text
    assert "our reading" in text.lower()


def test_a_row_of_the_table_has_exponent_and_word():
    row = words.row("aligned gates", results()["aligned"].curves["centre"])
    assert row["With depth"] == "grows like a power"
    assert row["Exponent"].startswith("2")
    assert row["Seeds known"] == "6 of 6"

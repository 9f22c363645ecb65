"""Does Depth draw what was measured, claim no more than its intervals allow, obey its link?"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gating_core.experiments.depth import (
    ARRANGEMENTS,
    QUANTITIES,
    DepthRequest,
    load_gates,
    load_shipped,
    measure_regime,
    regime_layers,
    replay,
)
from gating_core.experiments.instance import measure_instance
from tests.ui.opening import (
    component,
    figure,
    header,
    numbers,
    offered,
    open_page,
    open_settled,
    report,
    said,
    sent,
    settled,
)
from tests.ui.test_states import STABLE
from ui.depth import comparison, layers, shared
from ui.depth.layers import VIEW, Stack
from ui.depth.shared import ALIGNED, REPLAY_GRID, STACKS, UNTRAINED, Growth, replay_of
from ui.drawing.first_view import scale_share
from ui.manifold.shared import ManifoldRequest, resolve
from ui.work.cache import CACHE, NUMBERS_CACHE

PAGE = "pages/4_Depth.py"
GRID = 7
QUICK = DepthRequest(depth=8, seed_count=6, grid=GRID)


@pytest.fixture(scope="module", autouse=True)
def few_points():
    """Untrained stacks are measured on few points: seconds less for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "UNTRAINED", replace(UNTRAINED, grid=GRID))
        for cached in (CACHE, NUMBERS_CACHE):
            cached.clear()
        yield
        for cached in (CACHE, NUMBERS_CACHE):
            cached.clear()


@cache
def results():
    names = ("aligned", "strong", "random", "ungated_plain", "gated_plain")
    return {name: measure_regime(QUICK, name) for name in names}


def bundled(quantity="total"):
    return [Growth(name, load_shipped().results[name], quantity) for name in ("ungated", "gated")]


def changed(growth, **parts):
    """The same with other parts of its curve."""
    old = growth.result.quantities
    new = {name: getattr(old, name) | {growth.quantity: part} for name, part in parts.items()}
    return replace(growth, result=replace(growth.result, quantities=replace(old, **new)))


# --- The page -------------------------------------------------------------------------------------


def test_it_opens_on_a_replay_without_a_job():
    app = open_page(PAGE)
    assert "_jobs" not in app.session_state or not app.session_state["_jobs"]
    found, arrays = sent(app, VIEW)
    assert (found["places"], found["frame"]) == ([*range(1, 9)], 7)
    assert arrays["leftK"].shape == (8, REPLAY_GRID, REPLAY_GRID)
    assert len(found["sides"][0]["verdict"]) == len(found["findings"]) == 8
    assert "made by `python -m gating_core.experiments.depth`" in said(app)
    (offer,) = offered(app).surfaces.values()
    fields = offer.make("a line").fields
    assert {"K", "error of K", "|H|", "gate 1", "weight 1 of head 1"} < {*fields}


@pytest.mark.soak
def test_a_chart_of_the_comparison_opens_its_stack():
    app = open_settled(PAGE, tab_depth="Comparison")
    app.button("open_aligned").click().run()
    assert header(app, VIEW)["scene"] == str(Stack(ALIGNED, second=True))


def test_the_numbers_are_those_of_the_core():
    app = open_page(PAGE, stacked_seed="3", depth_seeds="true")
    without, gated = (growth.curve for growth in bundled())
    for curve in (without, gated):
        assert f"{curve.course.whole.over_seeds.value:.2f} [" in said(app)
    drawn = {trace["name"]: trace for trace in figure(app, "depth_growth")["data"]}
    np.testing.assert_array_equal(numbers(drawn["gated"]["y"]), gated.median)
    np.testing.assert_array_equal(numbers(drawn["gated, seed 3"]["y"]), gated.values[3])
    curve = header(app, VIEW)["curve"]
    np.testing.assert_array_equal(curve["ranges"], [x.band[:, -1] for x in (gated, without)])
    for name, _, totals, complete in curve["bars"]:
        surface = replay(load_shipped().layers(name, 8, 3), REPLAY_GRID)
        np.testing.assert_allclose(totals, surface.total)
        assert complete == surface.complete.tolist()
        ends = [layers.known_total_text(surface, layer) for layer in (0, -1)]
        assert f"from {ends[0]} to {ends[1]} {name}" in said(app)
    assert "gated and ungated show no significant difference" in app.text[0].value
    accuracy = load_shipped().accuracy("gated")[:, -1].mean()
    assert f"{100 * accuracy:.0f} % gated" in said(app)


def test_layer_and_point_of_the_link_are_shown_and_those_of_the_view_are_linked():
    app = open_page(PAGE, after="3", stacked_point="4.5")
    assert (header(app, VIEW)["frame"], header(app, VIEW)["point"]) == (2, [4, 5])
    report(app, VIEW, "left", {"frame": 4, "point": [6, 7], "corners": None, "serial": 1})
    assert app.query_params["after"] in ("5", ["5"])
    assert (header(app, VIEW)["frame"], header(app, VIEW)["point"]) == (4, [6, 7])
    assert (
        header(open_page(PAGE, stacked_layers="3", after="8", gated="ungated"), VIEW)["frame"] == 2
    )


def test_stacks_are_trained_on_request_and_not_made_up(monkeypatch):
    """What a job does is the core's: here it gives back the bundled ones."""
    requests = []

    def train_depths(request):
        requests.append(request)
        return load_shipped()

    monkeypatch.setattr(layers.core, "train_depths", train_depths)
    app = open_page(PAGE, stacked_first="40")
    assert [box.value for box in app.info] == [
        "Stacks from seed 40 are not trained yet: press *Train*."
    ]
    assert component(app, VIEW) is None
    for seed, text in ((40, "Trained on this server."), (0, "differ from the bundled ones by at")):
        app.number_input("stacked_first").set_value(seed).run()
        app.button("train_depths").click().run()
        settled(app)
        assert not app.exception
        assert text in said(app)
        assert len(header(app, VIEW)["places"]) == 8
    assert [request.seed for request in requests] == [40, 0]
    NUMBERS_CACHE.clear()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("around", ARRANGEMENTS)
def test_manifold_is_sent_the_same_stack(around):
    """Its surface there is that of the replay, after the same layer."""
    assert {*layers.manifold_link(Stack(STACKS), 1)} <= STABLE["Manifold"]
    for gated in (False, True):
        stack = Stack(STACKS, around=around, second=gated, member=5)
        link = layers.manifold_link(stack, 3)
        depth, dim, count, seed = (int(link[name]) for name in ("layers", "dim", "n", "model"))
        side = resolve(
            ManifoldRequest(
                depth=depth,
                model_dim=dim,
                value_count=count,
                seed=seed,
                norm=link["norm"],
                residual=link["residual"] == "true",
            )
        ).variants[gated]
        found = measure_instance(side, GRID).surface.values[0]
        wanted = replay(regime_layers(UNTRAINED, stack.regime, stack.member), GRID).values[2]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
        assert layers.manifold_link(stack, 16)["layers"] == "8"


# --- Charts and pictures --------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("names", [("aligned", "strong"), ("random",), ("gated_plain",)])
def test_curves_end_where_most_seeds_are_unresolved_and_open_circles_say_where_some_are(
    names, quantity
):
    titles = dict(zip(names, names, strict=True))
    drawn = shared.growth_chart(shared.pair(results(), titles, quantity), 3)
    for name in names:
        (trace,) = [trace for trace in drawn.data if trace.name == name]
        median = results()[name].curves[quantity].median
        seen = np.isfinite(trace.y)
        np.testing.assert_array_equal(np.asarray(trace.y)[seen], median[seen])
        assert not (median[~seen] > 1e-10).any()
        rings = np.array(trace.marker.symbol) == "circle-open"
        np.testing.assert_array_equal(rings, results()[name].curves[quantity].count < 6)
    limits = "2π, half a sphere" in [trace.name for trace in drawn.data]
    assert limits == ("strong" in names and quantity == "total")


@cache
def surface(name, grid=REPLAY_GRID):
    return replay(regime_layers(QUICK, name, 1), grid)


def test_a_replay_draws_each_layer_as_it_was_measured():
    found = surface("strong")
    (side,) = replay_of(found, QUICK.depth).pair.sides
    np.testing.assert_array_equal(side.gaussian, found.known)
    np.testing.assert_array_equal(side.error, found.known_error)
    for drawn, values in zip(side.values, found.values, strict=True):  # one scale, no distortion
        a, b = drawn.reshape(-1, 3), values.reshape(-1, 3)
        ratio = np.linalg.norm(a[1:] - a[0], axis=1) / np.linalg.norm(b[1:] - b[0], axis=1)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    middle = len(found.axis) // 2
    assert side.values[-1, middle, middle, 2] > side.values[-1, 0, :, 2].mean()  # a dome is upright


def test_surfaces_that_collapse_are_drawn_in_one_size_and_coloured_as_drawn():
    found = surface("gated_plain")
    replayed = replay_of(found, QUICK.depth)
    (side,) = replayed.pair.sides
    assert (replayed.enlarged, replayed.symbol) == (True, "K·d²")
    values, sizes = side.values.reshape(len(found.values), -1, 3), found.diagonal[:, None]
    for layer in (0, -1):
        true = found.values[layer].reshape(-1, 3) / sizes[layer]
        ratio = np.linalg.norm(values[layer, 1:] - values[layer, 0], axis=1)
        ratio /= np.linalg.norm(true[1:] - true[0], axis=1)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    wanted = scale_share(found.known * found.diameter[:, None, None] ** 2, replayed.scale)
    np.testing.assert_array_equal(side.shares, wanted)
    np.testing.assert_array_equal(side.gaussian, found.known)
    assert not replay_of(surface("aligned"), QUICK.depth).enlarged


def test_what_is_proved_flat_has_straight_lines_in_every_frame():
    found = surface("ungated_plain")
    (side,) = replay_of(found, QUICK.depth).pair.sides
    assert side.flat == [verdict.proof is not None for verdict in found.verdicts]
    assert len(side.lines) == QUICK.depth


@pytest.mark.parametrize("name", ["aligned", "strong", "gated_plain"])
def test_no_layer_is_cut_off_by_the_scale_of_the_others(name):
    scale = replay_of(surface(name), QUICK.depth).scale
    assert scale.beyond <= 0.021
    assert -scale.low == pytest.approx(scale.high)


# --- Sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("power", "verdict"),
    [(-2.0, "**The gate reduces the growth exponent of total absolute curvature**"),
     (2.0, "**The gate increases the growth exponent"),
     (0.0, "**It is inconclusive whether the gate changes the growth exponent")],
)  # fmt: skip
def test_a_gate_is_said_to_change_growth_only_beyond_the_interval(power, verdict):
    ungated, gated = bundled()
    if power:
        curve, factor = ungated.curve, gated.curve.depths**power
        gated = changed(
            gated, values=curve.values * factor, errors=curve.errors * factor, known=curve.known
        )
    assert shared.gate_text(ungated, gated).startswith(verdict)
    # Alone one grows and the other saturates; what no paired test tells apart is not told apart.
    assert bool(shared.courses_text(ungated, gated)) == bool(power)
    none = changed(gated, known=np.zeros_like(gated.curve.known))
    assert shared.gate_text(ungated, none).startswith("**Too few of 16 seeds")


def test_courses_are_said_with_the_exponents_of_the_core():
    weak, strong = (Growth(name, results()[name], "total") for name in ("aligned", "strong"))
    text = shared.course_text(weak)
    assert text.startswith("**Total absolute curvature grows like a power of depth** (*aligned*)")
    assert f"{weak.curve.exponent.over_seeds.value:.2f} [" in text
    assert text.endswith("(layers 1 to 8, theory 2).")
    assert "**Total absolute curvature saturates**" in shared.course_text(strong)
    ungated = bundled("centre")[0]
    assert shared.course_text(ungated).startswith("**Inconclusive: no course of |K| at the origin")


def test_twice_the_layers_is_said_exactly_only_where_it_is_exact():
    aligned, random = (Growth(name, load_gates()[name], "centre") for name in ("aligned", "random"))
    assert "**4 times** $|K|$ at the origin, exactly" in comparison.doubling_text(aligned)
    factor = 2**random.curve.exponent.over_seeds.value
    assert f"about **{factor:.1f} times**" in comparison.doubling_text(random)
    nearly = aligned.curve.values * (1 + 1e-6 * np.eye(16))
    assert "exactly" not in comparison.doubling_text(changed(aligned, values=nearly))


GROWS, FALLS = "Depth adds curvature to this stack", "Depth removes curvature from this stack"
OPEN = "It is inconclusive whether depth adds curvature to this stack"


@pytest.mark.parametrize(
    ("ends", "complete", "verdict"),
    [((1.0, 3.0), (True, True), f"{GROWS}: over 2 layers from 1.0 to 3.0 gated."),
     ((3.0, 1.0), (True, True), FALLS),
     ((1.0, 1.08), (True, True), OPEN),
     ((1.0, 3.0), (True, False), f"{GROWS}: over 2 layers from 1.0 to at least 3.00 ± 0.05 gated."),
     ((1.0, 3.0), (False, True), OPEN),
     ((3.0, 1.0), (True, False), OPEN)],
)  # fmt: skip
def test_a_stack_is_said_to_grow_only_beyond_the_errors(ends, complete, verdict):
    found = surface("strong", GRID).first(2)
    found = replace(
        found, total=np.array(ends), total_error=np.full(2, 0.05), complete=np.array(complete)
    )
    text = layers.stack_text({"gated": found})
    assert text.startswith(verdict)
    both = layers.stack_text({"gated": found, "ungated": found})
    assert both.startswith(f"{text.split(':')[0]}, with or without a gate: over 2 layers from")
    back = {
        name: getattr(found, name)[::-1].copy() for name in ("total", "total_error", "complete")
    }
    other = layers.stack_text({"ungated": replace(found, **back)})
    apart = layers.stack_text({"gated": found, "ungated": replace(found, **back)})
    assert apart == f"{text} {other}" or text.split(":")[0] == other.split(":")[0]
    assert layers.stack_text({"gated": found.first(1)}).startswith("The total curvature of this")


def test_an_empty_lower_estimate_is_no_number():
    found = replay(regime_layers(UNTRAINED, "gated_plain", 0), GRID)
    lines = [layers.known_total_text(found, layer) for layer in range(UNTRAINED.depth)]
    assert not [line for line in lines if "at least 0" in line]
    assert "undetermined" in lines[-1]
    assert layers.stack_text({"gated": found}).endswith("to undetermined gated.")


def test_the_theory_has_the_numbers_that_are_measured():
    assert "Measured" not in comparison.theory_text({})
    text = comparison.theory_text(results())
    cap = results()["strong"].curves["total"].median[-1]
    assert f"the measured median is {cap:.3g}" in text
    assert "gated, nothing else: diameter shrinks" in text

"""Manifold: what is drawn and said is what the core measured; whatever cannot be is said."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gating_core.experiments.instance import chart_of, integrate_instance, measure_instance
from gating_core.geometry import difference_errors
from gating_core.geometry.discrete import error_curve
from gating_core.geometry.keys import OneSign
from tests.ui.held import held_in
from tests.ui.opening import header, mistakes, notes, open_page, open_settled
from ui.common.formatting import headline_text, percent, plus_minus
from ui.drawing.first_view import view_axes
from ui.manifold import errors, shared
from ui.manifold.shared import ManifoldRequest, resolve
from ui.manifold.surface import KEY, SHAPE, dragged, finding, pair_of, point_column, verdict_of
from ui.work.pool import Rank

PAGE = "pages/1_Manifold.py"
REQUESTS = {
    "flat and curved": ManifoldRequest(),
    "both curved": ManifoldRequest(value_count=6, seed=17),
    "deep": ManifoldRequest(depth=4, strength=0.5),
    "tokens": ManifoldRequest(source="tokens", model_dim=8, heads=2, kind="silu"),
    "a plane": ManifoldRequest(model_dim=2),
}
LINKS = {
    "weights": dict(chart="weights", tab="Surface"),
    "four values": dict(chart="weights", n="4", dim="6", by="mean", point="3.4"),
    "gated keys of tokens": dict(source="tokens", position="G3", per="head", by="error"),
    "plane": dict(dim="2", by="area"),
    "many layers": dict(dim="8", layers="3", heads="2", tab="Error analysis"),
    "two values": dict(n="2", point="30.30"),
    "normalised": dict(norm="post", residual="true", projection="true"),
    "no gate left": {"lambda": "0", "chart": "weights", "layers": "2", "by": "gate"},
    "a sink": dict(sink="learned", by="entropy", kind="tanh"),
    "misleading": dict(tab="Misleading pictures", fooled="step too small"),
}


@pytest.fixture(scope="module", params=REQUESTS, ids=str)
def measured(request):
    """A request resolved, and its variants as the core measures them."""
    found = resolve(REQUESTS[request.param])
    return found, [measure_instance(x, found.grid) for x in found.variants]


def drawn(found, variants):
    return pair_of(tuple(found.variants), "curvature", variants[0], variants[1:], found.axes)


# --- Pictures and numbers -------------------------------------------------------------------------


def test_drawn_is_k_as_measured_on_surfaces_in_their_true_proportions(measured):
    found, variants = measured
    pair, times, _ = drawn(found, variants)
    rng = np.random.default_rng(0)
    scales = []
    for side, variant, larger in zip(pair.sides, variants, (1.0, times[-1]), strict=True):
        np.testing.assert_array_equal(side.gaussian[0], variant.surface.known[0])
        np.testing.assert_array_equal(side.error[0], variant.surface.known_error[0])
        shown = side.values[0].reshape(-1, 3)
        true = found.axes.project(variant.surface.values[0])
        true = true.reshape(len(shown), -1)
        a, b = rng.integers(0, len(shown), (2, 500))
        apart = np.linalg.norm(true[a] - true[b], axis=1)
        kept = apart > 1e-3 * apart.max()
        scales.append((np.linalg.norm(shown[a] - shown[b], axis=1) / apart)[kept] / larger)
    np.testing.assert_allclose(np.concatenate(scales), scales[0][0], rtol=1e-6)


def test_what_is_flat_lies_level_and_both_stand_in_the_middle_and_are_seen_as_large():
    found = resolve(ManifoldRequest())
    variants = [measure_instance(x, 31) for x in found.variants]
    pair, _, _ = drawn(found, variants)
    left, right = pair.sides
    assert np.abs(left.values[..., 2]).max() < 1e-12
    assert np.abs(left.corners[:, 2]).max() < 1e-12
    middles = [(x.values[-1].min((0, 1)) + x.values[-1].max((0, 1))) / 2 for x in (left, right)]
    np.testing.assert_allclose(*middles, atol=1e-12)
    seen = [x.values[-1].reshape(-1, 3) @ view_axes(*pair.eye)[1:].T / SHAPE for x in (left, right)]
    np.testing.assert_allclose(*(np.ptp(x, axis=0).max() for x in seen), rtol=0.05)


def test_over_a_surface_stands_the_total_that_the_core_integrates(measured):
    for variant in measured[1]:
        refined = integrate_instance(variant.instance)
        total = shared.best_total(variant, refined)
        large, _ = verdict_of(variant, refined)
        if variant.verdict.word == "flat":
            assert large == "Flat · total curvature 0"
        elif total.converged():
            assert large == f"Curved · total curvature {headline_text(total, flat=False)}"
            assert abs(float(total.value - refined.absolute.value)) <= float(
                total.error + refined.absolute.error
            )


@pytest.mark.parametrize(("seed", "says"), [
    (None, "The gate curves this surface: a saddle on {} of it."),
    (215, "The gate curves this surface: a dome on {} of it."),
])  # fmt: skip
def test_a_saddle_says_why_it_is_none_of_the_landing_pages_domes(seed, says):
    ungated, gated = (measure_instance(x, 31) for x in resolve(ManifoldRequest(seed=seed)).variants)
    share = max(gated.verdict.negative, gated.verdict.positive)
    bold, why = finding(ungated, gated)
    assert bold == says.format(percent(share))
    assert ("weights are random" in why) == ("saddle" in bold)
    assert finding(ungated, ungated) == ("Flat without a gate.", "")


def test_the_finding_follows_from_both_verdicts(measured):
    bold = finding(*measured[1])[0]
    words = tuple(x.verdict.word for x in measured[1])
    told = {
        ("flat", "curved"): "The gate curves this surface",
        ("flat", "flat"): "Flat with and without this gate",
        ("curved", "curved"): "Curved with and without this gate",
    }
    assert re.split("[.:]", bold)[0] == told[words]


def test_a_surface_that_bends_and_does_not_curve_is_not_called_flat():
    """No seed has one: K = 0 by the theorem, with the bending of the gated surface."""
    flat, curved = (measure_instance(x, 31) for x in resolve(ManifoldRequest()).variants)
    zero = {"signs": (OneSign(0, "three of the four keys are collinear"),), "proof": (None,)}
    bent = replace(curved, surface=replace(curved.surface, **zero))
    known = "bent, not curved (proved: three of the four keys are collinear)"
    assert finding(flat, bent)[0] == "The gate bends this surface and does not curve it."
    assert verdict_of(bent, None)[1].startswith(known)
    assert finding(bent, bent)[0] == "Bent, not curved, with and without this gate."
    assert finding(bent, curved)[0].startswith("The gate curves this surface: a saddle on ")
    assert verdict_of(bent, None)[0] == "Bent, not curved · total curvature 0"
    table = errors.known_of(bent, integrate_instance(curved.instance))
    assert (table["Area with K = 0"], table["Proved on the whole chart"]) == (percent(1.0), "K = 0")
    assert "±" in table["Total bending ∫|II|² dA"]


def test_error_analysis_has_the_bounds_and_the_shares_of_the_core():
    found = resolve(ManifoldRequest())
    ungated, gated = (measure_instance(x, 31) for x in found.variants)
    totals = integrate_instance(gated.instance)
    table = errors.known_of(gated, totals)
    assert table["Area with K < 0"] == percent(gated.verdict.negative)
    assert table["∫K dA"] == plus_minus(float(totals.gaussian.value), float(totals.gaussian.error))
    assert errors.known_of(ungated, None)["Least K known"] == "0 (proved)"
    bars = errors.histogram([ungated, gated]).data
    assert [bar.name for bar in bars] == ["With gate"]
    assert sum(bars[0].y) == pytest.approx(gated.verdict.curved)
    found = difference_errors(chart_of(gated.instance))
    figure = errors.error_chart(found, gated)
    np.testing.assert_array_equal(figure.data[0].y, found.median)
    bound = float(np.median(gated.surface.gaussian_error[gated.surface.resolved]))
    assert figure.layout.shapes[0].y0 == bound < found.median.min()
    best = found.x[found.median.argmin()]
    assert f"a step of {best:.2g}:" in errors.differences_text(found)
    nothing = error_curve([0.1, 0.2], [np.array([np.nan])] * 2)
    assert "no K" in errors.differences_text(nothing)
    assert not np.isfinite(errors.error_chart(nothing, ungated).data[0].y).any()


# --- The page -------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LINKS)
def test_every_link_opens(name):
    app = open_page(PAGE, **LINKS[name])
    assert not app.exception
    assert not app.error
    assert not mistakes(app)
    if LINKS[name].get("tab", "Surface") == "Surface":
        assert header(app, KEY)["sides"][0]["verdict"]
    if "point" in LINKS[name]:
        assert len(app.table) == 1


def test_no_gate_and_the_full_one_play_before_the_strengths_between_are_measured(monkeypatch):
    with held_in(shared.DIALS, Rank.FIRST, monkeypatch):
        told = header(open_page(PAGE), KEY)
    assert told["places"] == [0, 1]
    left, right = (side["verdict"] for side in told["sides"])
    assert left[0] == right[0] != right[1]


def test_frames_come_when_all_strengths_are_measured_and_a_drag_is_kept():
    app = open_settled(PAGE)
    told = header(app, KEY)
    assert len(told["places"]) == 21
    assert told["places"][told["frame"]] == 1
    app.query_params["lambda"], app.query_params["point"] = "0.25", "3.4"
    app.run()
    told = header(app, KEY)
    assert told["places"][told["frame"]] == 0.25
    assert told["point"] == [3, 4]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("query", "said"),
    [
        (dict(heads="2", dim="3"), "do not divide"),
        (dict(source="linear", sink="zero"), "softmax"),
        (dict(position="G2"), "only moves the fixed"),
        (dict(chart="weights", n="2"), "no attention-weight chart"),
        (dict(position="G5"), "They are the same"),
    ],
)
def test_what_of_a_request_is_not_shown_is_said(query, said):
    assert any(said in note for note in notes(open_page(PAGE, **query)))


# --- Dragged values and the metric ----------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_a_dragged_value_comes_to_lie_where_its_knob_was_left(dim):
    found = resolve(ManifoldRequest(model_dim=dim, seed=5))
    variants = [measure_instance(x, 31) for x in found.variants]
    before = drawn(found, variants)[0]
    left_at = before.sides[0].corners + np.array([[0.3, -0.2, 0], [0, 0, 0], [-0.1, 0.4, 0]])
    moved = dragged(variants[0].instance, before, found.axes, left_at)
    again = resolve(ManifoldRequest(model_dim=dim, seed=5, values=(*moved.ravel(),)))
    assert not again.notes
    variants = [measure_instance(x, 31) for x in again.variants]
    after = drawn(again, variants)[0].sides[0]
    np.testing.assert_allclose(after.corners, left_at, atol=2e-3)  # the link has four digits
    assert variants[0].verdict.word == "flat"
    assert np.abs(after.values[..., 2]).max() < 2e-3


@pytest.mark.sampled(1)
@pytest.mark.parametrize("values", ["1,2", "a", "1,2,3,4,5,6,7,8,1e9", "1,2,3,4,5,6,7,8"])
def test_dragged_values_that_cannot_be_are_said(values):
    app = open_page(PAGE, values=values)
    assert not app.exception
    assert "seed's own" in " ".join([*mistakes(app), *notes(app)])


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        ("1", np.eye(3)),
        ("4", 4 * np.eye(3)),
        ("1, 4, 2", np.diag([1, 4, 2])),
        ("2,1,0; 1,2,0; 0,0,1", [[2, 1, 0], [1, 2, 0], [0, 0, 1]]),
    ],
)
def test_a_covariance_is_a_number_a_diagonal_or_a_matrix(text, matrix):
    parsed = shared.parse_covariance(text, 3)
    np.testing.assert_array_equal(np.eye(3) if parsed is None else parsed, matrix)
    assert (parsed is None) == (text == "1")


@pytest.mark.parametrize(
    "text",
    ["", "x", "0", "-1", "1,2", "nan", "1,2,3;4,5,6", "1,2,0;1,1,0;0,0,1", "1,2,0;2,1,0;0,0,1"],
)
def test_what_is_no_covariance_is_said_and_not_used(text):
    found = resolve(ManifoldRequest(covariance=text))
    assert found.variants[1].covariance is None
    assert [note for note in found.notes if note.startswith("Σ cannot be used: ")]


def test_k_is_measured_in_the_metric():
    """A variance s² of all channels multiplies K by s²; the picture stays."""
    plain, scaled = (
        measure_instance(resolve(ManifoldRequest(covariance=x)).variants[1], 31) for x in ("1", "4")
    )
    np.testing.assert_allclose(scaled.surface.gaussian, 4 * plain.surface.gaussian, rtol=1e-9)
    np.testing.assert_array_equal(scaled.surface.values, plain.surface.values)


def test_a_point_is_described_by_what_the_core_measured():
    gated = measure_instance(resolve(replace(ManifoldRequest(), kind="silu")).variants[1], 31)
    column = point_column(gated, (3, 4))
    assert column["Gate"].count(",") == 2
    assert column["Point type"] in ("elliptic", "hyperbolic")


def test_all_digits_of_a_total_are_told_on_hover():
    told = header(open_settled(PAGE), KEY)["sides"]
    gated = resolve(ManifoldRequest()).variants[1]
    total = shared.best_total(measure_instance(gated), integrate_instance(gated))
    assert repr(float(total.value)) in told[1]["exact"][-1]
    assert told[0]["exact"] == ["∫|K| dA = 0.0, estimated error 0.0"]

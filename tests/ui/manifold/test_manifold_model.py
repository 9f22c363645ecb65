"""The nearest thing is shown whatever is asked for, with a sentence, on axes that stay put."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gating_core.attention.config import MECHANISMS, NORMS
from gating_core.attention.gates import GATE_GRANULARITIES, GATE_NAMES, GATE_POSITIONS
from gating_core.attention.layer import SINKS
from gating_core.experiments.budget import AFFORDABLE_COST, cost
from gating_core.experiments.instance.measured import measure_instance
from gating_core.experiments.instance.model import (
    CHARTS,
    build_instance,
    draggable_gates,
    draggable_values,
    gate_arrows,
    moved_gate,
    own_values,
)
from tests.profiles import fuzz
from ui.drawing.axes import principal_axes
from ui.limits import GRID_POINTS, LARGEST_DRAGGED
from ui.manifold.handles import moved_value, value_positions
from ui.manifold.model import ManifoldRequest, Metric, resolve, turned_covariance

SMALL = 5  # points along each side of the grids measured here
ROUNDED = 5e-5  # what four digits after the point leave of a dragged number
CONTROLS = {
    "position",
    "chart",
    "value_count",
    "heads",
    "sink",
    "grid",
}  # where a sentence can stand

POSSIBLE = st.builds(
    ManifoldRequest,
    kind=st.sampled_from(GATE_NAMES),
    strength=st.sampled_from([0.0, 0.35, 1.0]),
    depth=st.integers(1, 3),
    chart=st.sampled_from(CHARTS),
    source=st.sampled_from(tuple(MECHANISMS)),
    position=st.sampled_from(GATE_POSITIONS),
    granularity=st.sampled_from(GATE_GRANULARITIES),
    model_dim=st.integers(2, 8),
    value_count=st.integers(2, 5),
    heads=st.integers(1, 4),
    residual=st.booleans(),
    norm=st.sampled_from(NORMS),
    output_projection=st.booleans(),
    sink=st.sampled_from(SINKS),
    seed=st.integers(0, 9999),
    sharpness=st.sampled_from([1.0, 5.0, 60.0]),
    grid=st.sampled_from(GRID_POINTS),
    axes_depth=st.sampled_from([None, 1, 4]),
    metric=st.sampled_from([Metric(), Metric(variance=0.3), Metric("turned", angle=70.0)]),
)
DRAGGED = st.lists(
    st.lists(st.one_of(st.floats(), st.floats(-4, 4)), min_size=0, max_size=4).map(tuple),
    min_size=0,
    max_size=4,
).map(tuple)
ANYTHING = st.builds(
    lambda request, **more: replace(request, **more),
    POSSIBLE,
    grid=st.one_of(st.sampled_from(GRID_POINTS), st.integers(-5, 10_000)),
    metric=st.builds(
        Metric,
        kind=st.sampled_from(("isotropic", "diagonal", "turned")),
        variance=st.floats(),
        variances=st.lists(st.floats(), max_size=5).map(tuple),
        angle=st.floats(),
        ratio=st.floats(),
    ),
    values=st.one_of(st.none(), DRAGGED),
    gate_weight=st.one_of(st.none(), DRAGGED),
)


def is_sentence(note: str) -> bool:
    return not note[0].islower() and note.endswith(".") and len(note) < 260


@fuzz(soak=2_500)  # each measures two or three models
@given(POSSIBLE)
def test_something_is_shown_for_every_combination_and_differences_are_said(request):
    resolved = resolve(request)
    assert set(resolved.notes) <= CONTROLS
    assert all(map(is_sentence, resolved.notes.values()))
    ungated, *gated = resolved.variants
    assert ungated.config.gate is None
    assert [variant.ungated for variant in gated] == [ungated] * len(gated)
    for variant in resolved.variants:  # whatever is shown can be measured
        measured = measure_instance(variant, SMALL)
        assert np.isfinite(measured.surface.values).all()
        verdict = measured.verdict
        assert verdict.curved + verdict.flat + verdict.undetermined == pytest.approx(1, abs=1e-12)
    config = resolved.variants[-1].config
    assert config.heads == request.heads or "Shown" in resolved.notes["heads"]
    assert config.sink == request.sink or resolved.notes["sink"].endswith("Shown: none.")
    assert ungated.chart == request.chart or "Shown: inputs." in resolved.notes["chart"]
    assert gated or "Shown: the ungated surface only." in resolved.notes["chart"]
    assert resolved.grid == request.grid or "grid" in resolved.notes
    assert resolved.grid in (*GRID_POINTS, 21)
    for name in ("source", "model_dim", "value_count", "depth", "residual", "norm"):
        assert getattr(config, name) == getattr(request, name)
    assert ungated.seed == request.seed
    if gated:
        wanted = (request.kind, request.granularity, request.position, request.strength)
        gate = config.gate
        assert (gate.kind, gate.granularity, gate.position, gate.strength) == wanted


@fuzz()
@given(ANYTHING)
@example(replace(ManifoldRequest(), metric=Metric(kind="turned", ratio=math.inf), model_dim=2))
def test_nothing_but_a_value_error_with_a_sentence_ever_comes_back(request):
    resolved = None
    try:
        resolved = resolve(request)
    except ValueError as error:
        said = str(error)
    if resolved is None:
        assert re.match(r"The (grid|covariance|dragged (values|gate weights)) .*\.$", said)
        return
    for variant in resolved.variants:
        measured = measure_instance(variant, 3)
        assert np.isfinite(measured.surface.values).all()


@pytest.mark.parametrize(
    ("change", "control", "words"),
    [
        (dict(position="G2"), "position", "slot's own vector here, so the gate is constant"),
        (dict(position="G3"), "position", "only moves the fixed keys, and averages of fixed"),
        (dict(position="G4"), "position", "only moves the attention weights"),
        (dict(position="G5"), "position", "nothing between G1 and G5. They are the same."),
        (
            dict(position="G5", granularity="headwise", heads=2, model_dim=4),
            "position",
            "They are the same, but for the heads.",
        ),
        (dict(heads=4), "heads", "4 heads do not divide D = 3. Shown: 1."),
        (dict(chart="weights", source="tokens"), "chart", "tokens' values move with their weights"),
        (dict(chart="weights", norm="pre"), "chart", "a normalised query comes from no known"),
        (dict(chart="weights", value_count=2), "chart", "two values span a line"),
        (
            dict(chart="weights", residual=True, heads=2, model_dim=4),
            "chart",
            "There is no attention-weight chart here: a gated or residual model needs heads = 1",
        ),
        (
            dict(chart="weights", heads=2, model_dim=4),
            "chart",
            "No query of the gated model reaches this slice: a gated or residual model needs",
        ),
        (
            dict(chart="weights", value_count=6),
            "chart",
            "reaches this slice of the simplex, because the logits span fewer than 5 dimensions",
        ),
        (
            dict(chart="weights", position="G4", residual=True),
            "chart",
            "needs logits that are linear in the hidden state",
        ),
        (
            dict(values=((1.0,) * 3,) * 3, value_count=4),
            "value_count",
            "Dragged values and gates need learned slots and n = 3. Shown: none.",
        ),
        (dict(gate_weight=((1.0,) * 3,) * 3, source="tokens"), "value_count", "Shown: none."),
        (dict(sink="learned", source="linear"), "sink", "denominator of a softmax. Shown: none."),
        (dict(sink="zero", chart="weights"), "chart", "beside a sink the weights do not add up"),
    ],
    ids=str,
)
def test_each_combination_that_cannot_be_gets_its_sentence(change, control, words):
    resolved = resolve(ManifoldRequest(**change))
    assert words in resolved.notes[control]
    assert is_sentence(resolved.notes[control])
    for variant in resolved.variants:
        measure_instance(variant, 3)


@pytest.mark.parametrize("position", ["G2", "G3", "G4"])
def test_where_the_note_says_flat_it_is_flat(position):
    for depth in (1, 2):
        resolved = resolve(ManifoldRequest(position=position, depth=depth))
        assert all(measure_instance(variant, 11).surface.flat[0] for variant in resolved.variants)


def test_the_default_has_nothing_to_excuse_and_two_sides():
    resolved = resolve(ManifoldRequest())
    assert resolved.notes == {}
    assert len(resolved.variants) == 2
    assert resolved.grid == 61
    assert not resolved.axes.principal


THREE_ROWS = ((1.0, 2.0, 3.0),) * 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(grid=60), "The grid is 60; it must be one of 31, 61, 91, 121, 151."),
        (dict(metric=Metric(variance=-1.0)), "The covariance cannot be used"),
        (dict(metric=Metric("diagonal", variances=(1.0, 2.0))), "has 2 variances"),
        (dict(metric=Metric("diagonal", variances=(1.0, math.inf, 2.0))), "not positive"),
        (dict(metric=Metric("turned", ratio=-3.0)), "not symmetric positive definite"),
        (dict(metric=Metric("turned", angle=math.inf)), "not symmetric positive definite"),
        (dict(values=THREE_ROWS[:2]), "values must be 3 by 3 numbers"),
        (dict(values=(*THREE_ROWS[:2], (1.0, 1e308, 0.0))), "not finite or beyond ±1,000,000"),
        (dict(gate_weight=((math.inf,) * 3,) * 3), "gate weights contain a number"),
        (dict(gate_weight=((1.0,),) * 3), "gate weights must be 3 by 3 numbers"),
        (dict(gate_weight=THREE_ROWS, granularity="headwise"), "must be 3 by 1 numbers"),
        (dict(kind="relu"), "gate.kind is 'relu'"),
        (dict(seed=-1), "seed is -1"),
    ],
    ids=str,
)
def test_what_cannot_be_shown_at_all_is_refused_in_one_sentence(change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        resolve(ManifoldRequest(**change))


def test_the_largest_dragged_numbers_can_still_be_measured():
    edge = ((LARGEST_DRAGGED, 0.0, -LARGEST_DRAGGED), (0.0, LARGEST_DRAGGED, 1.0), (1.0, 2.0, 3.0))
    for change in (dict(values=edge), dict(gate_weight=edge)):
        for variant in resolve(ManifoldRequest(**change)).variants:
            assert np.isfinite(measure_instance(variant, SMALL).surface.values).all()


def test_a_heavy_model_is_measured_on_fewer_points_and_says_so():
    heavy = ManifoldRequest(
        source="tokens", depth=8, model_dim=16, value_count=12, heads=4, grid=151
    )
    resolved = resolve(heavy)
    assert resolved.grid < 61
    assert f"on a grid of {resolved.grid}" in resolved.notes["grid"]
    light = resolve(ManifoldRequest(grid=151))
    assert light.grid == 151
    assert cost(light.variants[-1].config) * 151**2 <= AFFORDABLE_COST
    assert cost(resolved.variants[-1].config) > cost(
        resolve(replace(heavy, depth=1)).variants[-1].config
    )


# --- Axes ---


def test_up_to_three_dimensions_the_axes_are_the_coordinates():
    for dim in (2, 3):
        axes = resolve(ManifoldRequest(model_dim=dim)).axes
        np.testing.assert_array_equal(axes.basis, np.eye(dim))
        assert axes.names == tuple(f"y<sub>{i + 1}</sub>" for i in range(dim))
        points = np.random.default_rng(0).normal(size=(4, dim))
        np.testing.assert_array_equal(axes.project(points), points)
        assert axes.share(points) == pytest.approx(1)


def test_principal_axes_are_the_leading_eigenvectors_of_both_clouds_weighed_alike():
    rng = np.random.default_rng(3)
    clouds = [rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) * size for size in (1, 40)]
    axes = principal_axes(clouds)
    np.testing.assert_allclose(axes.basis.T @ axes.basis, np.eye(3), atol=1e-14)
    whole = sum(np.cov(cloud.T) / np.trace(np.cov(cloud.T)) for cloud in clouds)
    values, vectors = np.linalg.eigh(whole)
    leading = vectors[:, np.argsort(values)[::-1][:3]]
    np.testing.assert_allclose(np.abs((leading * axes.basis).sum(0)), 1, rtol=1e-9)
    for column in axes.basis.T:  # signs are fixed
        assert column[np.abs(column).argmax()] > 0
    mirrored = principal_axes([-cloud for cloud in clouds])
    np.testing.assert_allclose(mirrored.basis, axes.basis, atol=1e-12)
    for cloud in clouds:
        centred = cloud - cloud.mean(0)
        lost = np.linalg.norm(centred - centred @ axes.basis @ axes.basis.T) ** 2
        assert axes.share(cloud) == pytest.approx(1 - lost / np.linalg.norm(centred) ** 2)
        np.testing.assert_allclose(axes.project(cloud), (cloud - axes.origin) @ axes.basis)


def test_a_single_point_shows_all_of_its_variance():
    assert principal_axes([np.ones((5, 6))]).share(np.ones((5, 6))) == 1.0


@pytest.mark.parametrize("chart", CHARTS)
def test_the_axes_stay_put_while_strength_depth_and_what_is_dragged_move(chart):
    first = ManifoldRequest(model_dim=6, chart=chart, depth=2, seed=72)
    axes = resolve(first).axes
    assert axes.principal
    rows = ((1.0, -2.0, 0.5, 0.0, 3.0, 1.0),) * 3
    for change in (
        dict(strength=0.0),
        dict(strength=0.45),
        dict(depth=5, axes_depth=2),
        dict(grid=31),
        dict(values=rows),
        dict(gate_weight=((0.5,) * 6,) * 6),
        dict(metric=Metric("turned")),
    ):
        again = resolve(replace(first, **change)).axes
        np.testing.assert_array_equal(again.basis, axes.basis)
        np.testing.assert_array_equal(again.origin, axes.origin)
    assert not np.allclose(resolve(replace(first, depth=1)).axes.basis, axes.basis)


@pytest.mark.parametrize(("angle", "ratio"), [(0.0, 4.0), (30.0, 0.05), (90.0, 20.0), (137.0, 2.5)])
@pytest.mark.parametrize("dim", [2, 3, 6])
def test_a_turned_covariance_stretches_along_its_direction_and_nowhere_else(dim, angle, ratio):
    resolved = resolve(
        ManifoldRequest(model_dim=dim, metric=Metric("turned", angle=angle, ratio=ratio))
    )
    sigma = np.array(resolved.variants[0].covariance)
    assert resolved.variants[0].covariance == resolved.variants[1].covariance
    np.testing.assert_allclose(sigma, turned_covariance(resolved.axes, angle, ratio))
    np.testing.assert_allclose(np.linalg.eigvalsh(sigma), sorted([ratio] + [1.0] * (dim - 1)))
    turn = math.radians(angle)
    first, second = resolved.axes.basis[:, 0], resolved.axes.basis[:, 1]
    along = math.cos(turn) * first + math.sin(turn) * second
    across = math.cos(turn) * second - math.sin(turn) * first
    np.testing.assert_allclose(sigma @ along, ratio * along, atol=1e-12)
    np.testing.assert_allclose(sigma @ across, across, atol=1e-12)


def test_covariances_are_what_was_asked_for():
    assert resolve(ManifoldRequest()).variants[0].covariance is None
    isotropic = resolve(ManifoldRequest(metric=Metric(variance=2.5))).variants[0].covariance
    np.testing.assert_array_equal(isotropic, 2.5 * np.eye(3))
    variances = (0.5, 2.0, 7.0)
    diagonal = (
        resolve(ManifoldRequest(metric=Metric("diagonal", variances=variances)))
        .variants[0]
        .covariance
    )
    np.testing.assert_array_equal(diagonal, np.diag(variances))


def test_k_is_multiplied_by_an_isotropic_variance():
    plain, scaled = (
        measure_instance(
            resolve(ManifoldRequest(metric=Metric(variance=s))).variants[1], SMALL
        ).surface
        for s in (1.0, 4.0)
    )
    np.testing.assert_allclose(scaled.gaussian, 4 * plain.gaussian, rtol=1e-9)
    np.testing.assert_allclose(scaled.area_element, plain.area_element / 4, rtol=1e-9)


# --- Handles ---


def instance_of(**change):
    resolved = resolve(ManifoldRequest(**change))
    return resolved.variants[-1], resolved.axes


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("dim", [3, 7])
def test_a_dragged_value_goes_where_it_was_put_and_no_other_moves(dim, pair):
    instance, axes = instance_of(model_dim=dim, depth=2)
    own = own_values(instance)
    place = (1.25, -0.75)
    values = moved_value(own, axes, pair, 1, place)
    moved = replace(instance, values=values)
    np.testing.assert_array_equal(own_values(moved), values)
    after = np.array(values)
    np.testing.assert_allclose(value_positions(after, axes, pair)[1], place, atol=dim * ROUNDED)
    np.testing.assert_allclose(after[[0, 2]], own[[0, 2]], atol=ROUNDED)
    away = np.eye(dim) - axes.basis[:, pair] @ axes.basis[:, pair].T  # what the pad does not show
    np.testing.assert_allclose(after[1] @ away, own[1] @ away, atol=dim * ROUNDED)
    back = moved_value(after, axes, pair, 1, tuple(value_positions(own, axes, pair)[1]))
    np.testing.assert_allclose(back, own, atol=dim * ROUNDED)
    first, last = (build_instance(s).blocks for s in (instance, moved))
    assert torch.equal(first[0].values, last[0].values)  # the last layer's are dragged


def test_values_are_dragged_before_a_gate_scales_them():
    instance, axes = instance_of(position="G2")
    own = own_values(instance)
    np.testing.assert_array_equal(own, build_instance(instance).blocks[0].values[0])
    assert not np.allclose(own, measure_instance(instance, 3).values)
    np.testing.assert_allclose(
        moved_value(own, axes, (0, 1), 0, tuple(own[0, :2])), own, atol=ROUNDED
    )


@pytest.mark.parametrize("granularity", GATE_GRANULARITIES)
@pytest.mark.parametrize("position", ["G1", "G4", "G5"])
def test_a_dragged_gate_opens_where_it_was_told_and_no_other_changes(position, granularity):
    instance, _ = instance_of(model_dim=4, heads=2, position=position, granularity=granularity)
    before = gate_arrows(instance)
    assert len(before) == {"elementwise": 4, "headwise": 1 if position == "G5" else 2}[granularity]
    index, place = len(before) - 1, (-1.5, 0.5)
    dragged = moved_gate(instance, index, place)
    moved = replace(instance, gate_weight=dragged)
    after = gate_arrows(moved)
    np.testing.assert_allclose(after[index], place, atol=20 * ROUNDED)
    others = np.arange(len(before)) != index
    np.testing.assert_allclose(after[others], before[others], atol=20 * ROUNDED)
    # The arrow is how the gate's logit climbs over the input; nothing else about it changes.
    model = build_instance(moved)
    points = torch.rand(5, 2, dtype=torch.float64)
    logits = (model.embed(points) @ model.blocks[0].gate.weight)[0, :, index].numpy()
    offset = model.input_bias[0] @ model.blocks[0].gate.weight[0]
    np.testing.assert_allclose(logits, points.numpy() @ after[index] + float(offset[index]))
    change = (
        np.array(dragged)[:, index]
        - build_instance(instance).blocks[0].gate.weight[0, :, index].numpy()
    )
    reachable = model.input_map[0].T.numpy()  # of least norm: within the span of the input map
    fitted = reachable @ np.linalg.lstsq(reachable, change, rcond=None)[0]
    np.testing.assert_allclose(fitted, change, atol=10 * ROUNDED)
    back = moved_gate(moved, index, tuple(before[index]))
    own = build_instance(instance).blocks[0].gate.weight[0].numpy()
    np.testing.assert_allclose(back, own, atol=20 * ROUNDED)


def test_what_can_be_dragged_is_what_resolve_accepts():
    for change in (
        dict(), dict(source="tokens"), dict(value_count=4), dict(norm="pre"), dict(position="G2"),
        dict(position="G5"), dict(model_dim=2), dict(depth=3), dict(chart="weights"),
    ):  # fmt: skip
        request = ManifoldRequest(**change)
        instance, axes = instance_of(**change)
        assert draggable_values(instance.config) == (
            request.source == "memory" and request.value_count == 3
        )
        if draggable_values(instance.config):
            own = own_values(instance)
            values = moved_value(own, axes, (0, 1), 2, (0.5, 0.5))
            assert resolve(replace(request, values=values)).variants[0].values == values
        if draggable_gates(instance.config):
            weights = moved_gate(instance, 0, (0.5, 0.5))
            again = resolve(replace(request, gate_weight=weights))
            assert again.variants[-1].gate_weight == weights
            assert again.variants[0].gate_weight is None
    assert not draggable_gates(instance_of(norm="pre")[0].config)
    assert not draggable_gates(instance_of(position="G3")[0].config)

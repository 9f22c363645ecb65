"""Flatness is claimed where a theorem known here proves it, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import MECHANISMS, NORMS, AttentionConfig, GateConfig
from gating_core.attention.gates import (
    CONTROL_NAMES,
    GATE_GRANULARITIES,
    GATE_NAMES,
    GATE_POSITIONS,
)
from gating_core.attention.layer import SINKS
from gating_core.attention.stack import build_attention
from gating_core.experiments.instance import ModelInstance, measure_instance
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.flatness import affine_hull, flatness_proofs
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface

GRID = square_grid(9)


def proof_of(function):
    (proof,) = measure_surface(function, GRID).proof
    return proof


@st.composite
def configs(draw):
    heads = draw(st.integers(1, 3))
    gate = draw(
        st.none()
        | st.builds(
            GateConfig,
            st.sampled_from(GATE_NAMES),
            st.sampled_from(GATE_GRANULARITIES),
            st.sampled_from(GATE_POSITIONS),
            st.sampled_from([0.0, 0.3, 1.0]),
        )
        | st.builds(
            GateConfig,
            st.sampled_from(CONTROL_NAMES),
            strength=st.floats(0, 1),
        )
    )
    source = draw(st.sampled_from(tuple(MECHANISMS)))
    return AttentionConfig(
        source=source,
        model_dim=heads * draw(st.integers(2, 4)),
        value_count=draw(st.integers(2, 5)),
        heads=heads,
        depth=draw(st.integers(1, 8)),
        residual=draw(st.booleans()),
        norm=draw(st.sampled_from(NORMS)),
        output_projection=draw(st.booleans()),
        gate=gate,
        sink=draw(st.sampled_from(SINKS)) if MECHANISMS[source].has_softmax else "none",
    )


@given(config=configs(), seed=st.integers(0, 10**6), slices=st.booleans())
def test_wherever_a_proof_is_claimed_measured_curvature_is_within_its_bound(config, seed, slices):
    chart = build_attention(config, (seed,))
    if slices:
        try:
            chart = weight_chart(chart)
        except ValueError:
            return
    surface = measure_surface(chart, GRID)
    if surface.proof != (None,):
        assert ((abs(surface.gaussian) <= surface.gaussian_error) | ~surface.resolved).all()
        assert (surface.sign == 0).all()
        assert surface.verdicts[0].word == "flat"
        assert (surface.total, surface.total_error, surface.complete) == ((0.0,), (0.0,), (True,))


FLAT = {
    "one head, three values": AttentionConfig(),
    "at every depth": AttentionConfig(depth=8),
    "in more dimensions": AttentionConfig(model_dim=8, depth=4),
    "with a projection": AttentionConfig(model_dim=5, output_projection=True),
    "two heads, two values": AttentionConfig(model_dim=6, value_count=2, heads=2),
    "normalised queries": AttentionConfig(norm="pre"),
    "strength 0": AttentionConfig(gate=GateConfig(strength=0.0)),
    "a constant gate": AttentionConfig(gate=GateConfig("constant", strength=0.7)),
    "G2": AttentionConfig(gate=GateConfig(position="G2")),
    "G3": AttentionConfig(gate=GateConfig(position="G3"), depth=3),
    "G4": AttentionConfig(gate=GateConfig("tanh", "headwise", "G4")),
    "D = 2": AttentionConfig(model_dim=2, value_count=6),
    "D = 2, gated": AttentionConfig(model_dim=2, gate=GateConfig()),
    "D = 2, tokens": AttentionConfig(source="tokens", model_dim=2, residual=True),
    "linear attention": AttentionConfig(source="linear", depth=2),
    "linear attention, three channels": AttentionConfig(source="linear", value_count=8),
    "linear attention, two by two": AttentionConfig(source="linear", model_dim=4, heads=2),
    "D = 2, unnormalised": AttentionConfig(source="unnormalised", model_dim=2),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FLAT)
def test_what_the_theorem_covers_is_proved(name):
    function = build_attention(FLAT[name], (3,))
    assert proof_of(function) is not None
    if name not in ("one head, three values", "G2", "D = 2, tokens"):
        return
    integrals = adaptive_integrals(function, None, 0.02, "rigorous")
    for part in (integrals.gaussian, integrals.absolute, integrals.positive):
        assert (float(part.value), float(part.error), bool(part.complete)) == (0.0, 0.0, True)
    assert abs(float(integrals.holonomy.value)) <= float(integrals.holonomy.error) + 1e-9


UNPROVED = {
    "residual": AttentionConfig(residual=True),
    "normalised outputs": AttentionConfig(norm="post"),
    "two heads, three values": AttentionConfig(model_dim=6, heads=2),
    "four values": AttentionConfig(value_count=4),
    "tokens": AttentionConfig(source="tokens"),
    "unnormalised": AttentionConfig(source="unnormalised"),
    "linear attention, two heads": AttentionConfig(source="linear", model_dim=6, heads=2),
    "linear attention, a line": AttentionConfig(source="linear", model_dim=2),
    "linear attention, four values": AttentionConfig(source="linear", model_dim=4, value_count=4),
    "G1": AttentionConfig(gate=GateConfig()),
    "G1, hardly": AttentionConfig(gate=GateConfig(strength=1e-9)),
    "G5": AttentionConfig(gate=GateConfig(position="G5")),
    "additive": AttentionConfig(gate=GateConfig("additive")),
    "pointwise": AttentionConfig(gate=GateConfig("pointwise")),
    "tokens, G2": AttentionConfig(source="tokens", gate=GateConfig(position="G2")),
}


@pytest.mark.parametrize("name", UNPROVED)
def test_what_it_does_not_cover_is_not(name):
    assert proof_of(build_attention(UNPROVED[name], (3,))) is None


def test_lines_and_points_are_no_surfaces():
    """A hull of less than two dimensions is not a flat surface, but none."""
    assert proof_of(build_attention(AttentionConfig(value_count=2), (3,))) is None
    assert proof_of(build_attention(AttentionConfig(model_dim=2, value_count=2), (3,))) is None
    point = ModelInstance(AttentionConfig(), values=((1.0, 2.0, 3.0),) * 3)
    assert measure_instance(point, 5).surface.proof == (None,)


def test_the_rank_of_the_values_is_taken_in_fractions():
    """Four values in a plane prove what four values beside it, by a last digit, do not."""
    corners = ((0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.75, 0.5, 1.0))
    beside = (*corners[:3], (0.75, 0.5, 1.0 + 2**-52))
    square = ModelInstance(AttentionConfig(value_count=4), values=corners)
    found = measure_instance(square, 5).surface
    assert found.proof == ("it lies in the plane of four fixed values",)
    assert measure_instance(replace(square, values=beside), 5).surface.proof == (None,)


@pytest.mark.parametrize("count", [3, 6])
@pytest.mark.parametrize("heads", [1, 2])
def test_one_layer_is_flat_in_its_own_weights(count, heads):
    config = AttentionConfig(model_dim=6, value_count=count, heads=heads)
    assert proof_of(weight_chart(build_attention(config, (3,))))
    deep = build_attention(replace(config, depth=2), (3,))
    assert (proof_of(weight_chart(deep)) is not None) == (count == 3 and heads == 1)
    residual = replace(config, residual=True, heads=1, value_count=3)
    assert proof_of(weight_chart(build_attention(residual, (3,)))) is None


def test_each_strength_has_a_proof_of_its_own():
    model = build_attention(AttentionConfig(gate=GateConfig()), (3,)).member(0, [0.0, 0.5, 1.0])
    surface = measure_surface(model, GRID)
    assert [proof is not None for proof in surface.proof] == [True, False, False]
    assert surface.total[0] == 0 < surface.total[1]
    assert surface.without_curvature.tolist() == [True, False, False]
    np.testing.assert_array_equal(surface.known[0], np.zeros((9, 9)))


def test_functions_that_say_nothing_are_flat_by_proof_in_two_dimensions_only():
    assert proof_of(SURFACES["warped plane"].chart) is None
    assert proof_of(lambda p: torch.sin(3 * p) * p) == "it has only two dimensions to lie in"


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_prove_nothing(broken):
    model = build_attention(AttentionConfig(), (3,))
    model.blocks[0].values.data[0, 0, 0] = broken
    assert flatness_proofs(model, torch.zeros(1, 4, 3)) == (None,)


# --- The affine hull ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "dim", "expected"), [(3, 8, 2), (4, 8, 3), (6, 3, 3), (2, 5, 1)])
def test_values_span_what_the_theorem_says(n, dim, expected):
    model = build_attention(AttentionConfig(model_dim=dim, value_count=n), (0,))
    assert affine_hull(model.blocks[0].values[0]).dimension == expected


def test_a_far_away_plane_is_still_a_plane():
    assert affine_hull(SURFACES["plane"].chart(GRID.points) + 1e6).dimension == 2
    assert affine_hull(torch.ones(5, 3)).dimension == 0
    for wrong in (torch.zeros(0, 3), torch.zeros(3), torch.tensor([[1.0, torch.nan]])):
        with pytest.raises(ValueError, match="values"):
            affine_hull(wrong)

"""Non-identifiable directions: as many as theory says, and outputs stand still along them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention import (
    GATE_NAMES,
    GATE_POSITIONS,
    AttentionConfig,
    GateConfig,
    build_attention,
)
from gating_core.experts import (
    default_points,
    measure_moves,
    mixing,
    moved,
    non_identifiable_by_gate,
    non_identifiable_directions,
    scaling,
    theory_count,
)

PER = ("elementwise", "headwise")
PLAIN = AttentionConfig(
    "tokens", model_dim=6, heads=2, value_count=4, output_projection=True, gate=None
)
SIZES = [(dim, heads) for dim in range(2, 9) for heads in range(1, 5) if dim % heads == 0]
STILL = 1e-12  # relative: rounding of a finite move
POINTS = default_points(2)


def tells_apart(place):
    return place in (("G1", "elementwise"), ("G2", "elementwise"))


def counts(config, seed=3):
    return {place: found.count for place, found in non_identifiable_by_gate(config, seed).items()}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("dim", "heads"), [(4, 1), (4, 2), (6, 2), (8, 2)])
def test_the_prototypes_table(dim, heads):
    """H d² for no gate, headwise ones, G3, G4 and G5; D for elementwise G1 and G2."""
    found = counts(replace(PLAIN, model_dim=dim, heads=heads))
    assert len(found) == 11
    for place, count in found.items():
        assert count == (dim if tells_apart(place) else heads * (dim // heads) ** 2)


@given(
    st.sampled_from(SIZES),
    st.integers(2, 6),
    st.integers(0, 9999),
    st.sampled_from(GATE_NAMES),
    st.sampled_from(GATE_POSITIONS),
    st.sampled_from(PER),
)
def test_every_model_that_a_visitor_can_make_agrees_with_theory(sizes, n, seed, kind, place, per):
    dim, heads = sizes
    gate = GateConfig(kind, per, place)
    config = replace(PLAIN, model_dim=dim, heads=heads, value_count=n, gate=gate)
    found = non_identifiable_directions(build_attention(config, (seed,)))
    assert found.clear
    assert found.count == found.theory == theory_count(config)


@pytest.mark.parametrize(
    ("change", "gate", "count"),
    [
        ({"model_dim": 8, "heads": 1, "value_count": 2}, None, 64 + 8 * 2),  # 6 dimensions of 8
        ({"model_dim": 8, "heads": 1, "value_count": 2}, GateConfig(), 8 + 8 * 2),
        ({"model_dim": 8, "heads": 2, "value_count": 2}, None, 32 + 8 * 2 + 8),  # handed on
        ({"model_dim": 8, "heads": 2, "value_count": 2},
         GateConfig(granularity="headwise"), 32 + 8 * 2),
        ({"source": "memory", "value_count": 2}, None, 18 + 6 + 6),  # heads of 3 mix 2 slots
        ({"source": "memory"}, None, 18),
        ({"source": "memory"}, GateConfig(), 6),
        ({"source": "memory"}, GateConfig(position="G2"), 18),  # a constant: it tells nothing apart
        ({}, GateConfig(strength=0.0), 18),
        ({}, GateConfig(strength=0.01), 6),
        ({}, GateConfig("constant"), 18),
        ({}, GateConfig("additive"), 0),
        ({}, GateConfig("pointwise"), 0),
    ],
)  # fmt: skip
def test_few_values_and_gates_that_are_none_have_counts_of_their_own(change, gate, count):
    config = replace(PLAIN, gate=gate, **change)
    found = non_identifiable_directions(build_attention(config, (1, 3)), member=1)
    assert found.clear
    assert (found.count, found.theory) == (count, count)


@pytest.mark.parametrize("change", [{"depth": 2}, {"norm": "pre"}, {"source": "linear"}])
def test_where_nothing_is_derived_nothing_is_said(change):
    found = non_identifiable_directions(build_attention(replace(PLAIN, **change), (0,)))
    assert found.theory is None
    assert found.count >= 18


def test_the_jacobian_is_that_of_single_weights_moved_by_hand():
    """Outputs are linear in W_V, and in W_O: differences are exact, and NumPy counts the rank."""
    model = build_attention(replace(PLAIN, model_dim=4), (6,))
    before, columns = model(POINTS), []
    for name in ("value_map", "projection"):
        parameter = model.get_parameter(f"layers.0.{name}")
        for index in np.ndindex(4, 4):
            other = model.member(0)
            changed = parameter.clone()
            changed[(0, *index)] += 1
            other.get_parameter(f"layers.0.{name}").data = changed
            columns.append((other(POINTS) - before).flatten().numpy())
    jacobian = np.stack(columns, 1)
    found = non_identifiable_directions(model)
    assert 32 - np.linalg.matrix_rank(jacobian) == found.count == 8
    values = np.linalg.svd(jacobian, compute_uv=False)
    np.testing.assert_allclose(found.singular_values, values / values[0], atol=1e-13)


def test_a_gap_that_is_none_is_not_clear():
    found = replace(
        non_identifiable_directions(build_attention(PLAIN, (0,))),
        singular_values=np.array([1.0, 2e-12, 5e-13]),
    )
    assert (found.count, found.ends) == (1, (2e-12, 5e-13))
    assert not found.clear


# --- Moves ----------------------------------------------------------------------------------------


@given(st.integers(0, 99), st.integers(0, 1), st.floats(-3, 3), st.integers(0, 99))
def test_without_a_gate_any_direction_moves_weights_and_no_output(seed, head, distance, draw):
    generator = np.random.default_rng(draw).standard_normal((3, 3))
    model = build_attention(PLAIN, (seed,))
    after = moved(model, head, generator, distance)(POINTS)
    before = model(POINTS)
    grown = np.exp(2 * abs(distance) * np.linalg.norm(generator, 2))  # rounding grows with e^{tA}
    assert (after - before).abs().max() <= STILL * grown * before.abs().max()


@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize("place", GATE_POSITIONS)
def test_a_gate_for_each_channel_between_both_maps_alone_tells_experts_apart(place, per):
    model = build_attention(replace(PLAIN, gate=GateConfig(position=place, granularity=per)), (3,))
    mixed = measure_moves(model, 1, mixing(3, 0, 2), [-1.5, 0.5, 1.0])
    scaled = measure_moves(model, 1, scaling(3, 1), [-1.5, 0.5, 1.0])
    assert min(mixed.weights.min(), scaled.weights.min()) > 0.1
    assert mixed.experts.min() > 0.1
    assert scaled.experts.max() < STILL
    assert scaled.outputs.max() < STILL
    if tells_apart((place, per)):
        assert mixed.outputs.min() > 1e-3
    else:
        assert mixed.outputs.max() < STILL


def test_a_move_is_undone_by_its_opposite_and_changes_one_head():
    model = build_attention(PLAIN, (0,))
    there = moved(model, 0, mixing(3, 0, 1), 1.2)
    back = moved(there, 0, mixing(3, 0, 1), -1.2)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(back.get_parameter(name), parameter, rtol=0, atol=1e-14)
    values = there.get_parameter("layers.0.value_map")[0]
    assert torch.equal(values[:, 3:], model.get_parameter("layers.0.value_map")[0][:, 3:])
    assert not torch.equal(values[:, :3], model.get_parameter("layers.0.value_map")[0][:, :3])


def test_a_quarter_turn_exchanges_two_experts():
    model = build_attention(PLAIN, (0,))
    start = model.get_parameter("layers.0.value_map")[0]
    turned = moved(model, 0, mixing(3, 0, 1), np.pi / 2).get_parameter("layers.0.value_map")[0]
    torch.testing.assert_close(turned[:, 0], start[:, 1], rtol=0, atol=1e-14)
    torch.testing.assert_close(turned[:, 1], -start[:, 0], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: non_identifiable_directions(m, torch.zeros(4, 2)), "72 parameters need as many"),
        (lambda m: non_identifiable_directions(m, torch.zeros(4)), "points has shape"),
        (lambda m: non_identifiable_directions(m, member=1), "index is 1"),
        (lambda m: moved(m, 2, mixing(3, 0, 1), 1.0), "head is 2"),
        (lambda m: moved(m, 0, mixing(2, 0, 1), 1.0), r"shape \(2, 2\); it must be \(3, 3\)"),
        (lambda m: moved(m, 0, mixing(3, 0, 1), float("nan")), "distance is nan"),
        (lambda m: non_identifiable_directions(
            build_attention(replace(PLAIN, output_projection=False))), "need both maps"),
        (lambda m: moved(build_attention(PLAIN, (0, 1)), 0, mixing(3, 0, 1), 1.0), "one member"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_one_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call(build_attention(PLAIN, (0,)))


def test_several_threads_count_as_one_does():
    """Two visitors' pages may ask for it at once."""
    model = build_attention(PLAIN, (3,))
    alone = non_identifiable_directions(model).singular_values
    with ThreadPoolExecutor(4) as pool:
        each = [pool.submit(non_identifiable_directions, model) for _ in range(24)]
        assert all(np.array_equal(one.result().singular_values, alone) for one in each)


def test_a_model_without_any_derivative_is_refused():
    model = build_attention(PLAIN, (3,))
    for parameter in model.parameters():
        parameter.data *= 0
    with pytest.raises(ValueError, match="is zero"):
        non_identifiable_directions(model)

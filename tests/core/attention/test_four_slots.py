"""Models with four slots: one sign of K is claimed where the theorem proves it, nowhere else."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import EveryLayer, build_attention
from gating_core.geometry.grid import square_grid
from gating_core.geometry.keys import CONVEX, INSIDE, sign_proofs
from gating_core.geometry.surface import measure_surface
from gating_core.geometry.verdict import BENT, CURVED, PROVED
from gating_core.proved import Budget, prove_curvature
from gating_core.theory import four_key_curvature

GRID = square_grid(9)
FOUR = AttentionConfig(value_count=4)
THEOREM = {
    "three dimensions": FOUR,
    "eight": replace(FOUR, model_dim=8),
    "a projection": replace(FOUR, model_dim=5, output_projection=True),
    "a gate at strength 0": replace(FOUR, gate=GateConfig(strength=0.0)),
    "a gate of keys at strength 0": replace(FOUR, gate=GateConfig(position="G3", strength=0.0)),
}
NO_THEOREM = {
    "five values": replace(FOUR, value_count=5),
    "three values": replace(FOUR, value_count=3),
    "two dimensions": replace(FOUR, model_dim=2),
    "a gate": replace(FOUR, gate=GateConfig()),
    "a gate of queries": replace(FOUR, gate=GateConfig(position="G4")),
    "two heads": replace(FOUR, model_dim=6, heads=2),
    "two layers": replace(FOUR, depth=2),
    "a residual": replace(FOUR, residual=True),
    "normalised queries": replace(FOUR, norm="pre"),
    "normalised outputs": replace(FOUR, norm="post"),
    "linear attention": replace(FOUR, source="linear", model_dim=4),
    "tokens": replace(FOUR, source="tokens"),
    "three inputs": replace(FOUR, input_dim=3),
}


def proof_of(function):
    (proof,) = sign_proofs(function, 1)
    return proof


@pytest.mark.parametrize("config", THEOREM.values(), ids=[*THEOREM])
def test_one_sign_is_claimed_and_every_measured_sign_agrees(config):
    seen = set()
    for seed in range(12):
        surface = measure_surface(build_attention(config, (seed,)), GRID)
        (sign,), (verdict,) = surface.signs, surface.verdicts
        assert not (surface.sign == -sign.sign).any()
        assert (verdict.word, verdict.knowledge) == (CURVED, PROVED)
        assert (verdict.positive, verdict.negative) == ((1, 0) if sign.sign > 0 else (0, 1))
        assert (verdict.flat, verdict.undetermined) == (0, 0)
        assert verdict.one_sign == (INSIDE if sign.sign > 0 else CONVEX)
        seen.add(sign.sign)
    assert seen == {1, -1}


@pytest.mark.parametrize("config", NO_THEOREM.values(), ids=[*NO_THEOREM])
def test_nothing_is_claimed_where_the_theorem_does_not_apply(config):
    for seed in range(6):
        model = build_attention(config, (seed,))
        assert proof_of(model) is None
        assert proof_of(EveryLayer(model)) is None


def test_nothing_is_claimed_on_the_attention_weight_chart():
    assert proof_of(weight_chart(build_attention(FOUR))) is None


def test_without_the_theorem_these_models_have_both_signs():
    """Each condition is needed: without it some model curves both ways."""
    for name in ("five values", "a gate", "two heads", "two layers", "a residual", "tokens"):
        signs = (
            measure_surface(build_attention(NO_THEOREM[name], (seed,)), square_grid(21)).sign
            for seed in range(30)
        )
        assert any((sign == 1).any() and (sign == -1).any() for sign in signs), name


@given(seed=st.integers(0, 10**6), sharpness=st.sampled_from([0.1, 1.0, 30.0]))
def test_pulled_back_keys_give_the_models_own_curvature(seed, sharpness):
    """Exact keys and values, each up to a factor, against the weights as the model multiplies."""
    model = build_attention(replace(FOUR, model_dim=5, output_projection=True), (seed,))
    layer = model.blocks[0]
    layer.sharpen(sharpness)
    keys = (model.input_map[0] @ layer.logit_map()[0, 0]).mT
    biases = layer.bias[0, 0] + (model.input_bias[0] @ layer.logit_map()[0, 0])
    values = layer.values[0] @ layer.projection[0]
    ((exact_keys, exact_values),) = model.four_slots()
    for exact, computed in ((exact_keys, keys), (exact_values, values)):
        largest = max(abs(x) for x in exact.flatten())
        scaled = torch.tensor([[float(x / largest) for x in row] for row in exact.tolist()])
        assert torch.allclose(scaled.double(), computed / computed.abs().max(), atol=1e-6)
    found = four_key_curvature(keys, biases, values, GRID.points)
    surface = measure_surface(model, GRID)
    close = np.isclose(found.gaussian.reshape(9, 9), surface.gaussian[0], rtol=1e-6)
    sharp = surface.gaussian_error[0] < 1e-7 * np.abs(surface.gaussian[0])
    assert (close | ~sharp).all()


def test_an_ensemble_has_a_proof_for_each_ungated_member():
    config = replace(FOUR, gate=GateConfig())
    model = build_attention(config, (3,)).member(0, [0.0, 0.5, 0.0])
    one, gated, other = sign_proofs(model, 3)
    assert one == other
    assert one is not None
    assert gated is None


def test_dependent_values_prove_nothing_and_collinear_keys_that_k_is_zero():
    model = build_attention(FOUR, (0,))
    layer = model.blocks[0]
    layer.keys.data[0, 3] = (layer.keys[0, 0] * 2**30).round() / 2**30
    layer.keys.data[0, :3] = (layer.keys[0, :3] * 2**30).round() / 2**30
    layer.keys.data[0, 3] = 2 * layer.keys[0, 1] - layer.keys[0, 2]
    surface = measure_surface(model, GRID)
    (verdict,) = surface.verdicts
    assert (verdict.word, verdict.knowledge, verdict.proof) == (BENT, PROVED, None)
    assert verdict.one_sign == "three of the four keys are collinear"
    assert (verdict.flat, surface.total[0], surface.known[0].any()) == (1, 0, False)
    assert surface.bending[0] > surface.bending_error[0]
    assert prove_curvature(model, budget=Budget(cells=256)).flat == 1
    model = build_attention(FOUR, (0,))
    values = model.blocks[0].values
    values.data[0, 3] = values[0, 0]
    assert proof_of(model) is None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("covariance", [None, [1.0, 4.0, 0.25]])
def test_the_whole_chart_is_proved_at_once(covariance):
    """Cells alone leave a part of these charts open, and every bound lies within theirs."""
    opened = 0.0
    for seed in range(3):
        model = build_attention(FOUR, (seed,))
        model.blocks[0].sharpen(8.0)
        few = Budget(float("inf"), 1000, 0.0, 0.0)
        proof = prove_curvature(model, covariance, few)
        cells = prove_curvature(lambda x: model(x), covariance, few)  # noqa: B023
        sign = proof_of(model).sign
        assert (proof.positive, proof.negative, proof.open) == (sign > 0, sign < 0, 0)
        assert proof.immersed.all()
        assert proof.one_sign == proof_of(model).reason
        assert cells.one_sign is None
        assert (cells.negative if sign > 0 else cells.positive) == 0
        for name in ("absolute", "gaussian"):
            low, high = getattr(proof, name)
            assert low <= high
            assert (low >= 0) if name == "absolute" or sign > 0 else (high <= 0)
            assert low <= getattr(cells, name).high
            assert high >= getattr(cells, name).low
        opened = max(opened, cells.open)
    assert opened > 0.01

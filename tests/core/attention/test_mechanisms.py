"""A new mechanism of attention is one class and one row, a new gate one record."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import gating_core
from gating_core.attention.charts import weight_chart
from gating_core.attention.config import MECHANISMS, AttentionConfig, GateConfig
from gating_core.attention.gates import CONTROL_NAMES, GATE_KINDS, GATE_NAMES, GateKind
from gating_core.attention.layer import AttentionLayer
from gating_core.attention.stack import build_attention
from gating_core.experiments.comparison.setting import variant_config
from gating_core.export.script import script_problem
from gating_core.jets.second_order import nested_jet, second_order_jet
from gating_core.randomness import generator

ROOT = Path(__file__).resolve().parents[3]
POINTS = torch.rand(9, 2, generator=generator(2, "test"), dtype=torch.float64) * 2 - 1
Z = torch.linspace(-9, 9, 50, dtype=torch.float64)


class UniformLayer(AttentionLayer):
    """Every slot weighs 1 / n, whatever the input: no queries, no keys."""

    title = "Averages of learned slots"
    come_from = "learned slots that all weigh the same"
    fixed_values = True
    weights_on_simplex = True
    no_weight_chart = "all weights are 1 / n"

    def make_weights(self, draw):
        self.values = draw("values", (self.config.value_count, self.config.model_dim), 1.0)

    def attend(self, query_states, states, weights):
        points, count = query_states.shape[-2], self.config.value_count
        shape = (len(self.values), self.config.heads, points, count)
        mixed = self.slot_values().mean(1, keepdim=True).expand(-1, points, -1)
        return mixed, torch.full(shape, 1 / count, dtype=mixed.dtype)

    def slot_values(self):
        return self.gated("G2", self.values, self.values)

    def sharpen(self, factor):
        """There is nothing to sharpen."""


@pytest.fixture
def uniform(monkeypatch):
    """A gated model of a kind that only this file knows."""
    monkeypatch.setitem(MECHANISMS, "uniform", UniformLayer)
    return AttentionConfig("uniform", heads=3, gate=GateConfig("silu"))


# --- A mechanism ---


def test_a_new_mechanism_computes_what_it_says(uniform):
    model, records = build_attention(uniform, (3, 8)), []
    out, layer = model(POINTS, records), model.blocks[0]
    for s in range(2):
        h = POINTS @ model.input_map[s] + model.input_bias[s]
        z = h @ layer.gate.weight[s] + layer.gate.bias[s]
        torch.testing.assert_close(out[s], layer.values[s].mean(0) * z / (1 + (-z).exp()))
        torch.testing.assert_close(records[0].gate[s], z / (1 + (-z).exp()))
    assert (records[0].weights == 1 / 3).all()
    assert set(model.state_dict()) == {
        "input_map",
        "input_bias",
        "layers.0.values",
        "layers.0.gate.weight",
        "layers.0.gate.bias",
    }


@pytest.mark.parametrize("parts", [
    dict(), dict(residual=True, norm="pre", depth=3), dict(norm="post", output_projection=True),
    dict(gate=GateConfig(position="G5")), dict(gate=GateConfig(position="G2"), residual=True),
])  # fmt: skip
def test_a_new_mechanism_has_all_that_layers_have(uniform, parts):
    config = replace(uniform, **parts)
    model = build_attention(config, (3, 8))
    jet = second_order_jet(model, POINTS, "rigorous")
    torch.testing.assert_close(jet.stack, nested_jet(model, POINTS).stack, rtol=1e-9, atol=1e-11)
    off = replace(config, gate=replace(config.gate, strength=0.0))
    ungated = build_attention(replace(config, gate=None), (3, 8))
    assert torch.equal(build_attention(off, (3, 8))(POINTS), ungated(POINTS))
    sweep = model.member(1, [0.0, 1.0])(POINTS)
    torch.testing.assert_close(sweep[0], ungated(POINTS)[1], rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(sweep[1], model(POINTS)[1], rtol=1e-13, atol=1e-14)


def test_what_a_new_mechanism_cannot_do_is_refused_with_its_own_reason(uniform):
    with pytest.raises(ValueError, match=r"source is 'uniform'; .* because all weights are 1 / n"):
        weight_chart(build_attention(uniform))
    assert script_problem(uniform) == "source is 'uniform'; its mechanism has no script"
    with pytest.raises(ValueError, match="source is 'uniform'; the variant 'value' needs 'tokens'"):
        variant_config("value", uniform)


def test_nobody_asks_a_mechanism_for_its_name():
    """What it can is asked of its class: then a new one is one file and one row."""
    for path in (*(ROOT / "gating_core").rglob("*.py"), *(ROOT / "ui").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f'"{name}"' in text for name in MECHANISMS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare):
                sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
                named = {repr(name) for name in MECHANISMS} & {*sides}
                asked = any(side.endswith("source") for side in sides)
                assert not (named and asked), f"{path}:{node.lineno}"


# --- A gate ---


@pytest.mark.parametrize("name", GATE_KINDS)
def test_every_gate_says_what_it_is(name):
    kind = GATE_KINDS[name]
    assert kind.title
    assert (name in GATE_NAMES) == (kind.control is None)
    assert (name in CONTROL_NAMES) == (kind.control is not None)
    assert kind.javascript or kind.control, "Decomposition offers every gate: it needs javascript"
    # Arithmetic is the same in all three languages, and torch has the functions of Math.
    for text in filter(None, (kind.script, kind.javascript)):
        value = eval(text, {"torch": torch, "Math": torch, "z": Z})
        np.testing.assert_allclose(value, kind.sigma(Z).expand_as(Z), rtol=1e-12, err_msg=text)


def test_a_new_gate_is_one_record(monkeypatch):
    bell = GateKind("bell gate", lambda z: 1 / (1 + z * z), None)
    monkeypatch.setitem(GATE_KINDS, "bell", bell)
    config = AttentionConfig(gate=GateConfig("bell"))
    model, plain = build_attention(config, (3,)), build_attention(AttentionConfig(), (3,))
    gate = model.blocks[0].gate
    h = model.embed(POINTS)
    z = h @ gate.weight + gate.bias.unsqueeze(1)
    torch.testing.assert_close(model(POINTS), plain(POINTS) / (1 + z * z))
    field = gating_core.curvature(second_order_jet(model, POINTS, "rigorous"))
    assert (field.resolved & ~field.flat).any()
    assert script_problem(config) == "gate.kind is 'bell'; this kind of gate has no script"


# --- Its strength ---


def test_strengths_are_given_when_a_model_is_made_and_change_nowhere():
    model = build_attention(AttentionConfig(depth=2, gate=GateConfig(strength=0.3)), (1, 2))
    sweep = model.member(1, [0.0, 0.25, 1.0])
    assert sweep.seeds == (2, 2, 2)
    for plain, swept in zip(model.blocks, sweep.blocks, strict=True):
        assert plain.gate.strength == plain.gate.config.strength == 0.3
        assert swept.gate.strength.tolist() == [0.0, 0.25, 1.0]
        for gate in (plain.gate, swept.gate):
            with pytest.raises(AttributeError):
                gate.strength = 0.5
    assert sweep.member(1).blocks[0].gate.strength.tolist() == [0.25]
    assert set(sweep.state_dict()) == set(model.state_dict())  # files hold weights alone

"""A student is the layer that our token models are."""

import pytest
import torch

from gating_core.attention import AttentionConfig, GateConfig, build_attention
from gating_core.experts.students import (
    GATES,
    NO_GATE,
    SIZES,
    Design,
    Sizes,
    Student,
    expert_maps,
    make_design,
)
from gating_core.randomness import normal
from tests.each import each

POINTS = torch.tensor([[0.3, -0.7], [-0.2, 0.9], [0.5, 0.4]], dtype=torch.float64)


def of_model(gate):
    """A token model, and the same as a student: its parameters and its design."""
    student = Student(Sizes(model_dim=4, heads=2, channels=2, tokens=3, learned_routing=True), gate)
    config = None
    if gate != NO_GATE:
        config = GateConfig("sigmoid", gate.split()[0], student.position)
    model = build_attention(
        AttentionConfig(
            source="tokens",
            model_dim=4,
            heads=2,
            value_count=3,
            output_projection=True,
            gate=config,
        ),
        (5,),
    )
    layer = model.blocks[0]
    tokens = model.embed(POINTS)[0].transpose(0, 1)  # (N, n, D)
    by_head = {
        name: getattr(layer, name)[0].unflatten(-1, (2, 2)).transpose(0, 1)
        for name in ("query", "key_map", "value_map")
    }
    parts = [
        by_head["value_map"],
        layer.projection[0].unflatten(0, (2, 2)),
        by_head["query"],
        by_head["key_map"],
    ]
    if layer.gate is not None:
        parts += [layer.gate.weight[0], layer.gate.bias[0]]
    vector = torch.cat([part.flatten() for part in parts])
    nothing = torch.full((2, 4, 2), torch.nan, dtype=torch.float64)  # known maps are not read
    return model, student, vector, Design(tokens, nothing, nothing)


@each(GATES)
def test_a_student_is_our_token_model(gate):
    model, student, vector, design = of_model(gate)
    assert student.parameter_count == len(vector)
    assert torch.allclose(student.outputs(vector, design), model(POINTS)[0], rtol=0, atol=1e-14)


def test_an_output_is_the_sum_of_its_experts():
    """By plain loops, where no gate stands among them."""
    _, student, vector, design = of_model(NO_GATE)
    parts, maps = student.parts(vector), student.experts(vector)
    for point, tokens in enumerate(design.tokens):
        total = torch.zeros(4, dtype=torch.float64)
        for head in range(2):
            query, keys = tokens[0] @ parts["query"][head], tokens @ parts["key"][head]
            weights = torch.softmax(keys @ query / 2**0.5, 0)
            for channel in range(2):
                for weight, token in zip(weights, tokens, strict=True):
                    total += weight * (token @ maps[2 * head + channel])
        assert torch.allclose(total, student.outputs(vector, design)[point], atol=1e-14)


def test_one_too_many_is_the_students_alone():
    sizes = Sizes(heads=2, one_too_many=True)
    assert Student(sizes, teaches=True).channels == 3
    assert Student(sizes).channels == 4
    assert Student(sizes).shapes["value"] == (2, 4, 4)
    assert Student(sizes).shapes["projection"] == (2, 4, 4)
    assert Student(sizes, teaches=True).shapes["value"] == (2, 4, 3)
    assert Student(sizes, "elementwise G1").shapes["gate_bias"] == (2, 4)
    assert Student(sizes, "elementwise G3").shapes["gate_bias"] == (2, 3)


def test_known_routing_is_the_designs():
    sizes, draw = Sizes(), normal((0,), "vector", (24,), 1.0)[0]
    design = make_design(sizes, 0)
    assert set(Student(sizes).shapes) == {"value", "projection"}
    moved = Design(design.tokens, design.query * 2, design.key)
    student = Student(sizes)
    assert not torch.allclose(student.outputs(draw, design), student.outputs(draw, moved))
    assert design.tokens.shape == (150, 3, 4)
    assert torch.equal(make_design(sizes, 0).tokens, design.tokens)
    assert not torch.equal(make_design(sizes, 1).tokens, design.tokens)


def test_experts_do_not_feel_the_scale_of_a_channel():
    value, projection = (
        normal((0,), name, shape, 1.0)[0] for name, shape in (("v", (2, 4, 3)), ("o", (2, 3, 4)))
    )
    scale = torch.tensor([2.0, -0.5, 1e3], dtype=torch.float64)
    maps = expert_maps(value, projection)
    assert maps.shape == (6, 4, 4)
    assert torch.allclose(maps, expert_maps(value * scale, projection / scale[:, None]))
    assert torch.allclose(maps[4], torch.outer(value[1, :, 1], projection[1, 1]))


WRONG_SIZES = [
    ({name: wrong}, name)
    for name, (low, high) in SIZES.items()
    for wrong in (low - 1, high + 1, 2.5)
]


@each([*WRONG_SIZES, ({"one_too_many": 1}, "one_too_many"), ({"learned_routing": None}, "learned")])
def test_other_sizes_are_refused(fields, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        Sizes(**fields)


def test_other_gates_and_shapes_are_refused():
    with pytest.raises(
        ValueError, match="gate is 'G1'; it must be one of 'none', 'elementwise G1'"
    ):
        Student(Sizes(), "G1")
    with pytest.raises(ValueError, match=r"must be \(\.\.\., H, D, c\) and \(\.\.\., H, c, D\)"):
        expert_maps(torch.zeros(1, 4, 3), torch.zeros(1, 4, 3))

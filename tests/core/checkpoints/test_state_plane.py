"""Any module of a loaded model: against the model itself with one state replaced, and differences.

The second implementation is the model's own forward pass with a hook that replaces the state, one
point at a time; derivatives of it are Richardson differences, good to about 1e-9 of the values.
"""

import contextlib
import copy
from itertools import pairwise

import pytest
import torch
from torch import nn

from gating_core import measure, state_plane
from gating_core.checkpoints import entropies, head_map, principal_plane
from gating_core.geometry import square_grid
from gating_core.jets.second_order import second_order_jet
from gating_core.real_heads import TEXTS, shipped_layers, shipped_text
from tests.core.checkpoints.classes import (
    GPT2,
    GROUPED,
    NEXT,
    SIZES,
    exact_rotations,
    in_double,
    random_model,
)

IDS = {"input_ids": torch.tensor([[3, 1, 4, 1, 5, 9, 2]])}
TOKEN = 4
POINT = torch.tensor([[0.3, -0.4]], dtype=torch.float64)
SAME, DIFFERENCES = 1e-12, 1e-7  # of values, and of Richardson differences, relative
IMAGE = dict(image_size=12, patch_size=4, num_channels=2)

SHARED = SIZES | dict(num_key_value_heads=2)

ARCHITECTURES = {  # model_type, options, module
    "BERT": ("bert", SIZES, "encoder.layer.0.attention.self"),
    "BERT, a layer": ("bert", SIZES, "encoder.layer.0"),
    "RoBERTa": ("roberta", SIZES, "encoder.layer.0.attention"),
    "GPT-2": ("gpt2", GPT2, "h.0.attn"),
    "GPT-2, a layer": ("gpt2", GPT2, "h.0"),
    "GPT-NeoX": ("gpt_neox", SIZES, "layers.0.attention"),
    "Llama": ("llama", SHARED, "layers.0.self_attn"),
    "Llama, a layer": ("llama", SHARED, "layers.0"),
    "Mistral": ("mistral", SHARED | dict(sliding_window=4), "layers.0.self_attn"),
    "Qwen2": ("qwen2", SHARED, "layers.0.self_attn"),
    "Qwen3": ("qwen3", GROUPED, "layers.0.self_attn"),
    "Qwen3-Next": ("qwen3_next", NEXT, "layers.0.self_attn"),
    "Gemma": ("gemma", GROUPED, "layers.0.self_attn"),
    "Phi": ("phi", SIZES, "layers.0.self_attn"),
    "T5": ("t5", dict(d_model=32, num_heads=4, d_kv=8, d_ff=24, num_layers=2, vocab_size=11),
           "encoder.block.1.layer.0.SelfAttention"),
    "ViT": ("vit", SIZES | IMAGE, "encoder.layer.0.attention"),
}  # fmt: skip
QUERIES = {"BERT": "query", "Llama": "q_proj", "Mistral": "q_proj", "Qwen3": "q_proj",
           "Qwen3-Next": "q_proj", "Gemma": "q_proj", "Phi": "q_proj"}  # fmt: skip


def tiny(case):
    kind, options, name = ARCHITECTURES[case]
    model = random_model(kind, **options)
    if kind == "t5":
        return model, name, IDS | {"decoder_input_ids": IDS["input_ids"]}
    if kind == "vit":
        name = next(n for n, m in model.named_modules() if n.endswith("0.attention"))
        draw = torch.Generator().manual_seed(1)
        return model, name, {"pixel_values": torch.randn(1, 2, 12, 12, generator=draw).double()}
    return model, name, IDS


class Enough(Exception):
    """The output has been seen."""


def by_hand(model, reads, inputs, place, output=None):
    """The model itself as a map of a state (D,): ``reads`` gets it, ``output`` is looked at."""
    output = reads if output is None else output

    def computed(state):
        seen = []

        def replaced(_, args, kwargs):
            old = args[0] if args else kwargs["hidden_states"]
            known = old.clone()
            known[place] = state
            put = lambda x: known if x is old else x  # noqa: E731
            return tuple(map(put, args)), {k: put(x) for k, x in kwargs.items()}

        def looked(_, args, out):
            seen.append(out[0] if isinstance(out, tuple) else out)
            raise Enough

        hooks = [reads.register_forward_pre_hook(replaced, with_kwargs=True),
                 output.register_forward_hook(looked)]  # fmt: skip
        try:
            with torch.no_grad(), contextlib.suppress(Enough):
                model(**inputs) if isinstance(inputs, dict) else model(inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return seen[0][place]

    return computed


def differences(function, point, step=0.02):
    """First (2, D) and second (2, 2, D) derivatives at ``point`` (2,), by Richardson's method."""
    e = torch.eye(2, dtype=torch.float64)

    def table(rule):
        row = [rule(step / 2**k) for k in range(5)]
        for order in range(1, 5):
            row = [(4**order * b - a) / (4**order - 1) for a, b in pairwise(row)]
        return row[0]

    def first(i):
        return lambda h: (function(point + h * e[i]) - function(point - h * e[i])) / (2 * h)

    def second(i, j):
        def rule(h):
            a, b = h * e[i], h * e[j]
            return (function(point + a + b) - function(point + a - b)
                    - function(point - a + b) + function(point - a - b)) / (4 * h * h)  # fmt: skip

        return rule

    bends = [torch.stack([table(second(i, j)) for j in range(2)]) for i in range(2)]
    return torch.stack([table(first(i)) for i in range(2)]), torch.stack(bends)


def agrees(plane, of_state):
    """Values and derivatives of a plane are those of a map of states by hand."""
    jet = second_order_jet(plane, POINT, "rigorous", casts="carry")
    assert jet.bound_kind == "rigorous"
    origin, *directions = plane.plane.state

    def function(uv):
        state = origin + uv @ torch.stack(directions)
        return of_state(state) + (state if plane.residual else 0.0)

    with in_double():
        value = function(POINT[0])
        first, second = differences(function, POINT[0])
    for ours, theirs, allowed in (
        (jet.value[0], value, SAME),
        (jet.first[0].movedim(-1, 0), first, DIFFERENCES),
        (jet.second[0].movedim((-2, -1), (0, 1)), second, 100 * DIFFERENCES),
    ):
        size = max(value.abs().max(), theirs.abs().max())
        assert float((ours - theirs).abs().max() / size) < allowed


SIMILAR = ("RoBERTa", "GPT-2, a layer", "Llama, a layer", "Qwen2", "Gemma", "Phi")


@pytest.mark.parametrize(
    "case",
    [pytest.param(x, marks=[pytest.mark.soak] * (x in SIMILAR)) for x in ARCHITECTURES],
)
def test_a_module_of_transformers_is_what_the_model_computes(case):
    model, name, inputs = tiny(case)
    with in_double():  # so that rotations are recorded in it
        exact_rotations(model)
        plane = state_plane(model, name, inputs, token=TOKEN, residual=case == "GPT-2")
    assert plane.by_rows
    assert plane.has_attention
    module = model.get_submodule(name)
    agrees(plane, by_hand(model, module, inputs, (0, TOKEN)))
    if case in QUERIES:  # keys and values stay
        with in_double():
            alone = state_plane(model, name, inputs, token=TOKEN, moves="query")
        reads = module.get_submodule(QUERIES[case])
        read = by_hand(model, reads, inputs, (0, TOKEN), module)
        agrees(alone, read)
        assert not torch.allclose(alone(POINT), plane(POINT))


class Own(nn.Module):
    """A layer within a model, as others write them."""

    def __init__(self, layer, call=None):
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, x):
        return self.layer(x) if self.call is None else self.call(self.layer, x)


def attend_to_itself(layer, x):
    return layer(x, x, x, need_weights=False)


torch.manual_seed(0)
HEADS = dict(embed_dim=8, num_heads=2)
LAYERS = {  # a layer, how it is called, its input, the token, and the place of its state
    "MLP": (nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4)), None, (9, 5), 3, (3,)),
    "attention": (nn.MultiheadAttention(**HEADS, batch_first=True), attend_to_itself, (1, 6, 8), 2,
                  (0, 2)),
    "attention, tokens first": (nn.MultiheadAttention(**HEADS), attend_to_itself, (6, 1, 8), 2,
                                (2, 0)),
    "encoder layer": (nn.TransformerEncoderLayer(8, 2, 12, activation="gelu", batch_first=True),
                      None, (1, 6, 8), 2, (0, 2)),
    "convolution": (nn.Conv2d(3, 4, 3, padding=1), None, (1, 3, 5, 4), (2, 1),
                    (0, slice(None), 2, 1)),
    "LSTM": (nn.LSTM(4, 5, batch_first=True), None, (1, 6, 4), 2, (0, 2)),
    "LSTM, tokens first": (nn.LSTM(4, 5), None, (6, 1, 4), 2, (2, 0)),
}  # fmt: skip


@pytest.mark.parametrize("case", LAYERS)
def test_a_layer_of_torch_is_what_it_computes(case):
    layer, call, shape, token, place = LAYERS[case]
    model = Own(copy.deepcopy(layer).double(), call).eval()
    draw = torch.Generator().manual_seed(2)
    inputs = torch.randn(shape, generator=draw, dtype=torch.float64)
    plane = state_plane(model, "layer", inputs, token)
    assert plane.by_rows == (call is not None or case == "encoder layer")
    of_state = by_hand(model, model.layer, inputs, place)
    agrees(plane, of_state)


class Head(nn.Module):
    """One head of the bundled extract, as a model of its own."""

    def __init__(self, layer, head):
        super().__init__()
        parts = [(getattr(layer, x)[head], getattr(layer, f"{x}_bias")[head])
                 for x in ("query", "key", "value")]  # fmt: skip
        for name, (weight, bias) in zip("qkv", parts, strict=True):
            linear = nn.Linear(*weight.shape[::-1], dtype=torch.float64)
            linear.weight.data, linear.bias.data = weight.clone(), bias.clone()
            self.add_module(name, linear)

    def forward(self, x):
        return nn.functional.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x))


def test_a_head_of_the_extract_is_its_head_map():
    title = next(iter(TEXTS))
    points = square_grid(7).points
    for number, head in ((0, 2), (3, 7)):
        layer, states = shipped_layers()[number], shipped_text(title).states[number]
        plane = state_plane(Head(layer, head), "", states[None], moves="query")
        ours = second_order_jet(plane, points)
        theirs = second_order_jet(head_map(layer, states, head, principal_plane(states)), points)
        assert float((ours.stack - theirs.stack).abs().max() / theirs.stack.abs().max()) < SAME


# --- Twins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "stays"), [
    ("BERT", ["value.weight"]), ("GPT-2", ["c_proj.weight"]), ("Qwen3-Next", ["v_proj.weight"]),
    ("GPT-NeoX", ["dense.weight"]),
])  # fmt: skip
def test_a_twin_is_as_sharp_and_its_queries_and_keys_are_random(case, stays):
    model, name, inputs = tiny(case)
    plane = state_plane(model, name, inputs, token=TOKEN)
    twin, again, other = plane.twin(), plane.twin(), plane.twin(1)
    own, its = (entropies(x.attended().softmax(-1)).mean(0) for x in (plane, twin))
    assert float((own - its).abs().max()) < 1e-6
    assert torch.equal(twin(POINT), again(POINT))
    assert not torch.allclose(twin(POINT), other(POINT))
    before, after = (dict(x.module.named_parameters()) for x in (plane, twin))
    for name in stays:
        assert torch.equal(before[name], after[name])
    if case == "GPT-2":  # queries | keys | values are columns of one matrix
        changed = (before["c_attn.weight"] != after["c_attn.weight"]).all(0)
        assert changed[:64].all()
        assert not changed[64:].any()
    if case == "Qwen3-Next":  # queries and gates of each head are rows of one matrix
        changed = (before["q_proj.weight"] != after["q_proj.weight"]).all(1).reshape(4, 2, 8)
        assert changed[:, 0].all()
        assert not changed[:, 1].any()
    assert twin.is_twin
    with pytest.raises(ValueError, match="a twin has random queries and keys of one"):
        twin.twin()


class Paraboloid(nn.Module):
    """A surface whose twin is a larger one."""

    has_attention, notes = True, ("a note",)

    def __init__(self, height=1.0):
        super().__init__()
        self.height = height

    def forward(self, uv):
        return torch.cat([uv, self.height * uv.square().sum(-1, keepdim=True)], -1)

    def twin(self):
        return Paraboloid(2.0)


def test_a_measurement_has_the_total_of_its_twin_beside_it():
    """Of a layer that has one, as a plane of states; in no time, for it is a cheap one."""
    found, twin = (measure(x, bound="estimate") for x in (Paraboloid(), Paraboloid(2.0)))
    assert float(found.twin.value) == float(twin.total.value) > float(found.total.value)
    assert "∫|K| dA of its twin, random queries and keys as sharp: " in str(found)
    assert found.to_dict()["twin"]["value"] == float(found.twin.value)
    assert "a note" in str(found)
    assert measure(Paraboloid(), POINT).twin is None


# --- What a model may be --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.past_key_values. is deprecated:FutureWarning")
def test_a_cache_holds_the_tokens_before():
    model, name, inputs = tiny("Llama")
    whole = state_plane(model, name, inputs)
    for new in (3, 1):
        before, after = inputs["input_ids"].split([7 - new, new], 1)
        with torch.no_grad():
            cache = model(input_ids=before, use_cache=True).past_key_values
        given = {"input_ids": after, "past_key_values": cache}
        plane = state_plane(model, name, given, plane=whole.plane)
        assert torch.allclose(plane(POINT), whole(POINT), rtol=0, atol=1e-6)
        assert plane.by_rows == (new > 1)
        points = square_grid(3).points
        assert torch.allclose(plane(points), torch.cat([plane(x[None]) for x in points]), atol=1e-6)


def test_one_text_of_several_and_embeddings():
    model, name, inputs = tiny("BERT")
    several = {"input_ids": torch.cat([torch.tensor([[8, 7, 6, 5, 4, 3, 2]]), inputs["input_ids"]])}
    alone = state_plane(model, name, inputs, TOKEN)
    assert torch.equal(state_plane(model, name, several, TOKEN, batch=1)(POINT), alone(POINT))
    embeddings = {"inputs_embeds": model.get_input_embeddings()(inputs["input_ids"])}
    assert torch.equal(state_plane(model, name, embeddings, TOKEN)(POINT), alone(POINT))
    assert state_plane(model, "", embeddings, TOKEN)(POINT).shape == (1, 32)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_double(dtype):
    model, name, inputs = tiny("BERT")
    model = model.to(dtype)
    plane = state_plane(model, name, inputs, TOKEN)
    assert f"weights and states in {dtype}, widened exactly" in plane.notes[0]
    assert next(model.parameters()).dtype == dtype
    read = copy.deepcopy(model).double()
    states = plane.states[None].clone()
    states[0, TOKEN] = plane.plane.state[0] + POINT[0] @ plane.plane.state[1:]
    exact = read.get_submodule(name)(states)[0][0, TOKEN]
    assert torch.allclose(plane(POINT)[0], exact, rtol=0, atol=1e-13)


def test_a_model_is_left_as_it_was_and_its_hooks_count():
    torch.manual_seed(0)
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.Dropout(), shared, nn.Dropout())
    model[1].eval()
    shared.register_forward_hook(lambda _, args, out: 2 * out)
    inputs = torch.randn(1, 5, 4)
    plane = state_plane(model, "0", inputs, 1)
    assert "computed in torch.float64: weights and states in torch.float32" in plane.notes[0]
    assert [x.training for x in model.modules()] == [True, True, False, True]
    assert len(shared._forward_hooks) == 1
    assert not shared._forward_pre_hooks
    assert next(shared.parameters()).dtype == torch.float32
    state = plane.plane.state[0] + POINT[0] @ plane.plane.state[1:]
    twice = 2 * nn.functional.linear(state, shared.weight.double(), shared.bias.double())
    assert torch.allclose(plane(POINT)[0], twice)
    compiled = torch.compile(model)
    assert torch.equal(state_plane(compiled, "0", inputs, 1)(POINT), plane(POINT))


def test_planes_by_tokens_and_by_directions():
    model, name, inputs = tiny("BERT")
    through = state_plane(model, name, inputs, TOKEN, plane=(1, 2, 5))
    assert torch.allclose(
        through.plane.project(through.states[[1, 2, 5]]), through.plane.corners, atol=1e-9
    )
    directions = torch.eye(32)[:2]
    along = state_plane(model, name, inputs, TOKEN, plane=directions)
    assert torch.equal(along.plane.state[0], along.states[TOKEN])
    given = state_plane(model, name, inputs, TOKEN, plane=along.plane.state)
    assert torch.equal(given(POINT), along(POINT))


class Random(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


WRONG = {
    "has no module 'h.0.attn': at 'h' there are embeddings, encoder": dict(name="h.0.attn"),
    "reads no states of real numbers": dict(name="embeddings.word_embeddings"),
    "is not called": dict(name="pooler.unused"),
    "it must be a whole number from -7 to 6": dict(token=7),
    "token must be 1 numbers": dict(token=(1, 2)),
    "names 2 tokens": dict(plane=(1, 2)),
    "span no plane": dict(plane=torch.ones(2, 32)),
    "it must be three tokens, two directions": dict(plane=torch.ones(4, 32)),
    "moves": dict(moves="key"),
    "it must be a whole number from 0 to 0": dict(batch=1),
    "the model fails on inputs": dict(inputs={"input_ids": torch.tensor([[99]])}),
    "it must be a tensor, a tuple, or a dict": dict(inputs=5),
    "residual adds a state of 32 numbers to 24": dict(
        name="encoder.layer.0.intermediate", residual=True
    ),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_cannot_be_measured_is_said_in_a_sentence(sentence):
    model, name, inputs = tiny("BERT")
    model.pooler.unused = nn.Linear(2, 2)
    given = dict(name=name, inputs=inputs, token=TOKEN) | WRONG[sentence]
    with pytest.raises(ValueError, match=sentence) as caught:
        state_plane(model, **given)
    assert "\n" not in str(caught.value)


def test_other_modules_that_cannot_be_measured():
    for model, inputs, sentence in (
        (Random(), torch.randn(1, 4, 3), "gives another output when it is called again"),
        (nn.Linear(3, 2), torch.randn(2, 4, 3), "are of several texts"),
        (nn.Conv1d(3, 2, 2, stride=2), torch.randn(1, 3, 4), "has no row for the token"),
    ):
        with pytest.raises(ValueError, match=sentence):
            state_plane(model, "", inputs)
    with pytest.raises(ValueError, match="cannot move alone"):
        state_plane(nn.LSTM(3, 4, batch_first=True), "", torch.randn(1, 4, 3), moves="query")
    with pytest.raises(ValueError, match="that can be followed"):
        state_plane(nn.Linear(3, 4), "", torch.randn(1, 4, 3)).twin()
    with pytest.raises(ValueError, match="not loaded"):
        state_plane(nn.Linear(3, 4, device="meta"), "", torch.randn(1, 4, 3))

"""A head read from a file against the class that wrote it, and what a wrong reading would give."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from gating_core.characters import encode
from gating_core.checkpoints import (
    attend,
    open_checkpoint,
    read_layer,
    read_states,
    read_tokens,
)
from gating_core.checkpoints.layer import Rotary
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import MODELS, load_model, model_path
from tests.core.checkpoints.classes import (
    CASES,
    GPT2,
    NEXT,
    SIZES,
    attention_of,
    computed,
    exact_rotations,
    in_double,
    random_model,
    saved,
)
from tests.core.checkpoints.tiny import drawn_states, write

AS_COMPUTED, IN_DOUBLE = 1e-6, 1e-12  # relative
WRONG = 0.05  # what every wrong reading exceeds; the right ones are at 1e-15


def difference(ours, theirs):
    return float((ours - theirs).abs().max() / theirs.abs().max())


@pytest.mark.parametrize("case", CASES)
def test_our_layer_is_that_of_the_class(case, tmp_path):
    kind, options = CASES[case]
    model = random_model(kind, **options)
    layer = read_layer(saved(model, tmp_path), 0)
    _, states, plain = computed(model)
    assert difference(attend(layer, states).output, plain) < AS_COMPUTED
    with in_double():
        exact_rotations(model)
        stream, states, exact = computed(model)
    assert difference(attend(layer, states).output, exact) < IN_DOUBLE
    if stream is not None:
        assert difference(layer.read(stream), states) < IN_DOUBLE


# --- The gate within the query's projection -------------------------------------------------------


def flat_halves(layer, weight):
    query, gate = weight.reshape(2, layer.heads, layer.channels, layer.width)
    return replace(layer, query=query, gate=gate)


def per_group(layer, weight):
    shape = layer.heads, layer.channels, layer.width
    groups = weight.reshape(layer.key_heads, 2, -1, *shape[1:])
    return replace(layer, query=groups[:, 0].reshape(shape), gate=groups[:, 1].reshape(shape))


def per_head(layer, weight):
    heads = weight.reshape(layer.heads, 2, layer.channels, layer.width)
    return replace(layer, query=heads[:, 0], gate=heads[:, 1])


def norms_as_stored(layer, _):
    query, key = layer.query_norm, layer.key_norm
    return replace(
        layer,
        query_norm=replace(query, weight=query.weight - 1),
        key_norm=replace(key, weight=key.weight - 1),
    )


def turned_on_all_channels(layer, _):
    steps = torch.arange(0, layer.channels, 2, dtype=torch.float64) / layer.channels
    return replace(layer, rotary=Rotary(1e4**-steps))


WRONG_READINGS = {
    "flat halves": flat_halves,
    "per group": per_group,
    "exchanged": lambda layer, _: replace(layer, query=layer.gate, gate=layer.query),
    "norms not zero-centred": norms_as_stored,
    "rotary on all channels": turned_on_all_channels,
    "gate left out": lambda layer, _: replace(layer, gate=None),
}


def test_every_wrong_reading_of_qwen3_next_is_seen(tmp_path):
    model = random_model("qwen3_next", **NEXT)
    layer = read_layer(saved(model, tmp_path), 0)
    weight = model.state_dict()["layers.0.self_attn.q_proj.weight"]
    with in_double():
        exact_rotations(model)
        _, states, exact = computed(model)
    assert difference(attend(per_head(layer, weight), states).output, exact) < IN_DOUBLE
    for name, wrong in WRONG_READINGS.items():
        assert difference(attend(wrong(layer, weight), states).output, exact) > WRONG, name


class Split(nn.Module):
    """The query's projection of gated Qwen3, whose gates it keeps (qiuzh20/gated_attention)."""

    def __init__(self, groups, queries, gates):
        super().__init__()
        self.groups, self.sizes = groups, (queries * 8, gates)
        self.linear = nn.Linear(32, groups * sum(self.sizes), bias=False, dtype=torch.float64)

    def forward(self, x):
        by_group = self.linear(x).view(*x.shape[:2], self.groups, -1)
        query, self.gate = by_group.split(self.sizes, -1)
        return query.reshape(*x.shape[:2], -1)


class Gated(nn.Module):
    """The projection after attention, of the gated heads."""

    def __init__(self, split, linear):
        super().__init__()
        self.split, self.linear = split, linear

    def forward(self, mixed):
        heads = mixed.view(*mixed.shape[:2], 4, 8)
        gate = self.split.gate.reshape(*mixed.shape[:2], 4, -1).sigmoid()
        return self.linear((heads * gate).flatten(-2))


@pytest.mark.parametrize(("way", "gates"), [("headwise", 2), ("elementwise", 16)])
def test_the_layout_by_key_value_groups(way, gates, tmp_path):
    model = random_model("qwen3", **CASES["Qwen3"][1])
    attention = attention_of(model)[0]
    attention.q_proj = Split(2, 2, gates).requires_grad_(False)
    tensors = {
        name.replace("q_proj.linear", "q_proj"): weight
        for name, weight in model.state_dict().items()
    }
    attention.o_proj = Gated(attention.q_proj, attention.o_proj)
    config = model.config.to_dict() | {f"{way}_attn_output_gate": True, "qkv_bias": False}
    config = {name: value for name, value in config.items() if name != "dtype"}
    layer = read_layer(write(tmp_path, config, tensors), 0)
    assert layer.gate.shape == (4, 1 if way == "headwise" else 8, 32)
    with in_double():
        exact_rotations(model)
        _, states, exact = computed(model)
    assert difference(attend(layer, states).output, exact) < IN_DOUBLE
    wrong = [replace(layer, gate=None)]
    if way == "elementwise":
        weight = tensors["layers.0.self_attn.q_proj.weight"]
        wrong += [per_head(layer, weight), flat_halves(layer, weight)]
        wrong += [replace(layer, query=layer.gate, gate=layer.query)]
    for other in wrong:
        assert difference(attend(other, states).output, exact) > WRONG


@pytest.mark.parametrize(("case", "change"), [
    ("AFMoE, full", dict(rotary=Rotary(torch.ones(4, dtype=torch.float64)))),
    ("AFMoE, a window", dict(rotary=None)),
    ("AFMoE, a window", dict(window=None)),
    ("AFMoE, a window", dict(gate=None)),
    ("gpt-oss, full", dict(sinks=None)),
    ("gpt-oss, a window", dict(window=None)),
    ("gpt-oss, full", dict(output_bias=None)),
    ("Mistral, a window", dict(window=5)),
    ("Qwen2", dict(key_bias=None, query_bias=None)),
    ("Llama", dict(causal=False)),
    ("GPT-2", dict(value_bias=None)),
    ("BERT", dict(causal=True)),
])  # fmt: skip
def test_what_another_family_has_is_seen(case, change, tmp_path):
    kind, options = CASES[case]
    model = random_model(kind, **options)
    layer = read_layer(saved(model, tmp_path), 0)
    with in_double():
        exact_rotations(model)
        _, states, exact = computed(model)
    assert difference(attend(replace(layer, **change), states).output, exact) > WRONG / 5


# --- Configurations of other times and modalities -------------------------------------------------


def rewritten(folder, change):
    """The layer 0 of a saved model, after its configuration has been changed."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(change(config)))
    return read_layer(folder, 0)


def without(*names, **others):
    """Drop entries of a configuration, and put others into it."""
    return lambda config: {k: v for k, v in config.items() if k not in names} | others


OTHER_CONFIGURATIONS = {
    "before rope_parameters": ("Qwen3-Next", without(
        "rope_parameters", "layer_types", rope_theta=1e4, partial_rotary_factor=0.25,
        full_attention_interval=1,
    )),
    "defaults of the class": ("Qwen3-Next", without("rope_parameters", "rms_norm_eps")),
    "before layer_types": ("Qwen2, a window", without("layer_types", rope_theta=1e4)),
    "a window of all layers": ("Mistral, a window", without("layer_types", "rope_parameters")),
    "YaRN of old": ("gpt-oss, YaRN", lambda config: without(
        "rope_parameters", rope_scaling=config["rope_parameters"], rope_theta=1e4
    )(config)),
    "several modalities": ("Qwen3.5", lambda config: {
        "model_type": "qwen3_5", "text_config": config
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_CONFIGURATIONS)
def test_configurations_of_other_times_say_the_same(name, tmp_path):
    case, change = OTHER_CONFIGURATIONS[name]
    kind, options = CASES[case]
    folder = saved(random_model(kind, **options), tmp_path)
    layer, states = read_layer(folder, 0), drawn_states(9, 32)
    other = rewritten(folder, change)
    assert torch.equal(attend(other, states).output, attend(layer, states).output)
    assert other.window == layer.window


# --- Our own forward passes, and our own models ---------------------------------------------------


@pytest.mark.parametrize(("kind", "options", "norm"), [
    ("bert", SIZES | dict(num_hidden_layers=3), None),
    ("gpt2", GPT2 | dict(n_layer=3), lambda model, i: model.h[i].ln_1),
])  # fmt: skip
def test_states_of_a_text_are_those_of_the_class(kind, options, norm, tmp_path):
    model = random_model(kind, **options)
    ids = [3, 1, 4, 1, 5, 9, 2, 6]
    states = read_states(saved(model, tmp_path), ids)
    with in_double():
        theirs = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
        theirs = [
            stream[0] if norm is None else norm(model, i)(stream[0])
            for i, stream in enumerate(theirs[:-1])
        ]
    assert len(states) == len(theirs) == 3
    for ours, exact in zip(states, theirs, strict=True):
        assert difference(ours, exact) < IN_DOUBLE


def test_norms_of_the_first_files_of_bert_have_other_names(tmp_path):
    folder = saved(random_model("bert", **SIZES | dict(num_hidden_layers=2)), tmp_path / "new")
    tensors = load_file(folder / "model.safetensors")
    old = {
        "bert."
        + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): x
        for name, x in tensors.items()
    }
    config = json.loads((folder / "config.json").read_text())
    other = write(tmp_path / "old", config, old)
    for ours, theirs in zip(
        read_states(other, [1, 2, 3]), read_states(folder, [1, 2, 3]), strict=True
    ):
        assert torch.equal(ours, theirs)
    assert read_layer(other, 1).after is not None


@pytest.mark.parametrize("name", ["g1_head", "g2", "fal", "fal_plus", "parallel"])
def test_states_of_a_text_are_those_of_our_own_language_models(name):
    checkpoint = open_checkpoint(model_path(name, 0))
    tokens = read_tokens(checkpoint, "In the beginning №")
    assert "".join(tokens.words) == "\nIn the beginning "
    assert tokens.special == (True, *[False] * 17)
    model, _ = load_model(name, 0)
    _, records = model.double().record(encode("In the beginning ")[None])
    for ours, record in zip(read_states(checkpoint, tokens), records, strict=True):
        assert difference(ours, record.states[0]) < IN_DOUBLE
    assert len(read_tokens(checkpoint, "word " * 100, 4096)) == model.config.context


@pytest.mark.parametrize("name", ["none", "g1_channel", "g1_head", "g2"])
def test_our_own_language_models(name):
    model, _ = load_model(name, 0)
    model = model.double()
    for strength in (1.0, 0.25):
        _, records = model.record(encode("In the beginning")[None], strength=strength)
        for number, record in enumerate(records):
            layer = read_layer(model_path(name, 0), number)
            ours = attend(layer, record.states[0], strength)
            assert difference(ours.output, record.output[0]) < IN_DOUBLE
            assert difference(ours.weights, record.weights[0]) < IN_DOUBLE
    assert open_checkpoint(model_path(name, 0)).attention_layers == (0, 1, 2, 3)
    assert isinstance(model, LanguageModel)
    assert name in MODELS

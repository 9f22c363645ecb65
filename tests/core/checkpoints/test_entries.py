"""Entries of configurations and tensors of attention: as the class reads them, or refused."""

import inspect
import re

import pytest
import torch

from gating_core.checkpoints import FAMILIES, attend, open_checkpoint, read_layer
from tests.core.checkpoints.classes import (
    AFMOE,
    GPT2,
    GROUPED,
    NEXT,
    OSS,
    QWEN35,
    SIZES,
    YARN,
    attention_of,
    computed,
    exact_rotations,
    in_double,
    random_model,
)
from tests.core.checkpoints.tiny import LLAMA, llama_tensors, write

IN_DOUBLE, SEEN = 1e-12, 1e-4  # relative: the same, and another result
FULL, SLIDING = "full_attention", "sliding_attention"
PAIRED = SIZES | {"num_key_value_heads": 2}
KINDS = {  # options of the smallest model of each class
    "bert": SIZES,
    "gpt2": GPT2,
    "llama": PAIRED,
    "mistral": PAIRED | {"sliding_window": None},
    "qwen2": PAIRED,
    "qwen3": GROUPED,
    "qwen3_next": NEXT,
    "qwen3_5_text": QWEN35,
    "afmoe": AFMOE | {"layer_types": [SLIDING]},
    "gpt_oss": OSS | {"layer_types": [FULL]},
}
PLAIN, LINEAR = {"rope_type": "default"}, {"type": "linear", "factor": 2.0}
WINDOW = {"use_sliding_window": True, "sliding_window": 3}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
CHANGES = {  # what is put into the configuration; `...` takes an entry out
    "is_causal": [False],
    "use_bidirectional_attention": [True],
    "is_decoder": [True],
    "sliding_window": [3, None, ...],
    "use_sliding_window": [True],
    "max_window_layers": [0],
    "layer_types": [[FULL], [SLIDING], ...],
    "full_attention_interval": [1],
    "global_attn_every_n_layers": [1],
    "rope_theta": [100.0],
    "partial_rotary_factor": [0.5, 1.0],
    "rope_parameters": [PLAIN | {"rope_theta": 50.0}, YARN, ...],
    "rope_scaling": [LINEAR, YARN, LLAMA3 | {"original_max_position_embeddings": 8},
                     PLAIN | {"rope_theta": 50.0, "partial_rotary_factor": 0.5}],
    "original_max_position_embeddings": [16],
    "max_position_embeddings": [48],
    "attention_bias": [True, ...],
    "qkv_bias": [True],
    "use_qk_norm": [False],
    "qk_layernorm": [True],
    "num_key_value_heads": [1, None],
    "head_dim": [16, ...],
    "rms_norm_eps": [0.3, ...],
    "layer_norm_eps": [0.3],
    "layer_norm_epsilon": [0.3],
    "scale_attn_weights": [False],
    "scale_attn_by_inverse_layer_idx": [True],
    "reorder_and_upcast_attn": [True],
    "position_embedding_type": ["relative_key"],
    "attn_output_gate": [True],
    "output_gate_type": ["swish"],
    "attn_logit_softcapping": [2.0],
    "query_pre_attn_scalar": [64],
    "attention_multiplier": [0.5],
    "clip_qkv": [0.1],
    "logit_scale": [2.0],
    "mup_enabled": [True],
}  # fmt: skip
TOGETHER = [  # entries that depend on one another
    WINDOW | {"max_window_layers": 0},
    WINDOW | {"max_window_layers": 1},
    WINDOW | {"layer_types": [FULL], "max_window_layers": 0},
    WINDOW | {"layer_types": [SLIDING], "is_causal": False},
    {"sliding_window": 3, "layer_types": [FULL]},
    {"sliding_window": 3, "is_causal": False},
    {"sliding_window": 2, "layer_types": ..., "global_attn_every_n_layers": 1},
    {"rope_scaling": LINEAR, "rope_parameters": PLAIN},
    {"rope_scaling": {}, "rope_parameters": PLAIN | {"rope_theta": 50.0}},
    {"rope_scaling": YARN | {"original_max_position_embeddings": ...},
     "max_position_embeddings": 48},
    {"rope_parameters": PLAIN, "partial_rotary_factor": 0.5},
    {"rope_parameters": PLAIN | {"partial_rotary_factor": 0.5}, "rope_theta": 30.0},
    {"rope_parameters": ..., "partial_rotary_factor": ..., "rope_theta": 70.0},
    {"head_dim": ..., "num_key_value_heads": ..., "num_attention_heads": 8},
]  # fmt: skip
ALL_CHANGES = [{name: value} for name, values in CHANGES.items() for value in values] + TOGETHER
# Refused though the class ignores them: they say that another class computes the model, or they
# change later layers.
ANNOUNCE = {
    "use_bidirectional_attention",
    "position_embedding_type",
    "scale_attn_by_inverse_layer_idx",
}


def applied(options, change):
    """The options with a change, in which `...` stands for nothing."""
    kept = {name: value for name, value in (options | change).items() if value is not ...}
    return {
        name: {k: v for k, v in value.items() if v is not ...} if isinstance(value, dict) else value
        for name, value in kept.items()
    }


def of_the_class(kind, options):
    """Its weights, states and attention output; None if the class cannot be made or computed."""
    try:
        model = random_model(kind, **options)
        with in_double():
            exact_rotations(model)
            _, states, output = computed(model)
    except Exception:  # of a dozen kinds
        return None
    return model.state_dict(), states, output


def difference(ours, theirs):
    return float((ours - theirs).abs().max() / theirs.abs().max())


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_is_read_as_its_class_reads_it_or_refused_by_name(kind, tmp_path):
    plain = of_the_class(kind, KINDS[kind])
    wrong, compared = [], 0
    for number, change in enumerate([{}, *ALL_CHANGES]):
        options = applied(KINDS[kind], change)
        found = of_the_class(kind, options)
        if found is None:
            continue
        tensors, states, exact = found
        folder = write(tmp_path / str(number), {"model_type": kind} | options, tensors)
        try:
            ours = attend(read_layer(folder, 0), states).output
        except ValueError as error:
            ignored = exact.shape == plain[2].shape and difference(exact, plain[2]) < IN_DOUBLE
            named = any(name in str(error) for name in change)
            if not named or (ignored and not ANNOUNCE & change.keys()):
                wrong.append((change, "ignored" if ignored else "followed", str(error)))
            continue
        compared += 1
        if ours.shape != exact.shape or difference(ours, exact) > IN_DOUBLE:
            wrong.append((change, difference(ours, exact)))
    assert not wrong, "\n".join(map(str, wrong))
    assert compared > 25


# --- The rows themselves --------------------------------------------------------------------------

OF_NO_FIELD = {  # what the classes read of a file though it is no field of theirs
    "is_causal", "rope_theta", "rope_scaling", "partial_rotary_factor", "full_attention_interval",
    "original_max_position_embeddings", "head_dim",
}  # fmt: skip
NO_MATTER = {  # what attention reads without effect on what it computes of a text
    "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop", "resid_pdrop",
    "_attn_implementation", "reorder_and_upcast_attn", "max_position_embeddings", "embedding_size",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_all_entries_that_the_class_reads_with_its_defaults(kind):
    row, model = FAMILIES[kind], random_model(kind, **KINDS[kind])
    fields = type(model.config).__dataclass_fields__
    for name, value in (row.entries | row.expected).items():
        if name in fields:
            default = fields[name].default
            if kind == "gpt_oss" and name == "rope_parameters":  # which the class makes of None
                default = type(model.config)().rope_parameters
                default = {key: default[key] for key in value}
            assert default == value, name
        else:
            assert name in OF_NO_FIELD | {*row.expected}, name
    if row.rotary is not None:
        assert type(model.config).default_theta == row.entries["rope_theta"]
    source = inspect.getsource(type(attention_of(model)[0]))
    source += inspect.getsource(type(model.rotary_emb)) if row.rotary else ""
    read = {*re.findall(r"config\.(\w+)", source), *re.findall(r'config, "(\w+)"', source)}
    read = {row.aliases.get(name, name) for name in read if name not in NO_MATTER}
    assert read <= {*row.entries, *row.expected, *row.sizes}, read


PATTERNS = [
    {}, {"sliding_window": None}, {"use_sliding_window": True, "max_window_layers": 3},
    {"full_attention_interval": 3}, {"global_attn_every_n_layers": 2},
    {"layer_types": [FULL] * 5 + [SLIDING] * 3}, {"layer_types": [FULL, "linear_attention"] * 4},
]  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if FAMILIES[kind].rotary])
def test_layers_are_of_the_kinds_that_the_class_says(kind, tmp_path):
    from transformers import AutoConfig

    row = FAMILIES[kind]
    known = {FULL, (row.pattern or (SLIDING, 1))[0]}
    tensors = {row.layer.format(i=0) + row.key + ".weight": torch.ones(2, 2)}
    base = applied(KINDS[kind], {"num_hidden_layers": 8, "layer_types": ..., "sliding_window": ...})
    for number, pattern in enumerate(PATTERNS):
        options = base | pattern
        config = AutoConfig.for_model(kind, **options)
        folder = write(tmp_path / str(number), {"model_type": kind} | options, tensors)
        right = [FULL] * 8 if kind == "llama" else getattr(config, "layer_types", None)
        if kind == "mistral":
            right = [FULL if config.sliding_window is None else SLIDING] * 8
        if set(right) <= known:
            assert open_checkpoint(folder).types == tuple(right), pattern
        else:
            with pytest.raises(ValueError, match="layer_types in"):
                open_checkpoint(folder)


MORE = (  # what other models have in their attention, below its prefix
    "g_proj.weight", "gate_proj.weight", "sinks", "q_norm.weight", "k_norm.weight", "q_norm.bias",
    "k_scale", "q_proj.weight_scale_inv", "q_proj.qweight", "q_proj.lora_A.default.weight",
    "q_proj.bias", "o_proj.bias", "c_attn.weight", "self.distance_embedding.weight", "attn.scale",
    "temperature", "rotary_emb.theta", "relative_attention_bias.weight",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_each_tensor_below_the_attention_is_read_or_refused_by_name(kind, tmp_path):
    row, model = FAMILIES[kind], random_model(kind, **KINDS[kind])
    config, tensors = {"model_type": kind} | KINDS[kind], model.state_dict()
    below = row.layer.format(i=0)
    layer = read_layer(write(tmp_path / "plain", config, tensors), 0)
    own = [name for name in tensors if name.startswith(below)]
    for name in own:  # all are read: nothing can be left out but a projection as a whole
        left = {key: value for key, value in tensors.items() if key != name}
        folder = write(tmp_path / f"without {name}", config, left)
        if f"{below}{row.output}" in name and sum(row.output in x for x in own) == 1:
            assert read_layer(folder, 0).output is None
            continue
        with pytest.raises(ValueError, match=rf"no tensor '{re.escape(name)}'"):
            read_layer(folder, 0)
    more = [below + name for name in MORE]
    if row.norm is not None and not row.mean_removed:
        more.append(row.norm.format(i=0) + ".bias")
    for name in set(more) - {*own}:
        folder = write(tmp_path / f"with {name}", config, tensors | {name: torch.ones(2)})
        with pytest.raises(ValueError, match=re.escape(name[:40])) as refused:
            read_layer(folder, 0)
        assert "\n" not in str(refused.value)
    buffers = {below + name: torch.ones(2) for name in row.buffers}
    assert read_layer(write(tmp_path / "buffers", config, tensors | buffers), 0).key.equal(
        layer.key
    )


@pytest.mark.parametrize("name", ["q_proj.lora_A.weight", "k_proj.base_layer.weight"])
def test_an_adapter_beside_the_weights_is_to_be_merged(name, tmp_path):
    tensors = llama_tensors()
    at = "model.layers.0.self_attn."
    if "base" in name:
        tensors = {key: value for key, value in tensors.items() if "k_proj" not in key}
    folder = write(tmp_path, LLAMA, tensors | {at + name: torch.ones(2, 2)})
    with pytest.raises(ValueError, match=r"belongs to an adapter; merge it"):
        read_layer(folder, 0)

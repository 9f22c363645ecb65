"""The families of checkpoints whose attention layers can be read: a row of one table each.

A row says what the tensors of a layer are called, how a gate is laid out among them, and which
entries of ``config.json`` the family's class in ``transformers`` reads, with the class's defaults.
Nothing else is followed: an entry that is not in the row is ignored, as the class ignores it, and a
tensor of the attention that the row does not name is refused. `check_known` refuses by name what is
computed otherwise.

Shapes: D width, H query heads, G key-value heads (r = H / G query heads share one), d channels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any

from gating_core.checks import quoted

CONFIG = "config.json"
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
# Layouts of a gate within the rows of the query's projection; any other is a tensor of its own.
PER_HEAD = "per head"  # [d of the query, d of the gate] of each head
PER_GROUP = (
    "per group"  # [r d of the queries, r d or r of the gates] of each key-value head, r = H / G
)


@dataclass(frozen=True)
class Family:
    """The names and the layout of one family; ``{i}`` in a name stands for the layer's number.

    Attributes:
        title: As within a sentence.
        classes: What the names of its classes in ``transformers`` begin with.
        layer: What the names of a layer's attention tensors begin with.
        query: Below ``layer``; equal to ``key`` and ``value`` where the three are fused, q | k | v.
        key: As ``query``.
        value: As ``query``.
        output: The projection after attention.
        buffers: Tensors below ``layer`` that are no weights, such as masks; they are not read.
        norm: The norm before attention; ``None`` where attention reads the residual stream.
        mean_removed: Norms are LayerNorm, otherwise RMSNorm.
        one_plus: Norms multiply by 1 + weight.
        after: The norm of the residual stream after attention; ``None`` if it is not of the branch.
        qk_norm: Queries and keys have norms over d, before the rotary embedding: always, never, or
            if this entry says so.
        bias: The same of biases of queries, keys and values.
        output_bias: The same of the output projection.
        gate: `PER_HEAD`, `PER_GROUP`, the name of a tensor below ``layer``, or ``None``.
        gate_bias: The same of the gate's own tensor.
        sinks: The name of a learned logit for each head in the softmax's denominator, or ``None``.
        rotary: Positions are rotations of queries and keys, on layers of these types; "all" of all.
        scalings: The ``rope_type`` of rotations that are known, "default" or "yarn".
        causal: A query sees its own key and those before it, unless ``is_causal`` is false.
        pattern: The kind of all layers but each n-th, which is full, and n or its entry; by
            default layers are full, or have the entry ``sliding_window``.
        transposed: Weights are [in, out], as in GPT-2's Conv1D.
        sizes: The entries with D, H and the number of layers.
        aliases: Other names of entries, which go before them, as in the class.
        epsilon: The entry of the norm's epsilon.
        entries: What else of the configuration bears on attention, and is read, and its default.
        expected: Entries that may only have these values, for others change what is computed.
        own_code: Its checkpoints name code of their own in ``auto_map``, which the row describes.
    """

    title: str
    classes: str = ""
    layer: str = "layers.{i}.self_attn."
    query: str = "q_proj"
    key: str = "k_proj"
    value: str = "v_proj"
    output: str = "o_proj"
    buffers: tuple[str, ...] = ()
    norm: str | None = "layers.{i}.input_layernorm"
    mean_removed: bool = False
    one_plus: bool = False
    after: str | None = None
    qk_norm: bool | str = False
    bias: bool | str = "attention_bias"
    output_bias: bool | str = "attention_bias"
    gate: str | None = None
    gate_bias: bool | str = False
    sinks: str | None = None
    rotary: str | None = "all"
    scalings: tuple[str, ...] = ("default",)
    causal: bool = True
    pattern: tuple[str, int | str] | None = None
    transposed: bool = False
    sizes: tuple[str, str, str] = ("hidden_size", "num_attention_heads", "num_hidden_layers")
    aliases: Mapping[str, str] = field(default_factory=dict)
    epsilon: str = "rms_norm_eps"
    entries: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)
    own_code: bool = False


ROTATIONS = {"rope_theta": 1e4, "rope_parameters": None, "rope_scaling": None}
GROUPED = {"is_causal": True, "num_key_value_heads": None, "head_dim": None, "rms_norm_eps": 1e-6}
WINDOWS = {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 28,
           "layer_types": None}  # fmt: skip
GPT_OSS_ROTATIONS = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                     "truncate": False, "original_max_position_embeddings": 4096}  # fmt: skip

LLAMA = Family(
    "Llama",
    "Llama",
    buffers=("rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_emb.sin_cached"),
    entries=GROUPED | ROTATIONS | {"attention_bias": False},
)
QWEN2_ENTRIES = GROUPED | ROTATIONS | WINDOWS | {"num_key_value_heads": 32}
QWEN3 = replace(
    LLAMA,
    title="Qwen3",
    classes="Qwen3",
    qk_norm=True,
    entries=QWEN2_ENTRIES | {"head_dim": 128, "attention_bias": False},
)
QWEN3_NEXT = replace(
    QWEN3,
    title="Qwen3-Next",
    classes="Qwen3Next",
    one_plus=True,
    gate=PER_HEAD,
    pattern=(LINEAR, "full_attention_interval"),
    entries=GROUPED | ROTATIONS | {
        "num_key_value_heads": 2, "head_dim": 256, "attention_bias": False, "layer_types": None,
        "full_attention_interval": 4, "partial_rotary_factor": 0.25,
    },
    expected={"attn_output_gate": True},
)  # fmt: skip
OURS, QWEN3_GATED = "gating_curvature", "qwen3_gated"  # rows that no model_type names

FAMILIES = {  # by the ``model_type`` of config.json; a further family is one more row
    "bert": Family(
        "BERT", "Bert",
        "encoder.layer.{i}.attention.", "self.query", "self.key", "self.value", "output.dense",
        norm=None, after="encoder.layer.{i}.attention.output.LayerNorm", mean_removed=True,
        bias=True, output_bias=True, rotary=None, causal=False, epsilon="layer_norm_eps",
        entries={"layer_norm_eps": 1e-12},
        expected={"position_embedding_type": "absolute", "is_decoder": False},
    ),
    "gpt2": Family(
        "GPT-2", "GPT2", "h.{i}.attn.", "c_attn", "c_attn", "c_attn", "c_proj",
        buffers=("bias", "masked_bias"), norm="h.{i}.ln_1", mean_removed=True,
        bias=True, output_bias=True, rotary=None, transposed=True,
        sizes=("n_embd", "n_head", "n_layer"), epsilon="layer_norm_epsilon",
        aliases={"hidden_size": "n_embd", "num_attention_heads": "n_head",
                 "num_hidden_layers": "n_layer"},
        entries={"layer_norm_epsilon": 1e-5, "is_causal": True},
        expected={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False},
    ),
    "llama": LLAMA,
    "mistral": replace(
        LLAMA, title="Mistral", classes="Mistral", bias=False, output_bias=False,
        entries=GROUPED | ROTATIONS | {"num_key_value_heads": 8, "sliding_window": 4096},
    ),
    "qwen2": replace(LLAMA, title="Qwen2", classes="Qwen2", bias=True, output_bias=False,
                     entries=QWEN2_ENTRIES),
    "qwen3": QWEN3,
    QWEN3_GATED: replace(
        QWEN3, title="Qwen3 with gated attention", qk_norm="use_qk_norm", bias="qkv_bias",
        output_bias="qkv_bias", gate=PER_GROUP,
        entries={name: QWEN3.entries[name] for name in (*GROUPED, *ROTATIONS)} | {
            "use_qk_norm": True, "qkv_bias": False, "headwise_attn_output_gate": False,
        },
        expected={"is_causal": True, "use_sliding_window": False}, own_code=True,
    ),
    "qwen3_next": QWEN3_NEXT,
    "qwen3_5_text": replace(
        QWEN3_NEXT, title="Qwen3.5", classes="Qwen3_5(Text)?",
        entries={**QWEN3_NEXT.entries, "num_key_value_heads": 4},
    ),
    "afmoe": replace(
        QWEN3, title="AFMoE", classes="Afmoe", gate="gate_proj", rotary=SLIDING,
        pattern=(SLIDING, "global_attn_every_n_layers"),
        entries=GROUPED | ROTATIONS | {
            "head_dim": 128, "rms_norm_eps": 1e-5, "attention_bias": False, "layer_types": None,
            "global_attn_every_n_layers": 4, "sliding_window": 1024,
        },
        own_code=True,
    ),
    "gpt_oss": replace(
        LLAMA, title="gpt-oss", classes="GptOss", sinks="sinks", scalings=("default", "yarn"),
        pattern=(SLIDING, 2),
        entries=GROUPED | ROTATIONS | {
            "num_key_value_heads": 8, "head_dim": 64, "rms_norm_eps": 1e-5, "attention_bias": True,
            "layer_types": None, "sliding_window": 128, "rope_theta": 1.5e5,
            "rope_parameters": GPT_OSS_ROTATIONS, "max_position_embeddings": 131_072,
            "original_max_position_embeddings": None,
        },
    ),
    OURS: Family(
        "the language models of this project", "",
        "blocks.{i}.attention.", "qkv", "qkv", "qkv", "project", norm="blocks.{i}.norm_attention",
        bias=False, output_bias=False, gate="gate", gate_bias=True, rotary=None,
        sizes=("width", "heads", "depth"),
        entries={"rms_norm_eps": 1e-6, "gate": None, "window": None},
        expected={"attention": "softmax"},
    ),
}  # fmt: skip

MLA = "its keys and values are compressed (multi-head latent attention, MLA)"
# The heads of models whose attention is the family's.
TASKS = "CausalLM|SequenceClassification|TokenClassification|QuestionAnswering|MaskedLM|PreTraining"
TASKS += "|NextSentencePrediction|MultipleChoice|ConditionalGeneration"
REFUSED = {  # by ``model_type``: what is computed otherwise
    "deepseek_v2": MLA,
    "deepseek_v3": MLA,
    "kimi_k2": MLA,
    "qwen4_exp": "its hyper-connections mix several residual streams",
    "kimi_linear": "most of its layers are linear attention, and the others MLA",
    "minimax": "most of its layers are linear attention",
    "step3p5": "its layers differ in their numbers of heads",
    "laguna": "its layers differ in their numbers of heads",
}


def check_known(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the family of a configuration, a key of `FAMILIES`, and the part about its text model.

    Raises:
        ValueError: The family is unknown, or something in it is computed in a way that is not.
    """
    kind, whole = config.get("model_type"), config
    inner = config.get("text_config")
    if isinstance(inner, Mapping) and inner.get("model_type", f"{kind}_text") == f"{kind}_text":
        kind, config = f"{kind}_text", inner
    known = ", ".join(f"{family.title} ({name})" for name, family in FAMILIES.items())
    if not isinstance(kind, str) or kind in REFUSED or kind not in FAMILIES:
        why = f", and {REFUSED[kind]}" if isinstance(kind, str) and kind in REFUSED else ""
        raise ValueError(
            f"{CONFIG} says model_type {quoted(kind)}{why}; known families are {known}"
        )
    if config.get("kv_lora_rank") is not None:
        raise ValueError(f"{CONFIG} has kv_lora_rank: {MLA}; known families are {known}")
    gates = [config.get(f"{way}_attn_output_gate") for way in ("headwise", "elementwise")]
    if kind == "qwen3" and any(gates):
        kind = QWEN3_GATED
    row = FAMILIES[kind]
    named = {name: config[alias] for alias, name in row.aliases.items() if alias in config}
    config = {**config, **named}
    for name, value in row.expected.items():
        if config.get(name, value) != value:
            raise ValueError(
                f"{CONFIG} says {name} {quoted(config[name])}; of"
                f" {row.title} only {quoted(value)} is known"
            )
    _check_class(row, whole, config)
    quantised = whole.get("quantization_config") or config.get("quantization_config")
    if quantised and not _spares_attention(quantised):
        method = quantised.get("quant_method") if isinstance(quantised, Mapping) else quantised
        raise ValueError(
            f"{CONFIG} says that the weights are quantised ({quoted(method)});"
            " only weights in F64, F32, F16 and BF16 are read"
        )
    return kind, config


def _spares_attention(quantised: Any) -> bool:
    """Return whether attention is named among the modules that are not quantised."""
    spared = quantised.get("modules_to_not_convert") if isinstance(quantised, Mapping) else None
    names = spared if isinstance(spared, list) else []
    return any(isinstance(x, str) and fnmatch("model.layers.0.self_attn", x) for x in names)


def _check_class(row: Family, whole: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Refuse a configuration that names other code than the family's class in ``transformers``."""
    own = f"take the entry out if its attention is that of {row.title}"
    if config.get("use_bidirectional_attention"):
        raise ValueError(
            f"{CONFIG} says use_bidirectional_attention, unknown to {row.title}; {own}"
        )
    code = whole.get("auto_map")
    if code and not row.own_code:
        models = code if isinstance(code, Mapping) else {"AutoModel": code}
        for name, value in models.items():
            if name == "AutoConfig" or name.startswith("AutoModel"):
                raise ValueError(
                    f"{CONFIG} names code of its own in auto_map, {quoted(value)}; {own}"
                )
    names = whole.get("architectures") or []
    for name in names if isinstance(names, list) else [names]:
        pattern = rf"{row.classes}(Model|LMHeadModel|DoubleHeadsModel|For({TASKS}))"
        if not (isinstance(name, str) and re.fullmatch(pattern, name, re.IGNORECASE)):
            raise ValueError(
                f"{CONFIG} names in architectures {quoted(name)}, which is no class of"
                f" {row.title} that is known; {own}"
            )

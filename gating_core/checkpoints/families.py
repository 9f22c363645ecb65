"""The families of checkpoints whose attention layers can be read: a row of one table each.

A row says what the tensors of a layer are called, how a gate is laid out among them, and which
entries of ``config.json`` hold the sizes. `check_known` refuses by name what is computed otherwise.

Shapes: D width, H query heads, G key-value heads (r = H / G query heads share one), d channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any

from gating_core.checkpoints.reading import quoted

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
        layer: What the names of a layer's attention tensors begin with.
        query: Below ``layer``; equal to ``key`` and ``value`` where the three are fused, q | k | v.
        key: As ``query``.
        value: As ``query``.
        output: The projection after attention.
        norm: The norm before attention; ``None`` where attention reads the residual stream.
        mean_removed: Norms are LayerNorm, otherwise RMSNorm.
        one_plus: Norms multiply by 1 + weight.
        after: The norm of the residual stream after attention; ``None`` if it is not of the branch.
        qk_norm: Queries and keys have norms over d, before the rotary embedding.
        bias: Queries, keys and values have biases: always, never, or if this entry says so.
        output_bias: The same of the output projection.
        gate: `PER_HEAD`, `PER_GROUP`, the name of a tensor below ``layer``, or ``None``.
        gate_bias: The same of the gate's own tensor.
        sinks: The name of a learned logit for each head in the softmax's denominator, or ``None``.
        rotary: Positions are rotations of queries and keys, on layers of these types; "all" of all.
        theta: The default of ``rope_theta``.
        turned: The default of ``partial_rotary_factor``, the share of a head's channels.
        scalings: The ``rope_type`` of rotations that are known, "default" or "yarn".
        causal: A query sees its own key and those before it.
        transposed: Weights are [in, out], as in GPT-2's Conv1D.
        sizes: The entries of the configuration with D, H and the number of layers.
        epsilon: The entry of the norm's epsilon, and its default.
        expected: Entries that may only have these values, for others change what is computed.
    """

    title: str
    layer: str = "layers.{i}.self_attn."
    query: str = "q_proj"
    key: str = "k_proj"
    value: str = "v_proj"
    output: str = "o_proj"
    norm: str | None = "layers.{i}.input_layernorm"
    mean_removed: bool = False
    one_plus: bool = False
    after: str | None = None
    qk_norm: bool = False
    bias: bool | str = "attention_bias"
    output_bias: bool | str = "attention_bias"
    gate: str | None = None
    gate_bias: bool | str = False
    sinks: str | None = None
    rotary: str | None = "all"
    theta: float = 1e4
    turned: float = 1.0
    scalings: tuple[str, ...] = ("default",)
    causal: bool = True
    transposed: bool = False
    sizes: tuple[str, str, str] = ("hidden_size", "num_attention_heads", "num_hidden_layers")
    epsilon: tuple[str, float] = ("rms_norm_eps", 1e-6)
    expected: Mapping[str, Any] = field(default_factory=dict)


LLAMA = Family("Llama")
QWEN3 = Family("Qwen3", qk_norm=True)
QWEN3_NEXT = replace(
    QWEN3,
    title="Qwen3-Next",
    one_plus=True,
    gate=PER_HEAD,
    turned=0.25,
    expected={"attn_output_gate": True},
)
OURS, QWEN3_GATED = "gating_curvature", "qwen3_gated"  # rows that no model_type names

FAMILIES = {  # by the ``model_type`` of config.json; a further family is one more row
    "bert": Family(
        "BERT",
        "encoder.layer.{i}.attention.", "self.query", "self.key", "self.value", "output.dense",
        norm=None, after="encoder.layer.{i}.attention.output.LayerNorm", mean_removed=True,
        bias=True, output_bias=True, rotary=None, causal=False, epsilon=("layer_norm_eps", 1e-12),
        expected={"position_embedding_type": "absolute", "is_decoder": False},
    ),
    "gpt2": Family(
        "GPT-2", "h.{i}.attn.", "c_attn", "c_attn", "c_attn", "c_proj",
        norm="h.{i}.ln_1", mean_removed=True, bias=True, output_bias=True, rotary=None,
        transposed=True,
        sizes=("n_embd", "n_head", "n_layer"), epsilon=("layer_norm_epsilon", 1e-5),
        expected={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False},
    ),
    "llama": LLAMA,
    "mistral": replace(LLAMA, title="Mistral", bias=False, output_bias=False),
    "qwen2": replace(LLAMA, title="Qwen2", bias=True, output_bias=False),
    "qwen3": QWEN3,
    QWEN3_GATED: replace(QWEN3, title="Qwen3 with gated attention", bias="qkv_bias",
                         output_bias="qkv_bias", gate=PER_GROUP),
    "qwen3_next": QWEN3_NEXT,
    "qwen3_5_text": replace(QWEN3_NEXT, title="Qwen3.5"),
    "afmoe": replace(QWEN3, title="AFMoE", gate="gate_proj", rotary="sliding_attention",
                     epsilon=("rms_norm_eps", 1e-5)),
    "gpt_oss": replace(LLAMA, title="gpt-oss", sinks="sinks", theta=1.5e5,
                       scalings=("default", "yarn"), epsilon=("rms_norm_eps", 1e-5)),
    OURS: Family(
        "the language models of this project",
        "blocks.{i}.attention.", "qkv", "qkv", "qkv", "project", norm="blocks.{i}.norm_attention",
        bias=False, output_bias=False, gate="gate", gate_bias=True, rotary=None,
        sizes=("width", "heads", "depth"),
        expected={"attention": "softmax"},
    ),
}  # fmt: skip

MLA = "its keys and values are compressed (multi-head latent attention, MLA)"
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
            f"config.json says model_type {quoted(kind)}{why}; known families are {known}"
        )
    if config.get("kv_lora_rank") is not None:
        raise ValueError(f"config.json has kv_lora_rank: {MLA}; known families are {known}")
    gates = [config.get(f"{way}_attn_output_gate") for way in ("headwise", "elementwise")]
    if kind == "qwen3" and any(gates):
        kind = QWEN3_GATED
    for name, value in FAMILIES[kind].expected.items():
        if config.get(name, value) != value:
            raise ValueError(
                f"config.json says {name} {quoted(config[name])}; of"
                f" {FAMILIES[kind].title} only {quoted(value)} is known"
            )
    quantised = whole.get("quantization_config") or config.get("quantization_config")
    if quantised and not _spares_attention(quantised):
        method = quantised.get("quant_method") if isinstance(quantised, Mapping) else quantised
        raise ValueError(
            f"config.json says that the weights are quantised ({quoted(method)});"
            " only weights in F64, F32, F16 and BF16 are read"
        )
    return kind, config


def _spares_attention(quantised: Any) -> bool:
    """Return whether attention is named among the modules that are not quantised."""
    spared = quantised.get("modules_to_not_convert") if isinstance(quantised, Mapping) else None
    names = spared if isinstance(spared, list) else []
    return any(isinstance(x, str) and fnmatch("model.layers.0.self_attn", x) for x in names)

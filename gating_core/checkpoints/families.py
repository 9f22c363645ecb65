"""The files whose attention layers are read: BERT's, as the bundled extract is one, and our own.

Any other model is measured after its own classes have loaded it: see `state_plane`.

Shapes: D width, H heads, d channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gating_core.checks import quoted

CONFIG = "config.json"
OURS = "gating_curvature"


@dataclass(frozen=True)
class Family:
    """The names and the layout of one kind; ``{i}`` in a name stands for the layer's number.

    Attributes:
        title: As within a sentence.
        layer: What the names of a layer's attention tensors begin with.
        query: Below ``layer``; equal to ``key`` and ``value`` where the three are fused, q | k | v.
        key: As ``query``.
        value: As ``query``.
        output: The projection after attention.
        norm: The norm before attention; ``None`` where attention reads the residual stream.
        after: The norm of the residual stream after attention, or ``None``.
        mean_removed: Norms are LayerNorm, otherwise RMSNorm.
        bias: Projections have biases.
        gate: The name of a gate's tensor below ``layer``, or ``None``.
        causal: A query sees its own key and those before it.
        sizes: The entries with D, H and the number of layers.
        epsilon: The entry of the norm's epsilon.
        entries: What else of the configuration is read, and its default.
        expected: Entries that may only have these values, for others change what is computed.
    """

    title: str
    layer: str
    query: str
    key: str
    value: str
    output: str
    norm: str | None
    after: str | None
    mean_removed: bool
    bias: bool
    gate: str | None
    causal: bool
    sizes: tuple[str, str, str]
    epsilon: str
    entries: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)


FAMILIES = {  # by the ``model_type`` of config.json
    "bert": Family(
        "BERT",
        "encoder.layer.{i}.attention.", "self.query", "self.key", "self.value", "output.dense",
        norm=None, after="encoder.layer.{i}.attention.output.LayerNorm", mean_removed=True,
        bias=True, gate=None, causal=False,
        sizes=("hidden_size", "num_attention_heads", "num_hidden_layers"),
        epsilon="layer_norm_eps", entries={"layer_norm_eps": 1e-12},
        expected={"position_embedding_type": "absolute", "is_decoder": False,
                  "hidden_act": "gelu"},
    ),
    OURS: Family(
        "the language models of this project",
        "blocks.{i}.attention.", "qkv", "qkv", "qkv", "project", norm="blocks.{i}.norm_attention",
        after=None, mean_removed=False, bias=False, gate="gate", causal=True,
        sizes=("width", "heads", "depth"),
        epsilon="rms_norm_eps", entries={"rms_norm_eps": 1e-6, "gate": None, "window": None},
        expected={"attention": "softmax"},
    ),
}  # fmt: skip


def check_known(config: Mapping[str, Any]) -> str:
    """Return the family of a configuration, a key of `FAMILIES`.

    Raises:
        ValueError: The family is unknown, or something in it is computed in a way that is not.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        titles = " and ".join(family.title for family in FAMILIES.values())
        raise ValueError(
            f"{CONFIG} says model_type {quoted(kind)}; files of {titles} are read, and any other"
            " model is measured with state_plane, loaded by its own classes"
        )
    for name, value in FAMILIES[kind].expected.items():
        if config.get(name, value) != value:
            raise ValueError(
                f"{CONFIG} says {name} {quoted(config[name])}; of {FAMILIES[kind].title} only"
                f" {quoted(value)} is known"
            )
    return kind

"""The mechanisms of attention by name, and the configuration of a model.

What a mechanism can is asked of its class (`AttentionLayer`), never of its name. Seeds are never
part of a configuration; they are arguments of the functions that use them.
"""

from dataclasses import dataclass

from gating_core.attention.gates import GateConfig
from gating_core.attention.layer import SINKS, AttentionLayer, LayerConfig
from gating_core.attention.mechanisms import (
    LinearLayer,
    MemoryLayer,
    TokenLayer,
    UnnormalisedLinearLayer,
)
from gating_core.checks import check_choice, check_flag, check_integer

# A name is a word of links and of controls, so that it never changes: "memory" are learned slots
# weighed by softmax.
MECHANISMS: dict[str, type[AttentionLayer]] = {
    "memory": MemoryLayer,
    "tokens": TokenLayer,
    "linear": LinearLayer,
    "unnormalised": UnnormalisedLinearLayer,
}
NORMS = ("none", "pre", "post")

MODEL_DIM_RANGE = (1, 256)
DEPTH_RANGE = (1, 16)


@dataclass(frozen=True)
class AttentionConfig(LayerConfig):
    """A stack of attention layers that read points and write representations.

    ``source`` says how the layers attend: a key of `MECHANISMS`. The other fields are those of
    `LayerConfig`. ``ValueError`` for a field that is out of range.

    >>> AttentionConfig("tokens", model_dim=8, heads=2, gate=GateConfig("silu"))
    """

    def __post_init__(self) -> None:
        check_choice("source", self.source, MECHANISMS)
        check_integer("input_dim", self.input_dim, 2, 3)
        check_integer("model_dim", self.model_dim, *MODEL_DIM_RANGE)
        check_integer("value_count", self.value_count, 2, 64)
        check_integer("heads", self.heads, 1, 64)
        check_integer("depth", self.depth, *DEPTH_RANGE)
        check_flag("residual", self.residual)
        check_choice("norm", self.norm, NORMS)
        check_flag("output_projection", self.output_projection)
        check_choice("sink", self.sink, SINKS)
        if self.sink != "none" and not self.layer.has_softmax:
            raise ValueError(
                f"source is {self.source!r}; a sink needs softmax attention:"
                f" {', '.join(name for name, layer in MECHANISMS.items() if layer.has_softmax)}"
            )
        if self.gate is not None and not isinstance(self.gate, GateConfig):
            raise ValueError(f"gate is {self.gate!r}; it must be a GateConfig or None")
        if self.model_dim % self.heads:
            raise ValueError(
                f"heads is {self.heads}; it must divide model_dim, which is {self.model_dim}"
            )

    @property
    def layer(self) -> type[AttentionLayer]:
        """The mechanism, a class that says what it can."""
        return MECHANISMS[self.source]

    @property
    def weights_on_simplex(self) -> bool:
        """True if the weights of a head add up to one: a sink takes a share."""
        return self.layer.weights_on_simplex and self.sink == "none"

    @property
    def no_weight_chart(self) -> str | None:
        """Why there is no attention-weight chart, where there is none."""
        if self.layer.no_weight_chart is None and self.sink != "none":
            return "beside a sink the weights do not add up to one"
        return self.layer.no_weight_chart

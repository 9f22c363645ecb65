"""One attention layer of a checkpoint, in float64: read from the files, and computed on a text.

Shapes: T tokens, D width, H query heads, G key-value heads (H / G query heads share one), d
channels of a head.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from gating_core.attention import GateConfig
from gating_core.checkpoints.checkpoint import Checkpoint, check_plain, open_checkpoint
from gating_core.checkpoints.families import (
    CONFIG,
    LINEAR,
    OURS,
    PER_GROUP,
    PER_HEAD,
    SLIDING,
    Family,
)
from gating_core.checks import check_integer, quoted

OptionalTensor = torch.Tensor | None


@dataclass(frozen=True, eq=False)
class Norm:
    """LayerNorm, or RMSNorm where the mean is not removed, over the last axis."""

    weight: torch.Tensor
    bias: OptionalTensor
    epsilon: float
    mean_removed: bool

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        """Normalise ``states`` (..., D)."""
        shape = tuple(self.weight.shape)
        if self.mean_removed:
            return functional.layer_norm(states, shape, self.weight, self.bias, self.epsilon)
        return functional.rms_norm(states, shape, self.weight, self.epsilon)


@dataclass(frozen=True, eq=False)
class Rotary:
    """Rotary position embedding of the first channels of a head, in halves (Su et al., RoFormer).

    ``frequencies`` (m,) turn the pairs of channels i and i + m, and multiply them by ``scale``;
    channels from 2 m on stay.
    """

    frequencies: torch.Tensor
    scale: float = 1.0

    def turn(self, x: torch.Tensor, positions: torch.Tensor, times: int = 1) -> torch.Tensor:
        """Turn ``x`` (..., T, d) by the angles of ``positions`` (T,), scaled so many ``times``."""
        angles = positions.double()[:, None] * self.frequencies
        scale, m = self.scale**times, len(self.frequencies)
        cos, sin = angles.cos() * scale, angles.sin() * scale
        a, b, rest = x[..., :m], x[..., m : 2 * m], x[..., 2 * m :]
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


@dataclass(frozen=True, eq=False)
class Layer:
    """The weights of one attention layer, float64, each head's on its own.

    Attributes:
        number: Of the layer, from 0.
        family: A key of `FAMILIES`.
        query: (H, d, D).
        key: (G, d, D).
        value: (G, d, D).
        query_bias: (H, d) or ``None``.
        key_bias: (G, d) or ``None``.
        value_bias: (G, d) or ``None``.
        output: (H, D, d), the projection after attention; ``None`` if the files hold none.
        output_bias: (D,) or ``None``.
        gate: (H, d, D) or, with one gate for a head, (H, 1, D); ``None`` without a gate.
        gate_bias: (H, d or 1) or ``None``.
        sigma: The gate's function of its logits.
        gate_strength: λ of the gate as the layer was trained.
        gates_values: The gate multiplies each token's values (G2), not the output (G1).
        sinks: (H,), a logit in the denominator of each head's softmax, or ``None``.
        query_norm: The norm of queries over d, or ``None``.
        key_norm: The same of keys.
        norm: The norm before attention; ``None`` where attention reads the residual stream.
        after: The norm of stream + attention in BERT; ``None`` otherwise.
        rotary: The position embedding of queries and keys, or ``None``.
        causal: A query sees its own key and earlier ones only.
        window: The number of keys that a query sees at most, or ``None``; of a layer that is not
            causal, the distance of the farthest.
    """

    number: int
    family: str
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    query_bias: OptionalTensor = None
    key_bias: OptionalTensor = None
    value_bias: OptionalTensor = None
    output: OptionalTensor = None
    output_bias: OptionalTensor = None
    gate: OptionalTensor = None
    gate_bias: OptionalTensor = None
    sigma: Callable[[torch.Tensor], torch.Tensor] = torch.sigmoid
    gate_strength: float = 1.0
    gates_values: bool = False
    sinks: OptionalTensor = None
    query_norm: Norm | None = None
    key_norm: Norm | None = None
    norm: Norm | None = None
    after: Norm | None = None
    rotary: Rotary | None = None
    causal: bool = True
    window: int | None = None

    @property
    def heads(self) -> int:
        """H."""
        return len(self.query)

    @property
    def key_heads(self) -> int:
        """G."""
        return len(self.key)

    @property
    def channels(self) -> int:
        """The number of channels d of a head."""
        return self.query.shape[1]

    @property
    def width(self) -> int:
        """The number of channels D of a state."""
        return self.query.shape[2]

    @property
    def gated(self) -> bool:
        """True if the layer has a gate or a sink of its own."""
        return self.gate is not None or self.sinks is not None

    def read(self, stream: torch.Tensor) -> torch.Tensor:
        """Return the states that attention reads, from the residual stream (T, D)."""
        return stream if self.norm is None else self.norm(stream)

    def visible(self, position: int, count: int) -> torch.Tensor:
        """(count,) bool: the keys that the query at ``position`` sees."""
        keys = torch.arange(count)
        if self.causal:
            seen = keys <= position
            return seen if self.window is None else seen & (keys > position - self.window)
        reach = count if self.window is None else self.window  # both ways, as transformers has it
        return (keys - position).abs() <= reach


# --- From the files -------------------------------------------------------------------------------


def read_layer(checkpoint: Checkpoint | str | Path, layer: int) -> Layer:
    """Read one attention layer of a checkpoint.

    Args:
        checkpoint: As `open_checkpoint` returns it, or its folder.
        layer: The number of the layer, from 0.

    Returns:
        The layer, in float64. The output projection may be missing from the files.

    Raises:
        ValueError: The layer does not exist or is no softmax attention, a tensor is missing,
            malformed or of another shape than the configuration says, the attention has a tensor
            that the family's does not, or positions are scaled.

    Example:
        >>> from gating_core.assets import ASSETS
        >>> layer = read_layer(ASSETS / "models" / "g1_head-0.safetensors", 2)
        >>> layer.query.shape, layer.gate.shape
        (torch.Size([4, 24, 96]), torch.Size([4, 1, 96]))
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = open_checkpoint(checkpoint)
    check_integer("layer", layer, 0, checkpoint.layers - 1)
    kind = checkpoint.types[layer]
    if kind == LINEAR:
        others = ", ".join(str(i) for i, other in enumerate(checkpoint.types) if other != LINEAR)
        raise ValueError(f"layer {layer} is linear attention; softmax attention is in {others}")
    return _Reader(checkpoint, layer, kind).layer()


class _Reader:
    """Reads the tensors of one layer, and refuses what it does not read."""

    def __init__(self, checkpoint: Checkpoint, number: int, kind: str) -> None:
        self.checkpoint, self.number, self.kind = checkpoint, number, kind
        self.row: Family = checkpoint.row
        self.at = self.row.layer.format(i=number)
        self.unread = set(checkpoint.names_below(self.at))
        if self.row.norm is not None:
            self.unread |= set(checkpoint.names_below(self.row.norm.format(i=number) + "."))
        self.unread -= {self.at + name for name in self.row.buffers}

    def layer(self) -> Layer:
        c, row = self.checkpoint, self.row
        rotary, window = self._rotary(), self._window()  # first: they may be refused
        check_plain(sorted(self.unread))
        parts = self._fused() if row.query == row.key else self._separate()
        parts |= self._output() | self._own_gate()
        if row.sinks is not None:
            parts["sinks"] = self._tensor(self.at + row.sinks, c.heads)
        normed = c.flag(row.qk_norm)
        layer = Layer(
            number=self.number,
            family=c.family,
            query_norm=self._norm(self.at + "q_norm", c.channels) if normed else None,
            key_norm=self._norm(self.at + "k_norm", c.channels) if normed else None,
            norm=self._before(),
            after=self._after(),
            rotary=rotary,
            causal=c.causal,
            window=window,
            **parts,
        )
        for name in sorted(self.unread):
            raise ValueError(
                f"there is a tensor {quoted(name)}, which the attention of {c.title} with this"
                f" {CONFIG} does not have"
            )
        return layer

    def _tensor(self, name: str, *shape: int) -> torch.Tensor:
        self.unread.discard(name)
        return self.checkpoint.tensor(name, *shape)

    def _linear(
        self, part: str, rows: int, bias: bool | str, columns: int | None = None
    ) -> tuple[torch.Tensor, OptionalTensor]:
        """Weight (rows, columns), by default D columns, and bias (rows,) of a part."""
        c = self.checkpoint
        columns = c.width if columns is None else columns
        shape = (columns, rows) if self.row.transposed else (rows, columns)
        weight = self._tensor(f"{self.at}{part}.weight", *shape)
        weight = weight.T if self.row.transposed else weight
        return weight, self._tensor(f"{self.at}{part}.bias", rows) if c.flag(bias) else None

    def _fused(self) -> dict[str, Any]:
        c, row = self.checkpoint, self.row
        weight, bias = self._linear(row.query, 3 * c.heads * c.channels, row.bias)
        weights = weight.reshape(3, c.heads, c.channels, c.width)
        biases = [None] * 3 if bias is None else bias.reshape(3, c.heads, c.channels)
        return _parts(weights, biases)

    def _separate(self) -> dict[str, Any]:
        c, row = self.checkpoint, self.row
        r, d = c.heads // c.key_heads, c.channels
        wide = 0  # rows of the gate for each head, within the query's projection
        if row.gate in (PER_HEAD, PER_GROUP):
            wide = 1 if c.entry("headwise_attn_output_gate") else d
        weight, bias = self._linear(row.query, c.heads * (d + wide), row.bias)
        heads, groups = (c.heads, 1) if row.gate == PER_HEAD else (c.key_heads, r)
        # (heads, d of each query of the group, then the gates of the group)
        by_group = weight.reshape(heads, groups * (d + wide), c.width)
        query, gate = by_group.split([groups * d, groups * wide], 1)
        weights = [query.reshape(c.heads, d, c.width)]
        biases: list[OptionalTensor] = [None]
        result: dict[str, Any] = {}
        if wide:
            result["gate"] = gate.reshape(c.heads, wide, c.width)
        if bias is not None:
            query, gate = bias.reshape(heads, groups * (d + wide)).split(
                [groups * d, groups * wide], 1
            )
            biases = [query.reshape(c.heads, d)]
            if wide:
                result["gate_bias"] = gate.reshape(c.heads, wide)
        for part in (row.key, row.value):
            weight, bias = self._linear(part, c.key_heads * d, row.bias)
            weights.append(weight.reshape(c.key_heads, d, c.width))
            biases.append(None if bias is None else bias.reshape(c.key_heads, d))
        return result | _parts(weights, biases)

    def _output(self) -> dict[str, Any]:
        """Of the projection after attention, if there is one: an extract may do without."""
        c, row = self.checkpoint, self.row
        if not c.names_below(f"{self.at}{row.output}."):
            return {}
        wide = c.heads * c.channels
        weight, bias = self._linear(row.output, c.width, row.output_bias, wide)
        by_head = weight.reshape(c.width, c.heads, c.channels).movedim(1, 0)
        return {"output": by_head, "output_bias": bias}

    def _own_gate(self) -> dict[str, Any]:
        """Of a gate with a tensor of its own."""
        c, row = self.checkpoint, self.row
        if row.gate in (None, PER_HEAD, PER_GROUP):
            return {}
        wide, about = c.channels, {}
        if c.family == OURS:
            gate = c.entry("gate")
            if gate is None:
                return {}
            config = _gate_config(gate)
            wide = 1 if config.granularity == "headwise" else wide
            about = {
                "sigma": config.record.sigma,
                "gate_strength": config.strength,
                "gates_values": config.position == "G2",
            }
        weight, bias = self._linear(str(row.gate), c.heads * wide, row.gate_bias)
        parts = {"gate": weight.reshape(c.heads, wide, c.width)}
        if bias is not None:
            parts["gate_bias"] = bias.reshape(c.heads, wide)
        return parts | about

    def _norm(self, name: str, size: int) -> Norm:
        c, row = self.checkpoint, self.row
        weight = self._tensor(f"{name}.weight", size)
        bias = self._tensor(f"{name}.bias", size) if row.mean_removed else None
        return Norm(weight + 1 if row.one_plus else weight, bias, c.epsilon, row.mean_removed)

    def _before(self) -> Norm | None:
        if self.row.norm is None:
            return None
        return self._norm(self.row.norm.format(i=self.number), self.checkpoint.width)

    def _after(self) -> Norm | None:
        if self.row.after is None:
            return None
        name = self.row.after.format(i=self.number)
        there = self.checkpoint.names_below(f"{name}.")
        return self._norm(name, self.checkpoint.width) if there else None

    def _window(self) -> int | None:
        c = self.checkpoint
        if c.family == OURS:
            name, size = "window", c.entry("window")
        else:
            name, size = "sliding_window", c.window if self.kind == SLIDING else None
        if size is not None or self.kind == SLIDING:
            check_integer(f"{name} in {CONFIG}", size, 1, 10**9)
        return size

    def _rotary(self) -> Rotary | None:
        c = self.checkpoint
        if self.row.rotary not in ("all", self.kind):
            return None
        entry, table = _rotary_table(c)
        scaling = table.get("rope_type", table.get("type", "default"))
        if scaling not in self.row.scalings:
            known = " and ".join(map(repr, self.row.scalings))
            raise ValueError(
                f"{entry} in {CONFIG} scales the rotary embedding ({quoted(scaling)}); of {c.title}"
                f" only {known} {'is' if len(self.row.scalings) == 1 else 'are'} known"
            )
        share = c.entry("partial_rotary_factor")
        if share is not None:
            share = c.number("partial_rotary_factor", share, table)
        lanes = c.channels if share is None else int(c.channels * share)
        if lanes % 2 or not 0 < lanes <= c.channels:
            raise ValueError(
                f"{CONFIG} turns {lanes} of {c.channels} channels by position"
                " (partial_rotary_factor)"
            )
        steps = torch.arange(0, lanes, 2, dtype=torch.float64) / lanes
        theta = c.number("rope_theta", c.entry("rope_theta"), table)
        if scaling == "yarn":
            return _yarn(c, table, theta, lanes)
        return Rotary(1 / theta**steps)


def _parts(weights: Any, biases: Any) -> dict[str, Any]:
    names = ("query", "key", "value")
    return dict(zip(names, weights, strict=True)) | {
        f"{name}_bias": bias for name, bias in zip(names, biases, strict=True)
    }


def _gate_config(gate: Any) -> GateConfig:
    """The gate of one of our language models."""
    try:
        config = GateConfig(**gate)
    except TypeError:
        raise ValueError(f"the configuration has an unknown gate, {quoted(gate)}") from None
    if config.record.control is not None or config.position not in ("G1", "G2"):
        raise ValueError(f"a gate {config.kind!r} at {config.position} is not read; only at G1, G2")
    return config


# What a table of rotations may hold whose type is not said; of a text alone, rotations of several
# modalities (mrope) are ordinary ones.
OF_DEFAULT = {"rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved"}


def _rotary_table(c: Checkpoint) -> tuple[str, Mapping[str, Any]]:
    """The entry with the table of rotations, and the table: the old goes before the new one."""
    for entry in ("rope_scaling", "rope_parameters"):
        table = c.entry(entry)
        if table is not None and not isinstance(table, dict):
            raise ValueError(f"{entry} in {CONFIG} is {quoted(table)}; it must be a table")
        for name, value in (table or {}).items():
            if isinstance(value, dict):
                raise ValueError(
                    f"{entry} in {CONFIG} has a table {quoted(name)}, unknown to {c.title}"
                )
            if name not in OF_DEFAULT and not {"rope_type", "type"} & {*(table or ())}:
                raise ValueError(f"{entry} in {CONFIG} has {quoted(name)}, but no rope_type")
        if table:
            return entry, table
    return "rope_parameters", {}


def _yarn(c: Checkpoint, table: Mapping[str, Any], theta: float, lanes: int) -> Rotary:
    """Slow rotations interpolated by a factor, fast ones as they are (Peng et al., 2309.00071)."""
    factor = c.number("factor", None, table)
    name = "original_max_position_embeddings"
    longest = c.number(name, c.entry("max_position_embeddings"), table)
    if c.entry(name) is not None:  # beside the table it goes before the one within
        longest = c.number(name, None, c.config)
    turns = c.number("beta_fast", 32.0, table), c.number("beta_slow", 1.0, table)
    low, high = (
        lanes * math.log(longest / (x * 2 * math.pi)) / (2 * math.log(theta)) for x in turns
    )
    if table.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, lanes - 1)
    pairs = torch.arange(lanes // 2, dtype=torch.float64)
    slow = ((pairs - low) / (high - low if high != low else 0.001)).clamp(0, 1)
    frequencies = 1 / theta ** (2 * pairs / lanes)

    def temperature(share: float) -> float:
        return 0.1 * share * math.log(max(factor, 1.0)) + 1

    scale = temperature(1.0)
    if table.get("mscale") and table.get("mscale_all_dim"):
        shares = (c.number(name, None, table) for name in ("mscale", "mscale_all_dim"))
        over, under = map(temperature, shares)
        scale = over / under
    return Rotary(
        frequencies * (1 - slow + slow / factor), c.number("attention_factor", scale, table)
    )


# --- On a text ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LayerPass:
    """Everything that one layer computes for the T tokens of a text, head by head.

    Attributes:
        queries: (H, T, d), turned by their positions.
        keys: (H, T, d), turned; heads of one group have the same.
        values: (H, T, d), as they are mixed.
        scores: (H, T, T), -inf where a query does not see a key.
        weights: (H, T, T), the softmax of the scores, with a sink their sums are below one.
        gate: (H, T, d or 1), the factors of outputs (or of values, at G2), λ included; with a sink
            the share of the keys; ``None`` without either.
        mixed: (H, T, d), gated.
        output: (T, D), after the projection; ``None`` if the layer has none.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    scores: torch.Tensor
    weights: torch.Tensor
    gate: OptionalTensor
    mixed: torch.Tensor
    output: OptionalTensor


def by_head(states: torch.Tensor, weight: torch.Tensor, bias: OptionalTensor) -> torch.Tensor:
    """(n, T, d): ``states`` (T, D) times ``weight`` (n, d, D), plus ``bias`` (n, d)."""
    product = states @ weight.mT
    return product if bias is None else product + bias[:, None, :]


def factor(values: torch.Tensor, strength: float) -> torch.Tensor:
    """Return the factor of a gate with ``values`` at λ = ``strength``: (1 - λ) + λ values."""
    return values if strength == 1 else (1 - strength) + strength * values


def check_states(layer: Layer, states: torch.Tensor) -> torch.Tensor:
    """``states`` in float64; ``ValueError`` unless they are (T, D), T > 0, and finite."""
    states = torch.as_tensor(states, dtype=torch.float64)
    if states.ndim != 2 or states.shape[1] != layer.width or not len(states):
        raise ValueError(
            f"states has shape {tuple(states.shape)}; it must be (T, {layer.width}), T > 0"
        )
    if not states.isfinite().all():
        raise ValueError("states contains NaN or infinite numbers; all must be finite")
    return states


@torch.no_grad()
def attend(layer: Layer, states: torch.Tensor, strength: float = 1.0) -> LayerPass:
    """Compute one layer on a text.

    Args:
        layer: As `read_layer` returns it.
        states: (T, D), what attention reads: ``layer.read`` of the residual stream.
        strength: λ from 0 to 1, which multiplies that of the layer's gate; at 0 gates and sinks
            are left out.
    """
    states = check_states(layer, states)
    count, repeats = len(states), layer.heads // layer.key_heads
    positions = torch.arange(count)
    queries = by_head(states, layer.query, layer.query_bias)
    keys = by_head(states, layer.key, layer.key_bias)
    values = by_head(states, layer.value, layer.value_bias).repeat_interleave(repeats, 0)
    queries = queries if layer.query_norm is None else layer.query_norm(queries)
    keys = keys if layer.key_norm is None else layer.key_norm(keys)
    if layer.rotary is not None:
        queries, keys = (layer.rotary.turn(x, positions) for x in (queries, keys))
    keys = keys.repeat_interleave(repeats, 0)
    seen = torch.stack([layer.visible(i, count) for i in range(count)])
    scores = (queries @ keys.mT * layer.channels**-0.5).masked_fill(~seen, -torch.inf)
    weights = scores.softmax(-1)
    strength, gate = strength * layer.gate_strength, None
    if strength and layer.gate is not None:
        logits = by_head(states, layer.gate, layer.gate_bias)
        gate = factor(layer.sigma(logits), strength)
        if layer.gates_values:
            values = values * gate
    elif strength and layer.sinks is not None:
        logits = scores.logsumexp(-1, keepdim=True) - layer.sinks[:, None, None]
        gate = factor(logits.sigmoid(), strength)
        weights = weights * gate
    mixed = weights @ values
    if gate is not None and layer.sinks is None and not layer.gates_values:
        mixed = mixed * gate
    output = None
    if layer.output is not None:
        output = (mixed @ layer.output.mT).sum(0)
        output = output if layer.output_bias is None else output + layer.output_bias
    return LayerPass(queries, keys, values, scores, weights, gate, mixed, output)

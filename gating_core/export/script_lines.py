"""Which lines of plain PyTorch does a model need? What `gating_core.export.script` writes down.

Shapes in the lines: N points, D model dimension, H heads, n slots or tokens. States are (N, D)
with memory slots and (N, n, D) with tokens: a script reads best with points first.
"""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.attention.config import AttentionConfig, GateConfig


@dataclass(frozen=True)
class Mechanism:
    """What a script says of one kind of attention; a kind without a row has no script yet."""

    title: str
    values: str  # what n counts
    rows: str  # the axes of the states that a layer reads, before the last
    head_rows: str  # the same, parted into heads
    by_head: str  # what parting does to shapes
    embedding: tuple[str, ...]
    keys_and_values: tuple[str, ...]  # from the state {0}
    bias: str  # added to the logits; {0}: what makes room for heads
    read_out: str  # the part of the last hidden states that becomes logits


MECHANISMS = {
    "memory": Mechanism(
        "Softmax attention over learned slots", "slots", "N", "H, N",
        "(N or n, D) to (H, N or n, D / H)",
        ('h = points @ weights["attention.input_map"] + weights["attention.input_bias"]',),
        ('keys, values = w["keys"], w["values"]  # (n, D)',),
        ' + w["bias"]{0}', "h",
    ),
    "tokens": Mechanism(
        "Softmax attention among tokens, read out at the first", "tokens", "N, n", "N, H, n",
        "(N, n, D) to (N, H, n, D / H)",
        ('h = torch.einsum("Ni,niD->NnD", points, weights["attention.input_map"])',
         'h = h + weights["attention.input_bias"]  # each token has an affine map of its own'),
        ('keys = {0} @ w["key_map"]  # (N, n, D)', 'values = {0} @ w["value_map"]  # (N, n, D)'),
        "", "h[:, 0]",
    ),
}  # fmt: skip
GATED = {"G1": "y", "G2": "values", "G3": "keys", "G4": "query", "G5": "y"}
NORMALISE = "{0} / {0}.square().mean(-1, keepdim=True).sqrt()  # RMSNorm"
SLOT_POSITIONS = ("G2", "G3")  # where a gate on memory slots reads the slots themselves


def gate_in_force(config: AttentionConfig) -> GateConfig | None:
    """The gate, unless its strength is 0."""
    return config.gate if config.gate is not None and config.gate.strength > 0 else None


def by_head_lines(config: AttentionConfig) -> list[str]:
    """The function that parts channels into heads, if there are several."""
    if config.heads == 1:
        return []
    return [
        "def by_head(x):",
        f'    """{MECHANISMS[config.source].by_head}."""',
        "    return x.unflatten(-1, (HEADS, -1)).transpose(-3, -2)",
    ]


def embedding_lines(config: AttentionConfig) -> list[str]:
    """From ``points`` (N, input_dim) to the first hidden states ``h``."""
    return list(MECHANISMS[config.source].embedding)


def state_shape(config: AttentionConfig) -> str:
    """The shape of the hidden states."""
    return f"({MECHANISMS[config.source].rows}, D)"


def layer_lines(config: AttentionConfig) -> list[str]:
    """From hidden states ``h`` to the next ones, ``y``, with the layer's weights ``w``."""
    state = "state" if config.norm == "pre" else "h"
    lines = ["state = " + NORMALISE.format("h")] if config.norm == "pre" else []
    lines.append(f'query = {state} @ w["query"]  # {state_shape(config)}')
    lines += [line.format(state) for line in MECHANISMS[config.source].keys_and_values]
    lines += _gate_lines(config, ("G2", "G3", "G4"), state)
    lines += _attention_lines(config)
    lines += _gate_lines(config, ("G1",), state)
    if config.output_projection:
        lines.append('y = y @ w["projection"]')
    lines += _gate_lines(config, ("G5",), state)
    if config.residual:
        lines.append("y = y + h")
    if config.norm == "post":
        lines.append("y = " + NORMALISE.format("y"))
    return lines


def _attention_lines(config: AttentionConfig) -> list[str]:
    """From ``query``, ``keys`` and ``values`` to their mixture ``y``."""
    mechanism, several = MECHANISMS[config.source], config.heads > 1
    axes = mechanism.head_rows if several else mechanism.rows
    lines = ["query, keys, values = by_head(query), by_head(keys), by_head(values)"] * several
    logits = "logits = query @ keys.mT / keys.shape[-1] ** 0.5"
    logits += mechanism.bias.format(".unsqueeze(1)" if several else "")
    lines.append(f"{logits}  # ({axes}, n)")
    lines.append(f"y = logits.softmax(-1) @ values  # ({axes}, {'D / H' if several else 'D'})")
    if several:
        lines.append(f"y = y.transpose(-3, -2).flatten(-2)  # {state_shape(config)}")
    return lines


def _gate_lines(config: AttentionConfig, positions: tuple[str, ...], state: str) -> list[str]:
    """The gate, or its control, if it sits at one of ``positions``; ``state`` is what it reads."""
    gate = gate_in_force(config)
    if gate is None or gate.position not in positions:
        return []
    x, kind = GATED[gate.position], gate.record
    assert kind.script is not None  # or there is no script
    slots = config.layer.fixed_values and gate.position in SLOT_POSITIONS
    rows = "n" if slots else MECHANISMS[config.source].rows
    by_head = gate.granularity == "headwise" and gate.position != "G5" and config.heads > 1
    width = "D" if gate.granularity == "elementwise" else "H" if by_head else "1"
    z = f'{x if slots else state} @ w["gate.weight"] + w["gate.bias"]' if kind.reads_state else x
    value = kind.script.format(z)
    lines = [f"gate = {value}" if value == kind.script else f"gate = {value}  # ({rows}, {width})"]
    if gate.strength < 1:
        strength = repr(float(gate.strength))
        rest = "" if kind.additive else f"(1 - {strength}) + "
        lines.append(f"gate = {rest}{strength} * gate  # strength")
    if by_head:
        lines.append(f"gate = gate.repeat_interleave({x}.shape[-1] // HEADS, -1)  # ({rows}, D)")
    return [*lines, f"{x} = {x} {'+' if kind.additive else '*'} gate"]

"""One entry of an attention layer's output as a sum over the experts of a mixture.

Shapes: H heads of d = D / H channels, n values (tokens or slots). Entry j of the output for one
query is

    Y[j] = sum_h sum_c W_O[h, c, j] g[h, c] sum_t alpha[h, t] (x_t . W_V[h, :, c])

From the inside out: the experts are linear maps of a token, softmax routes among tokens, W_O mixes
channels and heads (Nguyen et al., arXiv 2602.01468, in our notation).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.attention import Attention, AttentionConfig, restore
from gating_core.attention.gates import Gate
from gating_core.attention.layer import LayerRecord
from gating_core.checks import check_integer, check_weights
from gating_core.points_last import product
from gating_core.tasks import make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trainer import train_ensemble


@dataclass(frozen=True, eq=False)
class EntryTree:
    """The factors of one entry's terms; their sum is the entry.

    A term is ``outside * projection[h, c] * gates[h, c] * weights[h, t] * value_gates[h, t, c] *
    experts[h, t, c]``. Gates before the mixing of G3 and G4 are in the ``weights``.
    """

    value: float  # the entry from the model's own forward pass
    outside: float  # factors after W_O: the gate of G5; one over the root mean square (norm "post")
    projection: np.ndarray  # (H, d): W_O[h, c, j]; without W_O, 1 where channel (h, c) is j
    gates: np.ndarray  # (H, d): the gate at G1; else ones
    weights: np.ndarray  # (H, n): attention weights alpha
    value_gates: np.ndarray  # (H, n, d): the gate at G2; else ones
    experts: np.ndarray  # (H, n, d): x_t . W_V[h, :, c], or entry (h, c) of slot t's value
    added: np.ndarray  # (H, d): what the additive control adds to a mixed channel; else zeros
    residual: float  # what the residual adds to the entry; else 0

    @property
    def terms(self) -> np.ndarray:
        """(H, d, n): what each expert contributes for each token."""
        routed = self.weights[:, :, None] * self.value_gates * self.experts
        return (self.outside * self.projection * self.gates)[..., None] * routed.transpose(0, 2, 1)

    @property
    def added_terms(self) -> np.ndarray:
        """(H, d): what the additive control contributes through each channel."""
        return self.outside * self.projection * self.added

    @property
    def channels(self) -> np.ndarray:
        """(H, d): what each expert contributes, all tokens together."""
        return self.terms.sum(-1) + self.added_terms

    @property
    def total(self) -> float:
        """The sum of all terms, rounded once."""
        return math.fsum([*self.terms.flat, *self.added_terms.flat, self.residual])

    @property
    def size(self) -> float:
        """The sum of the absolute values of all terms: the scale of rounding errors."""
        return float(np.abs(self.terms).sum() + np.abs(self.added_terms).sum() + abs(self.residual))

    @property
    def rounding(self) -> float:
        """The difference of the model's own entry and the sum of its terms."""
        return self.value - self.total


def entry_tree(
    model: Attention, point: Sequence[float], channel: int, layer: int = -1, member: int = 0
) -> EntryTree:
    """Decompose entry ``channel``, counted from 0, of the output of ``model`` at ``point``.

    Args:
        model: Any of our models.
        point: The input, ``input_dim`` finite numbers.
        channel: Output channel j, from 0 to D - 1.
        layer: Which layer's output, token 1's with tokens; the model's own output by default.
        member: Index of the ensemble's member.

    Raises:
        ValueError: For indices out of range, a point of another shape, or numbers not finite.
    """
    depth = model.config.depth
    check_integer("channel", channel, 0, model.config.model_dim - 1)
    check_integer("layer", layer, -depth, depth - 1)
    check_weights(model)
    at = torch.as_tensor(point, dtype=torch.float64)
    if at.shape != (model.config.input_dim,) or not at.isfinite().all():
        raise ValueError(
            f"point is {point!r}; it must be {model.config.input_dim} finite numbers for this model"
        )
    model = model.member(member)
    *before, last = model.blocks[: layer % depth + 1]
    hidden = model.embed(at.unsqueeze(0))  # (1, 1, D), with tokens (1, n, 1, D)
    for block in before:
        hidden = block(hidden)
    records: list[LayerRecord] = []
    out = last(hidden, None, True, records).flatten()  # (D,)
    states, weights = last.read(hidden), records[0].weights[0, :, 0]  # those of one query, (H, n)
    config, gate = last.config, last.gate
    tokens = states.reshape(-1, config.model_dim)  # (n, D), or (1, D) without tokens
    query = tokens[:1]
    values = last.plain_values(states)[0, :, 0]  # (n, D)
    value_gates, gates = torch.ones_like(values), torch.ones_like(values[:1])
    added, outside = torch.zeros_like(gates), torch.ones_like(gates)
    position = None if gate is None else gate.config.position
    if gate is not None and position == "G2":
        value_gates = _factors(gate, values if last.fixed_values else tokens, values)
    mixed = weights.unsqueeze(1) @ _by_head(value_gates * values, config.heads)
    mixed = mixed.flatten().unsqueeze(0)  # (1, D)
    if gate is not None and position == "G1":
        if gate.config.record.additive:
            added = gate(mixed.unsqueeze(0), query.unsqueeze(0))[0] - mixed
        else:
            gates = _factors(gate, query, mixed)
    if gate is not None and position == "G5":
        outside = _factors(gate, query, mixed)
    projection = torch.eye(config.model_dim, dtype=torch.float64)
    if last.projection is not None:
        projection = last.projection[0]
    residual = hidden.reshape(-1, config.model_dim)[:1] * float(config.residual)
    if config.norm == "post":
        raw = (gates * mixed + added) @ projection * outside + residual
        scale = 1 / raw.square().mean().sqrt()
        outside, residual = outside * scale, residual * scale
    heads = config.heads
    return EntryTree(
        value=float(out[channel]),
        outside=float(outside[0, channel]),
        projection=_by_head(projection[:, channel].unsqueeze(0), heads)[:, 0].numpy(),
        gates=_by_head(gates, heads)[:, 0].numpy(),
        weights=weights.numpy(),
        value_gates=_by_head(value_gates, heads).numpy(),
        experts=_by_head(values, heads).numpy(),
        added=_by_head(added, heads)[:, 0].numpy(),
        residual=float(residual[0, channel]),
    )


def _factors(gate: Gate, states: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """(M, D): the gate's factors of ``x`` (M, D), by channel, for ``states`` (M, D)."""
    factors = gate.values(states.unsqueeze(0), x.unsqueeze(0)).squeeze(0)  # (M, D or H), or ()
    if factors.ndim and 1 < factors.shape[-1] < x.shape[-1]:
        factors = factors.repeat_interleave(x.shape[-1] // factors.shape[-1], -1)
    return factors * torch.ones_like(x)


def _by_head(x: torch.Tensor, heads: int) -> torch.Tensor:
    """(M, D) to (H, M, d)."""
    return x.unflatten(-1, (heads, -1)).transpose(0, 1)


# --- The maps from which a browser computes entries -----------------------------------------------


@dataclass(frozen=True, eq=False)
class EntryMaps:
    """The affine maps of the input that one layer among tokens computes, and its fixed weights.

    An affine map of k coordinates is (k + 1, ...): its constant, then the coefficients of each.
    From these numbers, sent once, a browser computes an entry at any input and gate strength.
    """

    tokens: np.ndarray  # (k + 1, n, D)
    values: np.ndarray  # (k + 1, H, n, d), before any gate
    queries: np.ndarray  # (k + 1, H, d), of token 1, before any gate
    keys: np.ndarray  # (k + 1, H, n, d), before any gate
    gate_logits: np.ndarray | None  # (k + 1, n or 1, H, d): W h + b by channel; n at G2 and G3
    value_map: np.ndarray  # (H, d, D): W_V[h, :, c], the experts
    projection: np.ndarray  # (H, d, D): W_O


def entry_maps(model: Attention) -> EntryMaps:
    """Return the maps of one layer among tokens, of an ensemble's first member.

    ``ValueError`` for slots, stacks, a residual, normalisation, a missing output projection, or a
    control in place of a gate.
    """
    config = model.config
    gate = config.gate
    if (
        not config.layer.state_axes(config)
        or config.depth > 1
        or config.residual
        or config.norm != "none"
        or not config.output_projection
        or (gate is not None and gate.record.control is not None)
    ):
        raise ValueError(
            "only one layer among tokens with an output projection, and nothing besides attention"
            f" and a gate, has these maps; this is {config}"
        )
    check_weights(model)
    own = model.member(0)
    (layer,) = own.blocks
    assert layer.projection is not None
    dims = config.input_dim
    corners = torch.cat([torch.zeros(1, dims), torch.eye(dims)]).double()  # (k + 1, k)
    states = own.embed(corners)  # (1, n, k + 1, D)

    def by_channel(x: torch.Tensor) -> torch.Tensor:
        """(1, n, k + 1, D) to (k + 1, H, n, d), as an affine map."""
        heads = x[0].unflatten(-1, (config.heads, -1)).permute(1, 2, 0, 3)
        return torch.cat([heads[:1], heads[1:] - heads[:1]])

    def mapped(name: str) -> torch.Tensor:
        return by_channel(product(states, layer.get_parameter(name).unsqueeze(1)))

    logits = None
    if layer.gate is not None:
        each = layer.gate.logits(states)  # (1, n, k + 1, D or H or 1)
        each = each.repeat_interleave(config.model_dim // each.shape[-1], -1)
        logits = by_channel(each).transpose(1, 2)  # (k + 1, n, H, d)
        if layer.gate.config.position not in ("G2", "G3"):
            logits = logits[:, :1]
    tokens = states[0].transpose(0, 1)  # (k + 1, n, D)
    return EntryMaps(
        tokens=torch.cat([tokens[:1], tokens[1:] - tokens[:1]]).numpy(),
        values=by_channel(layer.plain_values(states)).numpy(),
        queries=mapped("query")[:, :, 0].numpy(),
        keys=mapped("key_map").numpy(),
        gate_logits=None if logits is None else logits.numpy(),
        value_map=layer.get_parameter("value_map")[0].T.unflatten(0, (config.heads, -1)).numpy(),
        projection=layer.projection[0].unflatten(0, (config.heads, -1)).numpy(),
    )


# --- A layer that has learned a task --------------------------------------------------------------

# With the data and the training configuration of the default comparison.


def trained_state(config: AttentionConfig, task: str, seed: int) -> dict[str, np.ndarray]:
    """Train one classifier on ``task``, a key of `TASKS`; return its weights by name, (1, ...).

    Its gate is trained at full strength, whatever that of ``config`` is. Adam, 400 steps, weight
    decay 0.06: the member ``seed`` of a comparison's ensemble, up to the rounding of larger
    batches. `TrainingDiverged` where a loss is no longer finite.
    """
    if config.gate is not None:
        config = replace(config, gate=replace(config.gate, strength=1.0))
    data = make_task(task, 256, test_points=768, seeds=(seed,))
    *_, last = train_ensemble(config, data, 400, Recipe(weight_decay=0.06), 1)
    return last.state


def with_state(config: AttentionConfig, seed: int, state: dict[str, np.ndarray]) -> Attention:
    """Return the layer of a trained classifier in float64, with the gate of ``config``."""
    return restore(config, (seed,), state).attention

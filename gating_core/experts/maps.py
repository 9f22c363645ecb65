"""The affine maps of the input that a layer among tokens computes before its nonlinearities.

From these numbers, sent once, a browser computes an entry at any input and any gate strength.
Shapes: k input dimensions, H heads of d channels, n tokens, D model dimension. An affine map is
(k + 1, ...): its constant, then the coefficients of each coordinate of the input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention import Attention
from gating_core.checks import check_weights
from gating_core.points_last import product


@dataclass(frozen=True, eq=False)
class EntryMaps:
    """Affine maps of the input, and the fixed weights."""

    tokens: np.ndarray  # (k + 1, n, D)
    values: np.ndarray  # (k + 1, H, n, d), before any gate
    queries: np.ndarray  # (k + 1, H, d), of token 1, before any gate
    keys: np.ndarray  # (k + 1, H, n, d), before any gate
    gate_logits: np.ndarray | None  # (k + 1, n or 1, H, d): W h + b by channel; n at G2 and G3
    value_map: np.ndarray  # (H, d, D): W_V[h, :, c], the experts
    projection: np.ndarray  # (H, d, D): W_O


def entry_maps(model: Attention, member: int = 0) -> EntryMaps:
    """Return the maps of one layer among tokens.

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
    own = model.member(member)
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

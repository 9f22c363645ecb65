"""Finite moves of value map and projection along one direction, and what they change.

W_V of a head becomes W_V e^{tA}, its W_O becomes e^{-tA} W_O. With nothing between the two no
output changes, for any A; with a factor for each channel between them none changes if A is
diagonal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention import Attention
from gating_core.checks import check_integer, check_number, check_points
from gating_core.experts.undecidable import default_points, names_between

LONGEST_MOVE = 20.0  # t: e^t still leaves enough significant digits


@dataclass(frozen=True, eq=False)
class Moves:
    """Relative changes of a model along a direction, for T distances."""

    distances: np.ndarray  # (T,)
    weights: np.ndarray  # (T,): of the head's W_V and W_O together, in Frobenius norm
    experts: np.ndarray  # (T,): the largest change of an expert's W_V[h, :, c] W_O[h, c, :]
    outputs: np.ndarray  # (T,): the largest change of an output, over the largest output


def moved(model: Attention, head: int, generator: np.ndarray, distance: float) -> Attention:
    """Move a model: W_V of ``head`` becomes W_V e^{tA}, its W_O becomes e^{-tA} W_O.

    Args:
        model: One member, one layer or a stack, whose last layer is moved.
        head: From 0 to H - 1.
        generator: A, (d, d); diagonal where only channels' scales are undecidable.
        distance: t. The move is finite, not its first order.

    Raises:
        ValueError: For another shape, a model without projection, or one of several members.
    """
    config = model.config
    size = config.model_dim // config.heads
    check_integer("head", head, 0, config.heads - 1)
    check_number("distance", distance, -LONGEST_MOVE, LONGEST_MOVE)
    if not config.output_projection or len(model.seeds) != 1:
        raise ValueError("only one member with an output projection can be moved")
    if np.shape(generator) != (size, size):
        raise ValueError(
            f"generator has shape {np.shape(generator)}; it must be ({size}, {size}) for this model"
        )
    scaled = distance * torch.as_tensor(generator, dtype=torch.float64)
    out = model.member(0)
    value, projection = (out.get_parameter(name) for name in names_between(out))
    own = slice(head * size, (head + 1) * size)
    value.data, projection.data = value.data.clone(), projection.data.clone()
    value.data[..., own] = value.data[..., own] @ torch.matrix_exp(scaled)
    projection.data[:, own] = torch.matrix_exp(-scaled) @ projection.data[:, own]
    return out


def mixing(size: int, first: int, second: int) -> np.ndarray:
    """(d, d): the generator of rotations of two of a head's channels into each other."""
    out = np.zeros((size, size))
    out[first, second], out[second, first] = -1.0, 1.0
    return out


def scaling(size: int, channel: int) -> np.ndarray:
    """(d, d): the generator that scales up one channel's value and scales down its row of W_O."""
    return np.diag(np.arange(size) == channel).astype(float)


def measure_moves(
    model: Attention,
    head: int,
    generator: np.ndarray,
    distances: Iterable[float],
    points: torch.Tensor | None = None,
) -> Moves:
    """Move a model by each of ``distances``; arguments as `moved`.

    Outputs are compared at ``points`` (N, input_dim); without these on the grid of
    `undecidable_directions`.
    """
    points = default_points(model.config.input_dim) if points is None else check_points(points)
    before = model(points)
    start = _between(model, head)
    distances = list(distances)
    rows = []
    for distance in distances:
        changed = moved(model, head, generator, distance)
        value, projection = _between(changed, head)
        change = torch.stack([_squares(value - start[0]), _squares(projection - start[1])]).sum()
        size = torch.stack([_squares(each) for each in start]).sum()
        experts = (_experts(value, projection) - _experts(*start)).flatten(1).norm(dim=1)
        rows.append((
            (change / size).sqrt(),
            (experts / _experts(*start).flatten(1).norm(dim=1)).max(),
            (changed(points) - before).abs().max() / before.abs().max(),
        ))  # fmt: skip
    columns = np.array(rows, dtype=float).reshape(-1, 3).T
    return Moves(np.array(distances), *columns)


def _between(model: Attention, head: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(D or n, d) and (d, D): W_V and W_O of a head, of the only member."""
    value, projection = (model.get_parameter(name)[0] for name in names_between(model))
    size = model.config.model_dim // model.config.heads
    own = slice(head * size, (head + 1) * size)
    return value[:, own], projection[own]


def _experts(value: torch.Tensor, projection: torch.Tensor) -> torch.Tensor:
    """(d, D or n, D): the rank-one maps of a head's channels."""
    return value.T.unsqueeze(-1) * projection.unsqueeze(1)


def _squares(x: torch.Tensor) -> torch.Tensor:
    return x.square().sum()

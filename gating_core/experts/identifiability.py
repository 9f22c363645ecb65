"""Non-identifiable directions of value map and projection: along them no output changes.

Outputs depend on expert c of head h through the rank-one map of W_V[h, :, c] and W_O[h, c, :]. The
factors between the two determine how many directions of (W_V, W_O) change no output:

- nothing, or one factor for a whole head: any invertible R between (W_V R, inverse of R times W_O)
  cancels, so d² directions for each head, H d² in all;
- one factor for each channel, which moves with the input: R must be diagonal, so one scale for
  each channel, D in all.

Derived by us; an elementary form of what Nguyen et al., arXiv 2602.01468, say of gates at the
attention output and on the values. Their theorem is about rates of estimation.

Shapes: P parameters of W_V and W_O together, N points, D model dimension, H heads of d = D / H
channels, n tokens or slots, r dimensions that the mixed tokens span.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.func import functional_call

from gating_core.attention import (
    GATE_POSITIONS,
    Attention,
    AttentionConfig,
    GateConfig,
    build_attention,
)
from gating_core.attention.gates import GATE_GRANULARITIES
from gating_core.checks import check_integer, check_number, check_points, check_weights

NULL_SHARE = 1e-12  # of the largest singular value: smaller ones are zero up to rounding


@dataclass(frozen=True, eq=False)
class NonIdentifiable:
    """The singular values of the outputs' Jacobian with respect to W_V and W_O, and its kernel."""

    singular_values: np.ndarray  # (P,), from large to small, divided by the largest
    theory: int | None  # how many must be null; None: not derived; see `theory_count`

    @property
    def count(self) -> int:
        """The number of directions that change no output: singular values below `NULL_SHARE`."""
        return int((self.singular_values < NULL_SHARE).sum())

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest singular value that is not null, and the largest that is; 0 if none is."""
        rank = len(self.singular_values) - self.count
        null = self.singular_values[rank:]
        return float(self.singular_values[rank - 1]), float(null[0]) if len(null) else 0.0

    @property
    def clear(self) -> bool:
        """A gap between both ends that is wide enough to count."""
        smallest, null = self.ends
        return smallest > 100 * null


def non_identifiable_directions(
    model: Attention, points: torch.Tensor | None = None, member: int = 0
) -> NonIdentifiable:
    """Count the directions of value map and projection in which no output of ``model`` changes.

    Derivatives are exact; the outputs of all ``points`` (N, input_dim) are taken
    together. Without ``points``, a grid of 15 points along each side of [-1, 1]^input_dim. In a
    stack, the maps of the last layer. Rounding leaves null singular values near 1e-16 of the
    largest.

    ``ValueError`` for a model without output projection, weights or points that are not finite,
    fewer outputs than parameters, or derivatives that are all zero.
    """
    config = model.config
    if not config.output_projection:
        raise ValueError("output_projection is False: directions of W_V and W_O need both maps")
    check_weights(model)
    points = default_points(config.input_dim) if points is None else check_points(points)
    own = model.member(member)
    parameters, dim = dict(own.named_parameters()), config.model_dim
    count, names = points.shape[0] * dim, names_between(own)
    wanted = sum(parameters[name].numel() for name in names)
    if count < wanted:
        raise ValueError(
            f"points has {points.shape[0]} rows, so {count} outputs; {wanted} parameters need as"
            " many at least"
        )
    # One copy of the model for each output, at that output's point: copies do not mix, so one pass
    # backward gives all rows of the Jacobian. (Forward mode would import the compiler: a second.)
    copies = {name: x.detach().expand(count, *x.shape[1:]) for name, x in parameters.items()}
    chosen = {name: copies[name].clone().requires_grad_() for name in names}
    at = points.repeat_interleave(dim, 0).unsqueeze(1)
    outputs = functional_call(own, {**copies, **chosen}, (at,)).view(-1, dim, dim)
    total = outputs.diagonal(dim1=1, dim2=2).sum()
    rows = torch.autograd.grad(total, [*chosen.values()])
    jacobian = torch.cat([row.flatten(1) for row in rows], 1)
    singular = torch.linalg.svdvals(torch.linalg.qr(jacobian, mode="r").R)
    if not singular[0] > 0:
        raise ValueError("every output's derivative by W_V and W_O is zero: there is no scale")
    return NonIdentifiable((singular / singular[0]).numpy(), theory_count(config))


def non_identifiable_by_gate(
    config: AttentionConfig, seed: int
) -> dict[tuple[str, str] | None, NonIdentifiable]:
    """`non_identifiable_directions` by position and granularity of the gate; ``None``: no gate.

    Kind and strength are those of the gate of ``config``; without one it is a sigmoid. All models
    share the weights that they have in common.
    """
    gate = config.gate or GateConfig()
    gates = {
        (position, each): replace(gate, position=position, granularity=each)
        for position in GATE_POSITIONS
        for each in GATE_GRANULARITIES
    }
    return {
        setting: non_identifiable_directions(build_attention(replace(config, gate=each), (seed,)))
        for setting, each in [(None, None), *gates.items()]
    }


def default_points(input_dim: int) -> torch.Tensor:
    """The grid (N, input_dim) on [-1, 1]^input_dim where outputs are compared."""
    axis = torch.linspace(-1, 1, 15, dtype=torch.float64)
    return torch.cartesian_prod(*[axis] * input_dim)


def names_between(model: Attention) -> tuple[str, str]:
    """Return the parameters' names of value map and projection of the last layer."""
    own = model.blocks[-1]
    # Learned values stand in place of W_V.
    value = next(name for name in ("value_map", "values") if hasattr(own, name))
    prefix = f"layers.{model.config.depth - 1}"
    return f"{prefix}.{value}", f"{prefix}.projection"


def theory_count(config: AttentionConfig) -> int | None:
    """The number of directions of value map and projection that no data can determine, by theory.

    H d², or D where the gate has a factor for each channel. More where values are few:

    - tokens span only r < D dimensions: W_V is free on the D - r others, D (D - r) directions;
    - a head of d channels mixes fewer than d: (d - r) (D - d) directions for each head;
    - heads can exchange parts of their outputs, as each head's weights add up to one.

    ``None``, not derived, for stacks, normalisation, sinks, and linear attention.
    """
    dim, heads = config.model_dim, config.heads
    size = dim // heads
    fixed = config.layer.fixed_values
    free = not fixed or config.layer.no_weight_chart is None  # weights obey no further rule
    if config.depth > 1 or config.norm != "none" or config.sink != "none" or not free:
        return None
    functions = 1 if fixed else config.input_dim + 1  # of x, for each value and its weight
    mixed_dim = config.value_count * functions
    spanned = mixed_dim if fixed else min(dim, mixed_dim)  # r
    value_free = 0 if fixed else dim * (dim - spanned)
    gate = config.gate
    acts = gate is not None and gate.strength > 0 and not gate.record.constant
    if gate is not None and acts and gate.record.control is not None:
        return value_free  # added, or nonlinear itself: no R cancels
    position = gate.position if gate is not None and acts else None
    # Whether it acts between W_V and W_O, and varies with the input.
    varies = position == "G1" or (position == "G2" and not fixed)
    if gate is not None and varies and gate.granularity == "elementwise":
        return dim + value_free
    few = heads * max(0, size - spanned) * (dim - size)
    common = functions if mixed_dim <= dim else max(0, dim + functions - mixed_dim)
    exchanged = 0 if varies else max(0, common - max(0, spanned - size)) * dim * (heads - 1)
    return heads * size**2 + value_free + few + exchanged


# --- Moves along a direction ----------------------------------------------------------------------

# With nothing between W_V e^{tA} and e^{-tA} W_O no output changes, for any A; with a factor for
# each channel between them none changes if A is diagonal.

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
        generator: A, (d, d); diagonal where only channels' scales are non-identifiable.
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
    model: Attention, head: int, generator: np.ndarray, distances: Sequence[float] | np.ndarray
) -> Moves:
    """Move a model by each of ``distances``; arguments as `moved`.

    Outputs are compared on the grid of `non_identifiable_directions`.
    """
    points = default_points(model.config.input_dim)
    before = model(points)
    start = _between(model, head)
    rows = []
    for distance in distances:
        changed = moved(model, head, generator, distance)
        value, projection = _between(changed, head)
        moves = value - start[0], projection - start[1]
        change, size = (
            torch.stack([x.square().sum() for x in part]).sum() for part in (moves, start)
        )
        experts = (_experts(value, projection) - _experts(*start)).flatten(1).norm(dim=1)
        rows.append(
            (
                (change / size).sqrt(),
                (experts / _experts(*start).flatten(1).norm(dim=1)).max(),
                (changed(points) - before).abs().max() / before.abs().max(),
            )
        )
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

"""One attention layer as a mixture of experts to be learned: sizes, design, outputs, and fits.

Shapes: N points, D model dimension, n tokens, H heads of c channels (each channel is an expert),
k channels of queries and keys, P parameters of a student, B students in a batch, K residuals.

The layer is that of our token models, read out at token 1, with channels of any number:

    y = gate5( sum_h sum_c gate1( sum_t alpha_h(t) gate2( x_t W_V[h,:,c] ) ) W_O[h,c,:] )

where G3 and G4 gate the keys and queries that make alpha. Gates are sigmoids of an affine map of
their token's state (Qiu et al., arXiv 2505.06708); experts as in Nguyen et al., arXiv 2602.01468.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import torch

from gating_core.attention.gates import GATE_GRANULARITIES, GATE_POSITIONS
from gating_core.attention.layer import OFFSET_SCALE
from gating_core.attention.stack import INPUT_SCALE
from gating_core.checks import check_choice, check_flag, check_integer
from gating_core.process import one_at_a_time
from gating_core.progress import Progress, silent
from gating_core.randomness import generator, normal

NO_GATE = "none"
GATES = (NO_GATE, *(f"{g} {p}" for p in GATE_POSITIONS for g in GATE_GRANULARITIES))
PARAMETER_SCALE = 0.7  # standard deviation of a teacher's parameters, and of a student's first ones
POINTS = 150  # of the design
SIZES = {"model_dim": (2, 8), "heads": (1, 3), "channels": (1, 6), "tokens": (2, 6)}


@dataclass(frozen=True)
class Sizes:
    """The sizes of a teacher and of its students, and the maps that students have to learn."""

    model_dim: int = 4  # D
    heads: int = 1  # H
    channels: int = 3  # c of each head of the teacher
    tokens: int = 3  # n
    one_too_many: bool = False  # whether each head of a student has one channel more
    learned_routing: bool = False  # whether students learn the maps of queries and keys, too

    def __post_init__(self) -> None:
        for name, (low, high) in SIZES.items():
            check_integer(name, getattr(self, name), low, high)
        check_flag("one_too_many", self.one_too_many)
        check_flag("learned_routing", self.learned_routing)


class Design(NamedTuple):
    """The inputs of the layer: ``tokens`` (N, n, D), and maps ``query``, ``key`` (H, D, k)."""

    tokens: torch.Tensor
    query: torch.Tensor
    key: torch.Tensor


def make_design(sizes: Sizes, seed: int, points: int = POINTS) -> Design:
    """Draw points of [-1, 1]^2, and make their tokens and the maps of queries and keys.

    Tokens are affine maps of the point; all scales are those of our token models.
    """
    dim, count, heads, wide = sizes.model_dim, sizes.tokens, sizes.heads, sizes.channels
    uniform = torch.rand(
        points, 2, generator=generator(seed, "experts.points"), dtype=torch.float64
    )
    maps = normal((seed,), "experts.token_map", (count, 2, dim), INPUT_SCALE * 2**-0.5)[0]
    offsets = normal((seed,), "experts.token_bias", (count, dim), OFFSET_SCALE)[0]
    tokens = torch.einsum("Ni,niD->NnD", 2 * uniform - 1, maps) + offsets
    query, key = (
        normal((seed,), f"experts.{name}", (heads, dim, wide), dim**-0.5)[0]
        for name in ("query", "key")
    )
    return Design(tokens, query, key)


@dataclass(frozen=True)
class Student:
    """A layer with a ``gate`` of `GATES`, whose parameters are one vector (P,)."""

    sizes: Sizes
    gate: str = NO_GATE
    teaches: bool = False  # the teacher itself, which has no channel too many

    def __post_init__(self) -> None:
        check_choice("gate", self.gate, GATES)

    @property
    def position(self) -> str | None:
        """The gate's position, of `GATE_POSITIONS`; ``None`` without a gate."""
        return None if self.gate == NO_GATE else self.gate.split()[1]

    @property
    def elementwise(self) -> bool:
        """True where the gate has a factor for each channel."""
        return self.gate.startswith("elementwise")

    @property
    def channels(self) -> int:
        """The number c of channels of each head."""
        return self.sizes.channels + (self.sizes.one_too_many and not self.teaches)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The parameters by name, in their order in the vector."""
        dim, heads = self.sizes.model_dim, self.sizes.heads
        shapes: dict[str, tuple[int, ...]] = {
            "value": (heads, dim, self.channels),
            "projection": (heads, self.channels, dim),
        }
        if self.sizes.learned_routing:
            shapes |= dict.fromkeys(("query", "key"), (heads, dim, self.sizes.channels))
        if self.position is not None:
            shapes |= {"gate_weight": (dim, *self._gates), "gate_bias": self._gates}
        return shapes

    @property
    def _gates(self) -> tuple[int, int]:
        """Groups and gates of each group: heads and channels, or one group of outputs."""
        if self.position == "G5":
            return 1, self.sizes.model_dim if self.elementwise else 1
        wide = self.channels if self.position in ("G1", "G2") else self.sizes.channels
        return self.sizes.heads, wide if self.elementwise else 1

    @property
    def parameter_count(self) -> int:
        """The number P of parameters."""
        return sum(prod(shape) for shape in self.shapes.values())

    def parts(self, vectors: torch.Tensor) -> dict[str, torch.Tensor]:
        """Split ``vectors`` (..., P) into parameters by name."""
        sizes = [prod(shape) for shape in self.shapes.values()]
        pieces = vectors.split(sizes, -1)
        return {
            name: piece.unflatten(-1, shape)
            for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
        }

    def experts(self, vectors: torch.Tensor) -> torch.Tensor:
        """(..., H c, D, D): the experts of vectors (..., P); see `expert_maps`."""
        parts = self.parts(vectors)
        return expert_maps(parts["value"], parts["projection"])

    def outputs(self, vector: torch.Tensor, design: Design) -> torch.Tensor:
        """(N, D): the outputs of the layer with the parameters ``vector`` (P,) at ``design``."""
        parts = self.parts(vector)
        tokens, gate = design.tokens, parts.get("gate_weight")

        def gated(position: str, x: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
            if self.position != position or gate is None:
                return x
            logits = torch.einsum("...D,Dgc->...gc", states, gate) + parts["gate_bias"]
            return x * torch.sigmoid(logits)

        first = tokens[:, 0]
        query = torch.einsum("ND,HDk->NHk", first, parts.get("query", design.query))
        keys = torch.einsum("NnD,HDk->NnHk", tokens, parts.get("key", design.key))
        query, keys = gated("G4", query, first), gated("G3", keys, tokens)
        logits = torch.einsum("NHk,NnHk->NHn", query, keys) * query.shape[-1] ** -0.5
        values = torch.einsum("NnD,HDc->NnHc", tokens, parts["value"])
        values = gated("G2", values, tokens)
        mixed = torch.einsum("NHn,NnHc->NHc", torch.softmax(logits, -1), values)
        mixed = gated("G1", mixed, first)
        out = torch.einsum("NHc,HcD->ND", mixed, parts["projection"])
        return gated("G5", out.unsqueeze(-2), first).squeeze(-2)

    def layer(self, vector: torch.Tensor, *parts: torch.Tensor) -> torch.Tensor:
        """(N D,): `outputs`, flattened, for the ``parts`` of a design."""
        return self.outputs(vector, Design(*parts)).flatten()


def expert_maps(value: torch.Tensor, projection: torch.Tensor) -> torch.Tensor:
    """The rank-one maps W_V[h,:,c] W_O[h,c,:] of all experts.

    Args:
        value: (..., H, D, c), the value map of every head.
        projection: (..., H, c, D), the rows of the output projection that belong to its channels.

    Returns:
        (..., H c, D, D): expert c of head 0 first. Rescaling a channel (its column of ``value`` by
        s, its row of ``projection`` by 1/s) leaves its map as it is.
    """
    if value.ndim < 3 or projection.ndim < 3 or value.mT.shape[:-1] != projection.shape[:-1]:
        raise ValueError(
            f"value has shape {tuple(value.shape)} and projection {tuple(projection.shape)}; they"
            " must be (..., H, D, c) and (..., H, c, D)"
        )
    maps = torch.einsum("...hic,...hcj->...hcij", value, projection)
    return maps.flatten(-4, -3)


# --- What theory expects of least squares ---------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """Errors for noise of deviation 1 in every output of the design, to first order."""

    expert: float  # infinite where outputs do not determine the experts
    prediction: float
    non_identifiable: int


def expected(student: Student, vector: torch.Tensor, design: Design) -> Expected:
    """The errors of least squares near the exact ``vector`` (P,), if noise is small.

    The covariance of parameters is the pseudoinverse of J^T J, J the Jacobian of outputs
    (N D, P); an expert's error is the root of the trace of its own covariance, which is infinite
    where a direction in which no output changes moves the expert. Source: Cramer and Rao, as in
    van der Vaart (1998), Asymptotic Statistics, chapter 5.
    """
    derivative = one_at_a_time(torch.func.jacfwd(student.layer))
    jacobian = derivative(vector, *design)
    _, values, directions = torch.linalg.svd(jacobian, full_matrices=False)
    determined = values > 1e-9 * values[0]  # others are zero but for rounding
    rank = int(determined.sum())
    derivatives = one_at_a_time(torch.func.jacfwd(student.experts))(vector).flatten(1, 2)
    # (E, D D, P)
    # Directions beyond the smaller of N D and P are undetermined, too: they are in the remainder.
    inside = derivatives @ directions[determined].mT
    remainder = derivatives - inside @ directions[determined]
    errors = (inside / values[determined]).square().sum((1, 2)).sqrt()
    # By more than rounding: a share of the experts' derivatives is in undetermined directions.
    moved = bool(remainder.norm() > 1e-6 * derivatives.norm())
    return Expected(
        expert=float("inf") if moved else float(errors.mean()),
        prediction=(rank / len(jacobian)) ** 0.5,
        non_identifiable=len(vector) - rank,
    )


# --- Levenberg-Marquardt --------------------------------------------------------------------------


FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-1, 1e-10, 1e8
CHUNK_NUMBERS = 400_000  # of the Jacobians computed at a time: they stay in the processor's cache


def least_squares(
    model: Callable[..., torch.Tensor],
    targets: torch.Tensor,
    starts: torch.Tensor,
    inputs: Sequence[torch.Tensor] = (),
    steps: int = 150,
    progress: Progress = silent,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fit ``model``, a map of one vector (P,) to (K,), to each of ``targets`` (B, K).

    Returns vectors (B, P) and their sums of squared residuals (B,).
    ``model`` gets each problem's own part of ``inputs`` (B, ...) as further arguments. Each problem
    begins at its own row of ``starts`` (B, P), has a damping of its own, and takes at most
    ``steps`` steps; it is solved when its residuals are orthogonal to its Jacobian. ``progress`` is
    called with ``None`` several times a step. Where outputs do not depend on a direction of
    parameters, the damping keeps the vector's component along it. ``ValueError`` for arguments of
    other shapes. Sources: Marquardt (1963), J. Soc. Indust. Appl. Math. 11, 431; the end as in
    MINPACK (gtol).
    """
    if targets.ndim != 2 or starts.ndim != 2 or len(targets) != len(starts):
        raise ValueError(
            f"targets has shape {tuple(targets.shape)} and starts {tuple(starts.shape)}; they must"
            " be (B, K) and (B, P)"
        )
    values = torch.func.vmap(model)
    jacobians = one_at_a_time(torch.func.vmap(torch.func.jacfwd(model)))
    vectors = starts.clone()
    residuals = values(vectors, *inputs) - targets
    costs = (residuals**2).sum(-1)
    damping = torch.full_like(costs, FIRST_DAMPING)
    solved = torch.zeros_like(costs, dtype=torch.bool)
    identity = torch.eye(starts.shape[1], dtype=starts.dtype)
    size = max(1, CHUNK_NUMBERS // (targets.shape[1] * starts.shape[1]))
    for _ in range(steps):
        active = (~solved).nonzero().squeeze(-1)
        if not len(active):
            break
        for batch in active.split(size):
            batch_inputs = [each[batch] for each in inputs]
            jacobian = jacobians(vectors[batch], *batch_inputs)
            square = jacobian.mT @ jacobian + damping[batch, None, None] * identity
            slope = (jacobian.mT @ residuals[batch].unsqueeze(-1)).squeeze(-1)
            scale = jacobian.square().sum(-2).sqrt() * costs[batch, None].sqrt()
            # The cosine of the angle between residuals and each column of the Jacobian is small.
            solved[batch] = (slope.abs() <= 1e-7 * scale).all(-1)
            new_vectors = vectors[batch] - torch.linalg.solve(square, slope)
            new_residuals = values(new_vectors, *batch_inputs) - targets[batch]
            cost = (new_residuals**2).sum(-1)
            better = cost < costs[batch]
            vectors[batch] = torch.where(better[:, None], new_vectors, vectors[batch])
            residuals[batch] = torch.where(better[:, None], new_residuals, residuals[batch])
            costs[batch] = torch.where(better, cost, costs[batch])
            damping[batch] = (damping[batch] * torch.where(better, 0.3, 4.0)).clamp(
                LEAST_DAMPING, MOST_DAMPING
            )
            progress(None)
    return vectors, costs

"""Requests about depth, and the regimes: maps that are followed from layer to layer, by name.

Some are stacks of attention layers; the others are quadratic scalar gates on the flat sheet
y = (u, v, 1), the structured regime. This is our reading of [BJ] (arXiv 2604.14702), of which only
the abstract was at hand. Every layer multiplies y by a scalar gate that reads the first two
coordinates of the current y. Shapes: L layers, S seeds, N points, R x R of a grid, D model
dimension.

*Aligned* gates are all 1 - eps (y_1^2 + y_2^2). After L of them y = G (u, v, 1) with
G = 1 - L eps (u^2 + v^2) + O(eps^2 r^4), whose Hessian at the centre is -2 L eps times one, and
whose gradient there vanishes: by the Gauss equation K(0) = det Hess G = 4 L^2 eps^2, exactly.

The limit: where eps is small a layer is an Euler step of dG/dL = -eps r^2 G^3, so
G = (1 + a r^2)^(-1/2) with a = 2 L eps. The surface is then a cap of the ellipsoid
a (x^2 + y^2) + z^2 = 1. Its normal is along (a u, a v, 1), so the integral of K is the solid
angle of the square [-a, a]^2 seen from a distance of one, `cap_curvature`: 4 a^2 at first, and
at most 2 pi, half a sphere, for any number of layers.

*Random* gates are 1 + eps q(y_1, y_2), with a new quadratic form for every layer, of mean zero.
Their Hessians add up like a random walk: as the square root of L, so K grows as L.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from gating_core.attention.config import DEPTH_RANGE, AttentionConfig, GateConfig
from gating_core.attention.stack import EveryLayer, build_attention
from gating_core.checks import check_choice, check_integer
from gating_core.randomness import generator
from gating_core.tasks.task import POINTS_RANGE, TASKS


@dataclass(frozen=True)
class Arrangement:
    """The parts of a stack around attention, and their name as the end of a sentence."""

    residual: bool
    normalised: bool
    words: str


ARRANGEMENTS: dict[str, Arrangement] = {
    "plain": Arrangement(False, False, "nothing else"),
    "norm": Arrangement(False, True, "normalisation"),
    "residual": Arrangement(True, False, "residual"),
    "both": Arrangement(True, True, "residual and normalisation"),
}

GRID_RANGE = (5, 61)  # points along each side
SEED_COUNT_RANGE = (1, 64)  # with one there are no intervals
NORM_CHOICES = ("pre", "post")
STEPS_RANGE = (1, 20_000)


@dataclass(frozen=True, kw_only=True)
class StackRequest:
    """Common fields of all requests: the stacks, the seeds, and the grid.

    ``gate`` is that of gated stacks, ``norm`` that of normalised ones: "pre" by default, because
    after "post" a surface in three dimensions lies on a sphere whatever the layers do.
    """

    source: str = "memory"
    model_dim: int = 3  # D
    value_count: int = 6  # n; three without a gate are flat, and off a logarithmic axis
    heads: int = 1
    gate: GateConfig = field(default_factory=GateConfig)
    norm: str = "pre"  # NORM_CHOICES
    seed: int = 0  # the first of the seeds
    seed_count: int = 16  # S
    grid: int = 13  # R, odd

    def __post_init__(self) -> None:
        check_choice("norm", self.norm, NORM_CHOICES)
        check_integer("seed", self.seed, 0, 9999)
        check_integer("seed_count", self.seed_count, *SEED_COUNT_RANGE)
        check_integer("grid", self.grid, *GRID_RANGE)
        if self.grid % 2 == 0:
            raise ValueError(f"grid is {self.grid}; it must be odd: its middle is the centre")
        if not isinstance(self.gate, GateConfig):
            raise ValueError(f"gate is {self.gate!r}; it must be a GateConfig")
        self.stack(1, True, "both")  # checks all other fields

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds (S,) of the members, consecutive from ``seed`` on."""
        return tuple(range(self.seed, self.seed + self.seed_count))

    def stack(self, depth: int, gated: bool, arrangement: str) -> AttentionConfig:
        """Build the configuration of ``depth`` layers, in one of `ARRANGEMENTS`."""
        check_choice("arrangement", arrangement, ARRANGEMENTS)
        parts = ARRANGEMENTS[arrangement]
        return AttentionConfig(
            source=self.source,
            model_dim=self.model_dim,
            value_count=self.value_count,
            heads=self.heads,
            depth=depth,
            residual=parts.residual,
            norm=self.norm if parts.normalised else "none",
            gate=self.gate if gated else None,
        )


@dataclass(frozen=True, kw_only=True)
class DepthRequest(StackRequest):
    """A request for untrained maps of ``depth`` layers.

    The regimes of scalar gates use only ``depth``, the seeds and ``grid``.
    """

    depth: int = 16  # L

    def __post_init__(self) -> None:
        check_integer("depth", self.depth, *DEPTH_RANGE)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class TrainedRequest(StackRequest):
    """A request for trained stacks: task, depths, and length of training."""

    task: str = "circle"  # a key of TASKS
    depths: tuple[int, ...] = (1, 2, 3, 4, 6, 8)  # L of them, rising
    arrangement: str = "residual"  # a key of ARRANGEMENTS
    points: int = 256  # to learn from, of each seed
    steps: int = 400
    grid: int = 31

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("task", self.task, TASKS)
        check_choice("arrangement", self.arrangement, ARRANGEMENTS)
        for depth in self.depths:
            check_integer("depths", depth, *DEPTH_RANGE)
        if not self.depths or list(self.depths) != sorted(set(self.depths)):
            raise ValueError(f"depths is {self.depths!r}; they must rise, and there must be one")
        check_integer("points", self.points, *POINTS_RANGE)
        check_integer("steps", self.steps, *STEPS_RANGE)


# --- Sheets under scalar gates --------------------------------------------------------------------

MILD = (2e-4, 1.5e-3)  # range of eps that is small enough for all 16 layers
STRONG = (0.08, 0.16)  # range of eps whose growth ends within 16 layers; below 1/6 none folds
LARGEST_SQUARE = 2.0  # u^2 + v^2 at a corner of the chart
MOST_CURVATURE = 2 * math.pi  # limit of the integral of K for aligned gates


class Sheets:
    """A callable (N, 2) -> (L, S, N, 3): the flat sheet after each of L scalar gates.

    ``eps`` (S,) is each seed's; ``forms`` (L, S, 3) are the coefficients of y_1^2, y_1 y_2 and
    y_2^2 in (gate - 1) / eps.
    """

    pure = True  # it changes nothing while it computes

    def __init__(self, eps: torch.Tensor, forms: torch.Tensor) -> None:
        self.eps, self.forms = eps, forms

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(L, S, N, 3): the sheets after each gate at ``points`` (N, 2)."""
        y = torch.cat([points, 0 * points[..., :1] + 1], -1).unsqueeze(0)  # (1, N, 3)
        outputs = []
        for form in self.forms * self.eps.unsqueeze(-1):  # (S, 3)
            first, second = y[..., 0:1], y[..., 1:2]
            a, b, c = form.reshape(-1, 3, 1, 1).unbind(1)
            gate = 1 + (a * (first * first) + b * (first * second) + c * (second * second))
            y = y * gate
            outputs.append(y)
        return torch.stack(outputs)

    @property
    def size(self) -> np.ndarray:
        """(S, L): layers times eps times the largest u^2 + v^2, which must be small."""
        layers = torch.arange(1, len(self.forms) + 1, dtype=torch.float64)
        return (self.eps.unsqueeze(-1) * layers * LARGEST_SQUARE).numpy()


def aligned_sheets(seeds: tuple[int, ...], depth: int, between: tuple[float, float]) -> Sheets:
    """Build sheets with gates 1 - eps (y_1^2 + y_2^2) in all layers."""
    form = torch.tensor([-1.0, 0.0, -1.0], dtype=torch.float64)
    return Sheets(drawn_eps(seeds, between), form.expand(depth, len(seeds), 3))


def random_sheets(seeds: tuple[int, ...], depth: int, between: tuple[float, float]) -> Sheets:
    """Build sheets with gates 1 + eps q, with new normal coefficients of q in every layer.

    Of mean zero, and of variance 1 for both squares and 2 for the product, so that q prefers no
    direction.
    """
    scale = torch.tensor([1.0, math.sqrt(2), 1.0], dtype=torch.float64)
    draws = [
        torch.randn(depth, 3, generator=generator(seed, "depth.forms"), dtype=torch.float64)
        for seed in seeds
    ]
    return Sheets(drawn_eps(seeds, between), torch.stack(draws, 1) * scale)


def drawn_eps(seeds: tuple[int, ...], between: tuple[float, float]) -> torch.Tensor:
    """(S,): draw each seed's eps, its logarithm uniform ``between`` two numbers."""
    draws = [
        torch.rand((), generator=generator(seed, "depth.eps"), dtype=torch.float64)
        for seed in seeds
    ]
    low, high = map(math.log, between)
    return (low + (high - low) * torch.stack(draws)).exp()


def cap_curvature(a: float | np.ndarray) -> np.ndarray:
    """Compute the integral of K over the sheet under (1 + a r^2)^(-1/2) on [-1, 1]^2.

    The integral of (1 + X^2 + Y^2)^(-3/2) over [-a, a]^2: the solid angle of that square at a
    distance of one.
    """
    square = np.square(a)
    return 4 * np.arctan(square / np.sqrt(1 + 2 * square))


# --- Regimes --------------------------------------------------------------------------------------

Layers = Sheets | EveryLayer  # callables (N, 2) -> (L, S, N, D)


@dataclass(frozen=True)
class Regime:
    """A kind of map: ``build`` makes a callable (N, 2) -> (L, S, N, D) from a request.

    ``gated`` and ``arrangement`` are a stack's, and ``None`` where the regime is one of scalar
    gates on a sheet.
    """

    title: str  # in words
    build: Callable[[DepthRequest], Layers]
    gated: bool | None = None
    arrangement: str | None = None  # a key of ARRANGEMENTS


def _sheets(make: Callable[..., Sheets], between: tuple[float, float]) -> Callable:
    return lambda request: make(request.seeds, request.depth, between)


def _stack(gated: bool, arrangement: str) -> Regime:
    def build(request: DepthRequest) -> EveryLayer:
        config = request.stack(request.depth, gated, arrangement)
        return EveryLayer(build_attention(config, request.seeds))

    title = f"{'gated' if gated else 'ungated'}, {ARRANGEMENTS[arrangement].words}"
    return Regime(title, build, gated, arrangement)


REGIMES: dict[str, Regime] = {
    "aligned": Regime("aligned gates", _sheets(aligned_sheets, MILD)),
    "strong": Regime("strong aligned gates", _sheets(aligned_sheets, STRONG)),
    "random": Regime("random gates with mean zero", _sheets(random_sheets, MILD)),
    **{
        f"{'gated' if gated else 'ungated'}_{name}": _stack(gated, name)
        for name in ARRANGEMENTS
        for gated in (False, True)
    },
}

"""Requests about depth: which stacks, with which seeds, how deep, on how fine a grid.

Shapes: S seeds, L depths, R x R grid points, D model dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gating_core.attention.config import DEPTH_RANGE, AttentionConfig, GateConfig
from gating_core.checks import check_choice, check_integer
from gating_core.tasks.rules import TASKS
from gating_core.tasks.task import POINTS_RANGE


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
        """(S,)"""
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

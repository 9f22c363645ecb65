"""The study behind C8 and C9: models that pay for curvature, and models that cannot curve.

A *piece* is one training: all tasks and up to 64 seeds of one architecture as one ensemble, under
one price. Seeds 0 to 15 chose the weights of prices; seeds 192 to 255 decide; of models whose
values' plane is fixed, seeds 256 to 319.

The models are `gating_core.attention.stack.Attention`, one layer over n learned slots, in float32
and measured in float64; the read-out is `UnitClassifier`, which cannot amplify. Training began
without a price, and went on from there with each, so that every priced model started from the
unpriced one. The results are data: `gating_core.claims.price_study` of commit 1f4177a5 trained and
measured them, and trains any piece again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from gating_core.assets import ASSETS
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, UnitClassifier
from gating_core.experiments.comparison.setting import NO_PRICE
from gating_core.records import load_record

STUDY_FILE = ASSETS / "bent" / "price.safetensors"
WITH_ISLANDS = ("circle", "rings", "islands")
WITHOUT_ISLANDS = ("xor", "moons", "spiral")
TASKS = (*WITH_ISLANDS, *WITHOUT_ISLANDS)
# D = 2 is the elementwise gate that cannot curve.
ARCHITECTURES = (
    ("elementwise", 3), ("elementwise", 16), ("headwise", 8), ("elementwise", 2),
    ("elementwise", 8), ("elementwise", 4), ("headwise", 16),
)  # fmt: skip
DECIDING_SEEDS = range(192, 256)  # of criteria v2
PLANES = (0.0, 1.0)  # distances of the values' plane from 0, in radii
SEEDS_TOGETHER = 32
MORE, MORE_VALUES = 4, 8  # times as many steps in second tries, and n there
NONE = "none"


@dataclass(frozen=True)
class Piece:
    """One training."""

    gate: str  # "none", "elementwise" or "headwise"
    model_dim: int
    price: str = NO_PRICE
    value_count: int = 3
    longer: int = 1  # times the steps
    plane: float | None = None  # distance of the values' plane from 0, in radii; None: free

    @property
    def name(self) -> str:
        """Return the name of its file, without its seeds."""
        parts = f"{self.gate}-D{self.model_dim}-n{self.value_count}-x{self.longer}"
        return f"{parts}-{self.price}" + ("" if self.plane is None else f"-plane{self.plane:g}")

    @property
    def config(self) -> AttentionConfig:
        """Return the model's configuration."""
        gate = None if self.gate == NONE else GateConfig("sigmoid", self.gate)
        return AttentionConfig(model_dim=self.model_dim, value_count=self.value_count, gate=gate)


@dataclass(frozen=True, eq=False)
class PieceResult:
    """The models of one piece: every array but ``weight`` is (T, S), T tasks and S seeds.

    Attributes:
        piece: The architecture, the price and the length of training.
        seeds: S of them.
        steps: Of training.
        weight: (T,): the price's weight, nats per unit; 0 without a price.
        accuracy: Of 1,000 test points.
        loss: Mean cross-entropy of them, in nats.
        margin: Their mean distance to the classifier's plane, in radii of the surface, negative
            where it is on the wrong side.
        total: ∫|K| dA over [-1, 1]², by the trapezoid rule on 41 x 41 points, without softening.
        total_error: An estimate: rounding, and the difference from every second point.
        resolved: Whether no tangent plane was unresolved; else ``total`` is a lower estimate.
        bending: ∫‖II‖² dA.
        bending_error: Its error.
        area: A / r², as a price on it counts it.
        islands: Components of either class that do not touch the chart's border, on the grid.
        height: Of the largest island by area of the chart, in radii; NaN without one.
        width: Twice the largest distance of its border from its top along the plane, in radii.
        folded: Whether the tangent plane turns by more than 90° between neighbours of the grid:
            the map folds there, or is about to, and the total may be too small. ``None`` in the
            bundled study where it was counted by an earlier rule that rounding spoiled.
        typical: (T, 2): the two seeds' places whose accuracy and total are nearest to the medians
            of those seeds that have an island, of all seeds where none has; in the bundled study of
            the first `SEEDS_TOGETHER`.
        state: Float32 weights of the typical models by name, (T, 2, ...), as those of a `restore`d
            `UnitClassifier`; in the bundled study only of points of the chart on *Price*.
    """

    piece: Piece
    seeds: np.ndarray
    steps: int
    weight: np.ndarray
    accuracy: np.ndarray
    loss: np.ndarray
    margin: np.ndarray
    total: np.ndarray
    total_error: np.ndarray
    resolved: np.ndarray
    bending: np.ndarray
    bending_error: np.ndarray
    area: np.ndarray
    islands: np.ndarray
    height: np.ndarray
    width: np.ndarray
    folded: np.ndarray | None
    typical: np.ndarray
    state: dict[str, np.ndarray]

    def model(self, task: str, place: int = 0) -> UnitClassifier:
        """Return the first or second typical model of ``task`` in float64: an ensemble of one."""
        at = self.tasks.index(task)
        seed = int(self.seeds[self.typical[at, place]])
        model = UnitClassifier(Attention(self.piece.config, (seed,)), 2).requires_grad_(False)
        model.load_state_dict(
            {name: torch.from_numpy(x[at, place : place + 1]) for name, x in self.state.items()}
        )
        return model

    @property
    def tasks(self) -> tuple[str, ...]:
        """T of them; in second tries those with islands alone."""
        return TASKS[: len(self.weight)]


@dataclass(frozen=True, eq=False)
class PriceStudy:
    """The bundled study: one result for each piece that was done, on the deciding seeds.

    ``chosen`` are the medians by which weights were chosen, on seeds 0 to 15: for each piece's name
    the median totals (5, T) of unpriced models, then under weights of .1, 1, 10 and 100 nats.
    """

    results: tuple[PieceResult, ...]
    chosen: dict[str, np.ndarray]

    def find(self, **wanted: object) -> PieceResult | None:
        """Return the result whose piece has the ``wanted`` fields, the others at their defaults."""
        piece = Piece(**wanted)  # type: ignore[arg-type]
        return next((x for x in self.results if x.piece == piece), None)


@cache
def price_study() -> PriceStudy:
    """Return the bundled study."""
    return load_record(PriceStudy, STUDY_FILE, "holds no study of prices")

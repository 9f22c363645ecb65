"""What is settled of a variant before its first picture: its colours, its camera and its box.

The strengths of a gate are measured while the page is already there. So colours and camera come
from both ends of the dial alone, no gate and a full one, and boxes from where the surfaces of all
strengths lie: that is known at once, for it takes no curvature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.experiments.specimen import NEEDLE, MeasuredSpecimen, needle
from ui.drawing.axes import Axes
from ui.drawing.surfaces import TRUE_SIZE

SHORTEST = 2.0  # times as long as broad: what a needle is drawn as
LONGEST = 1e4  # a needle that is longer has no breadth in single precision: it stays a line
ALONG = ("along", "across<sub>1</sub>", "across<sub>2</sub>")  # axes of a stretched picture


@dataclass(frozen=True, eq=False)
class Settled:
    """A variant at full strength, and by strength the outputs (R, C, D) of all that it has."""

    full: MeasuredSpecimen
    values: Mapping[float, np.ndarray]


def strength_of(variant: MeasuredSpecimen) -> float:
    """Return the strength of its gate; 0 without one."""
    gate = variant.specimen.config.gate
    return 0.0 if gate is None else gate.strength


def settled_by(frames: Sequence[MeasuredSpecimen]) -> Settled:
    """Return what ``frames`` settle by themselves, where no more will come."""
    return Settled(frames[-1], {strength_of(x): x.surface.values[0] for x in frames})


@dataclass(frozen=True, eq=False)
class OwnAxes:
    """Axes that a variant is drawn in, ``stretch`` times broader than true.

    A point p of the drawn axes stands at (p - ``middle``) @ ``turn``.
    """

    middle: np.ndarray  # (3,)
    turn: np.ndarray  # (3, 3), columns: along the needle, and across it
    stretch: float

    @property
    def factors(self) -> np.ndarray:
        """(3,): how many times its true size everything is drawn along each axis."""
        return np.array([1.0, self.stretch, self.stretch])

    def to_own(self, points: np.ndarray) -> np.ndarray:
        """(..., 3): ``points`` (..., 3) in these axes, in their true size."""
        return (points - self.middle) @ self.turn if self.stretch > 1 else points

    def as_seen(self, points: np.ndarray) -> np.ndarray:
        """(..., 3): ``points`` (..., 3) of these axes, stretched as they are drawn."""
        return points * self.factors


SHARED_AXES = OwnAxes(np.zeros(3), np.diag(TRUE_SIZE), 1.0)  # those of all variants, true to scale


def own_axes(settled: Settled, axes: Axes) -> OwnAxes:
    """Return the variant's own axes where it is a needle at full strength, else those of all."""
    values = axes.project(settled.full.surface.values[0])
    times = needle(values)
    if values.shape[-1] < 3 or not NEEDLE < times < LONGEST:
        return SHARED_AXES
    points = values.reshape(-1, 3)
    middle = points.mean(0)
    turn = np.linalg.svd(points - middle, full_matrices=False)[2].T
    return OwnAxes(middle, turn, float(f"{times / SHORTEST:.2g}"))

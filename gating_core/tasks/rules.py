"""The tasks: rules that draw points and say which class each of them belongs to.

A rule is a function (generator, count) -> points (count, 2), labels (count,). Points lie in the
square [-1, 1]^2, apart from the tails of the blobs. A new task is one rule and one row of `TASKS`;
its name on the pages is a row of ``assets/lessons/decision_boundary.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from gating_core.checks import check_choice

CIRCLE_RADIUS = math.sqrt(2 / math.pi)  # the disc has half the square's area
MOONS_CENTRE, MOONS_HALF_WIDTH = (0.5, 0.25), 1.75  # scikit-learn's moons span [-1, 2] x [-.5, 1]
MOON_POINTS = 1_000_000  # to choose from: neighbours on an arc are 4e-6 apart
OFFSET_NORMAL, OFFSET = (0.5, 1.0), 0.3  # passes the origin at a distance of .27
SPIRAL_TURNS, SPIRAL_START = 1.75, 0.1  # the arms begin apart, at this distance from the origin
RING_WIDTH = 1 / 3  # wider than make_circles' two thin rings, and one more: harder than the disc
FIELD_WIDTH = 0.5
TRIANGLE = ((0.0, 0.55), (-0.55, -0.4), (0.55, -0.4))
QUADRANTS = ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5))
BLOB_DEVIATION = 0.17  # a point in about a hundred is nearer to another blob's centre

BOUNDARIES = ("straight", "curved", "pieces")

Sample = tuple[np.ndarray, np.ndarray]
Rule = Callable[[torch.Generator, int], Sample]


@dataclass(frozen=True)
class TaskKind:
    """A task: ``rule`` draws points and labels, which count from 0 to ``class_count`` - 1.

    ``boundary`` is one of `BOUNDARIES`. "straight": one straight line parts the two classes.
    "pieces": pieces of straight lines part more than two classes, and one line parts any two of
    them. "curved": no straight line parts the classes; the boundary is curved, bent or crosses
    itself. It decides which claims a task counts for.
    """

    rule: Rule
    boundary: str
    class_count: int = 2

    def __post_init__(self) -> None:
        check_choice("boundary", self.boundary, BOUNDARIES)


def _square(rng: torch.Generator, count: int) -> np.ndarray:
    return 2 * torch.rand(count, 2, generator=rng, dtype=torch.float64).numpy() - 1


def _random_state(rng: torch.Generator) -> int:
    """A seed for scikit-learn."""
    return int(torch.randint(2**31 - 1, (), generator=rng))


def linear(rng: torch.Generator, count: int) -> Sample:
    """Above or below the diagonal: a straight boundary through the origin."""
    points = _square(rng, count)
    return points, points.sum(-1) > 0


def offset(rng: torch.Generator, count: int) -> Sample:
    """A straight boundary that misses the origin: about two thirds lie below it."""
    points = _square(rng, count)
    return points, points @ OFFSET_NORMAL > OFFSET


def xor(rng: torch.Generator, count: int) -> Sample:
    """Opposite quadrants belong together."""
    points = _square(rng, count)
    return points, points.prod(-1) > 0


def circle(rng: torch.Generator, count: int) -> Sample:
    """Inside or outside a disc of half the square's area."""
    points = _square(rng, count)
    return points, np.linalg.norm(points, axis=-1) < CIRCLE_RADIUS


def moons(rng: torch.Generator, count: int) -> Sample:
    """Two interleaved half circles (scikit-learn's ``make_moons``, scaled to the square)."""
    points, labels = _moons()
    # scikit-learn spaces them evenly: training and test points of one count would be the same.
    chosen = torch.randint(len(points), (count,), generator=rng).numpy()
    return points[chosen], labels[chosen]


@cache
def _moons() -> Sample:
    """Many, evenly spaced."""
    from sklearn.datasets import make_moons  # here: a second to import, for three tasks alone

    points, labels = make_moons(MOON_POINTS, shuffle=False)
    return (points - MOONS_CENTRE) / MOONS_HALF_WIDTH, labels


def spiral(rng: torch.Generator, count: int) -> Sample:
    """Two arms that wind round each other, half a turn apart."""
    labels = torch.randint(2, (count,), generator=rng).numpy()
    along = torch.rand(count, generator=rng, dtype=torch.float64).numpy()
    radius = SPIRAL_START + (1 - SPIRAL_START) * along
    angle = math.tau * SPIRAL_TURNS * radius + math.pi * labels
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1), labels


def checkerboard(rng: torch.Generator, count: int) -> Sample:
    """Four by four fields in turn."""
    points = _square(rng, count)
    return points, np.floor(points / FIELD_WIDTH).sum(-1) % 2 == 1


def rings(rng: torch.Generator, count: int) -> Sample:
    """A disc and two rings round it in turn, the corners outside them all."""
    points = _square(rng, count)
    return points, np.floor(np.linalg.norm(points, axis=-1) / RING_WIDTH) % 2 == 0


def sine(rng: torch.Generator, count: int) -> Sample:
    """Above or below the curve y = ⅔ sin(πx)."""
    points = _square(rng, count)
    return points, points[:, 1] > 2 / 3 * np.sin(math.pi * points[:, 0])


def cubic(rng: torch.Generator, count: int) -> Sample:
    """Above or below the curve y = 2x³ - x."""
    points = _square(rng, count)
    return points, points[:, 1] > 2 * points[:, 0] ** 3 - points[:, 0]


def bend(rng: torch.Generator, count: int) -> Sample:
    """Above or below the bent line y = 2|x| - 1."""
    points = _square(rng, count)
    return points, points[:, 1] > 2 * np.abs(points[:, 0]) - 1


def blobs3(rng: torch.Generator, count: int) -> Sample:
    """Three Gaussian blobs at the corners of a triangle (scikit-learn's ``make_blobs``)."""
    return _blobs(rng, count, TRIANGLE)


def blobs4(rng: torch.Generator, count: int) -> Sample:
    """Four Gaussian blobs, one in each quadrant."""
    return _blobs(rng, count, QUADRANTS)


def _blobs(rng: torch.Generator, count: int, centres: tuple[tuple[float, float], ...]) -> Sample:
    from sklearn.datasets import make_blobs  # here: as above

    state = _random_state(rng)
    points, labels = make_blobs(
        count, centers=np.array(centres), cluster_std=BLOB_DEVIATION, random_state=state
    )
    return points, labels


TASKS: dict[str, TaskKind] = {
    "linear": TaskKind(linear, "straight"),
    "offset": TaskKind(offset, "straight"),
    "xor": TaskKind(xor, "curved"),
    "circle": TaskKind(circle, "curved"),
    "moons": TaskKind(moons, "curved"),
    "spiral": TaskKind(spiral, "curved"),
    "checkerboard": TaskKind(checkerboard, "curved"),
    "rings": TaskKind(rings, "curved"),
    "sine": TaskKind(sine, "curved"),
    "cubic": TaskKind(cubic, "curved"),
    "abs": TaskKind(bend, "curved"),
    "blobs3": TaskKind(blobs3, "pieces", 3),
    "blobs4": TaskKind(blobs4, "pieces", 4),
}

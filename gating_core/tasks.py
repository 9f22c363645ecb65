"""What the models learn: classification of points in the square [-1, 1]^2.

`TASKS` maps a name to a function (generator, count) -> points (count, 2), labels (count,).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.config import check_choice, check_integer, check_number, check_seeds
from gating_core.randomness import generator

POINTS_RANGE = (8, 100_000)
CIRCLE_RADIUS = math.sqrt(2 / math.pi)  # the disc has half the square's area
MOONS_CENTRE, MOONS_HALF_WIDTH = (0.5, 0.25), 1.75  # scikit-learn's moons span [-1, 2] x [-.5, 1]

Sample = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Task:
    """One data set per seed: points (S, N, 2) float64, labels (S, N) int64 from 0."""

    name: str
    seeds: tuple[int, ...]
    class_count: int
    train_points: np.ndarray
    train_labels: np.ndarray
    test_points: np.ndarray
    test_labels: np.ndarray


def _square(rng: torch.Generator, count: int) -> np.ndarray:
    return 2 * torch.rand(count, 2, generator=rng, dtype=torch.float64).numpy() - 1


def linear(rng: torch.Generator, count: int) -> Sample:
    """Above or below the diagonal: a straight boundary through the origin."""
    points = _square(rng, count)
    return points, points.sum(-1) > 0


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
    from sklearn.datasets import make_moons  # here: a second to import, for this task alone

    state = int(torch.randint(2**31 - 1, (), generator=rng))
    points, labels = make_moons(count, random_state=state)
    return (points - MOONS_CENTRE) / MOONS_HALF_WIDTH, labels


TASKS: dict[str, Callable[[torch.Generator, int], Sample]] = {
    "linear": linear,
    "xor": xor,
    "circle": circle,
    "moons": moons,
}


def make_task(
    name: str,
    points: int = 256,
    noise: float = 0.0,
    test_points: int = 1000,
    seeds: Iterable[int] = (0,),
) -> Task:
    """Training and test data for each seed, drawn separately.

    ``noise`` is the standard deviation of the jitter added to every coordinate after labelling,
    in units of half the square's side. ``ValueError`` names the argument that is out of range.
    """
    check_choice("task", name, TASKS)
    check_integer("points", points, *POINTS_RANGE)
    check_integer("test_points", test_points, *POINTS_RANGE)
    check_number("noise", noise, 0.0, 1.0)
    seeds = check_seeds(seeds)

    def draw(part: str, count: int) -> Sample:
        samples = []
        for seed in seeds:
            rng = generator(seed, f"{name}/{part}")
            drawn, labels = TASKS[name](rng, count)
            jitter = torch.randn(count, 2, generator=rng, dtype=torch.float64).numpy()
            samples.append((drawn + noise * jitter, labels.astype(np.int64)))
        return np.stack([p for p, _ in samples]), np.stack([q for _, q in samples])

    train, test = draw("train", points), draw("test", test_points)
    classes = 1 + int(max(train[1].max(), test[1].max()))
    return Task(name, seeds, classes, *train, *test)

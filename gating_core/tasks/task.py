"""Training and test data of a given kind for each seed.

The kinds are `TASKS`; own data comes from ``gating_core.tasks.own``. A new task is one rule and one
row of `TASKS`; its name on the pages is a row of ``assets/lessons/decision_boundary.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from gating_core.checks import check_choice, check_integer, check_number, check_seeds
from gating_core.randomness import generator

POINTS_RANGE = (8, 100_000)
NOISE_RANGE = (0.0, 1.0)
LABEL_NOISE_RANGE = (0.0, 0.5)
BALANCE_RANGE = (0.1, 0.9)
TRAIN_SHARE_RANGE = (0.1, 0.9)


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


def make_task(
    name: str,
    points: int = 256,
    noise: float = 0.0,
    test_points: int = 1000,
    seeds: Iterable[int] = (0,),
    label_noise: float = 0.0,
    balance: float | None = None,
) -> Task:
    """Training and test data for each seed, drawn separately.

    ``noise`` is the standard deviation of the jitter added to every coordinate after labelling,
    in units of half the square's side. ``label_noise`` is the share of training labels, 0 to 0.5,
    that are changed to another class; the test labels stay right, and so do the points.
    ``balance``, 0.1 to 0.9, is the share of class 0 among training and test points alike, for
    tasks of two classes; ``None`` leaves it as the task has it. ``ValueError`` names the argument
    that is out of range.
    """
    check_choice("task", name, TASKS)
    check_integer("points", points, *POINTS_RANGE)
    check_integer("test_points", test_points, *POINTS_RANGE)
    check_number("noise", noise, *NOISE_RANGE)
    check_number("label_noise", label_noise, *LABEL_NOISE_RANGE)
    class_count = TASKS[name].class_count
    if balance is not None:
        check_number("balance", balance, *BALANCE_RANGE)
        if class_count != 2:
            raise ValueError(
                f"balance is {balance!r}; it must be None for {name!r}, which has {class_count}"
                " classes"
            )
    seeds = check_seeds(seeds)

    def draw(part: str, count: int) -> Sample:
        samples = []
        for seed in seeds:
            rng = generator(seed, f"{name}/{part}")
            drawn, labels = _draw(name, rng, count, balance)
            jitter = torch.randn(count, 2, generator=rng, dtype=torch.float64).numpy()
            samples.append((drawn + noise * jitter, labels.astype(np.int64)))
        return np.stack([p for p, _ in samples]), np.stack([q for _, q in samples])

    train_points, train_labels = draw("train", points)
    flipped = [
        _with_label_noise(labels, generator(seed, f"{name}/label noise"), label_noise, class_count)
        for seed, labels in zip(seeds, train_labels, strict=True)
    ]
    test = draw("test", test_points)
    return Task(name, seeds, class_count, train_points, np.stack(flipped), *test)


def split_counts(total: int, train_share: float) -> tuple[int, int]:
    """Return the numbers of training and of test points, at least 8 of either, among ``total``.

    ``make_task(name, points=train, test_points=test)`` with what this returns is a data set of
    ``total`` points of which ``train_share``, 0.1 to 0.9, are for training.
    """
    least, most = POINTS_RANGE
    check_integer("total", total, 2 * least, most)
    check_number("train_share", train_share, *TRAIN_SHARE_RANGE)
    train = min(max(round(train_share * total), least), total - least)
    return train, total - train


def _draw(name: str, rng: torch.Generator, count: int, balance: float | None) -> Sample:
    """``count`` points of the task; with ``balance`` exactly that share, rounded, of class 0."""
    points, labels = TASKS[name].rule(rng, count)
    if balance is None:
        return points, labels
    zeros = round(balance * count)
    counts = (zeros, count - zeros)
    # The surplus of a larger draw is dropped and the rest mixed, as one class comes first.
    size = count
    while any(np.sum(labels == label) < share for label, share in enumerate(counts)):
        size *= 2
        points, labels = TASKS[name].rule(rng, size)
    chosen = [np.flatnonzero(labels == label)[:share] for label, share in enumerate(counts)]
    order = np.concatenate(chosen)[torch.randperm(count, generator=rng).numpy()]
    return points[order], labels[order]


def _with_label_noise(
    labels: np.ndarray, rng: torch.Generator, share: float, class_count: int
) -> np.ndarray:
    """``labels`` (N,) with ``share`` of them, rounded, changed to another class.

    The labels changed at a small share are among those changed at a larger one.
    """
    order = torch.randperm(len(labels), generator=rng).numpy()
    shift = torch.randint(1, class_count, (len(labels),), generator=rng).numpy()
    chosen = order[: round(share * len(labels))]
    out = labels.copy()
    out[chosen] = (labels[chosen] + shift[chosen]) % class_count
    return out


# --- The rules ------------------------------------------------------------------------------------

# (generator, count) -> points (count, 2), labels (count,). Points lie in the square [-1, 1]^2,
# apart from the tails of the blobs.


CIRCLE_RADIUS = math.sqrt(2 / math.pi)  # the disc has half the square's area
MOONS_CENTRE, MOONS_HALF_WIDTH = (0.5, 0.25), 1.75  # scikit-learn's moons span [-1, 2] x [-.5, 1]
MOON_POINTS = 1_000_000  # to choose from: neighbours on an arc are 4e-6 apart
OFFSET_NORMAL, OFFSET = (0.5, 1.0), 0.3  # passes the origin at a distance of .27
SPIRAL_TURNS, SPIRAL_START = 1.75, 0.1  # the arms begin apart, at this distance from the origin
RING_WIDTH = 1 / 3  # wider than make_circles' two thin rings, and one more: harder than the disc
FIELD_WIDTH = 0.5
ISLAND_CENTRES, ISLAND_RADIUS = ((0.45, 0.4), (-0.45, -0.4)), 0.38
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
    itself.
    """

    rule: Rule
    boundary: str
    class_count: int = 2

    def __post_init__(self) -> None:
        check_choice("boundary", self.boundary, BOUNDARIES)


def _square(rng: torch.Generator, count: int) -> np.ndarray:
    return 2 * torch.rand(count, 2, generator=rng, dtype=torch.float64).numpy() - 1


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


def islands(rng: torch.Generator, count: int) -> Sample:
    """Two discs, and the rest of the square."""
    points = _square(rng, count)
    nearest = np.minimum(*(np.linalg.norm(points - c, axis=-1) for c in ISLAND_CENTRES))
    return points, nearest < ISLAND_RADIUS


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

    state = int(torch.randint(2**31 - 1, (), generator=rng))
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
    "islands": TaskKind(islands, "curved"),
    "sine": TaskKind(sine, "curved"),
    "cubic": TaskKind(cubic, "curved"),
    "abs": TaskKind(bend, "curved"),
    "blobs3": TaskKind(blobs3, "pieces", 3),
    "blobs4": TaskKind(blobs4, "pieces", 4),
}

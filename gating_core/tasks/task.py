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


Sample = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class TaskKind:
    """A task: ``rule`` draws points and labels, which count from 0 to ``class_count`` - 1."""

    rule: Callable[[torch.Generator, int], Sample]
    class_count: int = 2


def _square(label: Callable[[np.ndarray], np.ndarray]) -> TaskKind:
    """Points spread evenly over the square, of class 1 where ``label`` of points (N, 2) is true."""

    def rule(rng: torch.Generator, count: int) -> Sample:
        points = 2 * torch.rand(count, 2, generator=rng, dtype=torch.float64).numpy() - 1
        return points, label(points)

    return TaskKind(rule)


def _moons(rng: torch.Generator, count: int) -> Sample:
    points, labels = _many_moons()
    # scikit-learn spaces them evenly: training and test points of one count would be the same.
    chosen = torch.randint(len(points), (count,), generator=rng).numpy()
    return points[chosen], labels[chosen]


@cache
def _many_moons() -> Sample:
    """A million, evenly spaced: neighbours on an arc are 4e-6 apart."""
    from sklearn.datasets import make_moons  # here: a second to import, for three tasks alone

    points, labels = make_moons(1_000_000, shuffle=False)  # they span [-1, 2] x [-.5, 1]
    return (points - (0.5, 0.25)) / 1.75, labels


def _spiral(rng: torch.Generator, count: int) -> Sample:
    labels = torch.randint(2, (count,), generator=rng).numpy()
    along = torch.rand(count, generator=rng, dtype=torch.float64).numpy()
    radius = 0.1 + (1 - 0.1) * along  # the arms begin apart
    angle = math.tau * 1.75 * radius + math.pi * labels
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1), labels


def _blobs(*centres: tuple[float, float]) -> TaskKind:
    """A Gaussian blob at each centre: a point in about a hundred is nearer to another's."""

    def rule(rng: torch.Generator, count: int) -> Sample:
        from sklearn.datasets import make_blobs  # here: as above

        state = int(torch.randint(2**31 - 1, (), generator=rng))
        centers = np.array(centres)
        points, labels = make_blobs(count, centers=centers, cluster_std=0.17, random_state=state)
        return points, labels

    return TaskKind(rule, len(centres))


TASKS: dict[str, TaskKind] = {
    # Above or below the diagonal: a straight boundary through the origin.
    "linear": _square(lambda p: p.sum(-1) > 0),
    # A straight boundary that passes the origin at a distance of .27: two thirds lie below it.
    "offset": _square(lambda p: p @ (0.5, 1.0) > 0.3),
    # Opposite quadrants belong together.
    "xor": _square(lambda p: p.prod(-1) > 0),
    # Inside or outside a disc of half the square's area.
    "circle": _square(lambda p: np.linalg.norm(p, axis=-1) < math.sqrt(2 / math.pi)),
    # Two interleaved half circles (scikit-learn's `make_moons`, scaled to the square).
    "moons": TaskKind(_moons),
    # Two arms that wind round each other, half a turn apart.
    "spiral": TaskKind(_spiral),
    # Four by four fields in turn.
    "checkerboard": _square(lambda p: np.floor(p / 0.5).sum(-1) % 2 == 1),
    # A disc and two rings round it in turn, the corners outside them all. Wider than make_circles'
    # two thin rings, and one more: harder than the disc.
    "rings": _square(lambda p: np.floor(np.linalg.norm(p, axis=-1) / (1 / 3)) % 2 == 0),
    # Two discs, and the rest of the square.
    "islands": _square(
        lambda p: (np.linalg.norm(p[:, None] - ((0.45, 0.4), (-0.45, -0.4)), axis=-1) < 0.38).any(1)
    ),
    # Above or below the curve y = ⅔ sin(πx).
    "sine": _square(lambda p: p[:, 1] > 2 / 3 * np.sin(math.pi * p[:, 0])),
    # Above or below the curve y = 2x³ - x.
    "cubic": _square(lambda p: p[:, 1] > 2 * p[:, 0] ** 3 - p[:, 0]),
    # Above or below the bent line y = 2|x| - 1.
    "abs": _square(lambda p: p[:, 1] > 2 * np.abs(p[:, 0]) - 1),
    # Gaussian blobs (scikit-learn's `make_blobs`) at the corners of a triangle, and one in each
    # quadrant.
    "blobs3": _blobs((0.0, 0.55), (-0.55, -0.4), (0.55, -0.4)),
    "blobs4": _blobs((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)),
}

"""The user's own points: read from a table or drawn, and split into training and test points.

N points, S seeds. Errors are `OwnDataError`: one sentence with row and column where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from gating_core.checks import check_number, check_seeds
from gating_core.randomness import generator
from gating_core.tasks.table import (
    COLUMNS,
    LARGEST_NUMBER,
    MOST_POINTS,
    OwnDataError,
    quote,
    read_table,
)
from gating_core.tasks.task import TRAIN_SHARE_RANGE, Task

TASK_NAME = "own"
FEWEST_POINTS, FEWEST_CLASSES = 8, 2
CLASS_NAMES = ("0", "1", "2", "3")
SMALLEST_SPREAD = 1e-9  # of the largest coordinate: below, rounding would move the points visibly
NARROWEST = 0.1  # of the wider direction: below, each direction is scaled by itself
TRAIN_SHARE = 0.7


@dataclass(frozen=True, eq=False)
class OwnData:
    """The user's points, scaled: ``points = (originals - centre) / half_widths``, in [-1, 1]^2.

    Both half widths are equal, which keeps shapes, unless one direction would shrink to less than
    a tenth of the square. Two data sets are equal if all their numbers and names are.
    """

    points: np.ndarray  # (N, 2) float64
    labels: np.ndarray  # (N,) int64: indices of `names`
    names: tuple[str, ...]  # of the classes, in order of number or alphabet
    originals: np.ndarray  # (N, 2) float64: before scaling
    centre: np.ndarray  # (2,)
    half_widths: np.ndarray  # (2,)
    colours: tuple[int, ...] = (0, 1, 2, 3)  # palette index of each class
    remark: str = ""  # how an ambiguous number was read, in one sentence; it is no difference

    @cached_property
    def _content(self) -> tuple[object, ...]:
        arrays = self.points, self.labels, self.originals, self.centre, self.half_widths
        return *(x.tobytes() for x in arrays), self.names, self.colours

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnData) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


def parse_csv(source: bytes | str) -> OwnData:
    """The points of a CSV file or of a pasted table, scaled to the square.

    Columns x, y and label, see ``gating_core.tasks.table``; labels are words or numbers. From 8 to
    5,000 points of 2 to 4 classes. Raises `OwnDataError` for anything else.
    """
    table = read_table(source)
    originals, labels, names = table.points, table.labels, table.names
    _check_enough(labels, names)
    low = originals.min(0)
    extent = originals.max(0) - low
    if extent.max() <= max(SMALLEST_SPREAD * np.abs(originals).max(), 1 / LARGEST_NUMBER):
        raise OwnDataError("all points lie at one spot, or too close to it to tell them apart")
    half_widths = np.full(2, extent.max() / 2)
    told_apart = extent > np.maximum(SMALLEST_SPREAD * np.abs(originals).max(0), 1 / LARGEST_NUMBER)
    if told_apart.all() and extent.min() < NARROWEST * extent.max():
        half_widths = extent / 2
    # From the corner first: the result is in [-1, 1], however it rounds.
    points = (originals - low) / half_widths - extent / 2 / half_widths
    return OwnData(
        points, labels, names, originals, low + extent / 2, half_widths, remark=table.remark
    )


def _example() -> str:
    """Eighty seeds of a sunflower, in centimetres: the inner ones are ripe."""
    rows = [",".join(COLUMNS)]
    for index in range(80):
        radius, angle = math.sqrt(index / 4), index * math.pi * (3 - math.sqrt(5))
        x, y = 12 + radius * math.cos(angle), 7 + radius * math.sin(angle)
        rows.append(f"{x:.2f},{y:.2f},{'ripe' if radius < 3.2 else 'unripe'}")
    return "\n".join(rows) + "\n"


EXAMPLE_CSV = _example()


def drawn_data(
    points: np.ndarray, labels: Sequence[int], names: Sequence[str] = CLASS_NAMES
) -> OwnData:
    """Points (N, 2) drawn in the square, with labels that are indices of ``names``; not scaled.

    Names that no point has are dropped; the others keep their colours. Raises `OwnDataError` as
    `parse_csv` does.
    """
    originals = np.array(points, dtype=np.float64).reshape(-1, 2)
    if len(originals) > MOST_POINTS:
        raise OwnDataError(
            f"the number of points is {len(originals):,}; at most {MOST_POINTS:,} fit"
        )
    if len(labels) != len(originals) or not set(labels) <= set(range(len(names))):
        raise OwnDataError(
            f"every point needs a label from 0 to {len(names) - 1}, and only one label"
        )
    if not (np.abs(originals) <= 1).all():
        raise OwnDataError("a point lies outside the square from -1 to 1")
    used, indices = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    used_names = tuple(names[index] for index in used)
    _check_enough(indices, used_names)
    indices, colours = indices.astype(np.int64), tuple(used.tolist())
    return OwnData(originals, indices, used_names, originals, np.zeros(2), np.ones(2), colours)


def _check_enough(labels: np.ndarray, names: Sequence[str]) -> None:
    if len(labels) < FEWEST_POINTS:
        raise OwnDataError(
            f"the number of points is {len(labels)}; at least {FEWEST_POINTS} are needed"
        )
    if len(names) < FEWEST_CLASSES:
        raise OwnDataError(
            f"all points are of the class {quote(names[0])}; at least two classes are needed"
        )


def own_task(own: OwnData, seeds: Iterable[int], train_share: float = TRAIN_SHARE) -> Task:
    """``own`` split for each seed into training and test points, class by class.

    Every class is split in the same share, rounded, 0.1 to 0.9. A class with two points or more has
    both training and test points; a single point is for training. The seed decides which points,
    never how many.
    """
    seeds = check_seeds(seeds)
    counts = train_counts(own, train_share)
    train, test = [], []
    for seed in seeds:
        rng = generator(seed, "split")
        training = np.zeros(len(own.labels), dtype=bool)
        for label, count in enumerate(counts):
            members = np.flatnonzero(own.labels == label)
            order = torch.randperm(len(members), generator=rng).numpy()
            training[members[order[:count]]] = True
        train.append(np.flatnonzero(training))
        test.append(np.flatnonzero(~training))
    return Task(
        TASK_NAME,
        seeds,
        len(own.names),
        own.points[np.stack(train)],
        own.labels[np.stack(train)],
        own.points[np.stack(test)],
        own.labels[np.stack(test)],
    )


def train_counts(own: OwnData, train_share: float) -> list[int]:
    """Return the training points of each class; ``ValueError`` for a share out of range."""
    check_number("train_share", train_share, *TRAIN_SHARE_RANGE)
    sizes = np.bincount(own.labels).tolist()
    return [max(min(round(train_share * size), size - 1), 1) for size in sizes]

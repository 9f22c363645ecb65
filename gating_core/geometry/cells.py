"""A chart taken apart into cells, each judged as a whole: what holds between all points.

A judge says of every cell, from balls that hold all values of a function on it, what is certain
everywhere in it. Cells of which nothing is certain are split in four, until a budget of cells is
spent. It knows no function: gates and layers bring their judges.

Cells are boxes about ``centres`` (N, 2) with half widths ``radius`` (N, 2); the chart is [-1, 1]^2.
Source: Tucker, *Validated Numerics*, 2011, section 5.1 (adaptive bisection).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.jets.blocks import one_thread

POSITIVE, NEGATIVE, UNKNOWN, FAINT, OUTSIDE, BROKEN = range(6)
# K > 0 or K < 0 on all of the cell; smooth, but of unknown sign; K within underflow of zero, so
# that splitting does not help; no surface anywhere in it; not known to be smooth.

FIRST_SIDE = 32  # cells along a side of the chart, at first
FINEST = 2.0**-9  # half width: a broken cell is split no further, it is an eighth of a grid's step
SMALLEST = 2.0**-24  # half width: a cell of unknown sign is split no further
BLOCK = 8192  # cells judged at a time
BATCH = 1024  # cells split at a time because most may be hidden in them; as many of the smallest


@dataclass(frozen=True, eq=False)
class Cells:
    """N boxes of the chart."""

    centres: torch.Tensor
    radius: torch.Tensor

    def __len__(self) -> int:
        return len(self.centres)

    def __getitem__(self, index: torch.Tensor | slice) -> Cells:
        return Cells(self.centres[index], self.radius[index])

    @property
    def share(self) -> float:
        """Of the chart's area."""
        return float(self.radius.prod(-1).sum())

    def split(self) -> Cells:
        """Four quarters of each cell."""
        corners = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
        half = self.radius[:, None] / 2
        centres = self.centres[:, None] + corners.double() * half
        return Cells(centres.flatten(0, 1), half.expand(-1, 4, 2).flatten(0, 1))


def chart_cells(side: int = FIRST_SIDE) -> Cells:
    """The chart in ``side`` x ``side`` cells; powers of two have no rounding in them."""
    along = (2 * torch.arange(side, dtype=torch.float64) + 1) / side - 1
    v, u = torch.meshgrid(along, along, indexing="ij")
    centres = torch.stack([u.flatten(), v.flatten()], -1)
    return Cells(centres, torch.full_like(centres, 1 / side))


# Of every cell one of the words above, and how large what has the sign of K may be there at most.
Judge = Callable[[Cells], tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True, eq=False)
class Examined:
    """What is certain of a surface over its whole chart, in shares of the chart that add up to 1.

    ``outside``: there is no surface. ``broken``: cells ``broken_cells``, each narrower than an
    eighth of a grid's step, that may hold a pole, a kink or a jump. ``unknown``: it is smooth, its
    sign is not known. ``rough``: cells left over that may be neither.
    """

    positive: float
    negative: float
    outside: float
    broken: float
    unknown: float
    rough: float
    broken_cells: Cells
    count: int  # of cells judged

    @property
    def smooth(self) -> bool:
        """Whether it is smooth wherever it is, but for what is ``broken``."""
        return self.rough == 0

    @property
    def one_sign(self) -> int:
        """1 or -1 if K has that sign wherever there is a smooth surface, else 0."""
        if self.unknown or self.rough or bool(self.positive) == bool(self.negative):
            return 0
        return 1 if self.positive else -1


def examine(judge: Judge, most: int, signs: bool = True) -> Examined:
    """Judge the chart, splitting cells until all is known or about ``most`` have been judged.

    What may be broken is split first. After that cells of no known sign are, both those in which
    most may be hidden and the smallest ones, and none once both signs are found: K = 0 is then
    between them. Without ``signs`` none is split for its sign.
    """
    share = dict.fromkeys((POSITIVE, NEGATIVE, OUTSIDE, FAINT), 0.0)
    broken: list[Cells] = []
    unknown: list[Cells] = []
    weight: list[torch.Tensor] = []

    def judged(cells: Cells) -> torch.Tensor:
        with one_thread():  # many small operations: several threads would wait for each other
            parts = [judge(cells[i : i + BLOCK]) for i in range(0, len(cells), BLOCK)]
        found, size = (torch.cat(part) for part in zip(*parts, strict=True))
        for word in share:
            share[word] += cells[found == word].share
        unknown.append(cells[found == UNKNOWN])
        weight.append(size[found == UNKNOWN])
        return found

    todo, count = chart_cells(), 0
    while len(todo) and count + len(todo) <= most:
        found, count = judged(todo), count + len(todo)
        small = todo.radius.amax(-1) <= FINEST
        broken.append(todo[(found == BROKEN) & small])
        todo = todo[(found == BROKEN) & ~small].split()
    left, rough, lost = joined(unknown), todo.share, joined(broken)
    while signs and not (share[POSITIVE] and share[NEGATIVE]) and count < most:
        large = (left.radius.amax(-1) > SMALLEST).nonzero().squeeze(-1)
        if not len(large):
            break
        size, width = torch.cat(weight)[large], left.radius[large].amax(-1)
        by_size, by_depth = size.argsort(descending=True), width.argsort(stable=True)
        first = large[torch.cat([by_size[:BATCH], by_depth[:BATCH]]).unique()]
        rest = torch.ones(len(left), dtype=torch.bool)
        rest[first] = False
        todo = left[first].split()
        unknown[:], weight[:] = [left[rest]], [torch.cat(weight)[rest]]
        found, count = judged(todo), count + len(todo)
        unknown.append(todo[found == BROKEN])  # the larger cell was smooth: this is rounding
        weight.append(torch.zeros(len(unknown[-1])))
        left = joined(unknown)
    return Examined(
        share[POSITIVE], share[NEGATIVE], share[OUTSIDE], lost.share,
        left.share + share[FAINT], rough, lost, count,
    )  # fmt: skip


def joined(parts: list[Cells]) -> Cells:
    """All cells of several lists, in one."""
    if not parts:
        return chart_cells()[:0]
    return Cells(torch.cat([x.centres for x in parts]), torch.cat([x.radius for x in parts]))


def grid_points_near(cells: Cells, axis: np.ndarray) -> np.ndarray:
    """(R, C): the points of a grid with that ``axis`` (R,) that are nearest to any of ``cells``.

    A point is marked if a cell reaches into the square about it that is half a step wide each way.
    """
    marked = np.zeros((len(axis), len(axis)), dtype=bool)
    step = (axis[-1] - axis[0]) / (len(axis) - 1)
    low, high = (
        np.clip(np.round((x.numpy() - axis[0]) / step).astype(int), 0, len(axis) - 1)
        for x in (cells.centres - cells.radius, cells.centres + cells.radius)
    )
    for column in (low[:, 0], high[:, 0]):
        for row in (low[:, 1], high[:, 1]):
            marked[row, column] = True
    return marked

"""Signs of K proved on cells, and the result of a proof: labelled cells, and bounds of integrals.

A judge encloses K times a positive number by a Taylor model over each cell; `Signs` holds the signs
that follow. A cell without a proved sign is cut across the axis along which its model varies most.
Source: Tucker, *Validated Numerics*, 2011, section 5.1 (adaptive bisection).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Self, TypeVar

import torch

from gating_core.geometry.grid import SMALLEST, Cells
from gating_core.jets.blocks import one_thread
from gating_core.jets.taylor import TaylorModel

POSITIVE, NEGATIVE, FLAT, OPEN = LABELS = ("positive", "negative", "flat", "open")


class Interval(NamedTuple):
    """A number lies between ``low`` and ``high``, proved; ``high`` may be infinite."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The length ``high - low``."""
        return self.high - self.low

    def __contains__(self, x: object) -> bool:
        return isinstance(x, int | float) and self.low <= x <= self.high

    def within(self, other: Interval) -> Interval:
        """The intersection of both intervals."""
        return Interval(max(self.low, other.low), min(self.high, other.high))


ANY = Interval(-math.inf, math.inf)
NOT_NEGATIVE = Interval(0.0, math.inf)


@dataclass(frozen=True, eq=False)
class ProvedCurvature:
    """Cells that cover the chart [-1, 1]^2, and what holds at every point of each.

    ``labels`` (N,) are indices into `LABELS`: K > 0, K < 0, K = 0, or open: no sign proved.
    ``immersed`` (N,): whether the map is proved to be an immersion on the cell. ``absolute``,
    ``gaussian`` and ``area`` enclose the integrals of |K| dA, K dA and dA over the chart.
    K > 0 on at least the share ``positive_area`` of the surface's area, K < 0 on at least
    ``negative_area``; ``positive``, ``negative``, ``flat`` (all or nothing, by a theorem) and
    ``open`` are shares of the chart. ``proof`` says why K = 0 on the whole chart, where a theorem
    says so, and ``one_sign`` why K has one sign there. ``count`` cells were judged in ``seconds``.
    ``notes`` are those of the function's jet.
    """

    cells: Cells
    labels: torch.Tensor
    immersed: torch.Tensor
    absolute: Interval
    gaussian: Interval
    area: Interval
    positive_area: float
    negative_area: float
    proof: str | None
    count: int
    seconds: float
    notes: tuple[str, ...] = ()
    one_sign: str | None = None

    def share(self, label: str) -> float:
        """The share of the chart with a ``label``; those of all labels add up to one."""
        return self.cells[self.labels == LABELS.index(label)].share

    positive = property(lambda self: self.share(POSITIVE))
    negative = property(lambda self: self.share(NEGATIVE))
    flat = property(lambda self: self.share(FLAT))
    open = property(lambda self: self.share(OPEN))


OPEN_CODE = LABELS.index(OPEN)
FIRST_SIDE = 16  # cells along a side of the chart, at first
LONGEST = 8  # times as long as wide: a longer cell is cut across


@dataclass(frozen=True, eq=False)
class Signs:
    """N cells: ``centres`` and ``radius`` (N, 2), ``labels`` (N,), indices into `LABELS`.

    ``axis`` (N,) int64 is 0 or 1: the axis across which each cell is to be cut (`worse_side`).
    """

    centres: torch.Tensor
    radius: torch.Tensor
    labels: torch.Tensor
    axis: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: torch.Tensor) -> Self:
        return type(self)(*(getattr(self, each.name)[index] for each in fields(self)))

    def __add__(self, other: Self) -> Self:
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return type(self)(*(torch.cat(pair) for pair in pairs))

    @property
    def cells(self) -> Cells:
        """The cells alone, without labels."""
        return Cells(self.centres, self.radius)

    def share(self, label: str) -> float:
        """The share of the chart whose cells have a ``label``."""
        return self.cells[self.labels == LABELS.index(label)].share

    @property
    def open_sizes(self) -> torch.Tensor:
        """(N,): a quarter of each open cell's area; 0 where a sign is proved, or a cell is tiny."""
        divisible = (self.labels == OPEN_CODE) & (self.radius.amax(-1) > SMALLEST)
        return torch.where(divisible, self.radius.prod(-1), 0.0)

    def split(self, chosen: torch.Tensor, judge: Callable[[Cells], Self], cuts: int = 1) -> Self:
        """Replace the ``chosen`` cells, (N,) bool, by their parts, which ``judge`` judges.

        Each of the ``cuts`` halves all parts: the first across ``axis``, others across the longer
        side.
        """
        parents = self[chosen]
        parts = halves_of(parents.cells, parents.axis)
        for _ in range(cuts - 1):
            parts = halves_of(parts, parts.radius.argmax(-1))
        return self[~chosen] + judge(parts).below(parents)

    def below(self, parents: Self) -> Self:
        """Give these parts the signs that are proved of their ``parents``, which hold for them."""
        labels = parents.labels.repeat(len(self) // len(parents))
        return replace(self, labels=torch.where(labels == OPEN_CODE, self.labels, labels))


SomeSigns = TypeVar("SomeSigns", bound=Signs)


def search(
    judge: Callable[[Cells], SomeSigns],
    cells: Cells,
    choose_cells: Callable[[SomeSigns], torch.Tensor],
    cuts_of: Callable[[int], int] = lambda _: 1,
) -> Iterator[SomeSigns]:
    """Yield ``cells`` with the labels of ``judge``, again after each pass of cutting some of them.

    ``choose_cells`` returns which of N judged cells to cut, (N,) bool; where it is none, the search
    ends. ``cuts_of`` says how often each is halved, see `Signs.split`, when so many are cut.
    """
    with one_thread():  # many small operations: several threads would wait for each other
        known = judge(cells)
    while True:
        yield known
        chosen = choose_cells(known)
        if not chosen.any():
            return
        with one_thread():
            known = known.split(chosen, judge, cuts_of(int(chosen.sum())))


def halves_of(cells: Cells, axis: torch.Tensor) -> Cells:
    """Both halves of N ``cells``, each cut across its ``axis`` (N,): all lower ones first."""
    step = torch.nn.functional.one_hot(axis, 2) * cells.radius / 2
    radius = cells.radius - step
    return Cells(
        torch.cat([cells.centres - step, cells.centres + step]), torch.cat([radius, radius])
    )


def labels_of(sign: TaylorModel) -> torch.Tensor:
    """(N,): the sign that Taylor models (N,) have on all of their cells; indices into `LABELS`."""
    ball = sign.ball()
    labels = torch.full(ball.value.shape, OPEN_CODE)
    labels[ball.value > ball.bound] = LABELS.index(POSITIVE)
    labels[ball.value < -ball.bound] = LABELS.index(NEGATIVE)
    return labels


def worse_side(score: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
    """(N,): the axis to cut across: that of the larger ``score`` (N, 2).

    That of the larger ``radius`` (N, 2) where a score is not finite, and where a cell is more than
    `LONGEST` times as long as wide.
    """
    usable = score.isfinite().all(-1, keepdim=True)
    usable &= radius.amax(-1, keepdim=True) <= LONGEST * radius.amin(-1, keepdim=True)
    return torch.where(usable, score, radius).argmax(-1)


def variation(model: TaylorModel, radius: torch.Tensor) -> torch.Tensor:
    """(N, 2): how much a Taylor model varies along each axis of a cell of ``radius`` (N, 2).

    Its remainder is shared out by the squares of the radii.
    """
    squares = radius.square()
    rest = (model.remainder / squares.sum(-1)).unsqueeze(-1) * squares
    if not model.terms:
        return rest
    zero = torch.zeros_like(model.value)
    return rest + torch.stack([zero if x is None else x.abs() for x in model.terms[:2]], -1)


def choose(chosen: torch.Tensor, weight: torch.Tensor, count: int) -> None:
    """Set ``chosen`` (N,) for the ``count`` cells of largest ``weight`` (N,), in place.

    Fewer where fewer weights are above zero.
    """
    top = weight.topk(min(count, len(weight))).indices
    chosen[top[weight[top] > 0]] = True

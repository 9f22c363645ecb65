"""Cells with the sign that is proved on each, halved where none is: what all judges share.

A judge encloses by a Taylor model over each cell what has the sign of K, and `Signs` is what
follows. A cell on which nothing is proved is cut across the axis along which its model varies most.
Source: Tucker, *Validated Numerics*, 2011, section 5.1 (adaptive bisection).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import torch

from gating_core.geometry.cells import SMALLEST, Cells
from gating_core.jets.taylor import TaylorModel
from gating_core.proved.result import LABELS, NEGATIVE, OPEN, POSITIVE

OPEN_CODE = LABELS.index(OPEN)
FIRST_SIDE = 16  # cells along a side of the chart, at first
LONGEST = 8  # times as long as wide: a longer cell is cut across


@dataclass(frozen=True, eq=False)
class Signs:
    """N cells: ``centres`` and ``radius`` (N, 2), ``labels`` (N,), indices into `LABELS`.

    ``axis`` (N,) is the worse side of each, across which it is to be cut.
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
        return Cells(self.centres, self.radius)

    def share(self, label: str) -> float:
        """The share of the chart whose cells have a ``label``."""
        return self.cells[self.labels == LABELS.index(label)].share

    @property
    def open_sizes(self) -> torch.Tensor:
        """(N,): a quarter of each open cell's area; 0 where a sign is proved, or a cell is tiny."""
        there = (self.labels == OPEN_CODE) & (self.radius.amax(-1) > SMALLEST)
        return torch.where(there, self.radius.prod(-1), 0.0)

    def halves(self) -> Cells:
        """Both halves of each cell, cut across its worse side."""
        return halves_of(self.cells, self.axis)

    def split(self, chosen: torch.Tensor, judge: Callable[[Cells], Self], cuts: int = 1) -> Self:
        """Put the parts of the ``chosen`` cells (N,), as ``judge`` sees them, in their place.

        Each cut makes halves of all: the first one across the worse side, others across the longer.
        """
        parents = self[chosen]
        parts = parents.halves()
        for _ in range(cuts - 1):
            parts = halves_of(parts, parts.radius.argmax(-1))
        return self[~chosen] + judge(parts).below(parents)

    def below(self, parents: Self) -> Self:
        """These parts with what is known of their ``parents``: it still holds."""
        labels = parents.labels.repeat(len(self) // len(parents))
        return replace(self, labels=torch.where(labels == OPEN_CODE, self.labels, labels))


def halves_of(cells: Cells, axis: torch.Tensor) -> Cells:
    """Both halves of N ``cells``, each cut across its ``axis`` (N,): all lower ones first."""
    step = torch.nn.functional.one_hot(axis, 2) * cells.radius / 2
    radius = cells.radius - step
    return Cells(
        torch.cat([cells.centres - step, cells.centres + step]), torch.cat([radius, radius])
    )


def labels_of(sign: TaylorModel) -> torch.Tensor:
    """(N,): which sign models (N,) have everywhere in their cells, as indices into `LABELS`."""
    ball = sign.ball()
    labels = torch.full(ball.value.shape, OPEN_CODE)
    labels[ball.value > ball.bound] = LABELS.index(POSITIVE)
    labels[ball.value < -ball.bound] = LABELS.index(NEGATIVE)
    return labels


def worse_side(score: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
    """(N,): the axis of the larger ``score`` (N, 2), or of the larger ``radius`` (N, 2).

    The latter where a score is not known, and of a cell `LONGEST` times as long as wide.
    """
    known = score.isfinite().all(-1, keepdim=True)
    known &= radius.amax(-1, keepdim=True) <= LONGEST * radius.amin(-1, keepdim=True)
    return torch.where(known, score, radius).argmax(-1)


def variation(of: TaylorModel, radius: torch.Tensor) -> torch.Tensor:
    """(N, 2): how much a model varies along each axis; its error goes with the squares."""
    squares = radius.square()
    rest = (of.remainder / squares.sum(-1)).unsqueeze(-1) * squares
    if not of.terms:
        return rest
    zero = torch.zeros_like(of.value)
    return rest + torch.stack([zero if x is None else x.abs() for x in of.terms[:2]], -1)


def choose(chosen: torch.Tensor, weight: torch.Tensor, count: int) -> None:
    """Mark in ``chosen`` ``count`` cells of the largest ``weight``, fewer where it is zero."""
    top = weight.topk(min(count, len(weight))).indices
    chosen[top[weight[top] > 0]] = True

"""The results of a proof: labelled cells, and bounds of integrals over the whole chart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch

from gating_core.geometry.cells import Cells

POSITIVE, NEGATIVE, FLAT, OPEN = LABELS = ("positive", "negative", "flat", "open")


class Interval(NamedTuple):
    """A number lies between ``low`` and ``high``, proved; ``high`` may be infinite."""

    low: float
    high: float

    @property
    def width(self) -> float:
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
    ``gaussian`` and ``area`` enclose the integrals of |K| dA, K dA and dA over the chart. ``proof``
    says why the surface is flat, where a theorem says so. ``count`` cells were judged in
    ``seconds``.
    """

    cells: Cells
    labels: torch.Tensor
    immersed: torch.Tensor
    absolute: Interval
    gaussian: Interval
    area: Interval
    proof: str | None
    count: int
    seconds: float

    def share(self, label: str) -> float:
        """The share of the chart with a ``label``; those of all labels add up to one."""
        return self.cells[self.labels == LABELS.index(label)].share

    @property
    def positive(self) -> float:
        """The share of the chart on which K > 0."""
        return self.share(POSITIVE)

    @property
    def negative(self) -> float:
        """The share of the chart on which K < 0."""
        return self.share(NEGATIVE)

    @property
    def flat(self) -> float:
        """The share of the chart on which K = 0, by a theorem: all or none."""
        return self.share(FLAT)

    @property
    def open(self) -> float:
        """The share of the chart on which no sign of K is proved."""
        return self.share(OPEN)

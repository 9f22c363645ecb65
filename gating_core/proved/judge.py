"""What is certain of one batch of cells: a sign, integrals between bounds, where to split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, cast

import torch

from gating_core.geometry.cells import Cells
from gating_core.geometry.metric import Whitening
from gating_core.jets.bounded import U
from gating_core.jets.cell_jets import taylor_jet
from gating_core.jets.jet import Jet
from gating_core.jets.taylor import TaylorModel
from gating_core.proved.criterion import Curving, curving
from gating_core.proved.result import LABELS, NEGATIVE, OPEN, POSITIVE
from gating_core.proved.singular import largest_total

Function = Callable[[torch.Tensor], torch.Tensor]
ROUNDING = 16 * U
LONGEST = 8
DEGREE = 3  # of the Taylor models: higher ones decide larger cells and take longer for each


@dataclass(frozen=True, eq=False)
class Judged:
    """N cells: ``centres`` and ``radius`` (N, 2), ``labels`` and ``immersed`` (N,).

    ``gaussian``, ``absolute`` and ``area`` (N, 2) are ends of the integrals over each cell, and
    ``axis`` (N,) the worse side.
    """

    centres: torch.Tensor
    radius: torch.Tensor
    labels: torch.Tensor
    immersed: torch.Tensor
    gaussian: torch.Tensor
    absolute: torch.Tensor
    area: torch.Tensor
    axis: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: torch.Tensor) -> Judged:
        return Judged(*(getattr(self, each.name)[index] for each in fields(self)))

    def __add__(self, other: Judged) -> Judged:
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return Judged(*(torch.cat(pair) for pair in pairs))

    @property
    def cells(self) -> Cells:
        return Cells(self.centres, self.radius)

    def halves(self) -> Cells:
        """Both halves of each cell, cut across its worse side."""
        step = torch.nn.functional.one_hot(self.axis, 2) * self.radius / 2
        radius = self.radius - step
        return Cells(
            torch.cat([self.centres - step, self.centres + step]), torch.cat([radius, radius])
        )


def judge(
    function: Function, cells: Cells, degree: int = DEGREE, whiten: Whitening | None = None
) -> Judged:
    """Judge ``cells`` of the one surface that ``function`` (N, 2) -> (..., N, D) draws."""
    jet = taylor_jet(function, cells.centres, cells.radius, degree)
    k = curving(_one(jet), whiten)
    sign, det, density = k.sign.ball(), k.determinant.ball(), k.density.ball()
    labels = torch.full((len(cells),), LABELS.index(OPEN))
    labels[sign.value > sign.bound] = LABELS.index(POSITIVE)
    labels[sign.value < -sign.bound] = LABELS.index(NEGATIVE)
    immersed = (det.value > det.bound) | (labels != LABELS.index(OPEN))
    size = 4 * cells.radius.prod(-1)
    gaussian = _integral(k.density, size)
    largest = (density.magnitude + density.bound) * size * (1 + ROUNDING)
    largest = largest.nan_to_num(torch.inf, torch.inf)
    at = (det.value < 4 * det.bound).nonzero().squeeze(-1)
    if len(at) and k.first.shape[-1] == 3:
        near = largest_total(k.first[:, at], k.second[:, at], size[at])
        largest[at] = torch.minimum(largest[at], near)
    gaussian = torch.minimum(torch.maximum(gaussian, -largest[:, None]), largest[:, None])
    return Judged(
        cells.centres,
        cells.radius,
        labels,
        immersed,
        gaussian,
        _absolute(gaussian, largest, labels),
        _integral(k.area, size).clamp(min=0.0),
        _worse_side(k, cells.radius, labels, immersed),
    )


def _one(jet: Jet) -> Jet:
    """The jet without its leading axes, of one surface."""
    leading = jet.shape[:-2]
    if leading.numel() != 1:
        raise ValueError(f"function returned {leading.numel()} surfaces; one is proved at a time")
    return cast(Any, jet)[(0,) * len(leading)] if leading else jet


def _integral(density: TaylorModel, size: torch.Tensor) -> torch.Tensor:
    """(N, 2): ends of the integral over cells of ``size``."""
    mean = density.cell_mean()
    middle = mean.value * size
    spread = mean.bound * size * (1 + ROUNDING) + middle.abs() * ROUNDING
    ends = torch.stack([middle - spread, middle + spread], -1)
    unknown = ends.isnan().any(-1)
    ends[unknown, 0], ends[unknown, 1] = -torch.inf, torch.inf
    return ends


def _absolute(gaussian: torch.Tensor, largest: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(N, 2): ends of the integral of |K| dA, where |K| dA is ``largest`` at most."""
    low, high = gaussian.unbind(-1)
    least = torch.maximum(low, -high).clamp(min=0.0)
    known = labels != LABELS.index(OPEN)
    most = torch.where(known, torch.maximum(-low, high), largest)
    return torch.stack([least, torch.maximum(least, most)], -1)


def _worse_side(
    k: Curving, radius: torch.Tensor, labels: torch.Tensor, immersed: torch.Tensor
) -> torch.Tensor:
    """(N,): the axis along which what is to be known varies most: the sign, or then the total.

    The longer one where that is not known, and of a cell `LONGEST` times as long as wide.
    """
    open_cells = (labels == LABELS.index(OPEN)).unsqueeze(-1)
    score = torch.where(open_cells, _variation(k.sign, radius), _variation(k.density, radius))
    known = immersed.unsqueeze(-1) & score.isfinite().all(-1, keepdim=True)
    known &= radius.amax(-1, keepdim=True) <= LONGEST * radius.amin(-1, keepdim=True)
    return torch.where(known, score, radius).argmax(-1)


def _variation(of: TaylorModel, radius: torch.Tensor) -> torch.Tensor:
    """(N, 2): how much a model varies along each axis; its error goes with the squares."""
    squares = radius.square()
    rest = (of.remainder / squares.sum(-1)).unsqueeze(-1) * squares
    if not of.terms:
        return rest
    zero = torch.zeros_like(of.value)
    return rest + torch.stack([zero if x is None else x.abs() for x in of.terms[:2]], -1)

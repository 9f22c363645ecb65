"""What is certain of one batch of cells: a sign, integrals between bounds, where to split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from gating_core.geometry.cells import Cells
from gating_core.geometry.metric import Whitening
from gating_core.jets.bounded import U
from gating_core.jets.cell_jets import taylor_jet
from gating_core.jets.jet import Jet
from gating_core.jets.taylor import TaylorModel
from gating_core.proved.criterion import Curving, curving
from gating_core.proved.signs import OPEN_CODE, Signs, labels_of, variation, worse_side
from gating_core.proved.singular import largest_total

Function = Callable[[torch.Tensor], torch.Tensor]
ROUNDING = 16 * U
DEGREE = 3  # of the Taylor models: higher ones decide larger cells and take longer for each


@dataclass(frozen=True, eq=False)
class Judged(Signs):
    """N cells, of which is known, beside a sign, whether the map is ``immersed`` (N,).

    ``gaussian``, ``absolute`` and ``area`` (N, 2) are ends of the integrals over each cell.
    """

    immersed: torch.Tensor
    gaussian: torch.Tensor
    absolute: torch.Tensor
    area: torch.Tensor

    def below(self, parents: Judged) -> Judged:
        """As of `Signs`."""
        whole = super().below(parents)
        return replace(
            whole, immersed=self.immersed | parents.immersed.repeat(len(self) // len(parents))
        )


def judge(
    function: Function, cells: Cells, degree: int = DEGREE, whiten: Whitening | None = None
) -> Judged:
    """Judge ``cells`` of the one surface that ``function`` (N, 2) -> (..., N, D) draws."""
    jet = taylor_jet(function, cells.centres, cells.radius, degree)
    k = curving(_one(jet), whiten)
    det, density, labels = k.determinant.ball(), k.density.ball(), labels_of(k.sign)
    immersed = (det.value > det.bound) | (labels != OPEN_CODE)
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
        _worse_side(k, cells.radius, labels, immersed),
        immersed,
        gaussian,
        _absolute(gaussian, largest, labels),
        _integral(k.area, size).clamp(min=0.0),
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
    known = labels != OPEN_CODE
    most = torch.where(known, torch.maximum(-low, high), largest)
    return torch.stack([least, torch.maximum(least, most)], -1)


def _worse_side(
    k: Curving, radius: torch.Tensor, labels: torch.Tensor, immersed: torch.Tensor
) -> torch.Tensor:
    """(N,): the axis along which what is to be known varies most: the sign, or then the total."""
    open_cells = (labels == OPEN_CODE).unsqueeze(-1)
    score = torch.where(open_cells, variation(k.sign, radius), variation(k.density, radius))
    return worse_side(torch.where(immersed.unsqueeze(-1), score, torch.inf), radius)

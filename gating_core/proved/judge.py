"""Judge a batch of cells: the proved sign of K, bounds of the integrals, and the axis to split."""

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
    """N cells with proved signs, and bounds of the integrals over each.

    ``immersed`` (N,) bool: whether the map is proved to be an immersion on the cell. ``gaussian``,
    ``absolute`` and ``area`` (N, 2): lower and upper bounds of the integrals of K dA, |K| dA, dA.
    """

    immersed: torch.Tensor
    gaussian: torch.Tensor
    absolute: torch.Tensor
    area: torch.Tensor

    def below(self, parents: Judged) -> Judged:
        """Add what is proved of the ``parents``, as `Signs.below` does; an immersion, too."""
        combined = super().below(parents)
        return replace(
            combined, immersed=self.immersed | parents.immersed.repeat(len(self) // len(parents))
        )


def judge(
    function: Function, cells: Cells, degree: int = DEGREE, whiten: Whitening | None = None
) -> Judged:
    """Judge ``cells`` of the surface that ``function`` (N, 2) -> (..., N, D) draws.

    ``degree`` is that of the Taylor models, ``whiten`` the metric. ``ValueError`` for a function
    that draws several surfaces.
    """
    jet = taylor_jet(function, cells.centres, cells.radius, degree)
    k = curving(_single_surface(jet), whiten)
    det, density, labels = k.determinant.ball(), k.density.ball(), labels_of(k.sign)
    immersed = (det.value > det.bound) | (labels != OPEN_CODE)
    size = 4 * cells.radius.prod(-1)
    gaussian = _integral(k.density, size)
    largest = (density.magnitude + density.bound) * size * (1 + ROUNDING)
    largest = largest.nan_to_num(torch.inf, torch.inf)
    degenerate = (det.value < 4 * det.bound).nonzero().squeeze(-1)
    if len(degenerate) and k.first.shape[-1] == 3:
        bound = largest_total(k.first[:, degenerate], k.second[:, degenerate], size[degenerate])
        largest[degenerate] = torch.minimum(largest[degenerate], bound)
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


def _single_surface(jet: Jet) -> Jet:
    """Return the jet without its leading axes; ``ValueError`` if there are several surfaces."""
    leading = jet.shape[:-2]
    if leading.numel() != 1:
        raise ValueError(f"function returned {leading.numel()} surfaces; one is proved at a time")
    return cast(Any, jet)[(0,) * len(leading)] if leading else jet


def _integral(density: TaylorModel, size: torch.Tensor) -> torch.Tensor:
    """(N, 2): bounds of the integral of a ``density`` over cells of chart area ``size`` (N,)."""
    mean = density.cell_mean()
    middle = mean.value * size
    spread = mean.bound * size * (1 + ROUNDING) + middle.abs() * ROUNDING
    bounds = torch.stack([middle - spread, middle + spread], -1)
    unknown = bounds.isnan().any(-1)
    bounds[unknown, 0], bounds[unknown, 1] = -torch.inf, torch.inf
    return bounds


def _absolute(gaussian: torch.Tensor, largest: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(N, 2): bounds of the integral of |K| dA, which is at most ``largest`` (N,)."""
    low, high = gaussian.unbind(-1)
    least = torch.maximum(low, -high).clamp(min=0.0)
    proved = labels != OPEN_CODE
    most = torch.where(proved, torch.maximum(-low, high), largest)
    return torch.stack([least, torch.maximum(least, most)], -1)


def _worse_side(
    k: Curving, radius: torch.Tensor, labels: torch.Tensor, immersed: torch.Tensor
) -> torch.Tensor:
    """(N,): the axis to split: the sign varies most along it, or K dA where the sign is proved."""
    open_cells = (labels == OPEN_CODE).unsqueeze(-1)
    score = torch.where(open_cells, variation(k.sign, radius), variation(k.density, radius))
    return worse_side(torch.where(immersed.unsqueeze(-1), score, torch.inf), radius)

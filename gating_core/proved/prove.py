"""The sign of K proved cell by cell, and the totals with it.

The chart is cut into cells. On each, Taylor models enclose K times a positive number:
where the enclosure does not contain zero, K has that sign on all of the cell. Other cells are
halved. In each pass one half of the cells that are halved are the largest without a proved sign,
the other half are those with the widest bounds of the integral. Cells without a sign are *open*.

The results hold for the function in exact arithmetic, with its weights as they are; rounding is
enclosed too, on the assumptions of `gating_core.jets.bounded`. No enclosure can show that K is 0.
So *flat* is a label of the whole chart, given where a theorem proves it
(`gating_core.geometry.flatness`), as for one layer without a gate and with three values. With four
values a theorem gives K one sign on the whole chart (`gating_core.geometry.keys`).

The surface is y(u, v), with second derivatives y_uu, y_uv, y_vv and independent tangents a and b.
In three dimensions, with n = a x b and L, M, N the products of y_uu, y_uv, y_vv with n,

    K |n|^4 = L N - M^2.

In more dimensions, by Gauss's equation, with E = <a, a>, F = <a, b>, G = <b, b>,
det g = E G - F^2, and x and z the products of the second derivatives with a and b,

    K det g^2 = det g (<y_uu, y_vv> - |y_uv|^2) - G (x_uu x_vv - x_uv^2) - E (z_uu z_vv - z_uv^2)
                + F (x_uu z_vv + z_uu x_vv - 2 x_uv z_uv).

No orthonormal frame is computed, for it would have to be enclosed, too. Instead a constant multiple
of a is subtracted from the other tangent to give b, and constant multiples of a and b from the
second derivatives, such that b is normal to a, and x and z vanish, at the cell's centre. The left
hand sides stay the same. Where the tangents are nearly parallel, the second equation takes a small
difference of large terms, and its enclosure is wide; the first one has no such terms. Source: do
Carmo, *Riemannian Geometry*, chapter 6.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from gating_core.geometry.curvature import Whitening
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import SMALLEST, Cells, chart_cells
from gating_core.geometry.keys import sign_proofs
from gating_core.jets.bounded import INFLATION, Bounded, U
from gating_core.jets.casts import carried
from gating_core.jets.elementary import where
from gating_core.jets.jet import Jet, filled
from gating_core.jets.second_order import second_order_jet, taylor_jet
from gating_core.jets.taylor import TaylorModel
from gating_core.proved.signs import (
    ANY,
    FIRST_SIDE,
    FLAT,
    LABELS,
    NEGATIVE,
    NOT_NEGATIVE,
    OPEN_CODE,
    POSITIVE,
    Interval,
    ProvedCurvature,
    Signs,
    choose,
    labels_of,
    search,
    variation,
    worse_side,
)

Function = Callable[[torch.Tensor], torch.Tensor]
ROUNDING = 16 * U
DEGREE = 3  # of the Taylor models: higher ones decide larger cells and take longer for each
BATCH_NUMBERS = 4096  # D times the cells that are halved in one pass


# --- The criterion on a cell ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curving:
    """Taylor models (N,) over N cells, from which signs and integrals follow.

    ``sign`` is K times a positive number, ``determinant`` is det g; ``density`` and ``area`` are
    K dA and dA per chart area. ``first`` (2, N, D) and ``second`` (3, N, D) are the derivatives
    times one factor for each cell, which changes neither signs nor K dA.
    """

    sign: TaylorModel
    determinant: TaylorModel
    density: TaylorModel
    area: TaylorModel
    first: TaylorModel
    second: TaylorModel


def curving(jet: Jet, whiten: Whitening | None = None) -> Curving:
    """Compute them from a ``jet`` of Taylor models (N, D), D >= 2, in the metric of ``whiten``."""
    first, second = (_whitened(filled(jet, order), whiten) for order in ("first", "second"))
    scale = _power_of_two(first.value)
    first, second = first * scale, second * scale
    y_u, y_v = first[0], first[1]
    swap = (_at_centre(y_v, y_v) > _at_centre(y_u, y_u)).unsqueeze(-1)
    a, short = model(where(swap, y_v, y_u)), model(where(swap, y_u, y_v))
    b = short - a * _projection(short, a)
    rest = [
        second[i] - a * _projection(second[i], a) - b * _projection(second[i], b) for i in range(3)
    ]
    sign, det = (_in_space if a.shape[-1] == 3 else _by_gauss)(a, b, *rest)
    inverse = det.reciprocal()
    area = det.sqrt() * scale.squeeze(-1).square().reciprocal()
    return Curving(sign, det, sign * inverse * inverse.sqrt(), area, first, second)


def _whitened(y: Bounded | torch.Tensor, whiten: Whitening | None) -> TaylorModel:
    """Derivatives in coordinates in which the covariance is the identity."""
    if whiten is None:
        return model(y)
    whitened = model(y) @ whiten.matrix
    error = whiten.drift * whitened.upper.square().sum(-1, keepdim=True).sqrt()
    return whitened + TaylorModel(torch.zeros_like(whitened.value), error.expand(whitened.shape))


def _in_space(a: TaylorModel, b: TaylorModel, *second: TaylorModel) -> tuple[TaylorModel, ...]:
    """K det g^2 and det g, for D = 3."""
    normal = cross(a, b)
    along_uu, along_uv, along_vv = (_dot(y, normal) for y in second)
    return along_uu * along_vv - along_uv.square(), _dot(normal, normal)


def _by_gauss(
    a: TaylorModel, b: TaylorModel, uu: TaylorModel, uv: TaylorModel, vv: TaylorModel
) -> tuple[TaylorModel, ...]:
    """K det g^2 and det g, for any D."""
    e, f, g = _dot(a, a), _dot(a, b), _dot(b, b)
    det = e * g - f.square()
    x_uu, x_uv, x_vv = (_dot(y, a) for y in (uu, uv, vv))
    z_uu, z_uv, z_vv = (_dot(y, b) for y in (uu, uv, vv))
    tangential = (
        g * (x_uu * x_vv - x_uv.square())
        + e * (z_uu * z_vv - z_uv.square())
        - f * (x_uu * z_vv + z_uu * x_vv - 2 * x_uv * z_uv)
    )
    return det * (_dot(uu, vv) - _dot(uv, uv)) - tangential, det


def model(x: Bounded | torch.Tensor) -> TaylorModel:
    """Return ``x`` as a Taylor model, whose remainder is its error (0 for a tensor)."""
    if isinstance(x, TaylorModel):
        return x
    return TaylorModel(x.value, x.error) if isinstance(x, Bounded) else TaylorModel(x)


def cross(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """(..., 3): the cross product of ``a`` and ``b`` (..., 3)."""
    after, last = [1, 2, 0], [2, 0, 1]
    return a[..., after] * b[..., last] - a[..., last] * b[..., after]


def largest_total(first: TaylorModel, second: TaylorModel, area: torch.Tensor) -> torch.Tensor:
    """(N,): upper bounds of the integral of |K| dA over cells of chart ``area`` (N,).

    Infinite where the derivative of n may be singular. ``first`` (2, N, 3) and ``second``
    (3, N, 3) are the map's derivatives.

    A map of the plane into space has isolated such points in general (cross-caps: Whitney, 1944),
    and trained layers have them. K is unbounded there, and its total is not: by Gauss's equation
    |K| dA <= C / |n| per chart area, n = y_u x y_v, C = |y_uu| |y_vv| + |y_uv|^2. If the derivative
    of n, a 3 x 2 matrix, has no singular value below s anywhere in the convex hull of its values on
    a cell, then |n(x) - n(x')| >= s |x - x'| there. With x' the point of the cell where |n| is
    least, it follows that |n(x)| >= s |x - x'| / 2. The integral of 1 / |x - x'| over a set of a
    given area A is largest for a disc about x': 2 sqrt(pi A). So the total over the cell is at most
    4 C sqrt(pi A) / s.

    That a map is *no* immersion somewhere in a cell is not proved here. Where a part of y_u has no
    zero in the cell, <y_u, n> = 0 makes two parts of n enough: Miranda's theorem would show that
    they vanish together, by their signs on the cell's four sides. But such points may lie on the
    sides of cells, so that cells of their own would have to be laid about them, beside those that
    cover the chart.
    """
    y_u, y_v, y_uu, y_uv, y_vv = first[0], first[1], second[0], second[1], second[2]
    columns = [
        (cross(y_uu, y_v) + cross(y_u, y_uv)).ball(),
        (cross(y_uv, y_v) + cross(y_u, y_vv)).ball(),
    ]
    p, q, r = ((columns[i].value * columns[j].value).sum(-1) for i, j in ((0, 0), (0, 1), (1, 1)))
    least = (p + r) / 2 - torch.hypot((p - r) / 2, q) - 64 * U * (p + r)
    error = sum((column.bound.square().sum(-1) for column in columns), torch.zeros_like(p)).sqrt()
    singular = least.clamp(min=0).sqrt() / INFLATION - error * INFLATION
    uu, uv, vv = (y.upper.square().sum(-1) for y in (y_uu, y_uv, y_vv))
    size = (uu * vv).sqrt() + uv
    most = 4 * math.sqrt(math.pi) * size * area.sqrt() / singular * INFLATION
    return torch.where(singular > 0, most, torch.inf).nan_to_num(torch.inf, torch.inf)


def _dot(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """(N,): the inner product of ``a`` and ``b`` (N, D)."""
    return (a.square() if a is b else a * b).sum(-1)


def _power_of_two(first: torch.Tensor) -> torch.Tensor:
    """(N, 1): factors that bring the longest tangents (2, N, D) near one, without rounding."""
    size = first.abs().amax((0, -1)).nan_to_num(1.0, 1.0, 1.0).clamp(1e-140, 1e140)
    return torch.exp2(-size.log2().round()).unsqueeze(-1)


def _at_centre(a: TaylorModel, b: TaylorModel) -> torch.Tensor:
    """(N,): the inner product at the centres of the cells, without error."""
    return (a.value * b.value).sum(-1)


def _projection(y: TaylorModel, a: TaylorModel) -> torch.Tensor:
    """(N, 1): the coefficient of ``y``'s projection on ``a`` at the centre.

    Not enclosed: the equations hold whatever multiple of a tangent is subtracted.
    """
    coefficient = (_at_centre(y, a) / _at_centre(a, a)).unsqueeze(-1)
    return torch.where(coefficient.isfinite(), coefficient, 0.0)


# --- Cells judged by it ---------------------------------------------------------------------------


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

    def of_sign(self, sign: int) -> Judged:
        """Add that the map is an immersion and K has this ``sign``, 1 or -1, in all cells."""
        label = LABELS.index(POSITIVE if sign > 0 else NEGATIVE)
        limits = (0.0, torch.inf) if sign > 0 else (-torch.inf, 0.0)
        gaussian = self.gaussian.clamp(*limits)
        return replace(
            self,
            labels=torch.full_like(self.labels, label),
            immersed=torch.ones_like(self.immersed),
            gaussian=gaussian,
            absolute=gaussian if sign > 0 else -gaussian.flip(-1),
        )

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
    leading = jet.shape[:-2]
    if leading.numel() != 1:
        raise ValueError(f"function returned {leading.numel()} surfaces; one is proved at a time")
    k = curving(cast(Any, jet)[(0,) * len(leading)] if leading else jet, whiten)
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
    low, high = gaussian.unbind(-1)
    least, proved = torch.maximum(low, -high).clamp(min=0.0), labels != OPEN_CODE
    most = torch.where(proved, torch.maximum(-low, high), largest)
    # The sign varies most along the axis to split, or K dA where the sign is proved.
    score = torch.where(
        proved.unsqueeze(-1), variation(k.density, cells.radius), variation(k.sign, cells.radius)
    )
    score = torch.where(immersed.unsqueeze(-1), score, torch.inf)
    return Judged(
        cells.centres,
        cells.radius,
        labels,
        worse_side(score, cells.radius),
        immersed,
        gaussian,
        torch.stack([least, torch.maximum(least, most)], -1),
        _integral(k.area, size).clamp(min=0.0),
    )


def _integral(density: TaylorModel, size: torch.Tensor) -> torch.Tensor:
    """(N, 2): bounds of the integral of a ``density`` over cells of chart area ``size`` (N,)."""
    mean = density.cell_mean()
    middle = mean.value * size
    spread = mean.bound * size * (1 + ROUNDING) + middle.abs() * ROUNDING
    bounds = torch.stack([middle - spread, middle + spread], -1)
    unknown = bounds.isnan().any(-1)
    bounds[unknown, 0], bounds[unknown, 1] = -torch.inf, torch.inf
    return bounds


@dataclass(frozen=True)
class Budget:
    """A limit to a proof: ``seconds``, ``cells``, or a result that is precise enough.

    It is when at most ``open_share`` of the chart is open, and the bounds of the total of |K| dA
    (of dA, where K = 0) differ by at most ``relative_width`` of the upper one.
    """

    seconds: float = 2.0
    cells: int = 1_000_000
    open_share: float = 0.001
    relative_width: float = 0.01


USUAL = Budget()


def prove_curvature(
    function: Function,
    covariance: object = None,
    budget: Budget = USUAL,
    degree: int = DEGREE,
    casts: str = "refuse",
) -> ProvedCurvature:
    """Prove the sign of K on as much of the chart [-1, 1]^2 as ``budget`` allows.

    ``function`` is any torch callable (N, 2) -> (..., N, D), D >= 2, that draws one surface, whose
    operations have error rules; `MissingRule` names one that has none. ``covariance`` gives the
    metric, as for `gating_core.geometry.curvature`. ``degree``, 0 (balls) to 4, is that of the
    Taylor models. ``casts`` as for `second_order_jet`. ``ValueError`` for a function that
    `second_order_jet` refuses, or of several surfaces.
    """
    steps = proof_steps(carried(function, casts), covariance, budget, degree)
    return deque(steps, maxlen=1).pop()


def proof_steps(
    function: Function, covariance: object = None, budget: Budget = USUAL, degree: int = DEGREE
) -> Iterator[ProvedCurvature]:
    """`prove_curvature`, yielding a result after each pass; later results are never worse."""
    start = time.perf_counter()
    cells = chart_cells(FIRST_SIDE)
    some = cells.centres[:: FIRST_SIDE + 1]
    jet = second_order_jet(function, some)  # refuses what is no map
    value = jet.value
    dim = value.shape[-1]
    if value.shape[:-2].numel() != 1 or dim < 2:
        raise ValueError(
            f"function returned shape {tuple(value.shape)}; it must be one surface, D >= 2"
        )
    whiten = None if covariance is None else Whitening(covariance, dim)
    (proof,) = flatness_proofs(function, value)
    (one,) = sign_proofs(function, 1)
    if one is not None and one.sign == 0:
        proof, one = one.reason, None
    totals = [NOT_NEGATIVE, ANY, NOT_NEGATIVE]  # of |K| dA, K dA and dA
    count = len(cells)

    def judge_cells(batch: Cells) -> Judged:
        found = judge(function, batch, degree, whiten)
        return found if one is None else found.of_sign(one.sign)

    def choose_cells(judged: Judged) -> torch.Tensor:
        """(N,): which cells to halve: the largest open ones, and those of the widest bounds."""
        nonlocal count
        room = max(budget.cells - count, 0) // 2  # each split adds two cells
        batch = min(max(BATCH_NUMBERS // dim, 1), room)
        chosen = torch.zeros(len(judged), dtype=torch.bool)
        bounds = judged.area if proof else judged.absolute
        if not proof:
            choose(chosen, judged.open_sizes, batch // 2)
        done = (judged.radius.amax(-1) <= SMALLEST) | chosen
        widths = torch.where(done, 0.0, bounds[:, 1] - bounds[:, 0])
        choose(chosen, widths, batch - int(chosen.sum()))
        count += 2 * int(chosen.sum())
        return chosen

    for judged in search(judge_cells, cells, choose_cells):
        sums = [_sum(x) for x in (judged.absolute, judged.gaussian, judged.area)]
        if proof:
            sums[:2] = [Interval(0.0, 0.0)] * 2
        absolute, gaussian, area = totals = [*map(Interval.within, totals, sums)]
        result = ProvedCurvature(
            judged.cells,
            torch.full_like(judged.labels, LABELS.index(FLAT)) if proof else judged.labels,
            judged.immersed,
            absolute,
            gaussian,
            area,
            _area_share(judged, POSITIVE),
            _area_share(judged, NEGATIVE),
            proof,
            count,
            time.perf_counter() - start,
            jet.notes,
            None if one is None else one.reason,
        )
        yield result
        total = result.area if proof else result.absolute
        precise = result.open <= budget.open_share
        precise = precise and total.width <= budget.relative_width * total.high
        if precise or result.seconds >= budget.seconds or count >= budget.cells:
            return


def _area_share(judged: Judged, label: str) -> float:
    """The share of the surface's area that cells with a ``label`` have at least."""
    signed = judged.labels == LABELS.index(label)
    least, rest = max(_sum(judged.area[signed]).low, 0.0), _sum(judged.area[~signed]).high
    return least / (least + max(rest, 0.0)) * (1 - ROUNDING) if least > 0 else 0.0


def _sum(bounds: torch.Tensor) -> Interval:
    """The sum of intervals (N, 2), rounded outwards."""
    low, high = bounds.sum(0).tolist()
    slack = ((len(bounds) + 2) * 2 * U * bounds.abs().sum(0)).tolist()
    return Interval(low - slack[0], high + slack[1])

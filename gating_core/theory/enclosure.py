"""The sign of K on a gated sheet between all points: cells judged by Taylor models.

The mechanism is that of `gating_core.proved`, with a simpler expression than for a general surface:
for a scalar gate g > 0, K has the sign of det Hess(1/g), or of g^5 times that without a division,
g det Hess(g) - 2 (g_u^2 g_vv - 2 g_u g_v g_uv + g_v^2 g_uu), which can have one sign on a cell even
where g vanishes in it. A gate for each channel is judged by its surface.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

import gating_core.proved as proved
from gating_core.geometry.grid import Cells
from gating_core.jets.jet import Jet, filled
from gating_core.jets.second_order import taylor_jet
from gating_core.jets.taylor import TaylorModel
from gating_core.theory.breaks import EDGE, OUTSIDE, SMOOTH, smoothness
from gating_core.theory.curvature_formula import Gate, GatedSheet
from gating_core.theory.expression import Operation
from gating_core.theory.formula import Formula

BATCH = 1024  # cells halved in one pass
FAINTEST = 1e-250  # of the expression with the sign of K: below it underflow decides
PASS_CELLS = 512  # a pass takes the time of as many cells, however few are judged in it
MOST_CUTS = 6  # of a cell in one pass, into 64


@dataclass(frozen=True, eq=False)
class GateSigns(proved.Signs):
    """N cells, and ``large`` (N,), an upper bound of the size of `GateJudge.sign` in each.

    ``inside`` (N,): whether the gate is defined somewhere in the cell, for certain; ``outside``
    (N,): nowhere. A sign is a sign of K only where the gate is defined.
    """

    large: torch.Tensor
    inside: torch.Tensor
    outside: torch.Tensor

    @property
    def open_sizes(self) -> torch.Tensor:
        """(N,): as `Signs.open_sizes`, and 0 where the gate is nowhere defined."""
        return torch.where(self.outside, 0.0, super().open_sizes)

    @property
    def positive(self) -> float:
        """The share of the chart on which K > 0, as far as is known."""
        return self[self.inside].share(proved.POSITIVE)

    @property
    def negative(self) -> float:
        """The share of the chart on which K < 0, as far as is known."""
        return self[self.inside].share(proved.NEGATIVE)

    @property
    def one_sign(self) -> int:
        """1 or -1 if K has that sign wherever there is a gate in these cells, else 0."""
        there = self[~self.outside]
        up, down = there.share(proved.POSITIVE) > 0, there.share(proved.NEGATIVE) > 0
        return 0 if there.share(proved.OPEN) or up == down else 1 if up else -1


@dataclass(frozen=True)
class GateJudge:
    """A judge of cells in which a ``gate`` is smooth, for the sheet under it at a ``strength``.

    ``formulas`` are those of the gate, if it is made of any: one, or one for each channel.
    ``edged``: whether there may be no gate in a part of the cells.
    """

    gate: Gate
    strength: float
    formulas: Sequence[Formula] = ()
    edged: bool = True

    def __call__(self, cells: Cells) -> GateSigns:
        """Label cells by the sign of K proved on each, as far as the gate is defined."""
        sign = self.sign(cells)
        labels = proved.labels_of(sign)
        left = labels == proved.LABELS.index(proved.OPEN)
        if self._quotient and left.any():  # as where g vanishes, and 1/g has a pole
            labels[left] = proved.labels_of(self._without_division(cells[left]))
        inside, outside = self._where(cells)
        ball = sign.ball()
        return GateSigns(
            cells.centres,
            cells.radius,
            labels,
            proved.worse_side(proved.variation(sign, cells.radius), cells.radius),
            (ball.magnitude + ball.bound).nan_to_num(torch.inf),
            inside,
            outside,
        )

    def _where(self, cells: Cells) -> tuple[torch.Tensor, torch.Tensor]:
        """(N,) each: whether there is a gate somewhere, by all of the cell or its centre; nowhere.

        At full strength, as everywhere where a gate is looked for.
        """
        if not self.edged:
            return torch.ones(len(cells), dtype=torch.bool), torch.zeros(len(cells)).bool()
        words = smoothness(self.gate, self.formulas, cells)
        inside, edge = words == SMOOTH, words == EDGE
        centres = Cells(cells.centres[edge], torch.zeros_like(cells.radius[edge]))
        inside[edge] = smoothness(self.gate, self.formulas, centres) == SMOOTH
        return inside, words == OUTSIDE

    def sign(self, cells: Cells) -> TaylorModel:
        """Taylor models (N,) of an expression that has the sign of K."""
        quotient = self._quotient
        if quotient is None:
            return self._without_division(cells)
        # 1/g without dividing twice, which is tighter
        *_, uu, uv, vv = _rows(_models(self._reciprocal_of(quotient), cells))
        return uu * vv - uv.square()

    def _without_division(self, cells: Cells) -> TaylorModel:
        sheet = GatedSheet(self.gate, self.strength)
        factor = _models(sheet.factor, cells)
        if factor.shape[-1] == 1:
            return _of_gate(factor)
        return proved.curving(_models(sheet, cells)).sign

    @property
    def _quotient(self) -> Operation | None:
        """The gate's formula, if it is one quotient."""
        top = self.formulas[0].expression if len(self.formulas) == 1 else None
        return top if isinstance(top, Operation) and top.sign == "/" else None

    def _reciprocal_of(self, quotient: Operation) -> Gate:
        """1 / g at the strength."""

        def reciprocal(points: torch.Tensor) -> torch.Tensor:
            u, v = points.unbind(-1)
            over, below = quotient.left.at(torch, u, v), quotient.right.at(torch, u, v)
            mixed = over
            if self.strength != 1:
                mixed = (1 - self.strength) * below + self.strength * over
            value = below / mixed
            return (value if value.ndim else value.expand(len(points))).unsqueeze(-1)

        return reciprocal


def sign_steps(judge: GateJudge, cells: Cells) -> Iterator[tuple[GateSigns, int]]:
    """Prove signs in ``cells``, yielding all cells and the work so far after each pass.

    Open cells are cut, the largest ones and those in which most may be hidden, such as a narrow
    peak; where they are few, each into many. A unit of work is the time of one cell.
    """
    work = max(len(cells), PASS_CELLS)

    def cuts_of(count: int) -> int:
        nonlocal work
        cuts = min(max(int(math.log2(PASS_CELLS / count)), 1), MOST_CUTS)
        work += max(count * 2**cuts, PASS_CELLS)
        return cuts

    for known in proved.search(judge, cells, _open_cells, cuts_of):
        yield known, work


def _open_cells(known: GateSigns) -> torch.Tensor:
    """(N,): which cells to cut next."""
    chosen = torch.zeros(len(known), dtype=torch.bool)
    sizes = torch.where(known.large > FAINTEST, known.open_sizes, 0.0)
    proved.choose(chosen, sizes, BATCH // 2)
    proved.choose(chosen, torch.where((sizes > 0) & ~chosen, known.large, 0.0), BATCH // 2)
    return chosen


def _models(function: Gate, cells: Cells) -> Jet:
    return taylor_jet(function, cells.centres, cells.radius, proved.DEGREE)


def _rows(jet: Jet) -> list[TaylorModel]:
    """Value, u, v, uu, uv, vv of one channel, as models (N,)."""
    first, second = (proved.model(filled(jet, order))[..., 0] for order in ("first", "second"))
    return [proved.model(jet.value)[..., 0], first[0], first[1], second[0], second[1], second[2]]


def _of_gate(jet: Jet) -> TaylorModel:
    """A number with the sign of K, from the ``jet`` (N, 1) of a gate."""
    g, u, v, uu, uv, vv = _rows(jet)
    bend = u.square() * vv - 2 * (u * v) * uv + v.square() * uu
    return g * (uu * vv - uv.square()) - 2 * bend

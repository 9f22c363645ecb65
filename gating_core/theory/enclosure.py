"""What holds of a gated sheet between all points: its cells judged by enclosures.

For a scalar gate g > 0 the sign of K is that of det Hess(1/g), and so of
g det Hess(g) - 2 (g_u^2 g_vv - 2 g_u g_v g_uv + g_v^2 g_uu), which is g^5 times that and needs no
division. For a gate for each channel it is that of <N, y_uu> <N, y_vv> - <N, y_uv>^2 with
N = y_u x y_v, which is K |N|^4. All are enclosed by balls over cells, see `enclosing_jet`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from gating_core.geometry.cells import (
    BROKEN,
    FAINT,
    NEGATIVE,
    OUTSIDE,
    POSITIVE,
    UNKNOWN,
    Cells,
)
from gating_core.jets.bounded import Bounded
from gating_core.jets.cell_jets import enclosing_jet
from gating_core.jets.hulls import Ball
from gating_core.jets.second_order import SecondOrderJet
from gating_core.theory.expression import Call, Expression, Number, Operation, parts_of
from gating_core.theory.expression import constant as constant_of
from gating_core.theory.formula import Formula
from gating_core.theory.law import LARGEST_GATE, Gate, GatedSheet

FAINTEST = 1e-250  # of what has the sign of K: below it underflow decides
ONE = Number(1.0, "1")


@dataclass(frozen=True)
class GateJudge:
    """A judge of cells for the sheet under a ``gate`` at a ``strength``; see `examine`.

    ``formulas`` are those of the gate, if it is made of any: one, or one for each channel.
    """

    gate: Gate
    strength: float
    formulas: Sequence[Formula] = ()

    def __call__(self, cells: Cells) -> tuple[torch.Tensor, torch.Tensor]:
        jet = enclosing_jet(self.gate, cells.centres, cells.radius)
        assert jet.errors is not None
        value, error = jet.stack[0], jet.errors[0]
        smooth = jet.errors.isfinite().all(0).all(0)
        outside = ((value + error <= 1 / LARGEST_GATE) | (value - error >= LARGEST_GATE)).any(0)
        found = torch.where(smooth, UNKNOWN, BROKEN)
        found[~smooth] = torch.where(self._undefined(cells[~smooth]), OUTSIDE, BROKEN)
        found[outside] = OUTSIDE
        size = torch.zeros(len(cells), dtype=torch.float64)
        at = (found == UNKNOWN).nonzero().squeeze(-1)
        if self.strength and len(at):
            found[at], size[at] = self._signs(jet, cells, at)
        return found, size

    def _signs(self, jet: SecondOrderJet, cells: Cells, at: torch.Tensor) -> Ball:
        """The words for smooth cells ``at``, and the largest size of what has the sign of K."""
        assert jet.errors is not None
        some = cells[at]
        if jet.stack.shape[1] != 1:
            image = enclosing_jet(GatedSheet(self.gate, self.strength), some.centres, some.radius)
            return _words(_of_image(_rows(image)))
        rows = [Bounded(x, e) for x, e in zip(jet.stack[:, 0, at], jet.errors[:, 0, at],
                                              strict=True)]  # fmt: skip
        found, size = _words(_of_gate([x * self.strength for x in rows], 1 - self.strength))
        left = found == UNKNOWN
        if left.any():  # 1/g itself: tighter where the gate is a quotient
            rest = some[left]
            rho = enclosing_jet(self._reciprocal, rest.centres, rest.radius)
            _, _, _, uu, uv, vv = (part[0] for part in _rows(rho))
            found[left], size[left] = _words(uu * vv - uv.square())
        return found, size

    def _reciprocal(self, points: torch.Tensor) -> torch.Tensor:
        """1 / g at the strength; of a quotient without dividing twice."""
        top = self.formulas[0].expression if self.formulas else None
        if not isinstance(top, Operation) or top.sign != "/":
            return 1 / GatedSheet(self.gate, self.strength).factor(points)
        u, v = points.unbind(-1)
        over, below = top.left.at(torch, u, v), top.right.at(torch, u, v)
        mixed = over if self.strength == 1 else (1 - self.strength) * below + self.strength * over
        value = below / mixed
        return (value if value.ndim else value.expand(len(points))).unsqueeze(-1)

    def _undefined(self, cells: Cells) -> torch.Tensor:
        """Where a logarithm, a root or a broken power has a negative argument on all of a cell."""
        nowhere = torch.zeros(len(cells), dtype=torch.bool)
        if not len(cells):
            return nowhere
        for argument in self._arguments("domain"):
            jet = enclosing_jet(_function(argument), cells.centres, cells.radius)
            assert jet.errors is not None
            nowhere |= jet.stack[0, 0] + jet.errors[0, 0] <= 0
        return nowhere

    def _arguments(self, kind: str) -> list[Expression]:
        return [
            x for formula in self.formulas for x in critical_arguments(formula.expression)[kind]
        ]

    def causes(self, cells: Cells) -> tuple[str, ...]:
        """Which of `CAUSES` may break the gate in ``cells``, most likely ones first."""
        found = []
        for kind in CAUSES:
            for argument in self._arguments(kind):
                jet = enclosing_jet(_function(argument), cells.centres, cells.radius)
                assert jet.errors is not None
                if bool((jet.stack[0].abs() <= jet.errors[0]).any()) and kind not in found:
                    found.append(kind)
        return tuple(found)


CAUSES = {  # of what a vanishing argument may be
    "kink": "a kink",
    "pole": "a pole or a jump",
    "domain": "a root or a logarithm of zero",
}


def critical_arguments(expression: Expression) -> dict[str, list[Expression]]:
    """The parts of ``expression`` at whose zeros it may not be smooth, by kind, see `CAUSES`."""
    found: dict[str, list[Expression]] = {kind: [] for kind in CAUSES}
    for part in parts_of(expression):
        if isinstance(part, Call):
            if part.name == "abs":
                found["kink"].append(part.of)
            elif part.name in ("log", "sqrt"):
                found["domain"].append(part.of)
            elif part.name == "tan":
                found["pole"].append(Call("cos", part.of))
        elif isinstance(part, Operation) and part.sign == "/":
            found["pole"].append(part.right)
        elif isinstance(part, Operation) and part.sign == "^":
            power = None if part.right.variables else constant_of(part.right)
            if power is None or not float(power).is_integer():
                found["domain"].append(part.left)
            elif power < 0:
                found["pole"].append(part.left)
    return {kind: [x for x in each if x.variables] for kind, each in found.items()}


def _function(argument: Expression) -> Gate:
    def at(points: torch.Tensor) -> torch.Tensor:
        return argument.at(torch, *points.unbind(-1)).unsqueeze(-1)

    return at


def _rows(jet: SecondOrderJet) -> list[list[Bounded]]:
    """Value, u, v, uu, uv, vv of each channel, as balls (N,)."""
    assert jet.errors is not None
    return [
        [Bounded(x, e) for x, e in zip(values, errors, strict=True)]
        for values, errors in zip(jet.stack, jet.errors, strict=True)
    ]


def _of_gate(rows: list[Bounded], offset: float) -> Bounded:
    """What has the sign of K, of a gate with these derivatives plus an ``offset``."""
    g, u, v, uu, uv, vv = rows
    g = g + offset if offset else g
    bend = u.square() * vv - 2 * (u * v) * uv + v.square() * uu
    return g * (uu * vv - uv.square()) - 2 * bend


def _of_image(rows: list[list[Bounded]]) -> Bounded:
    """What has the sign of K, of a surface in three dimensions."""
    _, a, b, uu, uv, vv = rows
    normal = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]

    def along(y: list[Bounded]) -> Bounded:
        return normal[0] * y[0] + normal[1] * y[1] + normal[2] * y[2]

    return along(uu) * along(vv) - along(uv).square()


def _words(x: Bounded) -> Ball:
    """What is known of the sign of balls (N,), and the largest size in each."""
    bound = x.bound
    size = x.magnitude + bound
    faint = torch.where(size < FAINTEST, FAINT, UNKNOWN)
    below = torch.where(x.value + bound < 0, NEGATIVE, faint)
    return torch.where(x.value - bound > 0, POSITIVE, below), size

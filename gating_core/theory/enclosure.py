"""Cells of the chart: where a gate is smooth, what breaks it, and the sign of K in each.

Domain and smoothness are judged by balls: whether a function has derivatives in a cell does not
depend on how tightly these are enclosed, and a cell takes balls a tenth of the time of Taylor
models. What may be broken is split in four, down to cells of an eighth of a grid's step.

On the rest the sign of K between all points is judged by Taylor models. The mechanism is that of
`gating_core.proved`, with a simpler expression than for a general surface: for a scalar gate g > 0,
K has the sign of det Hess(1/g), or of g^5 times that without a division,
g det Hess(g) - 2 (g_u^2 g_vv - 2 g_u g_v g_uv + g_v^2 g_uu), which can have one sign on a cell even
where g vanishes in it. A gate for each channel is judged by its surface.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

import gating_core.proved as proved
from gating_core.geometry.grid import Cells, chart_cells
from gating_core.jets.intervals import Ball
from gating_core.jets.jet import Jet, filled
from gating_core.jets.second_order import enclosing_jet, taylor_jet
from gating_core.jets.taylor import TaylorModel
from gating_core.proved import FIRST_SIDE, LABELS, OPEN, Signs, search
from gating_core.theory.curvature_formula import LARGEST_GATE, Gate, GatedSheet
from gating_core.theory.formula import Call, Expression, Formula, Operation, parts_of
from gating_core.theory.formula import constant as constant_of

# --- Where a gate is smooth -----------------------------------------------------------------------


SMOOTH, EDGE, OUTSIDE, BROKEN = range(4)
assert LABELS.index(OPEN) == BROKEN  # in a search for what is left
# A smooth gate in all of the cell; smooth, but perhaps no gate (not positive, or too large) in a
# part of it; a gate nowhere in it; none of these is known.

FINEST = 2.0**-9  # half width: a broken cell is split no further, it is an eighth of a grid's step
BLOCK = 8192  # cells judged at a time
MOST_WORK = 1_200_000  # numbers, names and signs of a formula times the cells: most of a second
FEWEST_PARTS = 8  # a shorter formula takes as long a cell


@dataclass(frozen=True, eq=False)
class Breaks:
    """The parts of the chart on which a gate is smooth, at every strength above 0, and the others.

    ``smooth``: cells in which it is; ``edged``: whether the gate may be undefined in a part of any
    of them. ``broken``: cells, each narrower than an eighth of a grid's step, that may contain a
    pole, a kink or a jump, whose ``causes`` are named. ``outside``: the share of the chart on which
    the gate is undefined; ``rough``: the share on which it is undetermined which of these holds.
    With ``smooth.share`` and ``broken.share`` they add up to one.
    """

    smooth: Cells
    edged: bool
    broken: Cells
    causes: tuple[str, ...]
    outside: float
    rough: float


def parts_count(formulas: Sequence[Formula]) -> int:
    """Count the nodes of ``formulas``, to which time is proportional; `FEWEST_PARTS` at least.

    A function takes as long as four sums.
    """
    nodes = (node for each in formulas for node in parts_of(each.expression))
    return max(sum(4 if isinstance(node, Call) else 1 for node in nodes), FEWEST_PARTS)


@lru_cache(maxsize=64)
def breaks_of(gate: Gate, formulas: tuple[Formula, ...] = ()) -> Breaks:
    """Find where the ``gate``, made of ``formulas`` if any, is not smooth.

    What may be broken is cut into quarters, until `MOST_WORK` is done.
    """
    count, most = FIRST_SIDE**2, MOST_WORK // parts_count(formulas)

    def judge(cells: Cells) -> Signs:
        return Signs(
            cells.centres, cells.radius, smoothness(gate, formulas, cells), cells.radius.argmax(-1)
        )

    def large(known: Signs) -> torch.Tensor:
        nonlocal count
        chosen = (known.labels == BROKEN) & (known.radius.amax(-1) > FINEST)
        count += 4 * int(chosen.sum())
        return chosen if count <= most else torch.zeros_like(chosen)

    steps = search(judge, chart_cells(FIRST_SIDE), large, lambda _: 2)
    known = deque(steps, maxlen=1).pop()
    labels, small = known.labels, known.radius.amax(-1) <= FINEST
    lost = known.cells[(labels == BROKEN) & small]
    return Breaks(
        known.cells[(labels == SMOOTH) | (labels == EDGE)],
        bool((labels == EDGE).any()),
        lost,
        tuple(
            kind
            for kind in CAUSES  # most likely ones first
            if any(
                (value.abs() <= error).any() for value, error in _arguments(formulas, kind, lost)
            )
        ),
        known.cells[labels == OUTSIDE].share,
        known.cells[(labels == BROKEN) & ~small].share,
    )


def smoothness(gate: Gate, formulas: Sequence[Formula], cells: Cells) -> torch.Tensor:
    """(N,): which of `SMOOTH`, `EDGE`, `OUTSIDE` and `BROKEN` each cell is."""
    if len(cells) > BLOCK:
        starts = range(0, len(cells), BLOCK)
        return torch.cat([smoothness(gate, formulas, cells[i : i + BLOCK]) for i in starts])
    jet = enclosing_jet(gate, cells.centres, cells.radius)
    assert jet.errors is not None
    value, error = jet.stack[0], jet.errors[0]
    smooth = jet.errors.isfinite().all(0).all(0)
    low, high = value - error, value + error
    inside = ((low > 1 / LARGEST_GATE) & (high < LARGEST_GATE)).all(0)
    outside = ((high <= 1 / LARGEST_GATE) | (low >= LARGEST_GATE)).any(0)
    for value, error in _arguments(formulas, "domain", cells[~smooth]):
        outside[~smooth] |= value + error <= 0  # as of a logarithm or a root
    known = torch.where(smooth, torch.where(inside, SMOOTH, EDGE), BROKEN)
    return torch.where(outside, OUTSIDE, known)


def _arguments(formulas: Sequence[Formula], kind: str, cells: Cells) -> Iterator[Ball]:
    """Enclose each critical argument of this ``kind`` in ``cells``, if there are any: (N,) each."""
    for formula in formulas if len(cells) else ():
        for argument in critical_arguments(formula.expression)[kind]:
            jet = enclosing_jet(argument.on, cells.centres, cells.radius)
            assert jet.errors is not None
            yield jet.stack[0, 0], jet.errors[0, 0]


CAUSES = {  # of what a vanishing argument may be
    "kink": "a kink",
    "pole": "a pole or a jump",
    "domain": "a root or a logarithm of zero",
}


def critical_arguments(expression: Expression) -> dict[str, list[Expression]]:
    """The parts of ``expression`` at whose zeros it may not be smooth, by kind, see `CAUSES`."""
    arguments: dict[str, list[Expression]] = {kind: [] for kind in CAUSES}
    for part in parts_of(expression):
        if isinstance(part, Call):
            if part.name == "abs":
                arguments["kink"].append(part.of)
            elif part.name in ("log", "sqrt"):
                arguments["domain"].append(part.of)
            elif part.name == "tan":
                arguments["pole"].append(Call("cos", part.of))
        elif isinstance(part, Operation) and part.sign == "/":
            arguments["pole"].append(part.right)
        elif isinstance(part, Operation) and part.sign == "^":
            power = None if part.right.variables else constant_of(part.right)
            if power is None or not float(power).is_integer():
                arguments["domain"].append(part.left)
            elif power < 0:
                arguments["pole"].append(part.left)
    return {kind: [x for x in each if x.variables] for kind, each in arguments.items()}


# --- The sign of K --------------------------------------------------------------------------------


BATCH = 1024  # cells halved in one pass
PASS_CELLS = 512  # a pass takes the time of as many cells, however few are judged in it


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
        if factor.shape[-1] > 1:
            return proved.curving(_models(sheet, cells)).sign
        g, u, v, uu, uv, vv = _rows(factor)
        bend = u.square() * vv - 2 * (u * v) * uv + v.square() * uu
        return g * (uu * vv - uv.square()) - 2 * bend

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
        # Into 64 at most.
        cuts = min(max(int(math.log2(PASS_CELLS / count)), 1), 6)
        work += max(count * 2**cuts, PASS_CELLS)
        return cuts

    for known in proved.search(judge, cells, _open_cells, cuts_of):
        yield known, work


def _open_cells(known: GateSigns) -> torch.Tensor:
    """(N,): which cells to cut next."""
    chosen = torch.zeros(len(known), dtype=torch.bool)
    # In fainter cells underflow decides the sign.
    sizes = torch.where(known.large > 1e-250, known.open_sizes, 0.0)
    proved.choose(chosen, sizes, BATCH // 2)
    proved.choose(chosen, torch.where((sizes > 0) & ~chosen, known.large, 0.0), BATCH // 2)
    return chosen


def _models(function: Gate, cells: Cells) -> Jet:
    return taylor_jet(function, cells.centres, cells.radius, proved.DEGREE)


def _rows(jet: Jet) -> list[TaylorModel]:
    """Value, u, v, uu, uv, vv of one channel, as models (N,)."""
    first, second = (proved.model(filled(jet, order))[..., 0] for order in ("first", "second"))
    return [proved.model(jet.value)[..., 0], first[0], first[1], second[0], second[1], second[2]]

"""Domain and smoothness of a gate: cells of the chart, and what breaks it in the others.

Cells are judged by balls: whether a function has derivatives in a cell does not depend on how
tightly these are enclosed, and a cell takes balls a tenth of the time of Taylor models. What may be
broken is split in four, down to cells of an eighth of a grid's step. The rest is left for the sign
of K, see `enclosure`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from gating_core.geometry.grid import Cells, chart_cells
from gating_core.jets.intervals import Ball
from gating_core.jets.second_order import enclosing_jet
from gating_core.proved import FIRST_SIDE, LABELS, OPEN, Signs, search
from gating_core.theory.curvature_formula import LARGEST_GATE, Gate
from gating_core.theory.expression import Call, Expression, Operation, parts_of
from gating_core.theory.expression import constant as constant_of
from gating_core.theory.formula import Formula

SMOOTH, EDGE, OUTSIDE, BROKEN = range(4)
assert LABELS.index(OPEN) == BROKEN  # in a search for what is left
# A smooth gate in all of the cell; smooth, but perhaps no gate (not positive, or too large) in a
# part of it; a gate nowhere in it; none of these is known.

FINEST = 2.0**-9  # half width: a broken cell is split no further, it is an eighth of a grid's step
BLOCK = 8192  # cells judged at a time
MOST_WORK = 1_200_000  # numbers, names and signs of a formula times the cells: most of a second
FEWEST_PARTS = 8  # a shorter formula takes as long a cell
CALL_PARTS = 4  # a function takes as long as so many sums


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


def breaks_of(gate: Gate, formulas: Sequence[Formula] = ()) -> Breaks:
    """Find where the ``gate``, made of ``formulas`` if any, is not smooth."""
    if formulas:
        return _breaks_of_formulas(tuple(formulas))
    return _breaks(gate, (), MOST_WORK // FEWEST_PARTS)


@lru_cache(maxsize=64)
def _breaks_of_formulas(formulas: tuple[Formula, ...]) -> Breaks:
    def gate(points: torch.Tensor) -> torch.Tensor:
        return torch.cat([formula(points) for formula in formulas], -1)

    return _breaks(gate, formulas, MOST_WORK // parts_count(formulas))


def parts_count(formulas: Sequence[Formula]) -> int:
    """Count the nodes of ``formulas``, to which time is proportional; `FEWEST_PARTS` at least."""
    nodes = (node for each in formulas for node in parts_of(each.expression))
    return max(sum(CALL_PARTS if isinstance(node, Call) else 1 for node in nodes), FEWEST_PARTS)


def _breaks(gate: Gate, formulas: Sequence[Formula], most: int) -> Breaks:
    """Cut what may be broken into quarters, until about ``most`` cells have been judged."""
    count = FIRST_SIDE**2

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
        _causes(formulas, lost),
        known.cells[labels == OUTSIDE].share,
        known.cells[(labels == BROKEN) & ~small].share,
    )


def smoothness(gate: Gate, formulas: Sequence[Formula], cells: Cells) -> torch.Tensor:
    """(N,): which of `SMOOTH`, `EDGE`, `OUTSIDE` and `BROKEN` each cell is."""
    starts = range(0, max(len(cells), 1), BLOCK)
    return torch.cat([_smoothness(gate, formulas, cells[i : i + BLOCK]) for i in starts])


def _smoothness(gate: Gate, formulas: Sequence[Formula], cells: Cells) -> torch.Tensor:
    jet = enclosing_jet(gate, cells.centres, cells.radius)
    assert jet.errors is not None
    value, error = jet.stack[0], jet.errors[0]
    smooth = jet.errors.isfinite().all(0).all(0)
    low, high = value - error, value + error
    inside = ((low > 1 / LARGEST_GATE) & (high < LARGEST_GATE)).all(0)
    outside = ((high <= 1 / LARGEST_GATE) | (low >= LARGEST_GATE)).any(0)
    outside[~smooth] |= _undefined(formulas, cells[~smooth])
    known = torch.where(smooth, torch.where(inside, SMOOTH, EDGE), BROKEN)
    return torch.where(outside, OUTSIDE, known)


def _undefined(formulas: Sequence[Formula], cells: Cells) -> torch.Tensor:
    """True where a logarithm, root or broken power has a negative argument on all of a cell."""
    nowhere = torch.zeros(len(cells), dtype=torch.bool)
    for value, error in _arguments(formulas, "domain", cells):
        nowhere |= value + error <= 0
    return nowhere


def _causes(formulas: Sequence[Formula], cells: Cells) -> tuple[str, ...]:
    """Those of `CAUSES` that may break the gate in ``cells``, most likely ones first."""
    return tuple(
        kind
        for kind in CAUSES
        if any((value.abs() <= error).any() for value, error in _arguments(formulas, kind, cells))
    )


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

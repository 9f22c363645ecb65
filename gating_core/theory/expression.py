"""Expression trees of formulas g(u, v), which can be evaluated and typeset.

Nodes are frozen. ``at(m, u, v)`` evaluates one in any namespace ``m`` that has the functions: torch
here, so that jets carry their error bounds through it, and mpmath in the tests. Numbers, pi and
computed exponents count as float64 numbers. SymPy would typeset, too, but takes a third of a second
to import, before the first formula is seen, and reorders sums and quotients, which widens bounds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

SUM, PRODUCT, SIGN, POWER, ATOM = range(5)  # how tightly a node binds, loosest first
FUNCTIONS = {  # of the grammar: what LaTeX calls them
    **{name: rf"\{name}" for name in ("sin", "cos", "tan", "exp", "log", "tanh", "sqrt")},
    "sigmoid": r"\sigma",
    "abs": "",
}
OPERATORS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "^": POWER}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
LATEX_SIGNS = {"+": " + ", "-": " - ", "*": r" \cdot "}


class Expression:
    """A node of the tree: one of the classes below."""

    def at(self, m: Any, u: Any, v: Any) -> Any:
        """Its value for coordinates ``u`` and ``v``, in the arithmetic of ``m``.

        A power with an exponent that varies is exp(b log(a)), so a > 0.
        """
        match self:
            case Constant(value):
                return m.tensor(value, dtype=torch.float64) if m is torch else m.mpf(value)
            case Coordinate(name):
                return u if name == "u" else v
            case Negative(of):
                return -of.at(m, u, v)
            case Call("abs", of):
                return abs(of.at(m, u, v))
            case Call(name, of):
                return getattr(m, name)(of.at(m, u, v))
            case Operation("^", left, right) if not right.variables:
                return left.at(m, u, v) ** constant(right)
            case Operation("^", left, right):
                return m.exp(right.at(m, u, v) * m.log(left.at(m, u, v)))
            case Operation(sign, left, right):
                return ARITHMETIC[sign](left.at(m, u, v), right.at(m, u, v))
        raise NotImplementedError(type(self))

    def on(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1): its value at chart ``points`` (N, 2), tensors or jets with their bounds."""
        value = self.at(torch, *points.unbind(-1))
        return (value if value.ndim else value.expand(len(points))).unsqueeze(-1)

    def latex(self) -> str:
        """Return LaTeX: quotients as fractions, exponents raised, numbers as they were written."""
        match self:
            case Constant(_, written):
                return r"\pi" if written == "pi" else _latex_number(written)
            case Coordinate(name):
                return name
            case Negative(of):
                return "-" + _within(of, POWER)
            case Call("abs", of):
                return rf"\left|{of.latex()}\right|"
            case Call("sqrt", of):
                return rf"\sqrt{{{of.latex()}}}"
            case Call(name, of):
                return rf"{FUNCTIONS[name]}\left({of.latex()}\right)"
            case Operation("/", left, right):
                return rf"\frac{{{left.latex()}}}{{{right.latex()}}}"
            case Operation("^", left, right):
                return f"{_within(left, ATOM)}^{{{right.latex()}}}"
            case Operation(sign, left, right):
                binding = OPERATORS[sign]
                return _within(left, binding) + LATEX_SIGNS[sign] + _within(right, binding + 1)
        raise NotImplementedError(type(self))

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The nodes right below it."""
        return tuple(part for part in vars(self).values() if isinstance(part, Expression))

    @property
    def variables(self) -> frozenset[str]:
        """The coordinates, u or v or both, that the expression depends on."""
        return frozenset().union(*(part.variables for part in self.parts))


@dataclass(frozen=True)
class Constant(Expression):
    """A number as it was written."""

    value: float
    written: str


PI = Constant(math.pi, "pi")


@dataclass(frozen=True)
class Coordinate(Expression):
    """u or v."""

    name: str

    @property
    def variables(self) -> frozenset[str]:
        """The coordinate's own name."""
        return frozenset({self.name})


@dataclass(frozen=True)
class Negative(Expression):
    """Minus what follows."""

    of: Expression


@dataclass(frozen=True)
class Operation(Expression):
    """Two expressions and one of `OPERATORS` between them."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call(Expression):
    """A call of one of `FUNCTIONS`."""

    name: str
    of: Expression


def parts_of(expression: Expression) -> Iterator[Expression]:
    """The expression and all nodes below it."""
    yield expression
    for part in expression.parts:
        yield from parts_of(part)


def constant(expression: Expression) -> float:
    """The value of an expression without u and v; infinite or NaN where it has none."""
    nowhere = torch.zeros((), dtype=torch.float64)
    with torch._C.DisableTorchFunction():
        return float(expression.at(torch, nowhere, nowhere))


def _within(part: Expression, binding: int) -> str:
    """The LaTeX of a ``part``, in parentheses where it binds less than ``binding``."""
    own = ATOM
    if isinstance(part, Operation | Negative):
        own = OPERATORS[part.sign] if isinstance(part, Operation) else SIGN
    return part.latex() if own >= binding else rf"\left({part.latex()}\right)"


def _latex_number(written: str) -> str:
    """1e-5 as 1 times ten to the minus five."""
    head, mark, tail = written.lower().partition("e")
    return rf"({head} \cdot 10^{{{int(tail)}}})" if mark else written

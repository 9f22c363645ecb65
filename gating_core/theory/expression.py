"""Expression trees of formulas g(u, v), which can be evaluated and written.

Nodes are frozen. ``at(m, u, v)`` evaluates one in any namespace ``m`` that has the functions: torch
here, so that jets carry their error bounds through it, and mpmath in the tests. Numbers, pi and
computed exponents count as float64 numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

SUM, PRODUCT, SIGN, POWER, ATOM = range(5)  # how tightly a node binds, loosest first
COORDINATE_DIGITS = 4  # significant, of coordinates that are written as numbers
Values = dict[str, float]  # of u and v, which are written instead of their names


FUNCTIONS = {  # of the grammar: what LaTeX calls them
    **{name: rf"\{name}" for name in ("sin", "cos", "tan", "exp", "log", "tanh", "sqrt")},
    "sigmoid": r"\sigma",
    "abs": "",
}
OPERATORS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "^": POWER}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
LATEX_SIGNS = {"+": " + ", "-": " - ", "*": r" \cdot "}
TEXT_SIGNS = {"+": " + ", "-": " - ", "*": " * ", "/": " / ", "^": "^"}


class Expression:
    """A node of the tree; ``binding`` says whether it needs parentheses within another."""

    @property
    def binding(self) -> int:
        """The binding strength, from `SUM` to `ATOM`; the weaker of two nodes is bracketed."""
        return ATOM

    def at(self, m: Any, u: Any, v: Any) -> Any:
        """Its value for coordinates ``u`` and ``v``, in the arithmetic of ``m``."""
        raise NotImplementedError

    def on(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1): its value at chart ``points`` (N, 2), tensors or jets with their bounds."""
        value = self.at(torch, *points.unbind(-1))
        return (value if value.ndim else value.expand(len(points))).unsqueeze(-1)

    def latex(self, values: Values | None = None) -> str:
        """Return LaTeX, with ``values`` for the coordinates that they name."""
        raise NotImplementedError

    def text(self, values: Values | None = None) -> str:
        """Return plain text that can be parsed again, except for rounded ``values``."""
        raise NotImplementedError

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

    def at(self, m: Any, u: Any, v: Any) -> Any:
        """Return the number in the arithmetic of ``m``."""
        return m.tensor(self.value, dtype=torch.float64) if m is torch else m.mpf(self.value)

    def latex(self, values: Values | None = None) -> str:
        """Return the number as it was written, powers of ten typeset."""
        return r"\pi" if self.written == "pi" else _latex_number(self.written)

    def text(self, values: Values | None = None) -> str:
        """Return the number as it was written."""
        return self.written


PI = Constant(math.pi, "pi")


@dataclass(frozen=True)
class Coordinate(Expression):
    """u or v."""

    name: str

    def at(self, m: Any, u: Any, v: Any) -> Any:
        """Return ``u`` or ``v``."""
        return u if self.name == "u" else v

    def latex(self, values: Values | None = None) -> str:
        """Return the name, or its number in ``values`` to four significant digits."""
        return _latex_number(self.text(values))

    def text(self, values: Values | None = None) -> str:
        """Return the name, or its number in ``values``, bracketed if negative."""
        if values is None or self.name not in values:
            return self.name
        number = f"{values[self.name]:.{COORDINATE_DIGITS}g}"
        return f"({number})" if number.startswith("-") else number

    @property
    def variables(self) -> frozenset[str]:
        """The coordinate's own name."""
        return frozenset({self.name})


@dataclass(frozen=True)
class Negative(Expression):
    """Minus what follows."""

    of: Expression

    @property
    def binding(self) -> int:
        """The binding strength of a sign, between those of products and powers."""
        return SIGN

    def at(self, m: Any, u: Any, v: Any) -> Any:
        """Return the negative of the operand's value."""
        return -self.of.at(m, u, v)

    def latex(self, values: Values | None = None) -> str:
        """Return a minus and the operand, in parentheses where it binds less than a power."""
        return "-" + _latex_within(self.of, POWER, values)

    def text(self, values: Values | None = None) -> str:
        """Return a minus and the operand, in parentheses where it binds less than a power."""
        return "-" + _text_within(self.of, POWER, values)


@dataclass(frozen=True)
class Operation(Expression):
    """Two expressions and one of `OPERATORS` between them."""

    sign: str
    left: Expression
    right: Expression

    @property
    def binding(self) -> int:
        """The binding strength of the operator."""
        return OPERATORS[self.sign]

    def at(self, m: Any, u: Any, v: Any) -> Any:
        """Return the result; a power with a computed exponent is exp(b log(a)), so a > 0."""
        a = self.left.at(m, u, v)
        if self.sign == "^" and not self.right.variables:
            return a ** constant(self.right)
        b = self.right.at(m, u, v)
        if self.sign == "^":
            return m.exp(b * m.log(a))
        return ARITHMETIC[self.sign](a, b)

    def latex(self, values: Values | None = None) -> str:
        """Return the operation, quotients as fractions and exponents raised."""
        if self.sign == "/":
            return rf"\frac{{{self.left.latex(values)}}}{{{self.right.latex(values)}}}"
        if self.sign == "^":
            return f"{_latex_within(self.left, ATOM, values)}^{{{self.right.latex(values)}}}"
        left = _latex_within(self.left, self.binding, values)
        return left + LATEX_SIGNS[self.sign] + _latex_within(self.right, self.binding + 1, values)

    def text(self, values: Values | None = None) -> str:
        """Return the operation with the fewest parentheses."""
        power = self.sign == "^"
        left = _text_within(self.left, ATOM if power else self.binding, values)
        right = _text_within(self.right, SIGN if power else self.binding + 1, values)
        return left + TEXT_SIGNS[self.sign] + right


@dataclass(frozen=True)
class Call(Expression):
    """A call of one of `FUNCTIONS`."""

    name: str
    of: Expression

    def at(self, m: Any, u: Any, v: Any) -> Any:
        """Return the function's value, looked up by name in ``m``."""
        x = self.of.at(m, u, v)
        return abs(x) if self.name == "abs" else getattr(m, self.name)(x)

    def latex(self, values: Values | None = None) -> str:
        """Return the function in LaTeX: bars for abs, a root sign for sqrt."""
        inner, name = self.of.latex(values), FUNCTIONS[self.name]
        if self.name == "abs":
            return rf"\left|{inner}\right|"
        return f"{name}{{{inner}}}" if self.name == "sqrt" else rf"{name}\left({inner}\right)"

    def text(self, values: Values | None = None) -> str:
        """Return the function's name and its argument in parentheses."""
        return f"{self.name}({self.of.text(values)})"


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


def _latex_within(part: Expression, binding: int, values: Values | None) -> str:
    inner = part.latex(values)
    return inner if part.binding >= binding else rf"\left({inner}\right)"


def _text_within(part: Expression, binding: int, values: Values | None) -> str:
    inner = part.text(values)
    return inner if part.binding >= binding else f"({inner})"


def _latex_number(written: str) -> str:
    """1e-5 as 1 times ten to the minus five."""
    head, mark, tail = written.strip("()").lower().partition("e")
    if not mark:
        return written
    return rf"({head} \cdot 10^{{{int(tail)}}})"

"""Formulas g(u, v) as text: parsed, and never run; their trees are evaluated and typeset.

Python's own parser builds the tree, from text in which nothing but the grammar's characters and
names is left; every node of it is then translated, or refused in one sentence. Source of the
precedences: *The Python Language Reference*, section 6.17; ^ is **.

Nodes are frozen. ``at(m, u, v)`` evaluates one in any namespace ``m`` that has the functions: torch
here, so that jets carry their error bounds through it, and mpmath in the tests. Numbers, pi and
computed exponents count as float64 numbers. SymPy would typeset, too, but takes a third of a second
to import, before the first formula is seen, and reorders sums and quotients, which widens bounds.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from gating_core.characters import name, without_ignorable

# --- Expressions ----------------------------------------------------------------------------------


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
                head, mark, tail = written.lower().partition("e")  # 1e-5
                power = rf"({head} \cdot 10^{{{int(tail or 0)}}})" if mark else written
                return r"\pi" if written == "pi" else power
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
        own = {self.name} if isinstance(self, Coordinate) else ()
        return frozenset(own).union(*(part.variables for part in self.parts))


@dataclass(frozen=True)
class Constant(Expression):
    """A number as it was written."""

    value: float
    written: str


@dataclass(frozen=True)
class Coordinate(Expression):
    """u or v."""

    name: str


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


# --- Formulas as text -----------------------------------------------------------------------------


LONGEST_FORMULA = 200  # characters
MOST_PARTS = 80  # numbers, names and operators; so the tree cannot be deep
DEEPEST_PARENTHESES = 20
LARGEST_EXPONENT = 64
SAME_AS = {"×": "*", "·": "*", "−": "-", "–": "-", "÷": "/", "^": "**"}
GRAMMAR = f"numbers, u, v, pi, + - * / ^, parentheses, and {', '.join(FUNCTIONS)}"
PART = re.compile(
    r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[A-Za-z]+|\*\*|[-+*/^()×·−–÷]"
)  # not \d: other scripts have digits, too
SIGNS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
}


class FormulaError(ValueError):
    """A text that is no formula of the grammar; the message is one sentence for its author."""


@dataclass(frozen=True)
class Formula:
    """A gate g(u, v) as it was ``written``; equal texts are equal gates."""

    written: str
    expression: Expression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", _read(self.written))

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """Return g at chart ``points`` (N, 2), as (N, 1): tensors, or jets with their bounds."""
        return self.expression.on(points)

    def at(self, u: float, v: float) -> float:
        """Return g(u, v); NaN or infinite where it is not defined."""
        return float(self.expression.on(torch.tensor([[u, v]], dtype=torch.float64)))

    def latex(self) -> str:
        """Return LaTeX."""
        return self.expression.latex()


def parse_formula(text: object) -> Formula:
    """``text`` as a gate; `FormulaError`, one sentence in the visitor's terms, if it is none."""
    if not isinstance(text, str):
        raise FormulaError(f"a formula is a text such as 1/(3+u^2+v), not a {type(text).__name__}")
    return Formula(without_ignorable(text).strip())


# --- Reading --------------------------------------------------------------------------------------


def _read(text: str) -> Expression:
    if not isinstance(text, str) or not text.strip():
        raise FormulaError(f"the formula is empty; it is made of {GRAMMAR}")
    if len(text) > LONGEST_FORMULA:
        raise FormulaError(
            f"the formula has {len(text)} characters; at most {LONGEST_FORMULA} are allowed"
        )
    parts = _parts(text)
    python = ""
    origin: list[int] = []  # of every character of it, its position in the text
    for at, part in parts:
        python += f" {repr(float(part)) if part[0] in '.0123456789' else SAME_AS.get(part, part)}"
        origin += [at] * (len(python) - len(origin))
    try:
        tree = ast.parse(python.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # Where Python's parser stops, or the end.
        column = (getattr(error, "offset", None) or len(python)) - 1
        position = origin[min(column + 1, len(origin) - 1)]
        raise FormulaError(
            f"the formula breaks off at position {position + 1}, at"
            f" {text[position:].split()[0][:12]!r}; something before or after it is missing"
        ) from None
    return _translated(tree, origin)


def _parts(text: str) -> list[tuple[int, str]]:
    """Split into (position, part); refuse everything that is no number, name or sign."""
    parts: list[tuple[int, str]] = []
    depth, at = 0, 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        match = PART.match(text, at)
        if match is None:
            raise FormulaError(
                f"the character {name(text[at])} at position {at + 1} means nothing here; a formula"
                f" is made of {GRAMMAR}"
            )
        part = match[0]
        before = parts[-1] if parts else None
        if part[0].isalnum() or part[0] in ".(":
            _check_product(before, at, part)
        if part[0].isalpha() and part not in ("u", "v", "pi", *FUNCTIONS):
            raise FormulaError(
                f"{part!r} at position {at + 1} is not known; a formula is made of {GRAMMAR}"
            )
        if part[0] in ".0123456789" and not math.isfinite(float(part)):
            raise FormulaError(f"the number at position {at + 1} is too large")
        depth += (part == "(") - (part == ")")
        if depth > DEEPEST_PARENTHESES:
            raise FormulaError(
                f"at position {at + 1} more than {DEEPEST_PARENTHESES} parentheses are open; fewer"
                " are allowed"
            )
        parts.append((at, part))
        if len(parts) > MOST_PARTS:
            raise FormulaError(
                f"the formula has more than {MOST_PARTS} numbers, names and signs; fewer are"
                " allowed"
            )
        at = match.end()
    return parts


def _check_product(before: tuple[int, str] | None, at: int, part: str) -> None:
    """Refuse two factors side by side: 1/2u could be u/2 or 1/(2u)."""
    if before is None or not (before[1][-1].isalnum() or before[1][-1] in ".)"):
        return
    if before[1] in FUNCTIONS:
        if part != "(":
            raise FormulaError(
                f"{before[1]} at position {before[0] + 1} needs parentheses: {before[1]}({part})"
            )
        return
    raise FormulaError(
        f"between {before[1]!r} and {part!r} at position {at + 1} a sign is missing; a product"
        " needs its *"
    )


def _translated(node: ast.expr, origin: list[int]) -> Expression:
    position = origin[min(node.col_offset + 1, len(origin) - 1)]
    if isinstance(node, ast.Constant) and type(node.value) is float:
        return Constant(node.value, repr(node.value).removesuffix(".0"))
    if isinstance(node, ast.Name) and node.id in ("u", "v", "pi"):
        return Constant(math.pi, "pi") if node.id == "pi" else Coordinate(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _translated(node.operand, origin)
        if isinstance(node.op, ast.UAdd):
            return inner
        return inner.of if isinstance(inner, Negative) else Negative(inner)
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        left, right = _translated(node.left, origin), _translated(node.right, origin)
        # A constant exponent is limited; one that varies is exp(exponent log base), which is safe.
        if isinstance(node.op, ast.Pow) and not right.variables:
            value = constant(right)
            if not abs(value) <= LARGEST_EXPONENT:
                at = origin[min(node.right.col_offset + 1, len(origin) - 1)]
                raise FormulaError(
                    f"the exponent at position {at + 1} is {value:g}; it may be from"
                    f" -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}"
                )
        return Operation(SIGNS[type(node.op)], left, right)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in FUNCTIONS
        and len(node.args) == 1
        and not node.keywords
    ):
        return Call(node.func.id, _translated(node.args[0], origin))
    raise FormulaError(
        f"at position {position + 1} something is missing; functions are written as in sin(u)"
    )

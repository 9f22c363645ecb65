"""Formulas g(u, v) as text: parsed, and never run.

Python's own parser builds the tree, from text in which nothing but the grammar's characters and
names is left; every node of it is then translated, or refused in one sentence. Source of the
precedences: *The Python Language Reference*, section 6.17; ^ is **.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field

import torch

from gating_core.theory.expression import (
    FUNCTIONS,
    PI,
    Call,
    Constant,
    Coordinate,
    Expression,
    Negative,
    Operation,
    constant,
)
from gating_core.typed import name, without_ignorable

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
        return PI if node.id == "pi" else Coordinate(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _translated(node.operand, origin)
        if isinstance(node.op, ast.UAdd):
            return inner
        return inner.of if isinstance(inner, Negative) else Negative(inner)
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        left, right = _translated(node.left, origin), _translated(node.right, origin)
        if isinstance(node.op, ast.Pow):
            _check_exponent(right, origin[min(node.right.col_offset + 1, len(origin) - 1)])
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


def _check_exponent(exponent: Expression, position: int) -> None:
    """Limit constant exponents; one that varies is exp(exponent log base), which is safe."""
    if exponent.variables:
        return
    value = constant(exponent)
    if not abs(value) <= LARGEST_EXPONENT:
        raise FormulaError(
            f"the exponent at position {position + 1} is {value:g}; it may be from"
            f" -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}"
        )

"""Arithmetic and functions of jets, by the Leibniz rule and the chain rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gating_core.jets.bounded import Bounded, exactly_infinite
from gating_core.jets.elementary import FUNCTIONS, Array, join, matmul, products, squares
from gating_core.jets.jet import (
    RULES,
    Jet,
    MissingRule,
    apply,
    broadcast,
    call,
    components,
    each,
    exact_number,
    grow,
    lift,
    pairs,
    promote,
    rule,
)

# --- Arithmetic -----------------------------------------------------------------------------------


def _plus(a: Array | None, b: Array | None) -> Array | None:
    """A sum in which ``None`` stands for zero."""
    return a if b is None else b if a is None else a + b


def _minus(a: Array | None, b: Array | None) -> Array | None:
    return a if b is None else -b if a is None else a - b


@rule("add")
def _add(a: Any, b: Any, *, alpha: float = 1) -> Jet:
    return _combine(a, b if alpha == 1 else _times(b, alpha), _plus)


@rule("sub")
def _sub(a: Any, b: Any, *, alpha: float = 1) -> Jet:
    return _combine(a, b if alpha == 1 else _times(b, alpha), _minus)


@rule("rsub")
def _rsub(a: Any, b: Any) -> Jet:
    return _combine(b, a, _minus)


def _combine(a: Any, b: Any, how: Callable) -> Jet:
    model = a if isinstance(a, Jet) else b
    a, b = promote(a, model), promote(b, model)
    shape = broadcast(a.shape, b.shape)
    a, b = grow(a, shape), grow(b, shape)
    parts: list[Any] = [how(x, y) for x, y in zip(components(a), components(b), strict=True)]
    for constant, other in ((a, b), (b, a)):
        if constant.first is None and isinstance(parts[0], Bounded):
            _keep_infinities(parts[0], constant.value, other.value)
    return Jet(*parts, k=model.k)


def _keep_infinities(total: Bounded, constant: Bounded, other: Bounded) -> None:
    """A mask's -inf plus a known finite number, or another -inf, is -inf exactly."""
    if not constant.value.isfinite().all():
        known = exactly_infinite(other) | other.bound.isfinite()
        known = known & exactly_infinite(constant) & total.value.isinf()
        total.error = torch.where(known, 0.0, total._error_or_zero())


@rule("neg")
def _neg(a: Jet) -> Jet:
    return each(a, lambda c, lead: -c)


def _bilinear(product: Callable, two: Callable) -> Callable:
    """The Leibniz rule for a product linear in each factor; ``two(a, b, c, d)`` adds up two."""

    def both(a: Any, b: Any, c: Any, d: Any) -> Array | None:
        """Return a b + c d, in which ``None`` stands for zero."""
        if a is None or d is None:
            return None if a is d else product(c, d) if a is None else product(a, b)
        return two(a, b, c, d)

    def multiplied(a: Any, b: Any) -> Jet:
        model = a if isinstance(a, Jet) else b
        if isinstance(a, int | float):
            a, b = b, a
        if isinstance(b, int | float):
            number = exact_number(b)
            return each(a, lambda c, lead: product(c, number))
        a, b = promote(a, model), promote(b, model)
        k, ndim = model.k, max(a.ndim, b.ndim)
        a0, a1, a2 = (c if c is None else lift(c, ndim, i > 0) for i, c in _numbered(a))
        b0, b1, b2 = (c if c is None else lift(c, ndim, i > 0) for i, c in _numbered(b))
        first = both(a1, b0, a0, b1)
        second = both(a2, b0, a0, b2)
        if a1 is not None and b1 is not None:
            along_a, along_b = ([x[i] for i in range(k)] for x in (a1, b1))
            cross = [
                2 * product(along_a[i], along_b[i])
                if i == j
                else two(along_a[i], along_b[j], along_a[j], along_b[i])
                for i, j in pairs(k)
            ]
            second = _plus(second, join(cross, 0, torch.stack))
        return Jet(product(a0, b0), first, second, k=k)

    return multiplied


def _numbered(jet: Jet) -> Any:
    return enumerate(components(jet))


_times = _bilinear(lambda a, b: a * b, products)
_product = _bilinear(matmul, lambda a, b, c, d: matmul(a, b) + matmul(c, d))


def _matmul(a: Any, b: Any) -> Jet:
    if b.ndim == 1:
        return apply("squeeze", (_matmul(a, call("unsqueeze", b, -1)), -1), {})
    if a.ndim == 1:
        return apply("squeeze", (_matmul(call("unsqueeze", a, 0), b), -2), {})
    return _product(a, b)


RULES["mul"] = _times
RULES["matmul"] = _matmul


@rule("rmatmul")
def _rmatmul(a: Jet, b: torch.Tensor) -> Jet:
    return _matmul(b, a)


@rule("linear")
def _linear(x: Jet, weight: Any, bias: Any = None) -> Jet:
    out = _matmul(x, weight.transpose(-1, -2))
    return out if bias is None else _add(out, bias)


@rule("div")
def _div(a: Any, b: Any) -> Jet:
    if isinstance(b, int | float):
        number = exact_number(b)
        return each(a, lambda c, lead: c / number)
    return _times(a, _reciprocal(promote(b, a if isinstance(a, Jet) else b)))


@rule("rtruediv")
def _rtruediv(a: Jet, b: Any) -> Jet:
    return _times(b, _reciprocal(a))


# --- Functions of one variable: value, first and second derivative --------------------------------


def _chain(jet: Jet, f: Array, f1: Array, f2: Array) -> Jet:
    """The chain rule for a function applied element by element."""
    if jet.first is None:
        return Jet(f, k=jet.k)
    bend = squares(jet.first)
    bend = bend * f2 if jet.second is None else products(bend, f2, jet.second, f1)
    return Jet(f, jet.first * f1, bend, k=jet.k)


# Options that torch.nn's modules pass, and the values for which the rules hold.
OPTIONS: dict[str, dict[str, Any]] = {
    "silu": {"inplace": False},
    "gelu": {"approximate": "none"},
}


@rule("dropout")
def _dropout(jet: Jet, p: float = 0.5, training: bool = True, inplace: bool = False) -> Jet:
    if training and p > 0:
        raise MissingRule("dropout while training")
    return jet


def _unary(name: str) -> None:
    @rule(name)
    def applied(jet: Jet, *args: Any, **options: Any) -> Jet:
        options.update(zip(OPTIONS.get(name, {}), args, strict=False))
        usual = OPTIONS.get(name, {})
        if len(args) > len(usual) or any(usual.get(k, ...) != v for k, v in options.items()):
            raise MissingRule(f"{name} with {options or args}")
        return _chain(jet, *FUNCTIONS[name](jet.value))


for _name in FUNCTIONS:
    _unary(_name)


_reciprocal = RULES["reciprocal"]


@rule("pow")
def _pow(jet: Jet, exponent: float) -> Jet:
    if not isinstance(jet, Jet) or not isinstance(exponent, int | float):
        raise MissingRule("pow with a varying exponent")
    if exponent == 1:
        return apply("clone", (jet,), {})
    if exponent == 2:
        return RULES["square"](jet)
    if exponent in (0.5, -0.5, -1):
        return RULES[{0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}[exponent]](jet)
    if float(exponent).is_integer() and abs(exponent) <= LARGEST_POWER:
        power = _whole_power(jet, abs(int(exponent)))
        return power if exponent >= 0 else _reciprocal(power)
    return RULES["exp"](_times(RULES["log"](jet), float(exponent)))


LARGEST_POWER = 1024


def _whole_power(jet: Jet, n: int) -> Jet:
    """A power by repeated squaring: right for negative bases, too."""
    if n == 0:
        return promote(torch.ones(jet.shape, dtype=jet.dtype), jet)
    half = _whole_power(jet, n // 2)
    out = jet if n == 1 else _times(half, half)
    return _times(out, jet) if n % 2 and n > 1 else out

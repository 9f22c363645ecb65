"""How each torch operation acts on a jet: one rule per operation, in a table.

A jet has a value, k first derivatives and k (k + 1) / 2 second derivatives; the derivatives'
axis comes first, the tensor's own axes after it. ``second`` is ``None`` while the jet is affine
in the coordinates, ``first`` while it is constant: then nothing is computed for them. Components
are plain tensors, or `Bounded` ones that carry rounding errors; the rules do not know which.

A rule is found by the operation's name (``exp`` serves ``torch.exp`` and ``Tensor.exp``).
Source: Griewank & Walther, *Evaluating Derivatives*, 2nd ed., chapter 13 (Taylor arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from gating_core.bounded import (
    Array,
    Bounded,
    add_product,
    join,
    matmul,
    outer,
    relative_to,
    value_of,
    where,
)
from gating_core.elementary import FUNCTIONS


class MissingRule(TypeError):
    """An operation was applied to a jet that has no rule for it."""


@cache
def pairs(k: int) -> tuple[tuple[int, int], ...]:
    """The pairs i <= j of k coordinates, in the order of the second derivatives."""
    return tuple((i, j) for i in range(k) for j in range(i, k))


def pair_index(k: int, i: int, j: int) -> int:
    """Where the second derivative (i, j) stands among the second derivatives."""
    return pairs(k).index((min(i, j), max(i, j)))


class Jet:
    """A tensor with its derivatives; behaves like a tensor in the operations that have rules.

    In-place operators have none: whoever else holds the jet would not see the change.
    """

    __array_ufunc__ = None  # NumPy leaves `array * jet` to the jet

    def __init__(
        self, value: Array, first: Array | None = None, second: Array | None = None, *, k: int
    ) -> None:
        self.value = value
        self.first = first
        self.second = second
        self.k = k

    @staticmethod
    def coordinates(points: torch.Tensor, bounded: bool = False) -> Jet:
        """The identity map at points (N, k), points neighbours in memory."""
        count, k = points.shape
        value = points.T.contiguous().T
        first = torch.eye(k, dtype=points.dtype)[:, :, None].expand(k, k, count).contiguous()
        first = first.transpose(-1, -2)
        if bounded:
            return Jet(Bounded(value), Bounded(first), k=k)
        return Jet(value, first, k=k)

    @property
    def shape(self) -> torch.Size:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def dtype(self) -> torch.dtype:
        return self.value.dtype

    @property
    def device(self) -> torch.device:
        return self.value.device

    @property
    def requires_grad(self) -> bool:
        return False

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self):  # noqa: ANN204
        return iter(apply("unbind", (self,), {}))

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return apply(func.__name__, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in ("T", "mT"):
            return apply("transpose", (self, -1, -2), {})
        if name.startswith("__") or not callable(getattr(torch.Tensor, name, None)):
            raise AttributeError(f"a jet has no {name}")
        return lambda *args, **kwargs: apply(name, (self, *args), kwargs)


def _operator(name: str) -> Callable:
    return lambda self, *args: apply(name, (self, *args), {})


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv matmul rmatmul pow rpow neg mod floordiv"
    " getitem setitem eq ne lt le gt ge iadd isub imul itruediv imatmul ipow"
)
for _name in _OPERATORS.split():
    setattr(Jet, f"__{_name}__", _operator(f"__{_name}__"))


ALIASES = {
    "radd": "add",
    "rmul": "mul",
    "multiply": "mul",
    "truediv": "div",
    "true_divide": "div",
    "divide": "div",
    "rdiv": "rtruediv",
    "subtract": "sub",
    "mm": "matmul",
    "bmm": "matmul",
    "negative": "neg",
    "swapaxes": "transpose",
    "concat": "cat",
    "concatenate": "cat",
    "arctan": "atan",
    "view": "reshape",
}

RULES: dict[str, Callable] = {}


def rule_name(function_name: str) -> str:
    """The name under which an operation's rule stands in the table."""
    name = function_name.strip("_") if function_name.startswith("__") else function_name
    return ALIASES.get(name, name)


def apply(name: str, args: tuple, kwargs: dict) -> Any:
    """Apply the operation called ``name`` to arguments of which at least one is a jet."""
    name = rule_name(name)
    if name not in RULES:
        raise MissingRule(f"no jet rule for {name}")
    with torch._C.DisableTorchFunction():  # a rule's own torch calls are nobody's to follow
        return RULES[name](*args, **kwargs)


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Enter a function into the table under ``names``."""

    def enter(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


# --- Layout: operations that act on every component alike -----------------------------------------


def _each(jet: Jet, move: Callable[[Array, int], Any]) -> Jet:
    """Apply ``move(component, lead)``; ``lead`` axes stand before the tensor's own."""
    parts: list[Any] = [
        None if c is None else move(c, int(i > 0)) for i, c in enumerate(_components(jet))
    ]
    return Jet(*parts, k=jet.k)


def _components(jet: Jet) -> tuple[Array, Array | None, Array | None]:
    return jet.value, jet.first, jet.second


def _axis(dim: int, lead: int) -> int:
    """An axis of the tensor as an axis of a component."""
    return dim + lead if dim >= 0 else dim


def _sizes(args: tuple) -> tuple[int, ...]:
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args


@rule("reshape")
def _reshape(jet: Jet, *shape: Any) -> Jet:
    return _each(jet, lambda c, lead: c.reshape(*c.shape[:lead], *_sizes(shape)))


@rule("expand")
def _expand(jet: Jet, *shape: Any) -> Jet:
    return _grow(jet, tuple(_sizes(shape)))


@rule("permute")
def _permute(jet: Jet, *dims: Any) -> Jet:
    order = [d % jet.ndim for d in _sizes(dims)]
    return _each(jet, lambda c, lead: c.permute(*range(lead), *(d + lead for d in order)))


@rule("transpose")
def _transpose(jet: Jet, dim0: int, dim1: int) -> Jet:
    return _each(jet, lambda c, lead: c.transpose(_axis(dim0, lead), _axis(dim1, lead)))


@rule("movedim")
def _movedim(jet: Jet, source: int, destination: int) -> Jet:
    return _each(jet, lambda c, lead: c.movedim(_axis(source, lead), _axis(destination, lead)))


@rule("flatten")
def _flatten(jet: Jet, start_dim: int = 0, end_dim: int = -1) -> Jet:
    return _each(jet, lambda c, lead: c.flatten(_axis(start_dim, lead), _axis(end_dim, lead)))


@rule("unflatten")
def _unflatten(jet: Jet, dim: int, sizes: tuple[int, ...]) -> Jet:
    return _each(jet, lambda c, lead: c.unflatten(_axis(dim, lead), sizes))


@rule("unsqueeze")
def _unsqueeze(jet: Jet, dim: int) -> Jet:
    return _each(jet, lambda c, lead: c.unsqueeze(_axis(dim, lead)))


@rule("squeeze")
def _squeeze(jet: Jet, dim: int) -> Jet:
    return _each(jet, lambda c, lead: c.squeeze(_axis(dim, lead)))


@rule("select")
def _select(jet: Jet, dim: int, index: int) -> Jet:
    return _each(jet, lambda c, lead: c.select(_axis(dim, lead), index))


@rule("getitem")
def _getitem(jet: Jet, index: Any) -> Jet:
    index = index if isinstance(index, tuple) else (index,)
    if sum(isinstance(i, torch.Tensor | list) for i in index) > 1:
        raise MissingRule("several index arrays at once")
    return _each(jet, lambda c, lead: c[(slice(None),) * lead + index])


@rule("gather")
def _gather(jet: Jet, dim: int, index: torch.Tensor) -> Jet:
    return _each(
        jet,
        lambda c, lead: c.gather(_axis(dim, lead), index.expand(*c.shape[:lead], *index.shape)),
    )


def _pieces(name: str) -> None:
    """A rule for an operation that takes a tensor apart."""

    @rule(name)
    def taken_apart(jet: Jet, *args: Any, dim: int | None = None) -> tuple[Jet, ...]:
        needed = 0 if name == "unbind" else 1
        args, dim = args[:needed], (args[needed] if len(args) > needed else dim or 0)
        parts: list[Any] = [
            None if c is None else getattr(c, name)(*args, _axis(dim, int(i > 0)))
            for i, c in enumerate(_components(jet))
        ]

        def piece(i: int) -> Jet:
            taken: list[Any] = [None if p is None else p[i] for p in parts]
            return Jet(*taken, k=jet.k)

        return tuple(map(piece, range(len(parts[0]))))


for _name in ("unbind", "chunk", "split"):
    _pieces(_name)


@rule("contiguous", "clone", "double")
def _same(jet: Jet) -> Jet:
    return jet


@rule("detach")
def _detach(jet: Jet) -> torch.Tensor | Jet:
    return Jet(jet.value, k=jet.k) if isinstance(jet.value, Bounded) else jet.value


@rule("argmax")
def _argmax(jet: Jet, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    if isinstance(jet.value, Bounded) and jet.value.error is not None:
        raise MissingRule("argmax may be decided by rounding")
    return value_of(jet.value).argmax(dim, keepdim=keepdim)


@rule("size")
def _size(jet: Jet, dim: int | None = None) -> Any:
    return jet.shape if dim is None else jet.shape[dim]


@rule("dim")
def _dim(jet: Jet) -> int:
    return jet.ndim


def _joining(how: Callable) -> Callable:
    def joined(parts: list, dim: int = 0) -> Jet:
        model = next(part for part in parts if isinstance(part, Jet))
        jets = [_promote(part, model) for part in parts]
        components: list[Any] = [join([p.value for p in jets], dim, how)]
        for order in ("first", "second"):
            if all(getattr(p, order) is None for p in jets):
                components.append(None)
                continue
            filled = [_filled(p, order) for p in jets]
            components.append(join(filled, _axis(dim, 1), how))
        return Jet(*components, k=model.k)

    return joined


RULES["cat"] = _joining(torch.cat)
RULES["stack"] = _joining(torch.stack)


def _filled(jet: Jet, order: str) -> Array:
    """The derivatives of one order, zeros where they are known to vanish."""
    found = getattr(jet, order)
    if found is not None:
        return found
    count = jet.k if order == "first" else len(pairs(jet.k))
    zeros = torch.zeros(count, *jet.shape, dtype=jet.dtype)
    return Bounded(zeros) if isinstance(jet.value, Bounded) else zeros


def _reducing(name: str) -> None:
    @rule(name)
    def reduced(jet: Jet, dim: Any = None, keepdim: bool = False, axis: Any = None) -> Jet:
        dim = axis if dim is None else dim
        dims = range(jet.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
        axes = [d % jet.ndim for d in dims]
        return _each(
            jet, lambda c, lead: getattr(c, name)([a + lead for a in axes], keepdim=keepdim)
        )


_reducing("sum")
_reducing("mean")


def _comparing(name: str) -> None:
    @rule(name)
    def compared(a: Any, b: Any) -> torch.Tensor:
        a, b = (x.value if isinstance(x, Jet) else x for x in (a, b))
        doubt = sum(x.bound for x in (a, b) if isinstance(x, Bounded) and x.error is not None)
        a, b = value_of(a), value_of(b)
        if isinstance(doubt, torch.Tensor) and ((a - b).abs() <= doubt).any():
            raise MissingRule(f"{name} is decided by rounding")
        return getattr(torch, name)(a, b)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparing(_name)


@rule("where")
def _where(condition: torch.Tensor, a: Any, b: Any) -> Jet:
    model = a if isinstance(a, Jet) else b
    a, b = _promote(a, model), _promote(b, model)
    shape = torch.broadcast_shapes(condition.shape, a.shape, b.shape)
    a, b = _grow(a, shape), _grow(b, shape)
    parts: list[Any] = [where(condition, a.value, b.value)]
    for order in ("first", "second"):
        if getattr(a, order) is None and getattr(b, order) is None:
            parts.append(None)
        else:
            parts.append(where(condition, _filled(a, order), _filled(b, order)))
    return Jet(*parts, k=model.k)


# --- Arithmetic ----------------------------------------------------------------------------------


def _lift(component: Array, ndim: int, lead: int) -> Array:
    """Axes of size one after the leading ones, until the tensor's own are ``ndim``."""
    missing = ndim - (component.ndim - lead)
    if missing <= 0:
        return component
    shape = component.shape
    return component.reshape(*shape[:lead], *(1,) * missing, *shape[lead:])


def _grow(jet: Jet, shape: tuple[int, ...]) -> Jet:
    """``jet`` broadcast to ``shape``, without copying."""
    if tuple(jet.shape) == tuple(shape):
        return jet
    wanted = tuple(
        own if size == -1 else size
        for size, own in zip(shape, (1,) * (len(shape) - jet.ndim) + tuple(jet.shape), strict=True)
    )
    return _each(jet, lambda c, lead: _lift(c, len(wanted), lead).expand(*c.shape[:lead], *wanted))


def _promote(x: Any, model: Jet) -> Jet:
    """``x`` as a jet, constant unless it is one."""
    if isinstance(x, Jet):
        return x
    value = torch.as_tensor(_number(x), dtype=model.dtype)
    return Jet(Bounded(value) if isinstance(model.value, Bounded) else value, k=model.k)


def _number(x: Any) -> Any:
    """``x``, unless it is a whole number that float64 cannot hold exactly."""
    if isinstance(x, int) and not isinstance(x, bool) and abs(x) > 2**53:
        raise MissingRule(f"{x} is too large for float64 to hold exactly")
    return x


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
    a, b = _promote(a, model), _promote(b, model)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    a, b = _grow(a, shape), _grow(b, shape)
    parts: list[Any] = [how(x, y) for x, y in zip(_components(a), _components(b), strict=True)]
    return Jet(*parts, k=model.k)


@rule("neg")
def _neg(a: Jet) -> Jet:
    return _each(a, lambda c, lead: -c)


def _bilinear(product: Callable, add: Callable) -> Callable:
    """The Leibniz rule for a product that is linear in each factor; ``add(x, a, b)`` adds one."""

    def both(a: Any, b: Any, c: Any, d: Any) -> Array | None:
        """a b + c d, in which ``None`` stands for zero."""
        if a is None or d is None:
            return None if a is d else product(c, d) if a is None else product(a, b)
        return add(product(a, b), c, d)

    def multiplied(a: Any, b: Any) -> Jet:
        model = a if isinstance(a, Jet) else b
        if isinstance(a, int | float):
            a, b = b, a
        if isinstance(b, int | float):
            number = _number(b)
            return _each(a, lambda c, lead: product(c, number))
        a, b = _promote(a, model), _promote(b, model)
        k, ndim = model.k, max(a.ndim, b.ndim)
        a0, a1, a2 = (c if c is None else _lift(c, ndim, i > 0) for i, c in _numbered(a))
        b0, b1, b2 = (c if c is None else _lift(c, ndim, i > 0) for i, c in _numbered(b))
        first = both(a1, b0, a0, b1)
        second = both(a2, b0, a0, b2)
        if a1 is not None and b1 is not None:
            cross = [
                2 * product(a1[i], b1[i]) if i == j else both(a1[i], b1[j], a1[j], b1[i])
                for i, j in pairs(k)
            ]
            second = _plus(second, join(cross, 0, torch.stack))
        return Jet(product(a0, b0), first, second, k=k)

    return multiplied


def _numbered(jet: Jet) -> Any:
    return enumerate(_components(jet))


_times = _bilinear(lambda a, b: a * b, add_product)
_product = _bilinear(matmul, lambda x, a, b: x + matmul(a, b))


def _matmul(a: Any, b: Any) -> Jet:
    if a.ndim < 2 or b.ndim < 2:
        raise MissingRule("matmul with a vector")
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
        number = _number(b)
        return _each(a, lambda c, lead: c / number)
    return _times(a, _reciprocal(_promote(b, a if isinstance(a, Jet) else b)))


@rule("rtruediv")
def _rtruediv(a: Jet, b: Any) -> Jet:
    return _times(b, _reciprocal(a))


# --- Functions of one variable: value, first and second derivative --------------------------------


def _chain(jet: Jet, f: Array, f1: Array, f2: Array) -> Jet:
    """The chain rule for a function applied element by element."""
    if jet.first is None:
        return Jet(f, k=jet.k)
    bend = outer(jet.first, jet.first) * f2
    if jet.second is not None:
        bend = add_product(bend, jet.second, f1)
    return Jet(f, jet.first * f1, bend, k=jet.k)


# Options that torch.nn's modules pass, and the values for which the rules hold.
OPTIONS: dict[str, dict[str, Any]] = {
    "silu": {"inplace": False},
    "gelu": {"approximate": "none"},
    "softplus": {"beta": 1.0, "threshold": 20.0},
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
        return jet
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
    """By repeated squaring: right for negative bases, too."""
    if n == 0:
        return _promote(torch.ones(jet.shape, dtype=jet.dtype), jet)
    half = _whole_power(jet, n // 2)
    out = jet if n == 1 else _times(half, half)
    return _times(out, jet) if n % 2 and n > 1 else out


# --- Softmax -------------------------------------------------------------------------------------


def shifted_softmax(z: torch.Tensor, dim: int = -1, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Softmax with the largest logit subtracted differentiably (its index is not differentiated).

    The derivatives then stay accurate to rounding, relative to each weight, when it saturates.
    """
    top = z.detach().argmax(dim, keepdim=True)
    powers = (z - z.gather(dim, top)).exp()
    return powers / powers.sum(dim, keepdim=True)


@rule("softmax")
def _softmax(z: Jet, dim: int = -1, *args: Any, **kwargs: Any) -> Jet:
    """Derivatives of the weights p: p_i = p (z_i - m_i), m_i = <p, z_i>, and so once more.

    Logits and derivatives are taken relative to the largest logit, as in `shifted_softmax`.
    """
    dim = dim % z.ndim - z.ndim
    top = value_of(z.value).max(dim, keepdim=True).indices  # ten times faster than argmax

    def shifted(component: Array) -> Array:
        lead = component.shape[: component.ndim - top.ndim]
        return relative_to(component, dim, top.expand(*lead, *top.shape))

    powers = shifted(z.value).exp()
    p = powers * powers.sum(dim, keepdim=True).reciprocal()
    if z.first is None:
        return Jet(p, k=z.k)
    slopes = shifted(z.first)
    centred = slopes - (p * slopes).sum(dim, keepdim=True)
    bend = outer(centred, centred)
    if z.second is not None:
        bend = bend + shifted(z.second)
    return Jet(p, p * centred, p * (bend - (p * bend).sum(dim, keepdim=True)), k=z.k)

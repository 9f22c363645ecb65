"""How each torch operation acts on a jet: one rule per operation, in a table.

A rule is found by the operation's name (``exp`` serves ``torch.exp`` and ``Tensor.exp``). Stacks
are laid out as `gating_core.jets` says: the coefficient axis first, the tensor's own axes after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch


class MissingRule(TypeError):
    """An operation was applied to a jet that has no rule for it."""


@cache
def pairs(k: int) -> tuple[tuple[int, int], ...]:
    """The pairs i <= j of k coordinates, in the order of the second derivatives."""
    return tuple((i, j) for i in range(k) for j in range(i, k))


def pair_index(k: int, i: int, j: int) -> int:
    """Where the second derivative (i, j) stands in a stack."""
    return 1 + k + pairs(k).index((min(i, j), max(i, j)))


class Jet:
    """A tensor with its derivatives; behaves like a tensor in the operations that have rules."""

    def __init__(self, stack: torch.Tensor, k: int) -> None:
        self.stack = stack
        self.k = k

    @staticmethod
    def coordinates(points: torch.Tensor) -> Jet:
        """The identity map at points (N, k)."""
        k = points.shape[1]
        stack = points.new_zeros(1 + k + len(pairs(k)), *points.shape)
        stack[0] = points
        for i in range(k):
            stack[1 + i, :, i] = 1.0
        return Jet(stack, k)

    @staticmethod
    def constant(value: torch.Tensor, k: int) -> Jet:
        """A jet whose derivatives vanish."""
        stack = value.new_zeros(1 + k + len(pairs(k)), *value.shape)
        stack[0] = value
        return Jet(stack, k)

    @property
    def value(self) -> torch.Tensor:
        return self.stack[0]

    @property
    def shape(self) -> torch.Size:
        return self.stack.shape[1:]

    @property
    def ndim(self) -> int:
        return self.stack.ndim - 1

    @property
    def dtype(self) -> torch.dtype:
        return self.stack.dtype

    @property
    def device(self) -> torch.device:
        return self.stack.device

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
    " getitem setitem eq ne lt le gt ge"
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
    "subtract": "sub",
    "mm": "matmul",
    "bmm": "matmul",
    "negative": "neg",
    "swapaxes": "transpose",
    "concat": "cat",
    "concatenate": "cat",
    "absolute": "abs",
    "arctan": "atan",
}

RULES: dict[str, Callable] = {}


def apply(name: str, args: tuple, kwargs: dict) -> Any:
    """Apply the operation called ``name`` to arguments of which at least one is a jet."""
    name = name.strip("_") if name.startswith("__") else name
    name = ALIASES.get(name, name)
    if name not in RULES:
        raise MissingRule(f"no jet rule for {name}")
    return RULES[name](*args, **kwargs)


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Enter a function into the table under ``names``."""

    def enter(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


# --- Layout: operations that act on every coefficient alike --------------------------------------


def _after_stack(dim: int) -> int:
    """An axis of the tensor as an axis of its stack."""
    return dim + 1 if dim >= 0 else dim


def _shape(args: tuple) -> tuple[int, ...]:
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args


@rule("reshape", "view")
def _reshape(jet: Jet, *shape: Any) -> Jet:
    return Jet(jet.stack.reshape(len(jet.stack), *_shape(shape)), jet.k)


@rule("expand")
def _expand(jet: Jet, *shape: Any) -> Jet:
    shape = _shape(shape)
    return Jet(_lift(jet.stack, len(shape)).expand(len(jet.stack), *shape), jet.k)


@rule("permute")
def _permute(jet: Jet, *dims: Any) -> Jet:
    return Jet(jet.stack.permute(0, *(d % jet.ndim + 1 for d in _shape(dims))), jet.k)


@rule("transpose")
def _transpose(jet: Jet, dim0: int, dim1: int) -> Jet:
    return Jet(jet.stack.transpose(_after_stack(dim0), _after_stack(dim1)), jet.k)


@rule("movedim")
def _movedim(jet: Jet, source: int, destination: int) -> Jet:
    return Jet(jet.stack.movedim(_after_stack(source), _after_stack(destination)), jet.k)


@rule("flatten")
def _flatten(jet: Jet, start_dim: int = 0, end_dim: int = -1) -> Jet:
    return Jet(jet.stack.flatten(_after_stack(start_dim), _after_stack(end_dim)), jet.k)


@rule("unflatten")
def _unflatten(jet: Jet, dim: int, sizes: tuple[int, ...]) -> Jet:
    return Jet(jet.stack.unflatten(_after_stack(dim), sizes), jet.k)


@rule("unsqueeze")
def _unsqueeze(jet: Jet, dim: int) -> Jet:
    return Jet(jet.stack.unsqueeze(_after_stack(dim)), jet.k)


@rule("squeeze")
def _squeeze(jet: Jet, dim: int) -> Jet:
    return Jet(jet.stack.squeeze(_after_stack(dim)), jet.k)


@rule("select")
def _select(jet: Jet, dim: int, index: int) -> Jet:
    return Jet(jet.stack.select(_after_stack(dim), index), jet.k)


@rule("unbind")
def _unbind(jet: Jet, dim: int = 0) -> tuple[Jet, ...]:
    return tuple(Jet(part, jet.k) for part in jet.stack.unbind(_after_stack(dim)))


@rule("chunk")
def _chunk(jet: Jet, chunks: int, dim: int = 0) -> tuple[Jet, ...]:
    return tuple(Jet(part, jet.k) for part in jet.stack.chunk(chunks, _after_stack(dim)))


@rule("split")
def _split(jet: Jet, size: int | list[int], dim: int = 0) -> tuple[Jet, ...]:
    return tuple(Jet(part, jet.k) for part in jet.stack.split(size, _after_stack(dim)))


@rule("getitem")
def _getitem(jet: Jet, index: Any) -> Jet:
    index = index if isinstance(index, tuple) else (index,)
    return Jet(jet.stack[(slice(None), *index)], jet.k)


@rule("gather")
def _gather(jet: Jet, dim: int, index: torch.Tensor) -> Jet:
    index = index.expand(len(jet.stack), *index.shape)
    return Jet(jet.stack.gather(_after_stack(dim), index), jet.k)


@rule("contiguous", "clone", "double")
def _same(jet: Jet) -> Jet:
    return jet


@rule("detach")
def _detach(jet: Jet) -> torch.Tensor:
    return jet.value


@rule("argmax")
def _argmax(jet: Jet, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    return jet.value.argmax(dim, keepdim=keepdim)


@rule("size")
def _size(jet: Jet, dim: int | None = None) -> Any:
    return jet.shape if dim is None else jet.shape[dim]


@rule("dim")
def _dim(jet: Jet) -> int:
    return jet.ndim


def _join(join: Callable) -> Callable:
    def joined(parts: list, dim: int = 0) -> Jet:
        k = next(part.k for part in parts if isinstance(part, Jet))
        stacks = [p.stack if isinstance(p, Jet) else Jet.constant(p, k).stack for p in parts]
        return Jet(join(stacks, _after_stack(dim)), k)

    return joined


RULES["cat"] = _join(torch.cat)
RULES["stack"] = _join(torch.stack)


def _reduce(name: str) -> None:
    @rule(name)
    def reduced(jet: Jet, dim: Any = None, keepdim: bool = False) -> Jet:
        dims = range(jet.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
        axes = [_after_stack(d) for d in dims]
        return Jet(getattr(jet.stack, name)(axes, keepdim=keepdim), jet.k)


_reduce("sum")
_reduce("mean")


def _compare(name: str) -> None:
    @rule(name)
    def compared(a: Any, b: Any) -> torch.Tensor:
        a, b = (x.value if isinstance(x, Jet) else x for x in (a, b))
        return getattr(torch, name)(a, b)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare(_name)


@rule("where")
def _where(condition: torch.Tensor, a: Any, b: Any) -> Jet:
    k = (a if isinstance(a, Jet) else b).k
    a, b = (_promote(x, k) for x in (a, b))
    ndim = max(condition.ndim, a.ndim, b.ndim)
    return Jet(torch.where(condition, _lift(a.stack, ndim), _lift(b.stack, ndim)), k)


# --- Arithmetic ----------------------------------------------------------------------------------


def _lift(stack: torch.Tensor, ndim: int) -> torch.Tensor:
    """``stack`` with axes of size one after the coefficient axis, until the tensor has ``ndim``."""
    missing = ndim - (stack.ndim - 1)
    if missing <= 0:
        return stack
    return stack.reshape(len(stack), *(1,) * missing, *stack.shape[1:])


def _ndim(x: Any) -> int:
    return x.ndim if isinstance(x, Jet | torch.Tensor) else 0


def _promote(x: Any, k: int) -> Jet:
    return x if isinstance(x, Jet) else Jet.constant(torch.as_tensor(x, dtype=torch.float64), k)


@rule("add")
def _add(a: Any, b: Any, *, alpha: float = 1) -> Jet:
    if not isinstance(a, Jet):
        return _add(_promote(a, b.k), b, alpha=alpha)
    if isinstance(b, Jet):
        ndim = max(a.ndim, b.ndim)
        return Jet(torch.add(_lift(a.stack, ndim), _lift(b.stack, ndim), alpha=alpha), a.k)
    shape = torch.broadcast_shapes(a.shape, b.shape if isinstance(b, torch.Tensor) else ())
    out = _lift(a.stack, len(shape)).expand(len(a.stack), *shape).clone()
    out[0] += alpha * b
    return Jet(out, a.k)


@rule("sub")
def _sub(a: Any, b: Any, *, alpha: float = 1) -> Jet:
    return _add(a, b, alpha=-alpha)


@rule("rsub")
def _rsub(a: Jet, b: Any) -> Jet:
    return _add(b, a, alpha=-1)


@rule("neg")
def _neg(a: Jet) -> Jet:
    return Jet(-a.stack, a.k)


def _bilinear(product: Callable) -> Callable:
    """The Leibniz rule for a product that is linear in each factor."""

    def multiplied(a: Any, b: Any) -> Jet:
        if not isinstance(a, Jet) or not isinstance(b, Jet):
            jet = a if isinstance(a, Jet) else b
            ndim = max(_ndim(a), _ndim(b))
            left = _lift(a.stack, ndim) if isinstance(a, Jet) else a
            right = _lift(b.stack, ndim) if isinstance(b, Jet) else b
            return Jet(product(left, right), jet.k)
        k, ndim = a.k, max(a.ndim, b.ndim)
        left, right = _lift(a.stack, ndim), _lift(b.stack, ndim)
        out = product(left, right[0])
        out[1:] += product(left[0], right[1:])
        for i, j in pairs(k):
            cross = product(left[1 + i], right[1 + j])
            out[pair_index(k, i, j)] += (
                2 * cross if i == j else cross + product(left[1 + j], right[1 + i])
            )
        return Jet(out, k)

    return multiplied


_times = _bilinear(torch.mul)
_matmul = _bilinear(torch.matmul)
RULES["mul"] = _times
RULES["matmul"] = _matmul


@rule("rmatmul")
def _rmatmul(a: Jet, b: torch.Tensor) -> Jet:
    return _matmul(b, a)


@rule("linear")
def _linear(x: Jet, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Jet:
    out = _matmul(x, weight.transpose(-1, -2))
    return out if bias is None else _add(out, bias)


@rule("div")
def _div(a: Any, b: Any) -> Jet:
    return _times(a, _reciprocal(b) if isinstance(b, Jet) else 1 / b)


@rule("rtruediv")
def _rtruediv(a: Jet, b: Any) -> Jet:
    return _times(b, _reciprocal(a))


# --- Functions of one variable: (value, first derivative, second derivative) ----------------------


def _chain(jet: Jet, f: torch.Tensor, f1: torch.Tensor, f2: torch.Tensor) -> Jet:
    """The chain rule for a function applied element by element."""
    out = jet.stack * f1
    out[0] = f
    for i, j in pairs(jet.k):
        out[pair_index(jet.k, i, j)] += f2 * jet.stack[1 + i] * jet.stack[1 + j]
    return Jet(out, jet.k)


def _sigmoid(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    s, t = torch.sigmoid(z), torch.sigmoid(-z)
    return s, s * t, s * t * (t - s)


def _silu(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    s, s1, s2 = _sigmoid(z)
    return z * s, s + z * s1, 2 * s1 + z * s2


def _tanh(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    t = torch.tanh(z)
    slope = torch.cosh(z).reciprocal().square()
    return t, slope, -2 * t * slope


def _softplus(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    s, s1, _ = _sigmoid(z)
    return torch.nn.functional.softplus(z), s, s1


def _gelu(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    density = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    below = 0.5 * torch.erfc(-z / math.sqrt(2))
    return z * below, below + z * density, density * (2 - z * z)


def _same_thrice(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    e = torch.exp(z)
    return e, e, e


FUNCTIONS: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "exp": _same_thrice,
    "log": lambda z: (torch.log(z), 1 / z, -1 / (z * z)),
    "sqrt": lambda z: (r := torch.sqrt(z), 0.5 / r, -0.25 / (z * r)),
    "rsqrt": lambda z: (r := torch.rsqrt(z), -0.5 * r / z, 0.75 * r / (z * z)),
    "reciprocal": lambda z: (r := 1 / z, -r * r, 2 * r * r * r),
    "square": lambda z: (z * z, 2 * z, torch.full_like(z, 2.0)),
    "sin": lambda z: (s := torch.sin(z), torch.cos(z), -s),
    "cos": lambda z: (c := torch.cos(z), -torch.sin(z), -c),
    "sinh": lambda z: (s := torch.sinh(z), torch.cosh(z), s),
    "cosh": lambda z: (c := torch.cosh(z), torch.sinh(z), c),
    "atan": lambda z: (torch.atan(z), 1 / (1 + z * z), -2 * z / (1 + z * z) ** 2),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "softplus": _softplus,
    "gelu": _gelu,
}


def _unary(name: str) -> None:
    @rule(name)
    def applied(jet: Jet) -> Jet:
        return _chain(jet, *FUNCTIONS[name](jet.value))


for _name in FUNCTIONS:
    _unary(_name)

_reciprocal = RULES["reciprocal"]


@rule("pow")
def _pow(jet: Jet, exponent: float) -> Jet:
    if not isinstance(jet, Jet) or not isinstance(exponent, int | float):
        raise MissingRule("pow with a varying exponent")
    n, z = exponent, jet.value
    if n in (0, 1):
        return jet if n == 1 else Jet.constant(torch.ones_like(z), jet.k)
    return _chain(jet, z**n, n * z ** (n - 1), n * (n - 1) * z ** (n - 2))


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
    k, axis = z.k, _after_stack(dim)
    top = z.value.argmax(dim, keepdim=True)
    stack = z.stack - z.stack.gather(axis, top.expand(len(z.stack), *top.shape))
    powers = stack[0].exp()
    p = powers / powers.sum(dim, keepdim=True)
    slopes = stack[1 : 1 + k]
    means = (p * slopes).sum(axis, keepdim=True)
    centred = slopes - means
    out = torch.empty_like(stack)
    out[0] = p
    torch.mul(p, centred, out=out[1 : 1 + k])
    for i, j in pairs(k):
        at = pair_index(k, i, j)
        bend = stack[at] + centred[i] * centred[j]
        out[at] = p * (bend - (p * bend).sum(dim, keepdim=True))
    return Jet(out, k)

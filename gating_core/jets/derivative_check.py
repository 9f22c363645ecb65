"""A check of derivatives after they were computed: are they those of the function's values?

Values that are taken out of the graph have wrong first derivatives. In torch 2.13 some operations
have wrong *second* derivatives in nested forward mode, silently (pytorch #198017: layer_norm, det,
solve and others). Both are compared with difference quotients, where these have converged, at a
few points: of the whole function, and of each of its operations that is not known to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from gating_core.jets.bounded import LAYOUT
from gating_core.jets.jet import rule_name
from gating_core.jets.map_check import FEW, evaluate
from gating_core.process import one_at_a_time

STEP = 1e-4  # of difference quotients
STEPS = (0.0, STEP, -STEP, STEP / 2, -STEP / 2)
DIRECTION = 0.6, 0.8, 0.48  # in the chart: its first k numbers
CONVERGED = 0.02  # of the quotient: quotients that differ by more, as at a kink, say nothing
WRONG = 1e-3  # of the slope: one that is farther off, beyond the quotient's error, is refused

REMEDY = "write it out of elementary operations, such as sums, products, exp, sqrt and matmul"

# Operations that move numbers or query a tensor, and those whose nested forward derivatives are
# right in torch: the tests compare every one of them.
TRUSTED = LAYOUT | frozenset(
    """
    get set getitem size dim stride numel double detach zeros_like ones_like empty_like new_zeros
    new_ones is_floating_point is_complex eq ne lt le gt ge argmax argmin isfinite isnan cat stack
    add sub rsub mul div rtruediv neg matmul linear einsum sum mean
    exp log sin cos tan tanh sigmoid sqrt rsqrt reciprocal square pow abs where
    """.split()
)

# Operations with kinks: there torch takes one of their derivatives, or 0, or NaN.
KINKED = frozenset(
    """
    abs sign relu relu_ relu6 leaky_relu prelu rrelu elu celu selu softsign hardtanh hardswish
    hardsigmoid hardshrink softshrink threshold clamp clip clamp_min clamp_max max min amax amin
    aminmax maximum minimum
    fmax fmin median nanmedian kthvalue topk sort msort quantile nanquantile cummax cummin
    norm linalg_norm linalg_vector_norm linalg_matrix_norm hypot std std_mean cdist dist
    pairwise_distance cosine_similarity normalize renorm angle max_pool1d max_pool2d max_pool3d
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d l1_loss smooth_l1_loss huber_loss
    i0e special_i0e special_i1e where fmod remainder floor ceil round trunc frac
    """.split()
)

# Operations that jump from one number to another. Those whose results are no real numbers (argmax,
# comparisons, casts to whole numbers, bucketize) need not be named, nor those that read them.
JUMPING = frozenset(
    """
    sign sgn round floor ceil trunc fix frac fmod remainder mod rmod floor_divide floordiv
    rfloordiv heaviside eig linalg_eig linalg_eigvals qr linalg_qr lu linalg_lu rrelu
    cosine_embedding_loss hinge_embedding_loss hardshrink threshold copysign nextafter frexp
    angle atan2 arctan2 mode histc histogram bernoulli fake_quantize_per_tensor_affine
    fake_quantize_per_channel_affine quantize_per_tensor quantize_per_channel
    quantize_per_tensor_dynamic
    """.split()
)
# What takes numbers out, for Python to decide by them.
TAKING = frozenset("item tolist numpy float int bool index is_nonzero equal allclose".split())
QUERIES = frozenset("isfinite isnan isinf isposinf isneginf isreal lu_solve lu_unpack".split())
COMPARISONS = frozenset(
    "eq ne lt le gt ge not_equal less less_equal greater greater_equal isclose isin".split()
)

Function = Callable[[torch.Tensor], Any]


def trial_indices(points: torch.Tensor) -> torch.Tensor:
    """Return indices of a few of ``points`` (N, k), a step or more inside their bounding box."""
    low, high = points.amin(0) + STEP, points.amax(0) - STEP  # it may be defined nowhere else
    inside = ((points >= low) & (points <= high)).all(-1).nonzero().squeeze(-1)
    if not len(inside):  # one point, or points on a line
        inside = torch.arange(len(points))
    return inside[:: max(1, len(inside) // FEW)][:FEW]


def direction_of(k: int) -> torch.Tensor:
    """(k,): the direction in the chart along which quotients are taken."""
    return torch.tensor(DIRECTION[:k], dtype=torch.float64)


def check_slopes(function: Function, points: torch.Tensor, first: torch.Tensor) -> None:
    """``ValueError`` if ``first`` (..., N, D, k) are not the derivatives of its values."""
    at = trial_indices(points)
    direction = direction_of(points.shape[1])
    with torch.no_grad():
        values = samples_along(lambda p: evaluate(function, p), points[at], -2)
    if values and bool(disagree(values, (first[..., at, :, :] * direction).sum(-1), (-1,)).any()):
        raise ValueError(
            "function's derivatives are not those of its values; values that are taken out with"
            " item(), float(), detach() or numpy cannot be followed"
        )


def check_seconds(slopes: Function, points: torch.Tensor, second: torch.Tensor) -> None:
    """``ValueError`` if ``second`` (..., N, D, k, k) are not the derivatives of the first.

    ``slopes`` computes first derivatives (..., n, D, k) at any points.
    """
    at = trial_indices(points)
    direction = direction_of(points.shape[1])
    with torch.no_grad():
        firsts = samples_along(slopes, points[at], -3)
    if firsts and bool(disagree(firsts, second[..., at, :, :, :] @ direction, (-2, -1)).any()):
        raise ValueError(f"function's second derivatives are not those of its first; {REMEDY}")


def samples_along(function: Function, points: torch.Tensor, axis: int) -> list[torch.Tensor]:
    """The function's outputs at ``points`` moved by each of `STEPS`; ``axis`` counts points.

    Empty where it has no numbers, or refuses points beyond those it was given.
    """
    direction = direction_of(points.shape[1])
    moved = torch.cat([points.detach() + step * direction for step in STEPS])
    try:
        out = function(moved)
    except (RuntimeError, ValueError, IndexError):
        return []
    return list(out.split(len(points), axis)) if out.numel() else []


def disagree(
    samples: list[torch.Tensor], slope: torch.Tensor, axes: tuple[int, ...] | None
) -> torch.Tensor:
    """Return where difference quotients of ``samples`` do not converge to ``slope``.

    There is a sample at each of `STEPS`. Sizes are compared over ``axes``, None for all.
    """
    middle, *ends = samples
    wide, narrow = (ends[0] - ends[1]) / (2 * STEP), (ends[2] - ends[3]) / STEP
    # Changes of slope across the point, from one side's quotient to the other's.
    wide_bend = (ends[0] - 2 * middle + ends[1]) / STEP
    bend = (ends[2] - 2 * middle + ends[3]) / (STEP / 2)
    # Twice the error of `narrow` at least. Where the function is smooth that is a third of
    # |wide - narrow|, and `wide_bend` is twice `bend`. Beside a kink, at 0 <= a < 1/2 of STEP where
    # the slope changes by d, it is (1/2 - a) |d|, |wide - narrow| is a/2 |d|, and
    # |2 bend - wide_bend| is |1 - 3a| |d|. Beside a jump it is a third of the last.
    doubt = 2 * ((wide - narrow).abs() + (2 * bend - wide_bend).abs())

    def largest(x: torch.Tensor) -> torch.Tensor:
        return x.abs().max() if axes is None else x.abs().amax(axes, keepdim=True)

    rounding = 1e-15 * largest(middle) / STEP
    # Relative to the quotient, not to the slope: that is huge where a pole is nearer than a step.
    allowed = CONVERGED * largest(narrow) + 10 * rounding
    converged = torch.maximum((wide - narrow).abs(), bend.abs()) <= allowed
    size = torch.maximum(largest(narrow), largest(slope))
    return ((narrow - slope).abs() > WRONG * size + doubt + 1e3 * rounding) & converged


# --- Each operation alone -------------------------------------------------------------------------


@one_at_a_time
def check_operations(function: Function, points: torch.Tensor, mode: Callable) -> Breaks:
    """Operations that are not smooth everywhere.

    ``ValueError`` naming the operations within ``function`` that torch differentiates wrongly.
    Those that are called while ``mode()`` is active are tried, each along its own derivatives.
    """
    some = points[trial_indices(points)].detach()
    tape = _Tape()
    with torch.no_grad(), forward_ad.dual_level(), mode(), tape:
        tangent = direction_of(points.shape[1]).expand_as(some)
        function(tape.follow(forward_ad.make_dual(some.clone(), tangent)))
    with mode():
        judged = [(name, _wrong(line)) for name, line in tape.calls]
    if wrong := [name for name, answer in judged if answer]:
        raise ValueError(wrong_text(wrong))
    return replace(tape.breaks, suspects=tuple(name for name, answer in judged if answer is None))


def wrong_text(names: Iterable[str]) -> str:
    """Say of operations that torch differentiates them wrongly, and what to do."""
    return (
        f"function uses {' and '.join(dict.fromkeys(map(_spoken, names)))}, whose derivatives torch"
        f" computes wrongly in forward mode; {REMEDY}"
    )


def breaks(function: Function, points: torch.Tensor) -> Breaks:
    """Operations within ``function`` that are not smooth everywhere."""
    some, names = points[trial_indices(points)].detach().clone(), _Names()
    with torch.no_grad(), names:
        function(names.follow(some))
    return names.breaks


@dataclass(frozen=True)
class Breaks:
    """Operations with ``kinks`` and with ``jumps``, as they are called.

    ``suspects`` have several results, of which torch differentiates one wrongly.
    """

    kinks: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on all of them, if there are any."""
        named = list(dict.fromkeys([*self.kinks, *self.jumps]))
        if not named:
            return ()
        return (
            f"{' and '.join(named)} {'is' if len(named) == 1 else 'are'} not smooth everywhere: at"
            " kinks and jumps derivatives may be wrong, and curvature that is concentrated there is"
            " in no number",
        )


class _Names(TorchFunctionMode):
    """A mode that records the names of operations, and follows what depends on the points.

    A number jumps where it is made from one that is not real: from an index, a mask, a count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, None] = {}
        self.jumps: dict[str, None] = {}
        self.depends: dict[int, str] = {}  # storages: the operation that made them jump, or ""
        self.kept: list[torch.Tensor] = []  # alive, so that no other storage has the same address

    def follow(self, x: torch.Tensor, jump: str = "") -> torch.Tensor:
        """Note that ``x`` depends on the points, and by which operation it jumps; return it."""
        plain = _unwrapped(x)
        if plain.layout == torch.strided:
            key = plain.untyped_storage()._cdata
            self.depends[key] = self.depends.get(key) or jump
            self.kept.append(plain)
        return x

    def jump_of(self, x: torch.Tensor) -> str | None:
        """The operation by which ``x`` jumps, "" for none; None if it depends on no point."""
        x = _unwrapped(x)
        return self.depends.get(x.untyped_storage()._cdata) if x.layout == torch.strided else None

    def see(self, name: str, given: Any, out: Any) -> None:
        """Note an operation called ``name``, the arguments ``given`` to it and its results."""
        base = name.strip("_")  # in place or not, and as torch.nn.functional has `_threshold`
        self.names[base] = None
        tensors = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor)]
        with torch._C.DisableTorchFunction():
            jumps = {self.jump_of(x): _is_real(x) for x in tensors}
            jumps.pop(None, None)
            if not jumps:
                return
            results = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
            made = next((jump for jump, real in jumps.items() if jump and not real), "")
            taken = base in TAKING and not results and not made
            if taken or base in JUMPING or (base == "div" and "rounding_mode" in given[1]):
                self.jumps[_spoken(base)] = None
            if base in QUERIES:
                return
            if made and (any(map(_is_real, results)) or not results):
                self.jumps[made] = None
            for x in results:
                cast = f"cast to {x.dtype}" if base in CASTS else _spoken(base)
                self.follow(x, "" if _is_real(x) else made or cast)
            if name.endswith("_") or name == "setitem":
                self.follow(tensors[0])

    @property
    def breaks(self) -> Breaks:
        """The findings so far."""
        return Breaks(
            tuple(_spoken(name) for name in self.names if name in KINKED), tuple(self.jumps)
        )

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        out = func(*args, **(kwargs or {}))
        self.see(rule_name(getattr(func, "__name__", "")), (args, kwargs or {}), out)
        return out


CASTS = frozenset("to type type_as long int short char byte bool view".split())


def _unwrapped(x: torch.Tensor) -> torch.Tensor:
    while torch._C._functorch.is_functorch_wrapped_tensor(x):
        x = torch._C._functorch.get_unwrapped(x)
    return x


def _is_real(x: torch.Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


Line = Callable[[torch.Tensor], list[torch.Tensor]]  # an operation's results along a line


def _wrong(line: Line) -> bool | None:
    """Tell whether derivatives of an operation along a ``line`` differ from those of its values.

    None where the first derivative of one of several results is not.
    """
    suspect: bool | None = False
    one, zero = torch.ones((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)

    def slope(t: torch.Tensor) -> Any:
        return torch.func.jvp(line, (t,), (one,))

    try:
        claimed = torch.func.jvp(slope, (zero,), (one,))[1]
        samples = [slope(zero + step) for step in STEPS]
    except RuntimeError:  # not differentiable along these alone, or defined nowhere near
        return False
    for i, (slopes, bends) in enumerate(zip(*claimed, strict=True)):
        if not slopes.numel():
            continue
        values, firsts = ([sample[order][i] for sample in samples] for order in (0, 1))
        first_wrong = bool(disagree(values, slopes, None).any())
        # Of several results one may be unique up to a phase only, or have no derivative; where it
        # is used, the whole function shows it.
        if first_wrong and len(claimed[0]) > 1:
            suspect = None
        elif first_wrong or bool(disagree(firsts, bends, None).any()):
            return True
    return suspect


class _Tape(_Names):
    """The same, with the calls of operations whose derivatives are not known to be right."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Line]] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        name = rule_name(getattr(func, "__name__", ""))
        if name in TRUSTED:
            return super().__torch_function__(func, types, args, kwargs)
        leaves, shape = tree_flatten((args, kwargs))
        varying: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                if torch._C._functorch.is_functorch_wrapped_tensor(leaf):
                    # Within vmap the whole function is compared.
                    return super().__torch_function__(func, types, args, kwargs)
                value, tangent = forward_ad.unpack_dual(leaf)
                leaves[i] = value.detach().clone()  # it may be worked on in place
                if tangent is not None:
                    varying[i] = leaves[i], tangent.detach().clone()
        out = super().__torch_function__(func, types, args, kwargs)

        def line(t: torch.Tensor) -> list[torch.Tensor]:
            again = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves]
            for i, (x, dx) in varying.items():
                again[i] = x + t * dx
            args, kwargs = tree_unflatten(again, shape)
            return _numbers(func(*args, **kwargs))

        if varying and _numbers(out):
            self.calls.append((name, line))
        return out


def _spoken(name: str) -> str:
    """The operation's name as it is called."""
    if name in COMPARISONS:
        return "comparison"
    return name.replace("linalg_", "linalg.").replace("special_", "special.")


def _numbers(out: Any) -> list[torch.Tensor]:
    """The tensors of real or complex numbers among an operation's results, as real ones."""
    tensors = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
    tensors = [torch.view_as_real(x) if x.is_complex() else x for x in tensors]
    return [x for x in tensors if x.is_floating_point()]

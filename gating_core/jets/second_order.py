"""Second derivatives of any torch function, in one pass (Taylor mode), with a rounding bound.

`second_order_jet` evaluates an ordinary torch function on a jet: each torch operation that has a
rule in `rules` or `layout` maps jets to jets, and others do by the rules of their kernels
(`by_kernels`). A function that uses an operation without either is differentiated by `torch.func`
instead, with the same result to rounding, and no bound.

Convention: index 0 of a coefficient stack is the value, then come the k first derivatives, then
the second derivatives (i, j) with i <= j in lexicographic order. Second derivatives are plain
partial derivatives, not halved Taylor coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, cast

import torch
from torch.overrides import TorchFunctionMode

from gating_core.checks import check_choice, check_points, check_weights
from gating_core.jets import compositions as compositions  # these enter their rules into the table
from gating_core.jets import rules as rules
from gating_core.jets import softmax as softmax
from gating_core.jets.blocks import even, one_thread, shared
from gating_core.jets.bounded import LAYOUT, Bounded, value_of
from gating_core.jets.by_kernels import WHOLE
from gating_core.jets.casts import LOWER, carried, uncarried
from gating_core.jets.derivative_check import (
    REMEDY,
    breaks,
    check_operations,
    check_seconds,
    check_slopes,
    wrong_text,
)
from gating_core.jets.jet import (
    COMPOSED,
    RULES,
    Jet,
    MissingRule,
    apply_rule,
    each,
    filled,
    pair_index,
    pairs,
    rule_name,
    written_by,
)
from gating_core.jets.map_check import (
    SCRIPTED,
    cause,
    check_map,
    check_output,
    module_of,
    precision_notes,
    real_reason,
    trials,
    wrong_shape,
)
from gating_core.jets.polynomials import monomials
from gating_core.jets.taylor import TaylorModel
from gating_core.jets.unchanged import is_scripted
from gating_core.process import one_at_a_time
from gating_core.progress import Progress, silent

BOUNDS = ("estimate", "rigorous")
SINGLE_BLOCK = 2048  # points: fewer are not worth sharing
FIRST_BLOCK = 512  # points of the first of several blocks, which one thread computes alone
BLOCK_BYTES = 3_000_000  # of coefficients: in smaller blocks calls cost more than caches save


# The errors of torch, or of a composition, for what it does not accept.
NOT_FOR_JETS = (TypeError, AttributeError, RuntimeError, IndexError, ArithmeticError, ValueError)

Function = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, eq=False)
class SecondOrderJet:
    """Value and derivatives of a function of k = 2 or 3 coordinates at N points.

    ``stack`` (1 + k + k(k+1)/2, ..., D, N) holds them in the order of the module's docstring, with
    the points last; ``errors``, of the same shape, bounds the rounding error of every
    number in it, or is ``None`` where only an estimate can be had. ``notes`` are sentences about
    what was computed otherwise than by the function itself, or may be wrong at isolated points.
    ``jumps`` are operations at which the function may jump: its integrals are not complete.
    ``caveat`` is one that belongs to every verdict: in its own precision the function is another.
    """

    stack: torch.Tensor
    k: int
    errors: torch.Tensor | None = None
    notes: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()
    caveat: str = ""

    @property
    def value(self) -> torch.Tensor:
        """(..., N, D)."""
        return self.stack[0].mT

    @property
    def first(self) -> torch.Tensor:
        """(..., N, D, k): partial derivatives."""
        return self.stack[1 : 1 + self.k].mT.movedim(0, -1)

    @property
    def second(self) -> torch.Tensor:
        """(..., N, D, k, k): second partial derivatives, symmetric."""
        k = self.k
        order = [[1 + k + pair_index(k, i, j) for j in range(k)] for i in range(k)]
        return self.stack[torch.tensor(order)].mT.movedim((0, 1), (-2, -1))

    @property
    def bound_kind(self) -> str:
        """The string "rigorous" where rounding errors were followed, otherwise "estimate"."""
        return "estimate" if self.errors is None else "rigorous"


def second_order_jet(
    function: Function,
    points: torch.Tensor,
    bound: str = "estimate",
    check: bool = True,
    casts: str = "refuse",
) -> SecondOrderJet:
    """Value, first and second derivatives of ``function`` at ``points`` (N, k), k = 2 or 3.

    ``function`` is any torch callable (N, k) -> (..., N, D) whose n-th output depends on the n-th
    point alone; it is called on blocks of points. Everything is computed in float64. With
    ``bound="rigorous"`` rounding errors are followed through every operation, weights and Python
    numbers counting as exact; a function with operations that have no error rule gets none, and
    the jet's ``bound_kind`` says so. Where torch may use several threads, that many call a
    ``function`` at the same time whose attribute ``pure`` is true, as it is for our models: one
    that changes nothing while it computes. Of any other it is tried at a few points whether it is a
    map at all, and derivatives are compared with difference quotients there, those of every single
    operation where ``torch.func`` computes them, unless ``check`` is false. The numbers are the
    same either way. With ``casts="carry"`` casts to lower precision within ``function`` are left
    out and its weights widened, which is exact; the jet's ``notes`` name them. Derivatives at
    points where a value is not finite are NaN. ``ValueError`` as `check_map` and
    `derivative_check`, and if the points are not (N, k) and finite, or a module has weights that
    are not finite, or ``bound`` or ``casts`` is no known word.
    """
    check_choice("bound", bound, BOUNDS)
    points = check_points(points)
    function = carried(function, casts)
    if (module := module_of(function)) is not None:
        check_weights(module)
    checked = check and not getattr(function, "pure", False)
    if checked:
        check_map(function, points)
    try:
        jet, own = _followed(function, points, bound, check)
        if not own and is_scripted(uncarried(function)):
            raise ValueError(f"function {SCRIPTED}")
    except Exception as error:  # of torch.func, mostly: `check_map` has evaluated the function
        if why := real_reason(function, error):
            raise ValueError(f"function {why}") from error
        if isinstance(error, ValueError):
            raise
        raise ValueError(
            f"function cannot be differentiated by torch.func ({cause(error)}); {REMEDY}"
        ) from error
    if checked and own:
        check_slopes(function, points, jet.first)
        found = breaks(function, points)
        jet = replace(jet, notes=found.notes, jumps=found.jumps)
    if checked and own and jet.errors is None:
        check_seconds(lambda p: _by_blocks(_block, function, p).first, points, jet.second)
    return _finished(jet, function, points)


def _followed(
    function: Function, points: torch.Tensor, bound: str, check: bool
) -> tuple[SecondOrderJet, bool]:
    """The jet with rounding errors if requested and possible, else without, else by ``torch.func``.

    The second value is False for ``torch.func``.
    """
    rigorous: Callable = partial(_block, bounded=True)
    for evaluate in (rigorous, _block) if bound == "rigorous" else (_block,):
        try:
            return _by_blocks(evaluate, function, points), True
        except Exception:  # of a rule, or of the function's own for what is no tensor
            continue
    return nested_jet(function, points, check), False  # an error of the function's own comes again


def _finished(jet: SecondOrderJet, function: Function, points: torch.Tensor) -> SecondOrderJet:
    """The jet with NaN derivatives, of infinite error, where a value is not finite, and all notes.

    A rule cannot know: the derivatives of ``where`` between NaN and a number are 0 at a NaN.
    """
    lost = ~jet.stack[0].isfinite()
    if lost.any():
        jet.stack[1:, lost] = torch.nan
        if jet.errors is not None:
            jet.errors[:, lost] = torch.inf

    def allowed(unit: float) -> torch.Tensor:
        """Distance of values rounded with another unit from ours: to first order, and twice."""
        at = trials(len(points))
        if jet.errors is None:
            return 1000 * unit * jet.value[..., at, :].abs().max()
        share = 2 * unit / torch.finfo(torch.float64).eps
        of_points = unit * (jet.first[..., at, :, :].abs() @ points[at, :, None].abs()).squeeze(-1)
        return jet.errors[0].mT[..., at, :] * share + of_points

    notes, caveat = precision_notes(function, points, allowed)
    errors = None if caveat else jet.errors
    return replace(jet, errors=errors, notes=(*jet.notes, *notes), caveat=caveat)


def _by_blocks(evaluate: Callable, function: Function, points: torch.Tensor) -> SecondOrderJet:
    """Evaluate the first block, for the shape of the result, and then share the others."""
    count, k = points.shape
    several = count > SINGLE_BLOCK
    with one_thread() if several else nullcontext(1) as threads:
        start = FIRST_BLOCK if several else count
        first = evaluate(function, points[:start])
        shape = (1 + k + len(pairs(k)), *first.shape[:-2], first.shape[-1], count)
        stack = torch.empty(shape, dtype=torch.float64)
        errors = torch.empty_like(stack) if isinstance(first.value, Bounded) else None

        per_point = stack.numel() * stack.element_size() // count
        size = max(SINGLE_BLOCK, BLOCK_BYTES // max(per_point, 1))
        rest = points[start:].split(even(count - start, size)) if several else ()
        if not getattr(function, "pure", False):
            threads = 1
        at = 0
        # Written by one thread alone: gradients remember the order.
        for jet in chain([first], shared(partial(evaluate, function), rest, threads)):
            block = slice(at, at + jet.shape[-2])
            _write(jet, stack[..., block], value_of)
            if errors is not None:
                _write(jet, errors[..., block], lambda x: x.bound)
            at = block.stop
    return SecondOrderJet(stack, k, errors)


def _write(jet: Jet, target: torch.Tensor, part: Callable[[Any], torch.Tensor]) -> None:
    """Put one part of a jet's components into (1 + k + k(k+1)/2, ..., D, n), points last."""
    k = jet.k
    target[0] = part(jet.value).mT
    target[1 : 1 + k] = 0.0 if jet.first is None else part(jet.first).mT
    target[1 + k :] = 0.0 if jet.second is None else part(jet.second).mT


def _block(function: Function, points: torch.Tensor, bounded: bool = False) -> Jet:
    jet = Jet.coordinates(points, bounded)
    return followed(function, jet) if bounded else _evaluated(function, jet, nullcontext())


def followed(function: Function, coordinates: Jet) -> Jet:
    """Evaluate ``function`` on ``coordinates`` (N, k) that carry errors, with all rounding in them.

    `MissingRule` for what has no error rule.
    """
    jet = _evaluated(function, coordinates, _Followed(coordinates.k))
    if not isinstance(jet.value, Bounded):  # a constant that was never touched
        jet.value = Bounded(cast(torch.Tensor, jet.value))
    return jet


def _evaluated(function: Function, coordinates: Jet, mode: AbstractContextManager) -> Jet:
    """Evaluate ``function``, and once more by its kernels where it does not take a jet."""
    start = each(coordinates, lambda c, lead: c)  # which may be changed in place
    try:
        with mode:
            return _as_jet(function(cast(torch.Tensor, coordinates)), start)
    except Exception as error:
        try:
            return _as_jet(RULES["by_kernels"](WHOLE, function, (start,), {}), start)
        except MissingRule:
            raise error from None


def _as_jet(out: Any, points: torch.Tensor | Jet) -> Jet:
    """Return a function's output as a jet; ``ValueError`` unless it is (..., N, D)."""
    count, k = points.shape
    jet = out if isinstance(out, Jet) else Jet(out.double(), k=k)
    if jet.ndim < 2 or jet.shape[-2] != count:
        raise ValueError(wrong_shape(jet.shape, count))
    return jet


def enclosing_jet(
    function: Function, centres: torch.Tensor, radius: torch.Tensor
) -> SecondOrderJet:
    """Balls that hold value and derivatives of ``function`` everywhere in each of N boxes.

    ``centres`` (N, k) and half widths ``radius`` (N, k). In the result ``stack`` are centres of
    balls and ``errors`` their radii, infinite where nothing is known: where the function may have a
    pole, a kink or a jump, or may not be defined. `MissingRule` for what has no error rule.
    """
    jet = followed(function, Jet.coordinates(centres, bounded=True, radius=radius))
    parts = cast(list[Bounded], [jet.value[None], filled(jet, "first"), filled(jet, "second")])
    return SecondOrderJet(
        torch.cat([x.value.mT for x in parts]), jet.k, torch.cat([x.bound.mT for x in parts])
    )


def taylor_jet(
    function: Function, centres: torch.Tensor, radius: torch.Tensor, degree: int = 2
) -> Jet:
    """Return the jet of ``function`` with Taylor models over each box's own [-1, 1]^2.

    Of degree 0 they are balls.
    """
    if degree == 0:
        return followed(function, Jet.coordinates(centres, bounded=True, radius=radius))
    coordinates = Jet.coordinates(centres, bounded=True)
    rest = (None,) * (len(monomials(degree)) - 3)
    wide = radius.T.contiguous().T  # points last
    terms = (wide * along for along in torch.eye(2, dtype=radius.dtype))
    coordinates.value = TaylorModel(coordinates.value.value, None, (*terms, *rest))
    return followed(function, coordinates)


@one_at_a_time
def nested_jet(function: Function, points: torch.Tensor, check: bool = True) -> SecondOrderJet:
    """Compute the same as `second_order_jet` by nested forward mode of ``torch.func``, slowly.

    Fused operations are written out here too: torch's own cannot all be differentiated twice, or
    not correctly, and the derivatives of its softmax cancel when it saturates.
    ``ValueError``, unless ``check`` is false, where derivatives are not
    those of the values or of the first, or those of an operation within ``function`` are not, as
    torch has them for some.
    """
    points = check_points(points)
    k = points.shape[1]

    def safe(p: torch.Tensor) -> torch.Tensor:
        return function(p.clone())  # it may work in place

    def along(f: Callable, i: int) -> Callable:
        def slope(p: torch.Tensor) -> torch.Tensor:
            return torch.func.jvp(f, (p,), (torch.eye(k, dtype=p.dtype)[i].expand_as(p),))[1]

        return slope

    first = [along(safe, i) for i in range(k)]
    with _WrittenOut():
        coefficients = [safe(points)]
        check_output(coefficients[0], len(points))
        coefficients += [f(points) for f in first]
        coefficients += [along(first[i], j)(points) for i, j in pairs(k)]
    jet = SecondOrderJet(torch.stack(coefficients).mT.contiguous(), k)
    if not check:
        return jet
    found = check_operations(function, points, _WrittenOut)  # first, for it names the operation
    try:
        check_slopes(function, points, jet.first)
    except ValueError as error:
        if found.suspects:
            raise ValueError(wrong_text(found.suspects)) from error
        raise
    with _WrittenOut():
        check_seconds(lambda p: torch.stack([f(p) for f in first], -1), points, jet.second)
    return replace(jet, notes=found.notes, jumps=found.jumps)


class _WrittenOut(TorchFunctionMode):
    """A mode in which fused operations are compositions of simpler ones."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        if (name := rule_name(getattr(func, "__name__", ""))) in COMPOSED:
            try:
                return COMPOSED[name](*args, **kwargs)
            except NOT_FOR_JETS:  # such as the determinant of a large matrix, the norm of a number
                pass
        return func(*args, **kwargs)


class _Followed(TorchFunctionMode):
    """A mode in which plain tensors become constant jets, so that their rounding is followed too.

    The bound then covers what a function computes from its weights alone.
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        name = rule_name(getattr(func, "__name__", ""))
        flat = [*args, *kwargs.values()]
        flat += [x for part in flat if isinstance(part, list | tuple) for x in part]
        jets = any(isinstance(x, Jet) for x in flat)
        if not jets:
            tensors = [x for x in flat if isinstance(x, torch.Tensor)]
            floats = any(x.is_floating_point() for x in tensors)
            if not floats or name in LAYOUT or name in EXACT:
                out = func(*args, **kwargs)
                rounds = isinstance(out, torch.Tensor) and out.is_floating_point()
                same = {x.dtype for x in tensors} == {out.dtype} if rounds else True
                if tensors and not same and out.dtype != torch.float64:
                    raise MissingRule(f"{name} rounds to {out.dtype}")
                if tensors and rounds and not floats and name not in EXACT:
                    raise MissingRule(f"no error rule for {name} of whole numbers")
                return out
            if any(x.dtype in LOWER for x in tensors):
                raise MissingRule(f"{name} rounds to a lower precision")
            if written_by(name, kwargs.get("inplace", False)):
                raise MissingRule(f"{name} into a plain tensor")
            args = tuple(self._constant(x) for x in args)
        with torch._C.DisableTorchFunction():  # as `apply`
            return apply_rule(name, args, kwargs, func)

    def _constant(self, x: Any) -> Any:
        if isinstance(x, list | tuple):
            return [self._constant(part) for part in x]
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            return Jet(Bounded(x.detach().double()), k=self.k)
        return x


# Operations on plain tensors without rounding, or that only query a tensor.
EXACT = frozenset(
    """
    get set getitem argmax argmin eq ne lt le gt ge size dim stride detach double neg isfinite abs
    zeros_like ones_like empty_like new_zeros new_ones is_floating_point type_as to numel
    requires_grad_ broadcast_to cat stack triu tril diag len item bool any all is_contiguous
    setitem masked_fill masked_fill_ where fill_ zero_ full_like new_full new_empty expand_as
    repeat repeat_interleave index_select logical_not logical_and logical_or broadcast_tensors
    """.split()
)


def jet_by_parts(
    function: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    bound: str,
    part: int,
    progress: Progress = silent,
) -> SecondOrderJet:
    """Compute `second_order_jet` at ``points`` (N, k), ``part`` of them at a time.

    ``progress`` is called with the share done after each part.
    """
    jets, parts = [], points.split(max(part, 1))
    for some in parts:
        jets.append(second_order_jet(function, some, bound))
        progress(len(jets) / len(parts))
    errors = [jet.errors for jet in jets if jet.errors is not None]
    return SecondOrderJet(
        torch.cat([jet.stack for jet in jets], -1),
        jets[0].k,
        torch.cat(errors, -1) if len(errors) == len(jets) else None,
        tuple(dict.fromkeys(note for jet in jets for note in jet.notes)),
        jets[0].jumps,
        jets[0].caveat,
    )

"""A cheap check of a function before it is differentiated: is it a map from points to points?

Some functions are evaluated without an error and measured wrongly: outputs that depend on the other
points of the batch or on chance, values detached from the graph, single precision in between. All
of this is tested at a few points, and refused with one sentence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from traceback import extract_tb
from typing import Any

import torch

from gating_core.jets.casts import LOWER, Carried, uncarried
from gating_core.jets.unchanged import Unchanged, held, is_scripted, kernels

DOUBLE = torch.float64, torch.complex128
FEW = 8  # points that are looked at
PARTS = 1, 3  # points of a batch: one point alone has no standard deviation, and its own mean
SAME = 1e-7  # relative to the largest value: batched sums are rounded otherwise
AGAIN = 1e-12  # relative to it, too: where nothing changed, next to nothing may
ONE_BY_ONE = (
    "every row of its output must come from its own point, without statistics of the batch (eval())"
)
SCRIPTED = (
    "uses a module that torch.jit has scripted or traced, whose second derivatives torch computes"
    " wrongly; hand over the module that it was made of"
)
FLEX = (
    "uses flex_attention, which torch compiles and which cannot be followed; use"
    " scaled_dot_product_attention with a mask"
)
CARRY = ', or pass casts="carry" to have it computed so'
Function = Callable[[torch.Tensor], Any]


def check_map(function: Function, points: torch.Tensor) -> None:
    """``ValueError`` unless ``function`` maps ``points`` (N, k) to (..., N, D) in float64.

    Each row of its output depends on its own point alone, and on nothing else; nothing on the way
    from the points to it is in a lower precision.
    """
    some = points[trials(len(points))].detach()
    if isinstance(function, Carried):
        function.settle(some)
    # State that one call leaves to the next is not put back in between: it would not be seen.
    lower: list[torch.dtype] = []

    def see(kernel: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Note what takes double precision to a lower one, in compiled modules, too."""
        out = kernel(*args, **kwargs)
        inputs = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
        if (
            isinstance(out, torch.Tensor)
            and (out.is_floating_point() or out.is_complex())
            and out.dtype not in DOUBLE
            and any(x.dtype in DOUBLE for x in inputs)
        ):
            lower.append(out.dtype)
        return out

    with torch.no_grad(), held(uncarried(function)):
        with kernels(see):
            together = evaluate(function, some)
        check_output(together, len(some))
        if lower:
            carry = CARRY if lower[0] in LOWER and not isinstance(function, Carried) else ""
            raise ValueError(
                f"function computes in {lower[0]} on the way, so that errors of its"
                f" derivatives are unknown; let it compute in torch.float64{carry}"
            )
        again = evaluate(function, some)
        parts = [_in_parts(function, some, size) for size in PARTS]
    if _differ(together, again, AGAIN):
        raise ValueError(
            "function gives other values when it is called again; switch dropout off (eval()) and"
            " let it draw nothing at random"
        )
    for outputs in parts:
        if _differ(together, torch.cat(outputs, -2), SAME):
            raise ValueError(
                f"function gives other values for a point alone than among others; {ONE_BY_ONE}"
            )


def check_output(out: Any, count: int) -> None:
    """``ValueError`` unless ``out`` is a float64 tensor (..., count, D)."""
    if not isinstance(out, torch.Tensor):
        raise ValueError(
            f"function returned a {type(out).__name__}; it must return one tensor (..., N, D)"
        )
    if out.dtype != torch.float64:
        raise ValueError(f"function returned {out.dtype}; it must compute in torch.float64")
    if out.ndim < 2 or out.shape[-2] != count:
        raise ValueError(wrong_shape(out.shape, count))


def wrong_shape(shape: torch.Size, count: int) -> str:
    """Say that an output is not (..., count, D)."""
    return (
        f"function returned shape {tuple(shape)} for {count} points; it must be (..., {count}, D)"
    )


def module_of(function: Function) -> torch.nn.Module | None:
    """The module that a function is, whatever it is wrapped in; or None."""
    function = uncarried(function)
    function = function.function if isinstance(function, Unchanged) else function
    return function if isinstance(function, torch.nn.Module) else None


def precision_notes(
    function: Function, points: torch.Tensor, allowed: Callable[[float], torch.Tensor]
) -> tuple[list[str], str]:
    """Say what of a function is in lower precision, and was computed in float64 at ``points``.

    ``allowed(u)`` (n, D) is how far rounding with the unit ``u`` may take its values at the first
    `FEW` points. Where the function's own values are farther off, the second result says so.
    """
    types: dict[torch.dtype, None] = {}
    own, casts, original = torch.float64, {}, uncarried(function)
    if (module := module_of(function)) is not None:
        tensors = chain(module.parameters(), module.buffers())
        types = dict.fromkeys(x.dtype for x in tensors if x.dtype in LOWER)
    if isinstance(function, Carried):
        types |= function.weights
        casts, own = function.casts, function.own or own
    parts = [f"the casts {', '.join(casts)}"] if casts else []
    parts += [f"weights in {dtype}, widened exactly" for dtype in types]
    if not parts:
        return [], ""
    computed = f"computed in torch.float64: {' and '.join(parts)}"
    some = points[trials(len(points))].detach()
    try:
        with torch.no_grad():
            theirs, ours = original(some.to(own)).double(), function(some)
    except Exception:  # as where points in float64 meet weights in another precision
        return [f"{computed}; the function itself cannot be evaluated as it is"], ""
    largest = ours.abs().max()
    off = float((theirs - ours).abs().max() / largest)
    unit = max(torch.finfo(dtype).eps for dtype in (*types, *casts.values()))
    if bool(((theirs - ours).abs() <= allowed(unit)).all()) or not bool(ours.isfinite().all()):
        gives = (
            f"values that differ by up to {off:.1e} of the largest" if off else "the same values"
        )
        return [f"{computed}; called with points in {own}, the function itself gives {gives}"], ""
    size = f"that differ by {off:.1e} of the largest" if off < math.inf else "without a number"
    return [computed], (
        f"Called with points in {own}, the layer itself gives values {size}, more than rounding"
        " explains: what is measured is its formula in torch.float64, which the layer does not"
        " compute."
    )


def trials(count: int) -> slice:
    """The few of ``count`` points that a function is tried at."""
    step = max(1, count // FEW)
    return slice(0, step * FEW, step)


def evaluate(
    function: Function, points: torch.Tensor, name: str = "function", remedy: str = ""
) -> Any:
    """The function's output; ``ValueError`` with the cause and a ``remedy`` where it has none."""
    try:
        return function(points.clone())  # it may work in place
    except Exception as error:
        if why := real_reason(function, error):
            raise ValueError(f"{name} {why}") from error
        if "dtype" in str(error) and isinstance(error, RuntimeError | ValueError):
            carry = "" if isinstance(function, Carried) else CARRY
            raise ValueError(
                f"{name} has weights in another precision than its points, torch.float64; convert"
                f" it with double(){carry}"
            ) from error
        raise ValueError(
            f"{name} fails on points of shape (N, {points.shape[1]}): {cause(error)}{remedy}"
        ) from error


def real_reason(function: Function, error: Exception) -> str | None:
    """Why a function cannot be followed, where torch's own ``error`` speaks of something else."""
    if is_scripted(uncarried(function)):
        return SCRIPTED
    frames = extract_tb(error.__traceback__)
    return FLEX if any(frame.name == "flex_attention" for frame in frames) else None


def cause(error: Exception) -> str:
    """The first line of an error's message, with the name of the error where it says little."""
    line = str(error).strip().partition("\n")[0]
    plain = line and isinstance(error, RuntimeError | ValueError | TypeError | IndexError)
    return line if plain else f"{type(error).__name__} {line}".strip()


def _in_parts(function: Function, points: torch.Tensor, size: int) -> list[torch.Tensor]:
    """The function's outputs at ``size`` of the points at a time."""
    outputs = []
    for some in points.split(size):
        try:
            outputs.append(function(some.clone()))
        except Exception as error:
            raise ValueError(
                f"function fails at a single point ({cause(error)}); {ONE_BY_ONE}"
            ) from error
        check_output(outputs[-1], len(some))
    return outputs


def _differ(a: torch.Tensor, b: torch.Tensor, allowed: float) -> bool:
    """Return whether two outputs differ by more than is ``allowed``, relative to the largest value.

    A channel that is finite at all points of one and at none of the other differs, too.
    """
    if a.shape != b.shape or bool((a.isfinite().all(-2) & ~b.isfinite().any(-2)).any()):
        return True
    known = a.isfinite() & b.isfinite()
    size = float(a[known].abs().max()) if known.any() else 0.0
    return bool(((a - b).abs()[known] > allowed * size).any())

"""A cheap check of a function before it is differentiated: is it a map from points to points?

Some functions are evaluated without an error and measured wrongly: outputs that depend on the other
points of the batch or on chance, values detached from the graph, single precision in between. All
of this is tested at a few points, and refused with one sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gating_core.jets.casts import LOWER, Carried

DOUBLE = torch.float64, torch.complex128
FEW = 8  # points that are looked at
PARTS = 1, 3  # points of a batch: one point alone has no standard deviation, and its own mean
SAME = 1e-7  # relative to the largest value: batched sums are rounded otherwise
AGAIN = 1e-12  # relative to it, too: where nothing changed, next to nothing may
ONE_BY_ONE = (
    "every row of its output must come from its own point, without statistics of the batch (eval())"
)
CARRY = ', or pass casts="carry" to have it computed so'
Function = Callable[[torch.Tensor], Any]


def check_map(function: Function, points: torch.Tensor) -> None:
    """``ValueError`` unless ``function`` maps ``points`` (N, k) to (..., N, D) in float64.

    Each row of its output depends on its own point alone, and on nothing else; nothing on the way
    from the points to it is in a lower precision.
    """
    some = points[:: max(1, len(points) // FEW)][:FEW].detach()
    with torch.no_grad():
        with (_Uncompiled if "torch._dynamo" in sys.modules else _Precision)() as precision:
            together = evaluate(function, some)
        check_output(together, len(some))
        if precision.lower:
            carry = CARRY if precision.lower in LOWER and not isinstance(function, Carried) else ""
            raise ValueError(
                f"function computes in {precision.lower} on the way, so that errors of its"
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


def precision_notes(original: Function, function: Function, points: torch.Tensor) -> list[str]:
    """Say what of the ``original`` function is in lower precision, and was computed in float64.

    ``function`` is what was computed in its place at ``points``, `Carried` if casts were.
    """
    weights: dict[torch.dtype, None] = {}
    if isinstance(original, torch.nn.Module):
        tensors = chain(original.parameters(), original.buffers())
        weights = dict.fromkeys(x.dtype for x in tensors if x.dtype in LOWER)
    casts: list[str] = []
    if isinstance(function, Carried):
        weights |= function.weights
        casts = list(function.casts)
    parts = [f"the casts {', '.join(casts)}"] if casts else []
    parts += [f"weights in {dtype}, widened exactly" for dtype in weights]
    if not parts:
        return []
    some = points[:: max(1, len(points) // FEW)][:FEW].detach()
    compared = "; the function itself cannot be evaluated as it is"
    for dtype in (torch.float64, *weights):
        try:
            with torch.no_grad():
                theirs, ours = original(some.to(dtype)).double(), function(some)
        except RuntimeError:  # its weights are in another precision
            continue
        off = float((theirs - ours).abs().max() / ours.abs().max())
        compared = (
            f"; called with points in {dtype}, the function itself gives values that differ by up"
            f" to {off:.1e} of the largest"
        )
        if off > 0:
            break
    return [f"computed in torch.float64: {' and '.join(parts)}{compared}"]


def evaluate(function: Function, points: torch.Tensor) -> Any:
    """The function's output; ``ValueError`` where weights in another precision meet the points."""
    try:
        return function(points.clone())  # it may work in place
    except (RuntimeError, ValueError) as error:  # the latter of recurrent layers
        if "dtype" not in str(error):
            raise
        raise ValueError(
            "function has weights in another precision than its points, torch.float64; convert it"
            f" with double(){CARRY}"
        ) from error


def _in_parts(function: Function, points: torch.Tensor, size: int) -> list[torch.Tensor]:
    """The function's outputs at ``size`` of the points at a time."""
    outputs = []
    for some in points.split(size):
        try:
            outputs.append(function(some.clone()))
        except (RuntimeError, ValueError, IndexError) as error:
            message = str(error).strip().split("\n")[0]
            raise ValueError(
                f"function fails at a single point ({message}); {ONE_BY_ONE}"
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


class _Precision(TorchDispatchMode):
    """A mode that notes the first operation that takes double precision to a lower one.

    It sees what reaches torch's kernels, from compiled modules and assignments to slices, too.
    """

    lower: torch.dtype | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or its first operation imports torch.compile, which takes a second

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        inputs = [x for x in (*args, *(kwargs or {}).values()) if isinstance(x, torch.Tensor)]
        if (
            isinstance(out, torch.Tensor)
            and (out.is_floating_point() or out.is_complex())
            and out.dtype not in DOUBLE
            and any(x.dtype in DOUBLE for x in inputs)
            and self.lower is None
        ):
            self.lower = out.dtype
        return out


class _Uncompiled(_Precision):
    """`_Precision` for processes that use torch.compile, which does not try to compile the mode."""

    __torch_dispatch__ = _Precision.__torch_dispatch__

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True

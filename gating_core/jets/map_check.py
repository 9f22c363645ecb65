"""A cheap check of a function before it is differentiated: is it a map from points to points?

Some functions are evaluated without an error and measured wrongly: outputs that depend on the other
points of the batch or on chance, values detached from the graph, single precision in between. All
of this is tested at a few points, and refused with one sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FEW = 8  # points that are looked at
STEP = 1e-4  # of difference quotients
SAME = 1e-7  # relative to the largest value: batched sums are rounded otherwise
AGAIN = 1e-12  # relative to it, too: where nothing changed, next to nothing may
CONVERGED = 0.02  # of the quotient: quotients that differ by more, as at a kink, say nothing

WRONG = 0.05  # of the slope: a converged quotient that is farther off belongs to another function
ONE_BY_ONE = (
    "every row of its output must come from its own point, without statistics of the batch (eval())"
)
Function = Callable[[torch.Tensor], Any]


def check_map(function: Function, points: torch.Tensor) -> None:
    """``ValueError`` unless ``function`` maps ``points`` (N, k) to (..., N, D) in float64.

    Each row of its output depends on its own point alone, and on nothing else; nothing on the way
    from the points to it is in a lower precision.
    """
    some = points[:: max(1, len(points) // FEW)][:FEW].detach()
    with torch.no_grad():
        with (_Uncompiled if "torch._dynamo" in sys.modules else _Precision)() as precision:
            together = _called(function, some)
        check_output(together, len(some))
        if precision.lower:
            raise ValueError(
                f"function computes in {precision.lower} on the way, so that errors of its"
                " derivatives are unknown; let it compute in torch.float64"
            )
        again, alone = _called(function, some), _alone(function, some)
    if _differ(together, again, AGAIN):
        raise ValueError(
            "function gives other values when it is called again; switch dropout off (eval()) and"
            " let it draw nothing at random"
        )
    if _differ(together, torch.cat(alone, -2), SAME):
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


def check_slopes(function: Function, points: torch.Tensor, first: torch.Tensor) -> None:
    """``ValueError`` if ``first`` (..., N, D, k) are not the derivatives of the function's values.

    Compared with difference quotients, where these have converged, at a few points within the rest.
    """
    low, high = points.amin(0) + STEP, points.amax(0) - STEP  # it may be defined nowhere else
    inside = ((points >= low) & (points <= high)).all(-1).nonzero().squeeze(-1)
    if not len(inside):
        return
    at = inside[:: max(1, len(inside) // FEW)][:FEW]
    some, slopes = points[at].detach(), first[..., at, :, :]
    direction = torch.tensor([0.6, 0.8, 0.48][: points.shape[1]], dtype=torch.float64)
    with torch.no_grad():
        steps = (0.0, STEP, -STEP, STEP / 2, -STEP / 2)
        middle, *ends = (_called(function, some + h * direction) for h in steps)
    wide, narrow = (ends[0] - ends[1]) / (2 * STEP), (ends[2] - ends[3]) / STEP
    bend = ((ends[2] - middle) - (middle - ends[3])) / (STEP / 2)  # between both sides
    slope = (slopes * direction).sum(-1)
    if not slope.numel():
        return
    size = torch.maximum(narrow.abs(), slope.abs()).amax(-1, keepdim=True)
    rounding = 1e-15 * middle.abs().amax(-1, keepdim=True) / STEP
    # Relative to the quotient, not to the slope: that is huge where a pole is nearer than a step.
    allowed = CONVERGED * narrow.abs().amax(-1, keepdim=True) + 10 * rounding
    converged = torch.maximum((wide - narrow).abs(), bend.abs()) <= allowed
    wrong = ((narrow - slope).abs() > WRONG * size + 1e3 * rounding) & converged
    if bool(wrong.any()):
        raise ValueError(
            "function's derivatives are not those of its values; values that are taken out with"
            " item(), float(), detach() or numpy cannot be followed"
        )


def _called(function: Function, points: torch.Tensor) -> Any:
    """The function's output; ``ValueError`` where weights in another precision meet the points."""
    try:
        return function(points.clone())  # it may work in place
    except RuntimeError as error:
        if "dtype" not in str(error):
            raise
        raise ValueError(
            "function has weights in another precision than its points, torch.float64; convert it"
            " with double()"
        ) from error


def _alone(function: Function, points: torch.Tensor) -> list[torch.Tensor]:
    """The function's outputs at each of the points alone."""
    outputs = []
    for each in points.split(1):
        try:
            outputs.append(function(each.clone()))
        except (RuntimeError, ValueError, IndexError) as error:
            message = str(error).strip().split("\n")[0]
            raise ValueError(
                f"function fails at a single point ({message}); {ONE_BY_ONE}"
            ) from error
        check_output(outputs[-1], 1)
    return outputs


def _differ(a: torch.Tensor, b: torch.Tensor, allowed: float) -> bool:
    """Whether two outputs differ by more than is ``allowed``, relative to the largest value."""
    if a.shape != b.shape:
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
            and out.is_floating_point()
            and out.dtype != torch.float64
            and any(x.dtype == torch.float64 for x in inputs)
            and self.lower is None
        ):
            self.lower = out.dtype
        return out


class _Uncompiled(_Precision):
    """The same, for processes that use torch.compile: it does not try to compile the mode."""

    __torch_dispatch__ = _Precision.__torch_dispatch__

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True

"""Second derivatives of any torch function, exact to rounding, in one pass (Taylor mode).

A jet carries a value together with its first and second partial derivatives with respect to the
k chart coordinates. `second_order_jet` evaluates an ordinary torch function on a jet: each torch
operation that has a rule in `jet_rules` maps jets to jets. A function that uses an operation
without a rule is differentiated by `torch.func` instead, with the same result to rounding.

Convention: index 0 of a coefficient stack is the value, then come the k first derivatives, then
the second derivatives (i, j) with i <= j in lexicographic order. Second derivatives are plain
partial derivatives, not halved Taylor coefficients.

Source: Griewank & Walther, *Evaluating Derivatives*, 2nd ed., chapter 13 (Taylor arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.overrides import TorchFunctionMode

from gating_core.jet_rules import Jet, pair_index, shifted_softmax

DIMENSIONS = (2, 3)


@dataclass(frozen=True, eq=False)
class SecondOrderJet:
    """Value and derivatives of a function of k = 2 or 3 coordinates at N points.

    ``stack`` (1 + k + k(k+1)/2, ..., N, D) holds them in the order that this file's head states.
    """

    stack: torch.Tensor
    k: int

    @property
    def value(self) -> torch.Tensor:
        """(..., N, D)."""
        return self.stack[0]

    @property
    def first(self) -> torch.Tensor:
        """(..., N, D, k): partial derivatives."""
        return self.stack[1 : 1 + self.k].movedim(0, -1)

    @property
    def second(self) -> torch.Tensor:
        """(..., N, D, k, k): second partial derivatives, symmetric."""
        order = [[pair_index(self.k, i, j) for j in range(self.k)] for i in range(self.k)]
        return self.stack[torch.tensor(order)].movedim((0, 1), (-2, -1))

    def d(self, i: int) -> torch.Tensor:
        """(..., N, D): derivative with respect to coordinate ``i``."""
        return self.stack[1 + i]

    def dd(self, i: int, j: int) -> torch.Tensor:
        """(..., N, D): second derivative with respect to coordinates ``i`` and ``j``."""
        return self.stack[pair_index(self.k, i, j)]


def second_order_jet(
    function: Callable[[torch.Tensor], torch.Tensor], points: torch.Tensor
) -> SecondOrderJet:
    """Value, first and second derivatives of ``function`` at ``points`` (N, k), k = 2 or 3.

    ``function`` is any torch callable (N, k) -> (..., N, D) whose n-th output depends on the n-th
    point alone. Everything is computed in float64. ``ValueError`` if the points are not (N, k)
    and finite, or the function's output does not end in (N, D).
    """
    points = check_points(points)
    try:
        out: Any = function(cast(torch.Tensor, Jet.coordinates(points)))
    except (TypeError, AttributeError):  # MissingRule, or something a jet cannot pass for
        return nested_jet(function, points)
    count, k = points.shape
    if not isinstance(out, Jet):  # a constant function: all derivatives vanish
        out = Jet.constant(out, k)
    check_output(out.stack[0], count)
    return SecondOrderJet(out.stack, k)


def nested_jet(
    function: Callable[[torch.Tensor], torch.Tensor], points: torch.Tensor
) -> SecondOrderJet:
    """The same as `second_order_jet`, by nested forward mode of ``torch.func``: slow, independent.

    Softmax subtracts its largest logit differentiably here too; without that its derivatives
    cancel when it saturates.
    """
    points = check_points(points)
    count, k = points.shape
    directions = torch.eye(k, dtype=points.dtype)

    def along(f: Callable, i: int) -> Callable:
        tangent = directions[i].expand_as(points)
        return lambda p: torch.func.jvp(f, (p,), (tangent,))[1]

    with _ShiftedSoftmax():
        coefficients = [function(points)]
        check_output(coefficients[0], count)
        first = [along(function, i) for i in range(k)]
        coefficients += [f(points) for f in first]
        coefficients += [along(first[i], j)(points) for i in range(k) for j in range(i, k)]
    return SecondOrderJet(torch.stack(coefficients), k)


def check_points(points: torch.Tensor) -> torch.Tensor:
    """``points`` in float64; ``ValueError`` unless they are (N, 2) or (N, 3), N > 0, finite."""
    points = torch.as_tensor(points, dtype=torch.float64)
    if points.ndim != 2 or points.shape[1] not in DIMENSIONS or not len(points):
        raise ValueError(
            f"points has shape {tuple(points.shape)}; it must be (N, 2) or (N, 3) with N > 0"
        )
    if not points.isfinite().all():
        raise ValueError("points contains NaN or infinite values; all must be finite")
    return points


def check_output(value: torch.Tensor, count: int) -> None:
    """``ValueError`` unless ``value`` is (..., N, D) for the N given points."""
    if value.ndim < 2 or value.shape[-2] != count:
        raise ValueError(
            f"function returned shape {tuple(value.shape)} for {count} points;"
            f" it must be (..., {count}, D)"
        )


class _ShiftedSoftmax(TorchFunctionMode):
    """Within it, ``softmax`` is `shifted_softmax`."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        if getattr(func, "__name__", "") == "softmax":
            return shifted_softmax(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

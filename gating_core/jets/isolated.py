"""Rules for ``prod`` and for ``sinc``, of which torch gets second derivatives at 0 wrong."""

from __future__ import annotations

import math
from typing import Any

import torch

from gating_core.jets.bounded import Bounded, value_of
from gating_core.jets.jet import Jet, MissingRule, call, composed

PI_REST = 1.2246467991473532e-16  # pi - math.pi
NEAR = 0.5  # radians: nearer to 0 the series of sin(y) / y is used
SERIES = [(-1) ** n / math.factorial(2 * n + 1) for n in range(15)]  # its rest is below 1e-38
WIDEST = 0.01  # error of an argument for which the series' rest was estimated


@composed("prod", for_tensors=False)
def prod(x: Any, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Compute the product of a jet along ``dim``, or of all its numbers."""
    if dim is None:
        x, dim = x.reshape(-1), 0
    factors = list(x.unbind(dim))
    if not factors:
        raise MissingRule("prod of no factors")
    while len(factors) > 1:
        products = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)]
        factors = products + factors[len(factors) - len(factors) % 2 :]
    return factors[0].unsqueeze(dim) if keepdim else factors[0]


@composed("sinc", "special_sinc")
def sinc(x: Any) -> Any:
    """Compute sin(pi x) / (pi x) of a tensor or a jet; near 0 by its series (pytorch #196703)."""
    y = x * math.pi + x * PI_REST
    value = y.value if isinstance(y, Jet) else y
    if isinstance(value, Bounded) and bool((value.bound > WIDEST).any()):
        raise MissingRule("sinc on wide cells")
    near = value_of(value).abs() < NEAR
    zero, one = torch.zeros((), dtype=x.dtype), torch.ones((), dtype=x.dtype)
    small, large = call("where", near, y, zero), call("where", near, one, y)
    square, series = small * small, SERIES[-1]
    for coefficient in SERIES[-2::-1]:
        series = series * square + coefficient
    return call("where", near, series, large.sin() / large)

"""Exact arithmetic on floating-point numbers: a proof must not allow for rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import torch


def integers(numbers: torch.Tensor) -> np.ndarray:
    """Return ``numbers`` times a power of two as Python integers, an object array of their shape.

    ``ValueError`` or ``OverflowError`` unless all are finite.
    """
    exact = [Fraction(x) for x in numbers.flatten().tolist()]
    common = max((x.denominator for x in exact), default=1)
    whole = [x.numerator * (common // x.denominator) for x in exact]
    return np.array(whole, dtype=object).reshape(tuple(numbers.shape))


def exact_dimension(values: Any, most: int) -> int:
    """The dimension of the affine hull of ``values`` (n, d), or more than ``most`` if it is larger.

    In fractions: a numerical rank allows for rounding.
    """
    first, *others = [[Fraction(x) for x in row] for row in values.tolist()]
    rows = [[x - y for x, y in zip(row, first, strict=True)] for row in others]
    for rank in range(most + 1):
        pivot = next((row for row in rows if any(row)), None)
        if pivot is None:
            return rank
        column = next(i for i, x in enumerate(pivot) if x)
        rows = [
            [x - y * (row[column] / pivot[column]) for x, y in zip(row, pivot, strict=True)]
            for row in rows
            if row is not pivot
        ]
    return most + 1

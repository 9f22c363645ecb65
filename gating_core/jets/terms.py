"""Coefficients of polynomials in two variables: which monomials they are of, and their sums.

A coefficient that is ``None`` is zero, and is not computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch

Term = torch.Tensor | None
Terms = tuple[Term, ...]


@cache
def monomials(degree: int) -> tuple[tuple[int, int], ...]:
    """The exponents of x and y, by degree from 0, powers of x first."""
    return tuple((n - j, j) for n in range(degree + 1) for j in range(n + 1))


@cache
def degree_of(count: int) -> int:
    """The degree of models with ``count`` terms."""
    return next(d for d in range(20) if len(monomials(d)) - 1 >= count)


@cache
def pairs_of(degree: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each monomial, the pairs of monomials whose product it is."""
    all_of = monomials(degree)
    place = {exponents: i for i, exponents in enumerate(all_of)}
    pairs: list[list[tuple[int, int]]] = [[] for _ in all_of]
    for i, (a, b) in enumerate(all_of):
        for j, (c, d) in enumerate(all_of):
            if (target := place.get((a + c, b + d))) is not None:
                pairs[target].append((i, j))
    return tuple(map(tuple, pairs))


def padded(terms: Terms, depth: int) -> Terms:
    return terms + (None,) * (depth - len(terms))


def mapped(terms: Terms, how: Callable) -> Terms:
    return tuple(None if x is None else how(x) for x in terms)


def sum_of(parts: Iterable[Term]) -> Term:
    """The sum of ``parts``; None is zero."""
    total: Term = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def size_of(parts: Iterable[Term], start: Any) -> Any:
    """``start`` plus the sizes of ``parts``."""
    for part in parts:
        if part is not None:
            start = start + part.abs()
    return start

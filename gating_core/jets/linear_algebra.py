"""Determinants and inverses of small matrices by cofactors.

torch's own second forward derivatives of determinants and solutions are wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gating_core.jets.jet import MissingRule, call, composed

LARGEST = 4  # rows of a matrix whose cofactors are taken


class LogDeterminant(NamedTuple):
    """The result of ``slogdet``."""

    sign: Any
    logabsdet: Any


def _entries(a: Any) -> list[list[Any]]:
    n = a.shape[-1]
    if a.ndim < 2 or a.shape[-2] != n or not 0 < n <= LARGEST:
        raise MissingRule(f"a matrix of {tuple(a.shape[-2:])}, which is larger than {LARGEST}")
    return [list(row.unbind(-1)) for row in a.unbind(-2)]


def _determinant(rows: list[list[Any]]) -> Any:
    """The determinant, by cofactors of the first row."""
    if len(rows) == 1:
        return rows[0][0]
    total: Any = None
    for j, x in enumerate(rows[0]):
        term = x * _determinant([row[:j] + row[j + 1 :] for row in rows[1:]])
        total = term if total is None else total - term if j % 2 else total + term
    return total


@composed("det", "linalg_det")
def det(a: Any) -> Any:
    """The determinant."""
    return _determinant(_entries(a))


@composed("slogdet", "linalg_slogdet")
def slogdet(a: Any) -> LogDeterminant:
    """Sign and logarithm of the size of the determinant."""
    d = det(a)
    return LogDeterminant(call("sign", d), d.abs().log())


@composed("logdet")
def logdet(a: Any) -> Any:
    """The logarithm of a positive determinant."""
    return det(a).log()


@composed("inverse", "linalg_inv")
def inverse(a: Any) -> Any:
    """The transposed cofactors by the determinant."""
    rows = _entries(a)
    n = len(rows)
    if n == 1:
        return a.reciprocal()

    def cofactor(i: int, j: int) -> Any:
        minor = _determinant([r[:j] + r[j + 1 :] for k, r in enumerate(rows) if k != i])
        return -minor if (i + j) % 2 else minor

    columns = [[cofactor(i, j) for i in range(n)] for j in range(n)]
    total = sum(
        (x * y[0] for x, y in zip(rows[0][1:], columns[1:], strict=True)),
        rows[0][0] * columns[0][0],
    )
    adjugate = call("stack", [call("stack", column, -1) for column in columns], -2)
    return adjugate / total[..., None, None]


@composed("linalg_solve")
def solve(a: Any, b: Any, *, left: bool = True) -> Any:
    """The inverse times the right-hand sides, which may be one vector for each matrix."""
    if b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1]):
        return (inverse(a) @ b[..., None]).squeeze(-1)
    return inverse(a) @ b if left else b @ inverse(a)

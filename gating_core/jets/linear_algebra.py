"""Products of tensors, and determinants and inverses of small matrices by cofactors.

torch's own second forward derivatives of determinants and solutions are wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gating_core.jets.jet import MissingRule, call, composed

LARGEST = 4  # rows of a matrix whose cofactors are taken


@composed("addmm", "addmv", "baddbmm", for_tensors=False)
def addmm(x: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Return beta x + alpha a b."""
    product = a @ b if alpha == 1 else (a @ b) * alpha
    return product if beta == 0 else (x if beta == 1 else x * beta) + product


@composed("einsum", for_tensors=False)
def einsum(equation: str, *operands: Any) -> Any:
    """A sum of products by Einstein's convention, one pair of operands after the other."""
    if not isinstance(equation, str):
        raise MissingRule("einsum with lists of axes")
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    sources, arrow, target = equation.replace(" ", "").partition("->")
    terms = [_labels(s, x.ndim) for s, x in zip(sources.split(","), operands, strict=True)]
    every = [label for term in terms for label in term]
    dots = sorted({label for label in every if len(label) > 1}, key=lambda label: -int(label[1:]))
    if arrow:
        out = _labels(target, len(dots) + len(target.replace("...", "")))
    else:
        out = dots + sorted(x for x in set(every) - {*dots} if every.count(x) == 1)
    if any(len({*term}) < len(term) for term in terms):
        raise MissingRule("einsum along a diagonal")
    x, mine = operands[0], terms[0]
    for i, (y, theirs) in enumerate(zip(operands[1:], terms[1:], strict=True), 2):
        needed = {*out, *(label for term in terms[i:] for label in term)}
        x, mine = _contracted(x, mine, y, theirs, needed)
    x, mine = _without(x, mine, {*out})
    return x.permute(*(mine.index(label) for label in out))


def _labels(term: str, ndim: int) -> list[str]:
    """The labels of the axes; those under the dots are numbered from the last."""
    before, dots, after = term.partition("...")
    hidden = ndim - len(before) - len(after) if dots else 0
    return [*before, *(f".{i}" for i in reversed(range(hidden))), *after]


def _without(x: Any, labels: list[str], kept: set[str]) -> tuple[Any, list[str]]:
    """Sum over the axes that are not ``kept``."""
    axes = [i for i, label in enumerate(labels) if label not in kept]
    return (x.sum(axes) if axes else x), [label for label in labels if label in kept]


def _contracted(
    a: Any, of_a: list[str], b: Any, of_b: list[str], needed: set[str]
) -> tuple[Any, list[str]]:
    """The product of two operands, summed over what they share and nobody needs."""
    a, of_a = _without(a, of_a, needed | {*of_b})
    b, of_b = _without(b, of_b, needed | {*of_a})
    batch = [x for x in of_a if x in of_b and x in needed]
    summed = [x for x in of_a if x in of_b and x not in needed]
    left, right = ([x for x in labels if x not in {*batch, *summed}] for labels in (of_a, of_b))
    size: dict[str, int] = {}
    for labels, shape in ((of_a, a.shape), (of_b, b.shape)):
        for label, length in zip(labels, shape, strict=True):
            size[label] = max(length, size.get(label, 1))

    def arranged(x: Any, labels: list[str], rows: list[str], columns: list[str]) -> Any:
        order = batch + rows + columns
        x = x.permute(*(labels.index(label) for label in order))
        x = x.expand(*(size[label] for label in order))
        shape = [size[label] for label in batch]
        for group in (rows, columns):
            count = 1
            for label in group:
                count *= size[label]
            shape.append(count)
        return x.reshape(*shape)

    product = arranged(a, of_a, left, summed) @ arranged(b, of_b, summed, right)
    out = batch + left + right
    return product.reshape(*(size[label] for label in out)), out


# --- Small matrices -------------------------------------------------------------------------------


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

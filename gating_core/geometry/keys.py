"""Four fixed keys and values: the curvature of ungated attention has one sign, and the keys decide.

The surface is y(x) = sum_i p_i v_i over the query chart, x in R^2, with p = softmax(z) and
z_i = a_i . x + b_i: one head, no gate, n = 4 values v_i in R^D, keys a_i pulled back to the plane.

**Theorem.** If the values are affinely independent (D >= 3), K has one sign on the whole chart:
K > 0 if one key lies in the triangle of the other three, K < 0 if the four keys are in convex
position, K = 0 if three of them are collinear. Biases, values, D and the (constant) metric do not
change the sign.

*Proof.* A shift of x by t multiplies the homogeneous coordinates (e^{z_1} : ... : e^{z_4}) by
e^{a_i . t}. So the surface in the simplex is an orbit of a group of diagonal matrices. These are
projective maps that take the open simplex to itself; projective maps keep the sign of the second
fundamental form's determinant, so this sign is the same at all points. An affine image keeps it,
too: other values, another metric. The closed form below gives it at any point.

*Closed form.* With the affine dependency of the keys, sum_i c_i a_i = 0 and sum_i c_i = 0, the Gram
matrix G of e_i = v_i - v_4 (i = 1, 2, 3) in the metric, and n_i = c_4 / p_4 - c_i / p_i,

    K = -c_1 c_2 c_3 c_4 det G / ((p_1 p_2 p_3 p_4)^2 (n^T adj(G) n)^2).

The denominator never vanishes unless c = 0, that is all four keys are collinear: then the weights
trace a curve. With barycentric coordinates w of a_4 in a_1 a_2 a_3 (w_i = -c_i / c_4) this is
K = p_4^2 w_1 w_2 w_3 / ((p_1 p_2 p_3)^2 det G (m^T G^-1 m)^2), m_i = 1 + p_4 w_i / p_i.

**Corollary: a sink logit is a gate, and a fourth key.** Attention with the weights
e^{z_i} / (Z + e^s), Z = sum_j e^{z_j}, is ungated attention times the scalar gate
g = Z / (Z + e^s), and ungated attention with one more slot: key 0, bias s, value 0 (`with_sink`).
With three values that are linearly independent, K > 0 if the origin lies in the triangle of the
keys or in a vertex cone of it, K < 0 if it lies beyond one edge: for every s.

Exclusive attention, y - (y . u) u with a *fixed* unit vector u, is a linear image of y: three
values stay flat. With the unit vector of a token's own value, which moves with x, it curves.

References: gpt-oss model card, arXiv 2508.10925 (a learned sink logit for each head); Miller,
*Attention is off by one*, 2023 (s = 0); exclusive attention, arXiv 2603.09078; Lane, *A Treatise on
Projective Differential Geometry*, 1942 (asymptotic directions are projective invariants).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from gating_core.checks import check_points
from gating_core.geometry.curvature import Whitening
from gating_core.jets.bounded import Bounded, U
from gating_core.rational import exact_dimension

INSIDE, CONVEX, COLLINEAR, LINE = ARRANGEMENTS = (
    "one key lies in the triangle of the other three",
    "the four keys are in convex position",
    "three of the four keys are collinear",
    "all four keys are collinear",
)


@dataclass(frozen=True)
class KeySign:
    """The ``arrangement`` of four keys, one of `ARRANGEMENTS`, and the ``sign`` of K: 1, -1 or 0.

    ``sign`` is ``None`` where all keys are collinear: there the weights trace a curve, and there is
    no surface.
    """

    sign: int | None
    arrangement: str


def key_sign(keys: object) -> KeySign:
    """Decide the sign of K for four keys, in exact rational arithmetic.

    Args:
        keys: (4, 2), the keys pulled back to the plane, or any common positive multiple of them:
            numbers, fractions or a tensor of any floating-point type.

    Returns:
        The sign and the arrangement. It is the sign of K if the four values are affinely
        independent.

    Raises:
        ValueError: If the keys are not (4, 2) or not finite.

    Example:
        >>> key_sign([[0, 0], [4, 0], [0, 4], [1, 1]])
        KeySign(sign=1, arrangement='one key lies in the triangle of the other three')
        >>> key_sign([[0, 0], [1, 0], [0, 1], [1, 1]]).sign
        -1
    """
    signs = [(c > 0) - (c < 0) for c in _dependency(_fractions(keys))]
    if not any(signs):
        return KeySign(None, LINE)
    if 0 in signs:
        return KeySign(0, COLLINEAR)
    return KeySign(1, INSIDE) if sum(signs) else KeySign(-1, CONVEX)


@dataclass(frozen=True, eq=False)
class FourKeyCurvature:
    """K at N points by the closed form: ``gaussian`` and its bound ``gaussian_error``, (N,) each.

    ``sign`` is that of K on the whole plane, exact. K is in 1 / length^2.
    """

    gaussian: torch.Tensor
    gaussian_error: torch.Tensor
    sign: int


def four_key_curvature(
    keys: object, biases: object, values: object, points: object, covariance: object = None
) -> FourKeyCurvature:
    """Compute K of ungated attention over four slots by the closed form, with rounding bounds.

    All arguments count as exact, whatever their floating-point type. Values in one plane (always
    if D = 2) give K = 0, wherever there is a surface.

    Args:
        keys: (4, 2), the keys pulled back to the plane.
        biases: (4,), added to the logits.
        values: (4, D), D >= 2.
        points: (N, 2), of the query chart.
        covariance: The metric, as for `gating_core.geometry.curvature`.

    Returns:
        K with its bound; the bound is infinite where the values are too nearly dependent, or the
        logits too large, for double precision.

    Raises:
        ValueError: If a shape is wrong or a number is not finite, if all keys or all values are
            collinear (there is no surface), or for an unusable covariance.
    """
    where = check_points(torch.as_tensor(points))
    if where.shape[1] != 2:
        raise ValueError(f"points has shape {tuple(where.shape)}; it must be (N, 2)")
    a, b, v = _numbers("keys", keys), _numbers("biases", biases), _numbers("values", values)
    if b.shape != (4,):
        raise ValueError(f"biases has shape {tuple(b.shape)}; it must be (4,)")
    if v.ndim != 2 or len(v) != 4 or v.shape[1] < 2:
        raise ValueError(f"values has shape {tuple(v.shape)}; it must be (4, D) with D >= 2")
    sign, dimension = key_sign(keys), exact_dimension(v, 3)
    if sign.sign is None or dimension < 2:
        which = "keys" if sign.sign is None else "values"
        raise ValueError(f"the four {which} lie on one line; there is no surface to measure")
    whiten = None if covariance is None else Whitening(covariance, v.shape[1])
    if dimension == 2 or not sign.sign:
        zero = torch.zeros(len(where), dtype=torch.float64)
        return FourKeyCurvature(zero, zero, 0)
    # A power of two, so that powers of values neither overflow nor underflow.
    scale = 2.0 ** -max(-500, min(500, int(v.abs().max().log2())))
    gram = _gram(Bounded(v) * scale, whiten)
    adjugate, determinant = _adjugate(gram)
    c = _coefficients(keys)
    logits = Bounded(where) @ Bounded(a.mT) + Bounded(b)  # (N, 4)
    logits = logits - logits.value.amax(-1, keepdim=True)
    # c_i (p_1 p_2 p_3 p_4)^(1/2) / p_i: no product of small weights underflows.
    raised = (logits.sum(-1, keepdim=True) * 0.5 - logits).exp()
    ratios = c * raised / logits.exp().sum(-1, keepdim=True)
    n = ratios[:, 3:] - ratios[:, :3]
    form = ((n @ adjugate) * n).sum(-1)
    product = c[0] * c[1] * c[2] * c[3]
    gaussian = -(product * determinant) / form.square() * scale * scale
    return FourKeyCurvature(gaussian.value, gaussian.bound, sign.sign)


def _numbers(name: str, x: object) -> torch.Tensor:
    """``x`` in float64; ``ValueError`` unless all of it is finite."""
    numbers = torch.as_tensor(x, dtype=torch.float64)
    if not numbers.isfinite().all():
        raise ValueError(f"{name} contains NaN or infinite values; all must be finite")
    return numbers


def _fractions(keys: object) -> list[list[Fraction]]:
    """The keys without rounding; ``ValueError`` unless they are (4, 2) and finite."""
    rows: Any = keys.tolist() if hasattr(keys, "tolist") else keys
    try:
        exact = [[Fraction(x) for x in row] for row in rows]
    except (TypeError, ValueError, OverflowError):
        exact = []
    if [len(row) for row in exact] != [2] * 4:
        raise ValueError("keys must be four rows of two finite numbers")
    return exact


def _dependency(keys: list[list[Fraction]]) -> list[Fraction]:
    """The four c_i, up to a common factor.

    c_i is, with alternating sign, twice the oriented area of the triangle of the other three.
    """
    terms = []
    for i in range(4):
        first, *others = (key for j, key in enumerate(keys) if j != i)
        (x, y), (p, q) = ([u - o for u, o in zip(key, first, strict=True)] for key in others)
        terms.append((-1) ** i * (x * q - y * p))
    return terms


def _coefficients(keys: object) -> Bounded:
    """(4,): the c_i divided by the largest, each rounded once."""
    exact = _dependency(_fractions(keys))
    largest = max(map(abs, exact))
    c = torch.tensor([float(x / largest) for x in exact], dtype=torch.float64)
    return Bounded(c, c.abs() * U)


def _gram(values: Bounded, whiten: Whitening | None) -> Bounded:
    """(3, 3): inner products of v_i - v_4 in the metric."""
    edges = values[:3] - values[3:]
    if whiten is not None:
        edges = edges @ whiten.matrix
        size = edges.upper.square().sum(-1, keepdim=True).sqrt()
        edges = Bounded(edges.value, edges.bound + whiten.drift * size)
    return edges @ edges.transpose(0, 1)


def _adjugate(g: Bounded) -> tuple[Bounded, Bounded]:
    """The adjugate (3, 3) and the determinant () of a symmetric matrix."""
    after, last = [1, 2, 0], [2, 0, 1]
    minors = g[after][:, after] * g[last][:, last] - g[after][:, last] * g[last][:, after]
    return minors, (g[0] * minors[0]).sum(-1)


# --- Proofs ---------------------------------------------------------------------------------------

Slots = tuple[np.ndarray, np.ndarray]  # keys (4, 2) and values (4, D), exact, each up to a factor


@runtime_checkable
class FourSlots(Protocol):
    """A function that is ungated attention over four slots, on some of its surfaces at least."""

    def four_slots(self) -> Sequence[Slots | None]:
        """Return, for each surface, keys pulled back to the plane and values; or ``None``."""


@dataclass(frozen=True)
class OneSign:
    """K has this ``sign`` on the whole chart, 1, -1 or 0; ``reason`` is a clause that says why."""

    sign: int
    reason: str


def sign_proofs(
    function: Callable[[torch.Tensor], torch.Tensor], count: int
) -> tuple[OneSign | None, ...]:
    """Return for each of the ``count`` surfaces of ``function`` what the theorem says, or ``None``.

    A ``function`` that the theorem applies to has a method ``four_slots``, as `FourSlots`.
    """
    slots = function.four_slots() if isinstance(function, FourSlots) else [None] * count
    return tuple(None if each is None else _one_sign(*each) for each in slots)


def _one_sign(keys: np.ndarray, values: np.ndarray) -> OneSign | None:
    found = key_sign(keys)
    if found.sign is None or exact_dimension(values, 3) < 3:
        return None
    sink = " (the sink's key is 0)" * (not keys[-1].any() and not values[-1].any())
    return OneSign(found.sign, found.arrangement + sink)


# --- Sinks ----------------------------------------------------------------------------------------


def with_sink(
    keys: object, biases: object, values: object, logit: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Add the slot that a sink ``logit`` s is: key 0, bias s, value 0.

    Takes and returns keys (n, 2), biases (n,) and values (n, D), with n + 1 in place of n.
    """
    a, b, v = _numbers("keys", keys), _numbers("biases", biases), _numbers("values", values)
    return (
        torch.cat([a, torch.zeros_like(a[:1])]),
        torch.cat([b, torch.tensor([logit], dtype=torch.float64)]),
        torch.cat([v, torch.zeros_like(v[:1])]),
    )

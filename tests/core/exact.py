"""Derivatives and curvature at 200 digits: a second implementation that cannot share our rounding.

Functions are written once, over a namespace ``m`` (mpmath here, torch in the tests): they take
coordinates and return a list of D numbers. Derivatives are central differences with a step of
1e-60, good to 1e-75 or so: saturated models have derivatives of 1e-44 and less.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath

DIGITS = 200
STEP = mpmath.mpf(10) ** -60
OWN_ERROR = mpmath.mpf(10) ** -70  # what the differences themselves may be off


def jet(function: Callable, u: float, v: float) -> list[list]:
    """Value, u, v, uu, uv, vv of ``function(mpmath, u, v)``, each a list of D numbers."""
    with mpmath.workdps(DIGITS):
        h = STEP

        def at(i: int, j: int) -> list:
            return function(mpmath, mpmath.mpf(u) + i * h, mpmath.mpf(v) + j * h)

        c, e, w, n, s = at(0, 0), at(1, 0), at(-1, 0), at(0, 1), at(0, -1)
        ne, nw, se, sw = at(1, 1), at(-1, 1), at(1, -1), at(-1, -1)
        rows = range(len(c))
        return [
            c,
            [(e[i] - w[i]) / (2 * h) for i in rows],
            [(n[i] - s[i]) / (2 * h) for i in rows],
            [(e[i] - 2 * c[i] + w[i]) / h**2 for i in rows],
            [(ne[i] - nw[i] - se[i] + sw[i]) / (4 * h**2) for i in rows],
            [(n[i] - 2 * c[i] + s[i]) / h**2 for i in rows],
        ]


def geometry(coefficients: list[list]) -> dict[str, mpmath.mpf]:
    """K, |H|^2, area element, and for D = 3 the sum of principal curvatures, from a jet."""
    with mpmath.workdps(DIGITS):
        _, a, b, uu, uv, vv = coefficients
        e, f, g = dot(a, a), dot(a, b), dot(b, b)
        det = e * g - f * f

        def normal(y: list) -> list:
            p = (g * dot(y, a) - f * dot(y, b)) / det
            q = (e * dot(y, b) - f * dot(y, a)) / det
            return [y[i] - p * a[i] - q * b[i] for i in range(len(y))]

        n_uu, n_uv, n_vv = normal(uu), normal(uv), normal(vv)
        mean = [(g * n_uu[i] - 2 * f * n_uv[i] + e * n_vv[i]) / (2 * det) for i in range(len(a))]
        return {
            "gaussian": (dot(n_uu, n_vv) - dot(n_uv, n_uv)) / det,
            "mean": mean,
            "area": mpmath.sqrt(det),
        }


def dot(a: list, b: list) -> mpmath.mpf:
    return mpmath.fsum(x * y for x, y in zip(a, b, strict=True))


def attention(model, u: float, v: float) -> list:
    """The first member of a memory model without norm, one head, straight from the definition.

    Weights are the floats that the model holds; Python numbers such as d ** -0.5 count as exact.
    """

    def numbers(tensor) -> mpmath.matrix:
        return mpmath.matrix(tensor[0].tolist())

    x = mpmath.matrix([[u, v]])
    h = x * numbers(model.input_map) + numbers(model.input_bias).T
    for layer in model.blocks:
        z = h * numbers(layer.query) * numbers(layer.keys).T * mpmath.mpf(
            model.config.model_dim**-0.5
        ) + numbers(layer.bias)
        top = max(z)
        powers = [mpmath.exp(value - top) for value in z]
        total = mpmath.fsum(powers)
        mixed = mpmath.matrix([[p / total for p in powers]]) * numbers(layer.values)
        if layer.gate is not None:
            gate = h * numbers(layer.gate.weight) + numbers(layer.gate.bias).T
            mixed = mpmath.matrix(
                [[mixed[0, i] / (1 + mpmath.exp(-gate[0, i])) for i in range(gate.cols)]]
            )
        h = mixed
    return list(h)

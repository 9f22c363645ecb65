"""Ungated attention as a surface: fixed keys and values, and layers that curve without a gate.

K of fixed keys and values is computed by jets, beside the closed form. The flatness theorem is
about all attention weights with fixed values, and one layer. On the query chart, whose coordinates
are the input plane, it leaves three things open: `THEOREM_GAPS`. Every counterexample differs in
one part from a model that is flat by the theorem.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import build_attention
from gating_core.checks import check_choice, check_integer
from gating_core.geometry.curvature import curvature
from gating_core.geometry.flatness import Span, exact_dimension
from gating_core.geometry.grid import Grid
from gating_core.geometry.keys import four_key_curvature, key_sign
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult, measure_surface
from gating_core.jets.second_order import second_order_jet


class KeySurface:
    """The map y(x) = sum_i p_i v_i of the plane, p = softmax(keys . x + biases).

    Args:
        keys: (n, 2), pulled back to the plane.
        biases: (n,), added to the logits.
        values: (n, D).
    """

    pure = True  # it changes nothing while it computes

    def __init__(self, keys: object, biases: object, values: object) -> None:
        self.keys, self.biases, self.values = (
            torch.as_tensor(x, dtype=torch.float64) for x in (keys, biases, values)
        )

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map points (N, 2) to outputs (N, D)."""
        return self.weights(x) @ self.values

    def weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the attention weights p (N, n) at points (N, 2)."""
        return torch.softmax(x @ self.keys.mT + self.biases, -1)

    spanned_by = "fixed values"

    def spans(self) -> Sequence[Span]:
        """Return the vectors that outputs are averages of, for proofs of flatness."""
        return [(self.values,)]


@dataclass(frozen=True)
class KeysAtPoint:
    """K of four keys at one point: the parts of the closed form, K by it, and K by jets.

    ``sign`` is that of K on the whole plane; ``None`` if the keys or the values lie on one line:
    then there is no surface, and every K is NaN. The parts are NaN where keys 1 to 3 are collinear
    or the values lie in one plane.
    """

    weights: tuple[float, ...]  # p, (4,)
    barycentric: tuple[float, ...]  # w, (3,): of key 4 in the triangle of keys 1 to 3
    m: tuple[float, ...]  # 1 + p_4 w_i / p_i, (3,)
    determinant: float  # of the Gram matrix G of v_i - v_4
    quadratic: float  # m^T G^-1 m
    sign: int | None
    closed: float
    closed_error: float
    jet: float
    jet_error: float


def keys_at(keys: object, biases: object, values: object, point: object) -> KeysAtPoint:
    """Evaluate the closed form for four keys at ``point`` (2,), part by part, and K by jets.

    Arguments as in `four_key_curvature`. Raises ``ValueError`` as it does, except where there is no
    surface.
    """
    surface = KeySurface(keys, biases, values)
    where = torch.as_tensor(point, dtype=torch.float64)[None]
    p = surface.weights(where)[0]
    edges = surface.values[:3] - surface.values[3]
    gram = edges @ edges.mT
    w = barycentric_coordinates(surface.keys)
    solved = torch.full((3,), torch.nan, dtype=torch.float64)
    m = 1 + p[3] * w / p[:3]
    if torch.linalg.det(gram) != 0:
        solved = torch.linalg.solve(gram, m)
    sign, gaussian = None, [torch.nan] * 4
    if key_sign(surface.keys).sign is not None and exact_dimension(surface.values, 3) > 1:
        closed = four_key_curvature(keys, biases, values, where)
        jet = curvature(second_order_jet(surface, where, "rigorous"))
        sign = closed.sign
        gaussian = [float(x) for by in (closed, jet) for x in (by.gaussian, by.gaussian_error)]
    determinant, quadratic = float(torch.linalg.det(gram)), float(m @ solved)
    weights, barycentric, ratios = (tuple(x.tolist()) for x in (p, w, m))
    return KeysAtPoint(weights, barycentric, ratios, determinant, quadratic, sign, *gaussian)


def barycentric_coordinates(keys: object) -> torch.Tensor:
    """Return coordinates (3,) of key 4 in the triangle of keys 1 to 3; NaN if it is a line.

    Args:
        keys: (4, 2).
    """
    rows = torch.as_tensor(keys, dtype=torch.float64)
    raised = torch.cat([rows, torch.ones(4, 1, dtype=torch.float64)], 1)
    if torch.linalg.det(raised[:3]) == 0:
        return torch.full((3,), torch.nan, dtype=torch.float64)
    return torch.linalg.solve(raised[:3].mT, raised[3])


def measure_keys(keys: object, biases: object, values: object, grid: Grid) -> SurfaceResult:
    """Measure the surface of any number of keys on ``grid``; arguments as in `KeySurface`."""
    return measure_surface(KeySurface(keys, biases, values), grid)


def key_fields(keys: object, biases: object, values: object, grid: Grid) -> dict[str, np.ndarray]:
    """Return |H| and the attention weights on ``grid`` by name, (R, C) each; see `measure_keys`."""
    surface = KeySurface(keys, biases, values)
    (mean,) = MeasuredSurface(surface, grid, bound="estimate").mean_norm
    weights = surface.weights(grid.points).numpy().T
    named = {f"weight {i}": weight.reshape(mean.shape) for i, weight in enumerate(weights, 1)}
    return {"|H|": mean} | named


def random_keys(count: int, seed: int) -> KeySurface:
    """Draw ``count`` keys, 2 to 64, biases and values in D = ``count`` - 1, or D = 3 for fewer.

    All are standard normal, the keys twice as large; the values are affinely independent.
    """
    check_integer("count", count, 2, 64)
    generator = torch.Generator().manual_seed(seed)
    keys, biases, values = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((count, 2), (count,), (count, max(3, count - 1)))
    )
    return KeySurface(2 * keys, biases, values)


# --- Counterexamples ------------------------------------------------------------------------------


THEOREM_GAPS = {
    "slice": "A surface inside a flat space can be curved.",
    "normalisation": "A gate is not the only way to curve.",
    "values": "Input-dependent values are not covered.",
}
PLAIN = AttentionConfig()  # one layer, one head, three fixed values, D = 3


@dataclass(frozen=True)
class Counterexample:
    """An ungated model that curves, and its twin that is flat; both on the query chart.

    ``point`` is a key of `THEOREM_GAPS`; ``why`` one line; ``exact`` is K, if it is
    known and constant.
    """

    title: str
    point: str
    config: AttentionConfig
    twin: AttentionConfig
    why: str
    exact: float | None = None


COUNTEREXAMPLES: dict[str, Counterexample] = {
    "six values": Counterexample(
        "six values instead of three",
        "slice",
        replace(PLAIN, value_count=6),
        PLAIN,
        "All averages of six values fill a piece of space; two inputs cut a curved sheet from it.",
    ),
    "two heads": Counterexample(
        "two heads instead of one",
        "slice",
        replace(PLAIN, model_dim=6, heads=2),
        replace(PLAIN, model_dim=6),
        "Two flat triangles make a flat space of four dimensions; the sheet in it curves.",
    ),
    "residual": Counterexample(
        "a residual connection",
        "slice",
        replace(PLAIN, residual=True),
        PLAIN,
        "The state is added: outputs are no averages of the values alone.",
    ),
    "rms norm": Counterexample(
        "RMSNorm after attention",
        "normalisation",
        replace(PLAIN, norm="post"),
        PLAIN,
        "Normalisation puts the plane of three values on a sphere: K = 1/D.",
        1 / PLAIN.model_dim,
    ),
    "tokens": Counterexample(
        "values of tokens",
        "values",
        replace(PLAIN, source="tokens"),
        PLAIN,
        "In self-attention the values are functions of the input, as the weights are.",
    ),
}


@dataclass(frozen=True, eq=False)
class MeasuredCounterexample:
    """A counterexample and its twin, measured (T = 1); ``exact`` is K where it is known."""

    surface: SurfaceResult
    twin: SurfaceResult
    exact: float | None


def measure_counterexample(name: str, seed: int, grid: Grid) -> MeasuredCounterexample:
    """Build both models of the counterexample ``name`` from ``seed`` and measure them."""
    check_choice("counterexample", name, COUNTEREXAMPLES)
    check_integer("seed", seed, 0, 2**31 - 1)
    record = COUNTEREXAMPLES[name]
    surface, twin = (
        measure_surface(build_attention(config, (seed,)), grid)
        for config in (record.config, record.twin)
    )
    return MeasuredCounterexample(surface, twin, record.exact)

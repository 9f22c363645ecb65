"""Measurements of the heads of a model that reads one text, each beside its random twins.

Shapes: L layers, H heads, S twins of a head, one for each seed; T tokens, n keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gating_core.checkpoints import (
    DrawnGate,
    HeadMap,
    Layer,
    Plane,
    Tokens,
    dealt_twin,
    head_map,
    measure_head,
    offset_twin,
    principal_plane,
    sharp_twin,
    shuffled_order,
    token_plane,
    weight_plane,
)
from gating_core.checks import check_choice
from gating_core.geometry import Integral, MeasuredSurface, Verdict, square_grid
from gating_core.training import mean_interval

GRID_SIZE = 31  # points along each side, of a head and of its twins
COMPONENTS = 3  # of the outputs: what can be seen
TWIN_SEEDS = tuple(range(300, 308))  # chosen before any total of theirs was seen
LIVE_TWIN_SEEDS = TWIN_SEEDS[:3]  # where a visitor waits
DIAL = tuple(round(0.1 * k, 1) for k in range(11))  # λ of one head
Arrays = dict[str, np.ndarray]
TWINS = ("sharp", "offset", "dealt", "shuffled")  # see `measure_one`
PLANES = PRINCIPAL, THREE_TOKENS, WEIGHTS = ("principal plane", "three tokens", "attention weights")
Three = tuple[int, int, int]  # tokens
FIRST_THREE: Three = (14, 36, 45)  # ordinary tokens of each bundled text


@dataclass(frozen=True, eq=False)
class Reading:
    """A layer that reads a text.

    ``states`` (T, D) are what its attention reads, ``shuffled`` (T, D) the same of the tokens in
    their `shuffled_order`, ``None`` where that is not known. Only ``keys`` are attended to.
    """

    layer: Layer
    tokens: Tokens
    states: Tensor
    keys: tuple[int, ...]
    shuffled: Tensor | None = None


def keys_of(tokens: Tokens, special: bool) -> tuple[int, ...]:
    """Return the tokens among the keys: all of them, or all that are not special."""
    return tuple(i for i, is_special in enumerate(tokens.special) if special or not is_special)


def plane_of(states: Tensor, kind: str, three: Three | None) -> Plane:
    """Return one of `PLANES` of ``states`` (T, D); all but the principal plane need ``three``.

    ``ValueError`` for states that span no plane.
    """
    check_choice("kind", kind, PLANES)
    if kind == PRINCIPAL:
        return principal_plane(states)
    if three is None:
        raise ValueError("three tokens must be named")
    return (token_plane if kind == THREE_TOKENS else weight_plane)(states, *three)


def measure_one(
    reading: Reading,
    head: int,
    kind: str = PRINCIPAL,
    three: Three | None = None,
    seeds: Sequence[int] = LIVE_TWIN_SEEDS,
) -> Arrays:
    """Measure a head on a plane, and the totals and spans (S,) of its `TWINS`.

    Of the head itself also ``error``, ``entropy``, and the shares ``negative`` and ``proved``, as
    of `measure_head`. No bounds are computed of twins.
    ``sharp`` is `sharp_twin` and ``offset`` is `offset_twin`, one for each seed; on an
    attention-weight chart there are none. ``dealt`` is `dealt_twin`, one for each seed.
    ``shuffled`` is the head on the text in another order, if that is known; its plane is that of
    the same tokens.
    """
    layer, states, keys, grid = reading.layer, reading.states, reading.keys, square_grid(GRID_SIZE)
    plane = plane_of(states, kind, three)
    own = head_map(layer, states, head, plane, keys=keys)
    found = measure_head(own, grid)
    own_measures: dict[str, Any] = {
        "total": found.total.value, "error": found.total.error, "span": found.span,
        "entropy": found.entropy, "negative": found.negative_share, "proved": found.proved_share,
    }  # fmt: skip
    result = {name: np.array(float(x)) for name, x in own_measures.items()}
    draw = f"{layer.number}.{head}"  # heads of one seed are drawn independently
    twins = {"dealt": [dealt_twin(own, seed, draw) for seed in seeds]}
    if plane.weights is None:
        twins["sharp"] = [
            sharp_twin(layer, states, head, plane, seed, points=grid.points, keys=keys)
            for seed in seeds
        ]
        twins["offset"] = [offset_twin(own, twin, points=grid.points) for twin in twins["sharp"]]
    if reading.shuffled is not None:
        order = shuffled_order(reading.tokens)
        moved = three and (order.index(three[0]), order.index(three[1]), order.index(three[2]))
        other = plane_of(reading.shuffled, kind, moved)
        twins["shuffled"] = [head_map(layer, reading.shuffled, head, other, keys=keys)]
    for name, maps in twins.items():
        measures = [measure_head(each, grid, "estimate") for each in maps]
        result[name] = np.array([float(each.total.value) for each in measures])
        result[f"{name}_span"] = np.array([each.span for each in measures])
    return result


@dataclass(frozen=True, eq=False)
class HeadChart:
    """One head on one plane as it is drawn: scores at its origin and the slopes along u and v.

    On an attention-weight chart weights are ``prescribed``: ``scores`` are the weights themselves.
    ``flat``: K = 0 is proved, for outputs are averages of three values.
    """

    tokens: tuple[int, ...]  # (n,) of the keys
    scores: np.ndarray  # (3, n)
    values: np.ndarray  # (n, 3)
    states: np.ndarray  # (T, 2)
    prescribed: bool
    flat: bool


def chart_head(head: HeadMap, plane: Plane, states: Tensor) -> HeadChart:
    """Return what is drawn of a ``head`` on a ``plane``; ``states`` (T, D): of the text."""
    scores = head.logits if head.prescribed is None else head.prescribed
    assert scores is not None
    return HeadChart(
        tokens=tuple(head.tokens.tolist()),
        scores=scores.float().numpy(),
        values=principal_values(head).float().numpy(),
        states=plane.project(states).float().numpy(),
        prescribed=head.prescribed is not None,
        flat=head.prescribed is not None and not head.gated,
    )


def principal_values(map: HeadMap) -> Tensor:
    """Return the values (n, 3) in the principal components of the outputs over the chart.

    A convex combination of them is the output there; components that outputs lack are 0.
    """
    outputs = map.with_strength(0.0)(square_grid(GRID_SIZE).points)
    mean = outputs.mean(0)
    _, _, axes = torch.linalg.svd(outputs - mean, full_matrices=False)
    found = (map.values - mean) @ axes[:COMPONENTS].T
    return torch.nn.functional.pad(found, (0, COMPONENTS - found.shape[1]))


def open_head(
    reading: Reading, head: int, kind: str, three: Three | None
) -> tuple[HeadChart, Arrays]:
    """Return what is drawn of a head on one of `PLANES`, and what `measure_one` finds.

    Of the head itself (1, 1), of twins (S, 1, 1): arrays as of all heads in `shipped_measures`.

    ``ValueError`` for tokens whose states span no plane, and for the weights of a head with a sink.
    """
    plane = plane_of(reading.states, kind, three)
    own = head_map(reading.layer, reading.states, head, plane, keys=reading.keys)
    return (
        chart_head(own, plane, reading.states),
        {name: x[..., None, None] for name, x in measure_one(reading, head, kind, three).items()},
    )


@dataclass(frozen=True)
class Dial:
    """Totals of one head by λ on a query plane and on an attention-weight chart, with bounds."""

    strengths: tuple[float, ...]
    query: tuple[float, ...]
    query_errors: tuple[float, ...]
    weight: tuple[float, ...]
    weight_errors: tuple[float, ...]
    flat: bool  # ungated, on the attention-weight chart: |K| is within its bound at all points


def dial_head(
    layer: Layer,
    states: Tensor,
    head: int,
    keys: Sequence[int],
    three: tuple[int, int, int],
    gate: DrawnGate | None,
    strengths: Sequence[float] = DIAL,
) -> Dial:
    """Measure a head with a ``gate``, its own by default, at several ``strengths``.

    ``three`` tokens span the attention-weight chart.
    """
    grid = square_grid(GRID_SIZE)
    planes = principal_plane(states), weight_plane(states, *three)
    maps = [
        head_map(layer, states, head, plane, keys=seen, gate=gate)
        for plane, seen in zip(planes, (keys, three), strict=True)
    ]
    query, weight = (
        [measure_head(each.with_strength(x), grid) for x in strengths] for each in maps
    )
    columns = [
        tuple(float(getattr(x.total, part)) for x in found)
        for found in (query, weight)
        for part in ("value", "error")
    ]
    of_query, query_errors, of_weight, weight_errors = columns
    flat = measure_head(maps[1].with_strength(0.0), grid).proved_share == 0
    return Dial(tuple(strengths), of_query, query_errors, of_weight, weight_errors, flat)


# --- Surfaces -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DrawnSurface:
    """The measured surface of a head or of another module; R x R grid points.

    ``drawn`` (R, R, 3) are its first three principal components, which hold the ``share`` of the
    outputs' variance. ``known`` is K times the surface's area where its sign is known, and 0 where
    it is 0; ``signed`` where it is not 0; NaN elsewhere. The mean of ``abs(known)`` over the area
    is the ``total``, whatever the surface's size.
    """

    drawn: np.ndarray
    share: float
    known: np.ndarray
    signed: np.ndarray
    error: np.ndarray
    verdict: Verdict
    total: Integral
    bending: Integral


@dataclass(frozen=True, eq=False)
class WithTwin:
    """A surface and, of a module that has one attention, that of its twin."""

    own: DrawnSurface
    twin: DrawnSurface | None
    notes: tuple[str, ...]


def drawn_surface(function: Callable, bound: str) -> tuple[DrawnSurface, tuple[str, ...]]:
    """Measure a ``function`` of the chart with this ``bound``; return the surface and notes."""
    grid = square_grid(GRID_SIZE)
    measured = MeasuredSurface(function, grid, bound=bound)
    surface = measured.surface
    area = float(np.nansum(surface.area_element[0] * grid.weights.numpy()))
    values = surface.values[0].reshape(GRID_SIZE**2, -1)
    centred = values - values.mean(0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    drawn = centred @ axes[:COMPONENTS].T
    drawn = np.pad(drawn, [(0, 0), (0, COMPONENTS - drawn.shape[1])])
    total = float((sizes**2).sum())
    found = DrawnSurface(
        drawn.reshape(GRID_SIZE, GRID_SIZE, COMPONENTS),
        float((sizes[:COMPONENTS] ** 2).sum()) / total if total else 1.0,
        area * surface.known[0],
        area * surface.signed[0],
        area * surface.known_error[0],
        surface.verdicts[0],
        measured.total,
        measured.bending,
    )
    return found, surface.notes


def beside_twin(reading: Reading, head: int, seed: int) -> WithTwin:
    """Return the surface of a head on the principal plane beside that of its `sharp_twin`."""
    layer, states, keys = reading.layer, reading.states, reading.keys
    plane, points = principal_plane(states), square_grid(GRID_SIZE).points
    own, notes = drawn_surface(head_map(layer, states, head, plane, keys=keys), "rigorous")
    twin = sharp_twin(layer, states, head, plane, seed, points=points, keys=keys)
    return WithTwin(own, drawn_surface(twin, "estimate")[0], notes)


# --- Comparisons ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios with its 95 % interval: Student's t of the logarithms.

    ``low`` and ``high`` are NaN for a single ratio.
    """

    value: float
    low: float
    high: float


def geometric_mean(ratios: np.ndarray) -> Ratio:
    """Return the mean of independent ``ratios`` (N,), N > 0, all of them positive."""
    logs = np.log(np.asarray(ratios, dtype=float))
    width = mean_interval(logs).half_width if len(logs) > 1 else np.nan
    value, low, high = np.exp(logs.mean() + np.array([0.0, -width, width])).tolist()
    return Ratio(value, low, high)


@dataclass(frozen=True, eq=False)
class TwinRatio:
    """Total curvature of twins over that of their heads, a geometric mean over heads and seeds.

    Attributes:
        mean: Every layer counts alike, and in it every head and every seed. Heads of one model are
            no independent sample, but as many clusters as there are layers: the interval is that of
            the layers' means.
        layers: (L,), the mean of each layer; NaN where none of its heads is counted.
        seeds: (S,), the mean of each seed.
        heads: How many heads are counted: those with a total beyond its error, and no twin with a
            total of 0.
        larger: How many of them have a larger total than the geometric mean of their twins.
    """

    mean: Ratio
    layers: np.ndarray
    seeds: np.ndarray
    heads: int
    larger: int


def twin_ratio(found: Mapping[str, np.ndarray], twin: str) -> TwinRatio | None:
    """Compare the totals of all heads with those of a ``twin``; ``None`` if no head is counted.

    Args:
        found: Arrays as of `shipped_measures`: ``total`` and ``error`` (L, H), twins (S, L, H).
        twin: One of `TWINS`.
    """
    total, twins = found["total"].astype(float), found[twin].astype(float)
    counted = (total > found["error"]) & (twins > 0).all(0)
    if not counted.any():
        return None
    logs = np.log(np.where(counted, twins, 1.0) / np.where(counted, total, 1.0))  # 0: not counted
    kept = counted.any(-1)
    by_layer = logs[:, kept].sum(-1) / counted[kept].sum(-1)  # (S, layers with heads)
    layers = np.full(len(total), np.nan)
    layers[kept] = np.exp(by_layer.mean(0))
    return TwinRatio(
        geometric_mean(layers[kept]),
        layers,
        np.exp(by_layer.mean(-1)),
        int(counted.sum()),
        int((logs.mean(0)[counted] < 0).sum()),
    )


def entropy_share(found: Mapping[str, np.ndarray]) -> float:
    """Return the share of the variance of log ∫|K| dA over heads that their mean entropy explains.

    R² of a straight line through the heads with a total beyond its error: the squared correlation.
    NaN for fewer than three of them, or where all entropies or totals are equal.
    """
    counted = found["total"] > found["error"]
    entropy, total = (found[name][counted].astype(float) for name in ("entropy", "total"))
    if len(total) < 3 or not np.ptp(entropy) or not np.ptp(total):
        return np.nan
    return float(np.corrcoef(entropy, np.log(total))[0, 1] ** 2)

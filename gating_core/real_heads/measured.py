"""Measurements of all heads of a model that reads one text, each beside its random twins.

Shapes: L layers, H heads, S twins of a head, T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    attend,
    dealt_twin,
    head_map,
    measure_head,
    measure_text,
    offset_twin,
    principal_plane,
    sharp_twin,
    shuffled_order,
    sublayer_map,
    token_plane,
    weight_plane,
)
from gating_core.checks import check_choice
from gating_core.efficient import CERTIFICATES, smallest_k
from gating_core.geometry import Grid, MeasuredSurface, square_grid, total_absolute_curvature
from gating_core.real_heads.charts import HeadChart, chart_head

GRID_SIZE = 31  # points along each side, of a head and of its twins
FINE_SIZE = 61  # of the grid that shows how much the first one misses
TWIN_SEEDS = tuple(range(300, 308))  # chosen before any total of theirs was seen
LIVE_TWIN_SEEDS = TWIN_SEEDS[:3]  # where a visitor waits
EPSILONS = (0.01, 0.05)  # budgets of the tail mass
EVERY = 3  # heads among which a gate is drawn
STRENGTHS = (0.0, 0.5, 1.0)  # λ
WEIGHT_STRENGTHS = (0.0, 0.25, 1.0)
DIAL = tuple(round(0.1 * k, 1) for k in range(11))  # λ of one head
SPREADS = (1.0, 3.0)  # standard deviations of a drawn gate's logits
PARTS = ("heads", "residual", "norm", "norm alone")  # of a sublayer
NORM_LAYERS = (0, 2, 5)
SMALL_SIZE = 21  # points along each side, where many heads are measured at once
SUBLAYER_SIZE = 15  # where all channels of a layer are
Arrays = dict[str, np.ndarray]
HEAD_MEASURES = ("total", "error", "span", "entropy", "negative", "proved")
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
    size: int = GRID_SIZE,
) -> dict[str, list[float]]:
    """Measure a head on a plane: `HEAD_MEASURES`, and the totals and spans of its `TWINS`.

    No bounds are computed of twins.
    ``sharp`` is `sharp_twin` and ``offset`` is `offset_twin`, one for each seed; on an
    attention-weight chart there are none. ``dealt`` is `dealt_twin`, one for each seed.
    ``shuffled`` is the head on the text in another order, if that is known; its plane is that of
    the same tokens.
    """
    layer, states, keys, grid = reading.layer, reading.states, reading.keys, square_grid(size)
    plane = plane_of(states, kind, three)
    own = head_map(layer, states, head, plane, keys=keys)
    found = measure_head(own, grid)
    values: tuple[Any, ...] = (
        found.total.value,
        found.total.error,
        found.span,
        found.entropy,
        found.negative_share,
        found.proved_share,
    )
    result = {name: [float(x)] for name, x in zip(HEAD_MEASURES, values, strict=True)}
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
        result[name] = [float(each.total.value) for each in measures]
        result[f"{name}_span"] = [each.span for each in measures]
    return result


def open_head(
    reading: Reading, head: int, kind: str, three: Three | None
) -> tuple[HeadChart, Arrays]:
    """Return what is drawn of a head on one of `PLANES`, and its measures as `measure_heads`.

    ``ValueError`` for tokens whose states span no plane, and for the weights of a head with a sink.
    """
    plane = plane_of(reading.states, kind, three)
    own = head_map(reading.layer, reading.states, head, plane, keys=reading.keys)
    return (
        chart_head(own, plane, reading.states),
        stacked([[measure_one(reading, head, kind, three)]]),
    )


def measure_heads(
    readings: Sequence[Reading], kind: str = PRINCIPAL, three: Three | None = None
) -> Arrays:
    """Measure all heads as `measure_one` does, with twins of all `TWIN_SEEDS`.

    `HEAD_MEASURES` are (L, H), those of twins (S, L, H).
    """
    rows = [
        [measure_one(reading, head, kind, three, TWIN_SEEDS) for head in range(reading.layer.heads)]
        for reading in readings
    ]
    return stacked(rows)


def fine_totals(readings: Sequence[Reading]) -> Arrays:
    """Measure totals on a grid of `FINE_SIZE`: ``fine`` and ``fine_error`` (L, H)."""
    grid = square_grid(FINE_SIZE)
    totals = [
        [
            measure_head(
                head_map(x.layer, x.states, head, principal_plane(x.states), keys=x.keys), grid
            ).total
            for head in range(x.layer.heads)
        ]
        for x in readings
    ]
    return {
        name: np.array([[float(getattr(total, part)) for total in row] for row in totals])
        for name, part in (("fine", "value"), ("fine_error", "error"))
    }


def stacked(rows: Sequence[Sequence[dict[str, list[float]]]]) -> Arrays:
    """Return the measures of heads, row by row, as arrays: (L, H), of twins (S, L, H)."""
    arrays = {
        name: np.moveaxis(np.array([[x[name] for x in row] for row in rows]), -1, 0)
        for name in rows[0][0]
    }
    of_twins = {*TWINS, *(f"{name}_span" for name in TWINS)}
    return {name: array if name in of_twins else array[0] for name, array in arrays.items()}


def measure_keys(layers: Sequence[Layer], states: Sequence[Tensor], tokens: Tokens) -> Arrays:
    """Measure what the tokens of a text attend to, by head: (L, H) each.

    ``sink`` and ``last`` are the shares of the attention that the text's own tokens, those that are
    not special, give to the first and to the last token: the mean over them. ``length`` is the
    length of the first token's value over the median of the text's own tokens'. Every token is a
    query of the rest: ``needed`` and ``gaussian`` (E, L, H) count keys for each of `EPSILONS`, the
    mean over queries; ``fires`` (C, E, L, H) is the share of queries for which a certificate keeps
    at most half of the keys.
    """
    own = ~torch.tensor(tokens.special)
    rows: list[dict[str, Tensor]] = []
    for layer, read in zip(layers, states, strict=True):
        text = measure_text(layer, read, tokens.special, epsilons=EPSILONS)
        reading = attend(layer, read)
        half = reading.scores.shape[-1] // 2
        fires = [
            [
                (smallest_k(certificate.curve(reading.scores), epsilon) <= half).double().mean(-1)
                for epsilon in EPSILONS
            ]
            for certificate in CERTIFICATES.values()
        ]
        rows.append({
            "text_entropy": text.entropy, "sink": text.sink_share, "length": text.value_ratio,
            "sigma": text.sigma, "last": reading.weights[:, own, -1].mean(-1),
            "needed": torch.stack([text.needed[epsilon].double() for epsilon in EPSILONS]),
            "gaussian": torch.stack([text.gaussian[epsilon].double() for epsilon in EPSILONS]),
            "fires": torch.stack([torch.stack(each) for each in fires]),
        })  # fmt: skip
    return {name: np.stack([row[name].numpy() for row in rows], -2) for name in rows[0]}


def dial_gates(layers: Sequence[Layer], states: Sequence[Tensor], tokens: Tokens) -> Arrays:
    """Measure totals of some heads with gates that are drawn.

    ``query`` (2, P, 3, N): on query planes, gates per channel and per head, `SPREADS`, `STRENGTHS`,
    N heads. ``weight`` (3, N): on attention-weight charts, per channel, `WEIGHT_STRENGTHS`;
    ``flat`` (3, N) is the share of points at which |K| is within its bound.
    """
    grid = square_grid(SMALL_SIZE)
    query, weight, flat = [], [], []
    words = [i for i, special in enumerate(tokens.special) if not special]
    for layer, read in zip(layers, states, strict=True):
        plane = principal_plane(read)
        for head in range(0, layer.heads, EVERY):
            seed = 100 * layer.number + head
            gates = [
                [DrawnGate(per, seed, spread) for spread in SPREADS] for per in ("channel", "head")
            ]
            query.append(
                [
                    [
                        [
                            _total(
                                head_map(layer, read, head, plane, gate=gate, strength=strength),
                                grid,
                            )
                            for strength in STRENGTHS
                        ]
                        for gate in row
                    ]
                    for row in gates
                ]
            )
            draw = torch.Generator().manual_seed(seed)
            chosen = torch.randperm(len(words), generator=draw)[:3]
            a, b, c = (words[int(i)] for i in chosen)
            chart = weight_plane(read, a, b, c)
            maps = [
                head_map(
                    layer, read, head, chart, keys=(a, b, c), gate=gates[0][0], strength=strength
                )
                for strength in WEIGHT_STRENGTHS
            ]
            found = [measure_head(each, grid) for each in maps]
            weight.append([float(each.total.value) for each in found])
            flat.append([1 - each.proved_share for each in found])
    return {
        "query": np.moveaxis(np.array(query), 0, -1),
        "weight": np.array(weight).T,
        "flat": np.array(flat).T,
    }


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


def measure_norms(layers: Sequence[Layer], states: Sequence[Tensor]) -> Arrays:
    """Measure the totals of a whole sublayer, part by part: ``totals`` (N, P) of `NORM_LAYERS`."""
    grid = square_grid(SUBLAYER_SIZE)
    found = []
    for number in NORM_LAYERS:
        plane = principal_plane(states[number])
        maps = [sublayer_map(layers[number], states[number], plane, part) for part in PARTS]
        fields = [MeasuredSurface(each, grid).field for each in maps]
        found.append([float(total_absolute_curvature(x, grid.weights).value) for x in fields])
    return {"totals": np.array(found)}


def _total(map: HeadMap, grid: Grid) -> float:
    return float(measure_head(map, grid).total.value)

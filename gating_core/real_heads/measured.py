"""Measurements of all heads of a model that reads one text, each beside its random twins.

Shapes: L layers, H heads, S twins of a head, T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from gating_core.checkpoints import (
    DrawnGate,
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
from gating_core.geometry import square_grid
from gating_core.real_heads.charts import HeadChart, chart_head

GRID_SIZE = 31  # points along each side, of a head and of its twins
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

"""Measuring the trained members of one ensemble: their curvature, and the paper's proxy.

All members are measured together on a grid that most of them need no finer; those whose total is
in doubt, one by one, on a finer one. Shapes: S members, N grid points.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import torch

from gating_core.attention.charts import through_logs, weight_chart
from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Attention
from gating_core.experiments.budget import PART_COST, cost
from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.discrete import proxy_limit
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import grid_integral, unseen_curvature
from gating_core.geometry.surface import SurfaceResult, surface_result
from gating_core.jets.second_order import SecondOrderJet, jet_by_parts

GRID = 31  # points along each side
FINER_GRID = 81  # where the total is in doubt
IN_DOUBT = 0.1  # relative error of a total
CHART_GRID = 15  # for a yes or no: the attention-weight chart has no totals

Numbers = dict[str, Any]  # parts of a `ModelRow` by name
Work = Generator[None, None, list[Numbers]]


def measured(model: Attention) -> Work:
    """Measure the columns of a `ModelRow` for the surfaces of all S members; yields in between."""
    surfaces = yield from on_grid(model, GRID)
    for member, coarse in enumerate(surfaces):
        if _in_doubt(coarse):
            (finer,) = yield from on_grid(model.member(member), FINER_GRID)
            proxies = {name: coarse[name] for name in ("proxy", "normalised_proxy")}
            surfaces[member] = finer | proxies  # those are means over points: of the same for all
    charts = yield from _on_charts(model)
    return [one | other for one, other in zip(surfaces, charts, strict=True)]


def on_grid(model: Attention, size: int) -> Work:
    """The query chart of all members, on a grid with ``size`` points along each side."""
    grid = square_grid(size)
    jet, field, surface = yield from _surface(model, model.config, grid)
    unseen = unseen_curvature(jet, field, grid.weights).numpy()
    positive = grid_integral("positive", field, grid.weights).value.numpy()
    yield
    proved = surface.proved[:, 0, 0]
    error = np.maximum(surface.total_error, np.where(proved, 0.0, unseen))
    proxy, shares = proxy_limit(jet), surface.shares
    largest, bound = _largest(surface)
    columns = {
        "total_curvature": surface.total,
        "total_error": error,
        "total_complete": surface.complete,
        "positive_curvature": np.where(proved, 0.0, positive),
        "flat": _flat(surface),
        "positive_share": shares.positive,
        "negative_share": shares.negative,
        "undecided_share": shares.flat + shares.undecided,
        "resolved_share": surface.resolved.mean((1, 2)),
        "largest_curvature": largest,
        "largest_bound": bound,
        "proxy": proxy.mean.numpy(),
        "normalised_proxy": proxy.normalised.numpy(),
    }
    return _rows(columns, len(model.seeds))


def _on_charts(model: Attention) -> Work:
    """The attention-weight charts of all members; ``None`` where a model has none.

    They are made one by one where some member's logits span too few dimensions to reach one.
    """
    try:
        return (yield from _on_chart(model))
    except ValueError:
        if len(model.seeds) == 1:
            names = ("chart_flat", "chart_largest", "chart_bound", "chart_positive_share")
            return [dict.fromkeys(names)]
    charts = []
    for member in range(len(model.seeds)):
        charts += yield from _on_charts(model.member(member))
    return charts


def _on_chart(model: Attention) -> Work:
    if model.config.depth > 1:
        raise ValueError("depth is above 1; the flatness theorem is about one layer")
    chart = weight_chart(model)
    # What reads the weights alone is affine on its chart, where second derivatives and bounds are
    # exactly zero and a test would be empty.
    function = through_logs(chart) if model.blocks[0].reads_only_weights else chart
    *_, surface = yield from _surface(function, model.config, square_grid(CHART_GRID))
    largest, _ = _largest(surface)
    columns = {
        "chart_flat": _flat(surface),
        "chart_largest": largest,
        "chart_bound": surface.largest_error,
        "chart_positive_share": surface.shares.positive,
    }
    return _rows(columns, len(model.seeds))


def _surface(
    function: Callable[[torch.Tensor], torch.Tensor], config: AttentionConfig, grid: Grid
) -> Generator[None, None, tuple[SecondOrderJet, CurvatureField, SurfaceResult]]:
    part = max(int(PART_COST / cost(config)), 1)
    jet = yield from jet_by_parts(function, grid.points, "rigorous", part)
    yield
    field = curvature(jet)
    return jet, field, surface_result(function, jet, field, grid)


def _flat(surface: SurfaceResult) -> np.ndarray:
    """(S,): whether |K| is within its bound wherever the tangent plane is resolved.

    ``None`` where it is resolved nowhere: nothing is known there.
    """
    flat = (~(surface.resolved & ~surface.within).any((1, 2))).astype(object)
    flat[~surface.resolved.any((1, 2))] = None
    return flat


def _largest(surface: SurfaceResult) -> tuple[np.ndarray, np.ndarray]:
    """(S,) each: the largest |K| among resolved points, and the bound on its error there."""
    size = np.where(surface.resolved, np.abs(surface.gaussian), -1.0).reshape(
        len(surface.proof), -1
    )
    largest = size.argmax(1)[:, None]
    bound = np.take_along_axis(surface.gaussian_error.reshape(size.shape), largest, 1)[:, 0]
    value = np.take_along_axis(size, largest, 1)[:, 0]
    return np.where(value < 0, np.nan, value), np.where(value < 0, np.nan, bound)


def _in_doubt(numbers: Numbers) -> bool:
    """Whether a finer grid is worth its time; unresolved points stay so on any grid."""
    total, error = numbers["total_curvature"], numbers["total_error"]
    known = isinstance(total, float) and isinstance(error, float) and numbers["total_complete"]
    return bool(known) and error > IN_DOUBT * total


def _rows(columns: dict[str, np.ndarray], count: int) -> list[Numbers]:
    """One dictionary for each member; ``None`` for what is no number."""
    rows: list[Numbers] = []
    for member in range(count):
        values = {name: column[member] for name, column in columns.items()}
        values = {name: x.item() if isinstance(x, np.generic) else x for name, x in values.items()}
        rows.append({name: None if x != x else x for name, x in values.items()})
    return rows

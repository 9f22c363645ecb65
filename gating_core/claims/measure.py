"""The work of one unit: its ensemble is trained, and every member measured.

No member's failure loses the others. Where training diverges, the members it happened to are
reported with the sentence that says so, and all others are trained again without them.

All members are measured together, their curvature and the paper's proxy, on a grid that most of
them need no finer; those whose total is in doubt, one by one, on a finer one. Shapes: S members,
N grid points.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import torch

from gating_core.attention.charts import through_logs, weight_chart
from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Attention, parameter_count, restore
from gating_core.claims.rows import ModelRow, Row, StackRow
from gating_core.claims.study import STUDY_VERSION, Unit
from gating_core.experiments.comparison import Setting, TrainedRun, train_setting
from gating_core.experiments.depth import DepthRequest, measure_regime
from gating_core.experiments.measuring import PART_COST, cost
from gating_core.geometry.discrete import proxy_limit
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import grid_integral
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult
from gating_core.jets.blocks import one_thread
from gating_core.jets.second_order import jet_by_parts
from gating_core.training.trainer import batches_of

REGIME = "aligned"  # the structured regime, in our reading
GRID = 31  # points along each side
FINER_GRID = 81  # where the total is in doubt
IN_DOUBT = 0.1  # relative error of a total
CHART_GRID = 15  # for a yes or no: the attention-weight chart has no totals
CHART_COLUMNS = ("chart_flat", "chart_largest", "chart_bound", "chart_positive_share")
FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError)

Numbers = dict[str, Any]  # parts of a `ModelRow` by name
Member = tuple[str, int]  # variant, seed


@one_thread()  # models this small only wait for each other on more
def unit_rows(unit: Unit) -> list[Row]:
    """Compute the rows of ``unit``, one for each of its keys."""
    if isinstance(unit.setting, DepthRequest):
        return _stack_rows(unit, unit.setting)
    rows: dict[Member, Row] = {}
    waiting = [unit.setting]
    while waiting:
        setting = waiting.pop()
        run = trained(setting)
        if run.divergence is None:
            rows |= _measure(unit, run)
            continue
        for member in run.divergence.members:
            rows[member] = _row(unit, setting, member, {"error": run.divergence.text})
        waiting += list(_without(setting, set(run.divergence.members)))
    return [rows[member] for member in unit.keys]


def trained(setting: Setting) -> TrainedRun:
    """Train ``setting`` as the study does."""
    *_, run = train_setting(setting, snapshots=1)
    assert isinstance(run, TrainedRun)
    return run


def _without(setting: Setting, gone: set[Member]) -> Iterator[Setting]:
    """Yield what is left of ``setting``; neighbouring seeds of the same variants stay together."""

    def left(seed: int) -> tuple[str, ...]:
        return tuple(name for name in setting.variants if (name, seed) not in gone)

    for names, group in groupby(setting.seeds, left):
        if names:
            first, *others = group
            some = replace(setting, variants=names, seed=first, seed_count=1 + len(others))
            for batch in batches_of(some.configs):
                yield replace(some, variants=batch)


def _measure(unit: Unit, run: TrainedRun) -> dict[Member, Row]:
    """A row for every member of ``run``."""
    rows: dict[Member, Row] = {}
    for name, variant in run.variants.items():
        ensemble, begin = variant.ensemble, time.perf_counter()
        model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
        surfaces = _surfaces(model)
        seconds = time.perf_counter() - begin + variant.seconds
        for member, (seed, surface) in enumerate(zip(ensemble.seeds, surfaces, strict=True)):
            numbers = {
                "train_accuracy": ensemble.train_accuracy[-1, member].item(),
                "test_accuracy": ensemble.test_accuracy[-1, member].item(),
                "train_loss": ensemble.train_loss[-1, member].item(),
                "test_loss": variant.test_loss[-1, member].item(),
                "seconds": seconds / len(ensemble.seeds),
            }
            numbers = surface if "error" in surface else numbers | surface
            rows[name, seed] = _row(unit, run.setting, (name, seed), numbers)
    return rows


def _surfaces(model: Attention) -> list[Numbers]:
    """Measure all members at once, or else one by one; ``error`` says why one is not measured."""
    try:
        return measured(model)
    except FAILURES:
        pass
    surfaces = []
    for member in range(len(model.seeds)):
        try:
            surfaces += measured(model.member(member))
        except FAILURES as error:
            surfaces.append({"error": f"it could not be measured: {error}"})
    return surfaces


def _row(unit: Unit, setting: Setting, member: Member, numbers: Numbers) -> ModelRow:
    name, seed = member
    config = setting.configs[name]
    return ModelRow(
        key=unit.keys[member],
        code=STUDY_VERSION,
        part=unit.part,
        task=setting.task,
        variant=name,
        source=config.source,
        depth=config.depth,
        values=config.value_count,
        model_dim=config.model_dim,
        seed=seed,
        together=setting.seed_count * len(setting.variants),
        steps=setting.steps,
        parameters=parameter_count(config, setting.class_count),
        **numbers,
    )


def _stack_rows(unit: Unit, request: DepthRequest) -> list[Row]:
    begin = time.perf_counter()
    result = measure_regime(request, REGIME)
    assert result.eps is not None
    seconds = (time.perf_counter() - begin) / len(unit.keys)
    total, centre, proxy = (result.curves[name] for name in ("total", "centre", "proxy"))
    columns = (total.values, total.errors, centre.values, centre.errors, proxy.values, total.small)
    rows: list[Row] = []
    for (seed, depth), key in unit.keys.items():
        at = seed - request.seed, depth - 1
        curvature, error, middle, bound, size, small = (column[at].item() for column in columns)
        eps = result.eps[at[0]].item()
        known = key, STUDY_VERSION, seed, depth, eps, curvature, error, middle, bound
        rows.append(StackRow(*known, size, small, seconds))
    return rows


# --- Measuring ------------------------------------------------------------------------------------


def measured(model: Attention) -> list[Numbers]:
    """Measure the columns of a `ModelRow` for the surfaces of all S members."""
    surfaces = on_grid(model, GRID)
    for member, coarse in enumerate(surfaces):
        total, error = coarse["total_curvature"], coarse["total_error"]
        resolved = coarse["resolved_share"] == 1  # unresolved points stay so on any grid
        if resolved and None not in (total, error) and error > IN_DOUBT * total:
            (finer,) = on_grid(model.member(member), FINER_GRID)
            proxies = {name: coarse[name] for name in ("proxy", "normalised_proxy")}
            surfaces[member] = finer | proxies  # those are means over points: of the same for all
    charts = _on_charts(model)
    return [surface | chart for surface, chart in zip(surfaces, charts, strict=True)]


def on_grid(model: Attention, size: int) -> list[Numbers]:
    """Measure the query chart of all members, on a grid with ``size`` points along each side."""
    grid = square_grid(size)
    found = _measured(model, model.config, grid)
    surface = found.surface
    positive = grid_integral("positive", found.field, grid.weights).value.numpy()
    error = found.total.error.numpy()
    proxy, shares = proxy_limit(found.jet), surface.shares
    largest, bound = _largest(surface)
    return _by_member({
        "total_curvature": surface.total,
        "total_error": error,
        "total_complete": surface.complete & (error <= surface.total),
        "positive_curvature": np.where(surface.proved_zero, 0.0, positive),
        "flat": _flat(surface),
        "positive_share": shares.positive,
        "negative_share": shares.negative,
        "undecided_share": shares.flat + shares.undetermined,
        "resolved_share": surface.resolved.mean((1, 2)),
        "largest_curvature": largest,
        "largest_bound": bound,
        "proxy": proxy.mean.numpy(),
        "normalised_proxy": proxy.normalised.numpy(),
    })  # fmt: skip


def _on_charts(model: Attention) -> list[Numbers]:
    """The attention-weight charts of all members; ``None`` where a model has none.

    They are made one by one where some member's logits span too few dimensions to reach one.
    """
    try:
        return _on_chart(model)
    except ValueError:
        if len(model.seeds) == 1:
            return [dict.fromkeys(CHART_COLUMNS)]
    members = range(len(model.seeds))
    return [chart for member in members for chart in _on_charts(model.member(member))]


def _on_chart(model: Attention) -> list[Numbers]:
    if model.config.depth > 1:
        raise ValueError("depth is above 1; the flatness theorem is about one layer")
    chart = weight_chart(model)
    # What reads the weights alone is affine on its chart, where second derivatives and bounds are
    # exactly zero and a test would be empty.
    function = through_logs(chart) if model.blocks[0].reads_only_weights else chart
    surface = _measured(function, model.config, square_grid(CHART_GRID)).surface
    largest, _ = _largest(surface)
    columns = _flat(surface), largest, surface.largest_error, surface.shares.positive
    return _by_member(dict(zip(CHART_COLUMNS, columns, strict=True)))


def _measured(
    function: Callable[[torch.Tensor], torch.Tensor], config: AttentionConfig, grid: Grid
) -> MeasuredSurface:
    part = max(int(PART_COST / cost(config)), 1)
    jet = jet_by_parts(function, grid.points, "rigorous", part)
    return MeasuredSurface(function, grid, jet=jet)


def _flat(surface: SurfaceResult) -> np.ndarray:
    """(S,): whether |K| is within its bound wherever the tangent plane is resolved.

    ``None`` where it is resolved nowhere: nothing is known there.
    """
    beyond = np.abs(surface.gaussian) > surface.gaussian_error
    flat = (~(surface.resolved & beyond).any((1, 2))).astype(object)
    flat[~surface.resolved.any((1, 2))] = None
    return flat


def _largest(surface: SurfaceResult) -> tuple[np.ndarray, np.ndarray]:
    """(S,) each: the largest |K| among resolved points, and the bound on its error there."""
    members = len(surface.proof), -1
    size = np.where(surface.resolved, np.abs(surface.gaussian), -1.0).reshape(members)
    at = size.argmax(1)[:, None]
    values = (size, surface.gaussian_error.reshape(members))
    value, bound = (np.take_along_axis(x, at, 1)[:, 0] for x in values)
    return np.where(value < 0, np.nan, value), np.where(value < 0, np.nan, bound)


def _by_member(columns: dict[str, np.ndarray]) -> list[Numbers]:
    """One dictionary for each member; ``None`` for what is no number."""
    members = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {name: None if x != x else x for name, x in zip(columns, values, strict=True)}
        for values in members
    ]

"""The work of one unit: its ensemble is trained, and every member measured.

No member's failure loses the others. Where training diverges, the members it happened to are
reported with the sentence that says so, and all others are trained again without them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

import torch

from gating_core.attention.classifier import parameter_count, restore
from gating_core.claims.measuring import Numbers, Work, measured
from gating_core.claims.models import ModelRow, Row, StackRow
from gating_core.claims.units import REGIME, STUDY_VERSION, ModelUnit, StackUnit, Unit, loaded
from gating_core.experiments.comparison import Setting, TrainedRun, train_setting
from gating_core.experiments.depth import measure_regime
from gating_core.memory import keep_at_hand
from gating_core.training.ensemble import batches_of

Member = tuple[str, int]  # variant, seed


def work_on(text: str, pause: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
    """Do the unit that ``text`` describes, in a worker process; returns its rows for `received`.

    ``pause`` is called several times a second, and ends the work if it raises.
    """
    keep_at_hand()
    torch.set_num_threads(1)  # models this small only wait for each other on more
    work = unit_rows(loaded(text))
    while True:
        try:
            next(work)
        except StopIteration as end:
            return [asdict(row) for row in end.value]
        pause()


def received(rows: list[dict[str, Any]]) -> list[Row]:
    """Return the rows that `work_on` has sent."""
    return [(ModelRow if "task" in row else StackRow)(**row) for row in rows]


def unit_rows(unit: Unit) -> Generator[None, None, list[Row]]:
    """Compute the rows of ``unit``, one for each of its keys; yields several times a second."""
    if isinstance(unit, StackUnit):
        return (yield from _stack_rows(unit))
    rows: dict[Member, Row] = {}
    waiting = [unit.setting]
    while waiting:
        setting = waiting.pop()
        run = yield from trained(setting)
        if run.divergence is None:
            yield from _measure(unit, run, rows)
            continue
        for member in run.divergence.members:
            rows[member] = _row(unit, setting, member, {"error": run.divergence.text})
        waiting += list(_without(setting, set(run.divergence.members)))
    return [rows[member] for member in unit.keys]


def trained(setting: Setting) -> Generator[None, None, TrainedRun]:
    """Train ``setting`` as the study does; yields several times a second."""
    for event in train_setting(setting, snapshots=1):
        if isinstance(event, TrainedRun):
            run = event
        yield
    return run


def _without(setting: Setting, gone: set[Member]) -> Iterator[Setting]:
    """Yield what is left of ``setting``; neighbouring seeds of the same variants stay together."""

    def left(seed: int) -> tuple[str, ...]:
        return tuple(name for name in setting.variants if (name, seed) not in gone)

    for names, group in groupby(setting.seeds, left):
        seeds = list(group)
        some = replace(setting, seed=seeds[0], seed_count=len(seeds)) if names else setting
        for batch in batches_of(replace(some, variants=names).configs) if names else ():
            yield replace(some, variants=batch)


def _measure(
    unit: ModelUnit, run: TrainedRun, rows: dict[Member, Row]
) -> Generator[None, None, None]:
    """Add a row for every member of ``run`` to ``rows``."""
    for name, variant in run.variants.items():
        ensemble, begin = variant.ensemble, time.perf_counter()
        surfaces = yield from _surfaces(run, name)
        seconds = time.perf_counter() - begin + variant.seconds
        for member, (seed, surface) in enumerate(zip(ensemble.seeds, surfaces, strict=True)):
            trained = {
                "train_accuracy": ensemble.train_accuracy[-1, member].item(),
                "test_accuracy": ensemble.test_accuracy[-1, member].item(),
                "train_loss": ensemble.train_loss[-1, member].item(),
                "test_loss": variant.test_loss[-1, member].item(),
                "seconds": seconds / len(ensemble.seeds),
            }
            numbers = surface if "error" in surface else trained | surface
            rows[name, seed] = _row(unit, run.setting, (name, seed), numbers)


def _surfaces(run: TrainedRun, name: str) -> Work:
    """Measure all members at once, or else one by one; ``error`` says why one is not measured."""
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    try:
        return (yield from measured(model))
    except (ValueError, ArithmeticError, RuntimeError, MemoryError):
        pass
    surfaces = []
    for member in range(len(ensemble.seeds)):
        try:
            surfaces += yield from measured(model.member(member))
        except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
            surfaces.append({"error": f"it could not be measured: {error}"})
    return surfaces


def _row(unit: ModelUnit, setting: Setting, member: Member, numbers: Numbers) -> ModelRow:
    name, seed = member
    config = setting.configs[name]
    return ModelRow(
        key=unit.keys[member], code=STUDY_VERSION, part=unit.part, task=setting.task, variant=name,
        source=config.source, depth=config.depth, values=config.value_count,
        model_dim=config.model_dim, seed=seed,
        together=setting.seed_count * len(setting.variants), steps=setting.steps,
        parameters=parameter_count(config, setting.class_count), **numbers,
    )  # fmt: skip


def _stack_rows(unit: StackUnit) -> Generator[None, None, list[Row]]:
    request, begin = unit.request, time.perf_counter()
    result = yield from measure_regime(request, REGIME)
    assert result.eps is not None
    seconds = (time.perf_counter() - begin) / len(unit.keys)
    total, centre, proxy = (result.curves[name] for name in ("total", "centre", "proxy"))
    rows: list[Row] = []
    for (seed, depth), key in unit.keys.items():
        at = seed - request.seed, depth - 1
        rows.append(
            StackRow(
                key=key,
                code=STUDY_VERSION,
                seed=seed,
                depth=depth,
                strength=result.eps[at[0]].item(),
                total_curvature=total.values[at].item(),
                total_error=total.errors[at].item(),
                centre_curvature=centre.values[at].item(),
                centre_bound=centre.errors[at].item(),
                proxy=proxy.values[at].item(),
                small=total.small[at].item(),
                seconds=seconds,
            )
        )
    return rows

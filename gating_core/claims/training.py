"""What does one unit of work find? Its ensemble is trained, and every member measured.

No member's failure loses the others. Where training diverges, the members it happened to are
reported with the sentence that says so, and all others are trained again without them.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import groupby

from gating_core.attention.classifier import parameter_count, restore
from gating_core.claims.measuring import Found, measured
from gating_core.claims.rows import ModelRow, StackRow
from gating_core.claims.units import REGIME, ModelUnit, StackUnit, Unit
from gating_core.claims.version import code_version
from gating_core.experiments.comparison import Setting, TrainedRun, train_setting
from gating_core.experiments.depth import measure_regime
from gating_core.training.ensemble import batches_of

Row = ModelRow | StackRow
Member = tuple[str, int]  # variant, seed
MEASURED = (
    "train_accuracy test_accuracy train_loss test_loss total_curvature total_error total_complete"
    " positive_curvature flat positive_share negative_share undecided_share resolved_share"
    " largest_curvature largest_bound chart_flat chart_largest chart_bound chart_positive_share"
    " proxy normalised_proxy seconds"
).split()


def unit_rows(unit: Unit) -> Generator[None, None, list[Row]]:
    """The rows of ``unit``, one for each of its keys; gives way several times a second."""
    if isinstance(unit, StackUnit):
        return (yield from _stack_rows(unit))
    found: dict[Member, Row] = {}
    waiting = [unit.setting]
    while waiting:
        setting = waiting.pop()
        run = yield from _trained(setting)
        if run.divergence is None:
            yield from _measure(unit, run, found)
            continue
        for member in run.divergence.members:
            found[member] = _row(unit, setting, member, {}, error=run.divergence.text)
        waiting += list(_without(setting, set(run.divergence.members)))
    return [found[member] for member in unit.keys]


def _trained(setting: Setting) -> Generator[None, None, TrainedRun]:
    for event in train_setting(setting, snapshots=1):
        if isinstance(event, TrainedRun):
            run = event
        yield
    return run


def _without(setting: Setting, gone: set[Member]) -> Iterator[Setting]:
    """What is left of ``setting``: neighbouring seeds that have the same variants go together."""

    def kept(seed: int) -> tuple[str, ...]:
        return tuple(name for name in setting.variants if (name, seed) not in gone)

    for names, group in groupby(setting.seeds, kept):
        seeds = list(group)
        some = replace(setting, seed=seeds[0], seed_count=len(seeds)) if names else setting
        for batch in batches_of(replace(some, variants=names).configs) if names else ():
            yield replace(some, variants=batch)


def _measure(
    unit: ModelUnit, run: TrainedRun, found: dict[Member, Row]
) -> Generator[None, None, None]:
    """Add a row for every member of ``run`` to what is ``found``."""
    for name, variant in run.variants.items():
        ensemble, begin = variant.ensemble, time.perf_counter()
        surfaces = yield from _surfaces(run, name)
        seconds = time.perf_counter() - begin + variant.seconds
        for place, seed in enumerate(ensemble.seeds):
            surface = surfaces[place]
            member = {
                "train_accuracy": ensemble.train_accuracy[-1, place].item(),
                "test_accuracy": ensemble.test_accuracy[-1, place].item(),
                "train_loss": ensemble.train_loss[-1, place].item(),
                "test_loss": variant.test_loss[-1, place].item(),
                "seconds": seconds / len(ensemble.seeds),
            }
            error = surface if isinstance(surface, str) else None
            numbers = {} if isinstance(surface, str) else member | surface
            found[name, seed] = _row(unit, run.setting, (name, seed), numbers, error)


def _surfaces(run: TrainedRun, name: str) -> Generator[None, None, list[Found | str]]:
    """What is measured of each member, or why nothing is; all together, or else one by one."""
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    try:
        return [*(yield from measured(model))]
    except (ValueError, ArithmeticError, RuntimeError, MemoryError):
        pass
    found: list[Found | str] = []
    for place in range(len(ensemble.seeds)):
        try:
            found += yield from measured(model.member(place))
        except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
            found.append(f"it could not be measured: {error}")
    return found


def _row(
    unit: ModelUnit,
    setting: Setting,
    member: Member,
    numbers: Found,
    error: str | None = None,
) -> ModelRow:
    name, seed = member
    config = setting.configs[name]
    return ModelRow(
        key=unit.keys[member],
        code=code_version(),
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
        error=error,
        **{part: numbers.get(part) for part in MEASURED},
    )


def _stack_rows(unit: StackUnit) -> Generator[None, None, list[Row]]:
    request, begin = unit.request, time.perf_counter()
    result = yield from measure_regime(request, REGIME)
    assert result.eps is not None
    seconds = (time.perf_counter() - begin) / len(unit.keys)
    total, centre, proxy = (result.curves[name] for name in ("total", "centre", "proxy"))
    rows: list[Row] = []
    for (seed, depth), key in unit.keys.items():
        place = seed - request.seed, depth - 1
        rows.append(
            StackRow(
                key=key,
                code=code_version(),
                seed=seed,
                depth=depth,
                strength=result.eps[place[0]].item(),
                total_curvature=total.values[place].item(),
                total_error=total.errors[place].item(),
                centre_curvature=centre.values[place].item(),
                centre_bound=centre.errors[place].item(),
                proxy=proxy.values[place].item(),
                small=total.small[place].item(),
                seconds=seconds,
            )
        )
    return rows

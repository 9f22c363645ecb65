"""The measurements of shipped models over the shipped verses, a row each, and their file.

A measurement takes a model and N texts and returns named arrays; none where it does not apply.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import torch

from gating_core.lm import LanguageModel, excerpt_texts, load_model, shipped, text_losses
from gating_core.lm.measurements.batches import Arrays
from gating_core.lm.measurements.calibration import confidence
from gating_core.lm.measurements.gate_sparsity import gates
from gating_core.lm.measurements.rank import ranks
from gating_core.lm.measurements.sinks import sinks
from gating_core.lm.measurements.topology import topology
from gating_core.lm.shipped import FOLDER, MODELS, SEEDS, digest, is_current
from gating_core.records import load_record, save_record

MEASURED = FOLDER / "measured.safetensors"
STRENGTHS = tuple(round(0.1 * k, 1) for k in range(11))  # λ at which losses are measured
Model = tuple[str, int]  # name and seed


def strengths(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """``sums`` (n, N): the loss of each text in nats at n strengths λ; n = 1 for an ungated model.

    ``counts`` (N,): the characters of each text.
    """
    used = STRENGTHS if model.config.gate is not None else STRENGTHS[-1:]
    results = [text_losses(model, texts, strength=strength) for strength in used]
    sums, counts = zip(*results, strict=True)
    return {"sums": torch.stack(sums).float().numpy(), "counts": counts[0].float().numpy()}


Measurements = Mapping[str, Callable[[LanguageModel, Sequence[str]], Arrays]]
MEASUREMENTS: Measurements = {
    "sinks": sinks,
    "gates": gates,
    "strengths": strengths,
    "ranks": ranks,
    "confidence": confidence,
    "wiring": topology,  # the name in the file, which stays
}


def measure(
    model: Model,
    rows: Iterable[str] | None = None,
    texts: list[str] | None = None,
    measurements: Measurements = MEASUREMENTS,
) -> Arrays:
    """Measure one shipped model: arrays by "row.name", for ``rows`` of the table (None: all)."""
    loaded, _ = load_model(*model)
    texts = excerpt_texts() if texts is None else texts
    rows = tuple(measurements) if rows is None else rows
    return {
        f"{row}.{name}": array
        for row in rows
        for name, array in measurements[row](loaded, texts).items()
    }


@dataclass(frozen=True, eq=False)
class Measured:
    """The measurements of one model."""

    digest: str  # of the file that was measured
    rows: tuple[str, ...]  # of the table of measurements; a row that does not apply has no arrays
    arrays: Arrays  # by "row.name"


def measure_missing(
    path: Path = MEASURED,
    measurements: Measurements = MEASUREMENTS,
    models: Sequence[Model] | None = None,
    texts: list[str] | None = None,
) -> Iterator[tuple[Model, list[str]]]:
    """Make the measurements that models lack, a process for each core; write after each model.

    By default of all shipped ``models`` over all shipped ``texts``. Yields each model with the
    rows that it lacked.
    """
    measured = read_measured(path)
    rows_of = {model: old.rows for model, old in measured.items()}
    lacking = {
        model: [row for row in measurements if row not in rows_of.get(model, ())]
        for model in (shipped() if models is None else models)
    }
    tasks = [(model, rows, texts, measurements) for model, rows in lacking.items() if rows]
    with ProcessPoolExecutor(os.cpu_count(), max_tasks_per_child=1) as pool:
        for (model, rows, *_), new in zip(tasks, pool.map(_measure, tasks), strict=True):
            if model in measured and measured[model].digest == new.digest:
                new = replace(
                    new,
                    arrays=measured[model].arrays | new.arrays,
                    rows=(*measured[model].rows, *new.rows),
                )
            measured[model] = new
            save_measured(measured, path)
            yield model, rows


def _measure(task: tuple[Model, list[str], list[str] | None, Measurements]) -> Measured:
    torch.set_num_threads(1)  # each core has a model of its own
    model, rows, texts, measurements = task
    before = digest(*model)  # before measuring, for the file may be replaced meanwhile
    return Measured(before, tuple(rows), measure(model, rows, texts, measurements))


def load_measured(
    path: Path = MEASURED, measurements: Measurements = MEASUREMENTS
) -> dict[Model, Arrays]:
    """The measurements of all shipped models that have every one, in the table's order."""
    return {
        model: result.arrays
        for model, result in read_measured(path).items()
        if set(measurements) <= set(result.rows)
    }


def read_measured(path: Path = MEASURED) -> dict[Model, Measured]:
    """The measurements of every shipped model whose weights are those that were measured."""
    if not path.exists():
        return {}
    stored = load_record(dict[str, Measured], path, "holds no measurements")
    return {
        model: found
        for model in product(MODELS, SEEDS)
        if (found := stored.get(_key(model))) and is_current(*model, found.digest)
    }


def save_measured(measured: Mapping[Model, Measured], path: Path = MEASURED) -> None:
    """Write what `read_measured` reads."""
    save_record(path, {_key(model): result for model, result in measured.items()})


def _key(model: Model) -> str:
    return "{}-{}".format(*model)

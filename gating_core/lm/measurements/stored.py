"""The measurements of shipped models over the shipped verses, a row each, and their files.

A measurement takes a model and N texts and returns named arrays; none where it does not apply.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch

from gating_core.lm.approximations.delta_correction import correction
from gating_core.lm.approximations.eviction import eviction
from gating_core.lm.approximations.models import long_texts
from gating_core.lm.approximations.top_k import fire_rates, truncation
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.losses import Arrays, text_losses
from gating_core.lm.measurements.calibration import confidence
from gating_core.lm.measurements.gate_sparsity import gates
from gating_core.lm.measurements.rank import ranks
from gating_core.lm.measurements.sinks import sinks
from gating_core.lm.measurements.topology import topology
from gating_core.lm.model import LanguageModel
from gating_core.lm.processes import in_processes
from gating_core.lm.shipped import FOLDER, MODELS, SEEDS, digest, is_current, load_model, shipped
from gating_core.records import load_record, save_record

MEASURED, EFFICIENT = FOLDER / "measured.safetensors", FOLDER / "efficient.safetensors"
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


def certificates(model: LanguageModel, _: Sequence[str]) -> Arrays:
    """Measure `fire_rates` over all verses: short ones have last queries, too."""
    return fire_rates(model, excerpt_texts())


SINK = "sink_logit"  # of all approximations, measured under truncation alone
APPROXIMATED = ("none", "g1_channel", "g1_head", "g2")  # models without a gate, and with one
APPROXIMATIONS: Measurements = {  # over `long_texts`
    "truncation": truncation,
    "certificates": certificates,
    "eviction": eviction,
    "correction": correction,
}


@dataclass(frozen=True, eq=False)
class Measured:
    """The measurements of one model."""

    digest: str  # of the file that was measured
    rows: tuple[str, ...]  # of the table of measurements; a row that does not apply has no arrays
    arrays: Arrays  # by "row.name"


def measure_all() -> None:
    """Make all bundled measurements that models lack, a process for each core."""
    measure_missing(MEASURED, MEASUREMENTS, shipped(), excerpt_texts())
    models = [model for model in shipped() if model[0] in APPROXIMATED]
    measure_missing(EFFICIENT, APPROXIMATIONS, models, long_texts())
    models = [model for model in shipped() if model[0] == SINK]
    measure_missing(EFFICIENT, {"truncation": truncation}, models, long_texts())


def measure_missing(
    path: Path, measurements: Measurements, models: Sequence[Model], texts: list[str]
) -> None:
    """Make the ``measurements`` that ``models`` lack over ``texts``; write after each model."""
    measured = read_measured(path)
    tasks = []
    for model in models:
        old = measured.get(model)
        if rows := [row for row in measurements if old is None or row not in old.rows]:
            tasks.append((model, {row: measurements[row] for row in rows}, texts))
    for model, new in in_processes(measure, tasks):
        logging.info("%s %d: %s", *model, ", ".join(new.rows))
        old = measured.get(model)
        if old is not None and old.digest == new.digest:
            new = Measured(new.digest, (*old.rows, *new.rows), old.arrays | new.arrays)
        measured[model] = new
        save_measured(measured, path)


def measure(
    model: Model, measurements: Measurements, texts: Sequence[str]
) -> tuple[Model, Measured]:
    """Measure one shipped model over ``texts``."""
    before = digest(*model)  # before measuring, for the file may be replaced meanwhile
    loaded, _ = load_model(*model)
    arrays = {
        f"{row}.{name}": array
        for row, measurement in measurements.items()
        for name, array in measurement(loaded, texts).items()
    }
    return model, Measured(before, tuple(measurements), arrays)


def load_efficient() -> dict[Model, Arrays]:
    """The measurements of models under approximations, by name and seed."""
    return load_measured(EFFICIENT, APPROXIMATIONS)


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
    """Write what `read_measured` reads, in the order of the table."""
    models = (model for model in product(MODELS, SEEDS) if model in measured)
    save_record(path, {_key(model): measured[model] for model in models})


def _key(model: Model) -> str:
    return "{}-{}".format(*model)

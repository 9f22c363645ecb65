"""The measurements of shipped models over the shipped verses, a row each, and their files.

A measurement takes a model and N texts and returns named arrays; none where it does not apply.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch

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


# Of models whose attention leaves something out; that with a sink logit has the first alone.
APPROXIMATIONS = ("truncation", "certificates", "eviction", "correction")


@dataclass(frozen=True, eq=False)
class Measured:
    """The measurements of one model."""

    digest: str  # of the file that was measured
    rows: tuple[str, ...]  # of the table of measurements; a row that does not apply has no arrays
    arrays: Arrays  # by "row.name"


def measure_all() -> None:
    """Make all bundled measurements that models lack, a process for each core."""
    measure_missing(MEASURED, MEASUREMENTS, shipped(), excerpt_texts())


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
    """The measurements of models whose attention leaves something out, by name and seed.

    They are bundled; commit `1f4177a5` has the code that made them. A hook on a model's weights
    does the same to its losses. Losses are in nats, of the N verses that fill a context, from the
    33rd character on. Shapes: L layers, H heads, K sizes k, C certificates, E budgets, P policies,
    W windows, G distances γ of anchors.

    - "truncation.": ``sums`` (K + 1, N), with all heads truncated to each of `SIZES`, the last with
      none; ``counts`` (N,). By head (L, H), over the queries from the 65th on of every fourth text:
      ``needed``, the median k for a tail mass of 5 %, and its upper decile ``needed_high``;
      ``rule``, the same by the Gaussian approximation, and ``sigma``; ``certified`` (C, L, H);
      ``histogram`` (L, H, b) of standardised scores.
    - "certificates.": ``rates`` (E, C + 2, L, H), of the ``rows`` of each text's last query, which
      sees n keys, the share for which the exact mass, a certificate or boxes of 16 keys keep fewer
      than n / 2 keys.
    - "eviction.": ``sums`` (P, b, N), of the characters after a prefill of which each head keeps a
      budget of keys; ``full`` and ``counts`` (N,). ``errors`` (P, b, L, H): the mean squared change
      of outputs over the mean squared output, with ``error_half_widths`` over texts.
    - "correction.": ``sums`` (W, 1 + G, N) in a window with four sinks, without correction and with
      each γ; ``full`` and ``counts`` (N,). ``cosines`` (W, 1 + G, L, H) of outputs with those of
      full attention, ``ratios`` (W, G, L, H) of squared errors with and without correction, and
      ``changes`` (W, lags, L, H).
    """
    return load_measured(EFFICIENT, APPROXIMATIONS)


def load_measured(
    path: Path = MEASURED, measurements: Collection[str] = MEASUREMENTS.keys()
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

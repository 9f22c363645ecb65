"""The shipped file of measurements: which models it holds, and which are still to be measured."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

from gating_core.at_work.batches import Arrays
from gating_core.at_work.measurements import MEASUREMENTS
from gating_core.export.weights import tensor_file, tensors_and_metadata
from gating_core.language import LANGUAGES, load_model, read_excerpt, shipped
from gating_core.language.shipped import FOLDER, model_path

MEASURED = FOLDER / "measured.safetensors"
Model = tuple[str, int]  # name and seed


def excerpt_texts() -> list[str]:
    """The shipped verses, first all of one language and then all of the other."""
    return [getattr(verse, language) for language in LANGUAGES for verse in read_excerpt()]


def measure(
    model: Model, rows: Iterable[str] = tuple(MEASUREMENTS), texts: list[str] | None = None
) -> Arrays:
    """Measure one shipped model: arrays by "row.name"."""
    loaded, _ = load_model(*model)
    texts = excerpt_texts() if texts is None else texts
    return {f"{row}.{name}": array for row in rows
            for name, array in MEASUREMENTS[row](loaded, texts).items()}  # fmt: skip


def measure_missing() -> Iterator[tuple[Model, list[str]]]:
    """Measure what is shipped and not measured, a process for each core; write after each model.

    Yields each model with the rows that it lacked.
    """
    arrays, rows = read_measured()
    lacking = {model: [row for row in MEASUREMENTS if row not in rows.get(model, ())]
               for model in shipped()}  # fmt: skip
    tasks = [(model, some) for model, some in lacking.items() if some]
    with ProcessPoolExecutor(os.cpu_count(), max_tasks_per_child=1) as pool:
        for (model, some), new in zip(tasks, pool.map(_measure, tasks), strict=True):
            arrays[model] = arrays.get(model, {}) | new
            rows[model] = list(MEASUREMENTS)
            save_measured(arrays, rows)
            yield model, some


def _measure(task: tuple[Model, list[str]]) -> Arrays:
    torch.set_num_threads(1)  # each core has a model of its own
    return measure(*task)


def digest(model: Model) -> str:
    """What a model's file holds, in sixteen letters: other weights have other measurements."""
    return hashlib.sha256(model_path(*model).read_bytes()).hexdigest()[:16]


def load_measured(path: Path = MEASURED) -> dict[Model, Arrays]:
    """The measurements of all models that are shipped and wholly measured, in the table's order."""
    arrays, rows = read_measured(path)
    return {model: arrays[model] for model in shipped()
            if set(MEASUREMENTS) <= set(rows.get(model, ()))}  # fmt: skip


def read_measured(path: Path = MEASURED) -> tuple[dict[Model, Arrays], dict[Model, list[str]]]:
    """Arrays and measured rows of every model that still has the measured weights."""
    if not path.exists():
        return {}, {}
    tensors, about = tensors_and_metadata(path.read_bytes())
    kept = {model: about["rows"][_key(model)] for model in shipped()
            if about["digests"].get(_key(model)) == digest(model)}  # fmt: skip
    arrays: dict[Model, Arrays] = {model: {} for model in kept}
    for model in kept:
        start = f"{_key(model)}/"
        arrays[model] = {name.removeprefix(start): array for name, array in tensors.items()
                         if name.startswith(start)}  # fmt: skip
    return arrays, kept


def save_measured(
    arrays: Mapping[Model, Arrays], rows: Mapping[Model, Iterable[str]], path: Path = MEASURED
) -> None:
    """Write what `read_measured` reads."""
    tensors: dict[str, np.ndarray] = {
        f"{_key(model)}/{name}": array for model, of in arrays.items() for name, array in of.items()
    }
    about = {"rows": {_key(model): sorted(row) for model, row in rows.items()},
             "digests": {_key(model): digest(model) for model in arrays}}  # fmt: skip
    path.write_bytes(tensor_file(tensors, about))


def _key(model: Model) -> str:
    return "{}-{}".format(*model)

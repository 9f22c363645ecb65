"""Outcomes of steering: shipped for every model that has dictionaries, or measured on request."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from gating_core.checks import check_integer
from gating_core.export.weights import tensor_file, tensors_and_metadata
from gating_core.language import load_model
from gating_core.language.shipped import FOLDER
from gating_core.steering.experiment import Outcomes, Part, measure_part, run_experiment
from gating_core.steering.live import specimen
from gating_core.steering.shipped import load_dictionaries, shipped_dictionaries

MEASURED = FOLDER / "steering.safetensors"
Model = tuple[str, int]  # name and seed
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class GridRequest:
    """The whole experiment on one shipped model."""

    name: str = "none"  # of the model
    model_seed: int = 0
    draw: int = 0  # the seed of the texts and of random directions; 0 gives the shipped outcomes

    def __post_init__(self) -> None:
        check_integer("draw", self.draw, 0, 10**6)


def measure_parts(
    parts: Sequence[Part], request: GridRequest
) -> Generator[Outcomes | None, None, None]:
    """Yield the outcomes of each of ``parts`` of an experiment, and ``None`` at pauses."""
    for part in parts:
        yield (yield from measure_part(*specimen(request.name, request.model_seed), part,
                                       request.draw))  # fmt: skip


def measure_steering() -> Iterator[Model]:
    """Run the experiment for every model without outcomes; write the file after each model."""
    measured = load_steering() if MEASURED.exists() else {}
    missing = [model for model in shipped_dictionaries() if model not in measured]
    with ProcessPoolExecutor(os.cpu_count(), max_tasks_per_child=1) as pool:
        for model, arrays in zip(missing, pool.map(_measure, missing), strict=True):
            measured[model] = arrays
            save_steering(measured)
            yield model


def _measure(model: Model) -> Arrays:
    torch.set_num_threads(1)
    *_, (_, arrays) = run_experiment(load_model(*model)[0], load_dictionaries(*model))
    return arrays


def save_steering(measured: dict[Model, Arrays], path: Path = MEASURED) -> None:
    """Write what `load_steering` reads, in half precision."""
    tensors = {f"{name}-{seed}/{key}": array.astype(np.float16)
               for (name, seed), arrays in measured.items()
               for key, array in arrays.items()}  # fmt: skip
    path.write_bytes(tensor_file(tensors, {"models": list(measured)}))


def load_steering(path: Path = MEASURED) -> dict[Model, Arrays]:
    """The outcomes of each model, by name of the array."""
    tensors, about = tensors_and_metadata(path.read_bytes())
    measured = {}
    for name, seed in about["models"]:
        start = f"{name}-{seed}/"
        mine = {key: array for key, array in tensors.items() if key.startswith(start)}
        measured[name, seed] = {
            key.removeprefix(start): array.astype(np.float32) for key, array in mine.items()
        }
    return measured

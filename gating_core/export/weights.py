"""A trained ensemble as a weights file and as a log.

The script of `gating_core.export.script` rebuilds one model from the file with PyTorch alone.
S seeds, T snapshots; tensors in the file have the seeds as their leading axis.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from gating_core.assets import read_asset
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.tasks.task import Task
from gating_core.training.trained import TrainedEnsemble

HISTORY = ("steps", "train_loss", "train_accuracy", "test_accuracy")
STATE = "state."  # what the names of weights begin with


def ensemble_tensors(ensemble: TrainedEnsemble, prefix: str = "") -> dict[str, np.ndarray]:
    """Weights and history of ``ensemble`` by name, ready to be saved."""
    named = {f"{STATE}{name}": array for name, array in ensemble.state.items()}
    named |= {name: getattr(ensemble, name) for name in HISTORY}
    return {prefix + name: array for name, array in named.items()}


def ensemble_from_tensors(
    tensors: Mapping[str, np.ndarray],
    config: AttentionConfig,
    seeds: tuple[int, ...],
    prefix: str = "",
) -> TrainedEnsemble:
    """The ensemble that `ensemble_tensors` took apart; ``KeyError`` if its history is missing."""
    start = prefix + STATE
    state = {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
    history = {name: tensors[prefix + name] for name in HISTORY}
    return TrainedEnsemble(config=config, seeds=seeds, state=state, **history)


def tensor_file(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, object]) -> bytes:
    """A safetensors file; every entry of ``metadata`` becomes JSON."""
    whole = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return save(whole, {name: json.dumps(value) for name, value in metadata.items()})


def tensors_and_metadata(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arguments of `tensor_file`; ``ValueError`` or ``KeyError`` for any other file."""
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return tensors, {name: json.loads(text) for name, text in header["__metadata__"].items()}


def save_tensors(
    path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, object]
) -> None:
    """Write a `tensor_file` to ``path``; folders on the way are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tensor_file(tensors, metadata))


@contextmanager
def tensors_of(path: Path, lacks: str) -> Iterator[tuple[dict[str, np.ndarray], dict[str, Any]]]:
    """Read what `save_tensors` has written.

    If that fails, or the body of the ``with``, ``ValueError`` says what the file ``lacks``.
    """
    try:
        yield tensors_and_metadata(read_asset(path))
    except (OSError, KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(f"{path.name} {lacks}: {error}") from error


def weights_file(
    ensemble: TrainedEnsemble, task: Task, about: Mapping[str, object] | None = None
) -> bytes:
    """A safetensors file: weights, history, and the points that were learned and tested.

    Its metadata are JSON: ``config`` and ``seeds`` of the ensemble, the ``task``'s name, and any
    notes ``about`` the run. Points are float32, as in training.
    """
    if task.seeds != ensemble.seeds:
        raise ValueError(f"task has the seeds {task.seeds}; it must have {ensemble.seeds}")
    tensors = ensemble_tensors(ensemble)
    for part, points, labels in (
        ("train", task.train_points, task.train_labels),
        ("test", task.test_points, task.test_labels),
    ):
        tensors[f"{part}_points"] = points.astype(np.float32)
        tensors[f"{part}_labels"] = labels
    metadata = {
        "config": asdict(ensemble.config),
        "seeds": ensemble.seeds,
        "task": task.name,
        "about": dict(about or {}),
    }
    return tensor_file(tensors, metadata)


def load_weights(data: bytes) -> TrainedEnsemble:
    """The ensemble in a file that `weights_file` made; ``ValueError`` if it is none."""
    try:
        tensors, stored = tensors_and_metadata(data)
        gate = stored["config"].pop("gate")
        config = AttentionConfig(
            gate=None if gate is None else GateConfig(**gate), **stored["config"]
        )
        return ensemble_from_tensors(tensors, config, tuple(stored["seeds"]))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"these are no weights of a trained ensemble: {error}") from error


def log_csv(ensembles: Mapping[str, TrainedEnsemble]) -> str:
    """The history of each variant as a table: one row for each snapshot and seed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["variant", "step", "seed", "train_loss", "train_accuracy", "test_accuracy"])
    for variant, ensemble in ensembles.items():
        for row, step in enumerate(ensemble.steps):
            for column, seed in enumerate(ensemble.seeds):
                numbers = (getattr(ensemble, name)[row, column] for name in HISTORY[1:])
                writer.writerow([variant, step, seed, *(f"{number:.9g}" for number in numbers)])
    return out.getvalue()

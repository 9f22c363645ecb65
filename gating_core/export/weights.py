"""A trained ensemble as a weights file and as a log.

The script of `gating_core.export.script` rebuilds one model from the file with PyTorch alone.
S seeds, T snapshots; tensors in the file have the seeds as their leading axis.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from gating_core.records import tensor_file
from gating_core.tasks.task import Task
from gating_core.training.trained import TrainedEnsemble

HISTORY = ("steps", "train_loss", "train_accuracy", "test_accuracy")
STATE = "state."  # what the names of weights begin with


def weights_file(
    ensemble: TrainedEnsemble, task: Task, about: Mapping[str, object] | None = None
) -> bytes:
    """A safetensors file: weights, history, and the points that were learned and tested.

    Its metadata are JSON: ``config`` and ``seeds`` of the ensemble, the ``task``'s name, and any
    notes ``about`` the run. Points are float32, as in training.
    """
    if task.seeds != ensemble.seeds:
        raise ValueError(f"task has the seeds {task.seeds}; it must have {ensemble.seeds}")
    tensors = {f"{STATE}{name}": array for name, array in ensemble.state.items()}
    tensors |= {name: getattr(ensemble, name) for name in HISTORY}
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

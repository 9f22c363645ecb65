"""The toy's training with measurements, and the shipped run.

Shapes: n measurements during training, K kinds of layer, S seeds, T letters of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gating_core.at_work.bigram_backcopy import ToyRequest, ToyResult, ToyTraining
from gating_core.export.weights import tensor_file, tensors_and_metadata
from gating_core.language.shipped import FOLDER

TOY = FOLDER / "toy.safetensors"
STEPS_BETWEEN = 25  # two measurements
SERIES = ("sink", "sink_at_triggers", "value_ratio", "gate_at_triggers", "gate_elsewhere",
          "copied", "loss_elsewhere")  # fmt: skip


@dataclass(frozen=True, eq=False)
class ToyRun:
    """A training up to now; series (n, K, S) hold fields of `ToyResult` after each of ``steps``."""

    request: ToyRequest
    steps: np.ndarray  # (n,)
    sink: np.ndarray
    sink_at_triggers: np.ndarray
    value_ratio: np.ndarray
    gate_at_triggers: np.ndarray
    gate_elsewhere: np.ndarray
    copied: np.ndarray
    loss_elsewhere: np.ndarray
    letters: np.ndarray  # (S, T) of one text
    triggers: np.ndarray  # (S, V) bool
    weights: np.ndarray  # (K, S, T, T) for it, after the last step

    @property
    def share(self) -> float:
        """The share of the training that is done."""
        return float(self.steps[-1] / self.request.steps)


def train_toy(request: ToyRequest) -> Iterator[ToyRun | None]:
    """Train the layers, and yield the run so far after every few steps, ``None`` in between."""
    training, results = ToyTraining(request), list[ToyResult]()
    results.append(training.measure())
    yield _run(training, results)
    for step in training.advance(request.steps):
        if step % STEPS_BETWEEN == 0 or step == request.steps:
            results.append(training.measure())
            yield _run(training, results)
        else:
            yield None


def joined(request: ToyRequest, runs: Sequence[ToyRun]) -> ToyRun:
    """Join ``runs`` of single kinds, all at the same step, into the run of ``request``."""
    by_kind = {kind: (run, k) for run in runs for k, kind in enumerate(run.request.kinds)}
    parts = [by_kind[kind] for kind in request.kinds]
    series = {name: np.stack([getattr(run, name)[:, k] for run, k in parts], 1) for name in SERIES}
    weights = np.stack([run.weights[k] for run, k in parts])
    return replace(runs[0], request=request, weights=weights, **series)


def _run(training: ToyTraining, results: list[ToyResult]) -> ToyRun:
    series = {
        name: np.stack([getattr(result, name).numpy() for result in results]) for name in SERIES
    }
    last = results[-1]
    return ToyRun(training.request, np.array([result.step for result in results]), **series,
                  letters=last.letters.numpy(), triggers=training.test.triggers.numpy(),
                  weights=last.weights.numpy())  # fmt: skip


def save_toy(run: ToyRun, path: Path = TOY) -> None:
    """Write a run; attention weights in half precision."""
    names = [field.name for field in fields(ToyRun) if field.name != "request"]
    arrays = {name: getattr(run, name) for name in names}
    arrays["weights"] = arrays["weights"].astype(np.float16)
    path.write_bytes(tensor_file(arrays, {"request": asdict(run.request)}))


def load_toy(path: Path = TOY) -> ToyRun:
    """The shipped run."""
    arrays, about = tensors_and_metadata(path.read_bytes())
    request: dict[str, Any] = about["request"]
    request |= {name: tuple(request[name]) for name in ("kinds", "seeds")}
    arrays["weights"] = arrays["weights"].astype(np.float32)
    return ToyRun(ToyRequest(**request), **arrays)

"""The shipped runs and their files: weights, gate sweeps, surfaces and curvatures.

All are records (`gating_core.records`). That of a run holds the weights of every frame, its setting
and seconds; the data are drawn again. Beside each run stand its gate's sweep and the curvature of
every strength (1.3 MB), so that a server just started shows it at once. All numbers are float64,
except K along a run, which is float32 (it is only drawn).

``references.json`` holds test accuracies of other trainings of the same tasks, which sentences
compare with: those of *Decision boundary*, with fixed values and with values from tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gating_core.assets import ASSETS
from gating_core.checks import check_choice
from gating_core.experiments.comparison.frames import Curvatures, CurvatureSummary
from gating_core.experiments.comparison.run import Frame, TrainedRun
from gating_core.experiments.comparison.setting import FIRST_COMPARISON, FIRST_SETTING, Setting
from gating_core.experiments.comparison.sweep import StrengthSweep
from gating_core.geometry.grid import Grid
from gating_core.geometry.surface import SurfaceResult
from gating_core.geometry.verdict import Verdict
from gating_core.records import load_record, save_record
from gating_core.training.trained import TrainedEnsemble
from gating_core.training.trainer import Snapshot, batches_of

FOLDER = ASSETS / "presets"
PRESETS = {task: replace(FIRST_SETTING, task=task) for task in ("circle", "xor", "moons", "linear")}
COMPARISONS = {"comparison": FIRST_COMPARISON}  # with shipped curvature along the run, no sweep
# Of the same tasks in other trainings: by name, the task's setting there.
REFERENCES = {
    name: {task: replace(FIRST_COMPARISON, task=task, source=source) for task in PRESETS}
    for name, source in {"boundary": "memory", "tokens": "tokens"}.items()
}


def load_reference(name: str, task: str) -> np.ndarray:
    """(2, S): test accuracies without and with a gate of the run `REFERENCES` [name][task]."""
    check_choice("reference", name, REFERENCES)
    check_choice("task", task, PRESETS)
    return np.array(json.loads((FOLDER / "references.json").read_text())[name][task])


@dataclass(frozen=True, eq=False)
class _Along:
    """One variant along a run; the ``state`` of its ensemble has the frames as leading axis."""

    ensemble: TrainedEnsemble
    test_loss: np.ndarray


@dataclass(frozen=True, eq=False)
class _Run:
    """The parts of a `TrainedRun` that a file holds."""

    setting: Setting
    seconds: tuple[float, ...]
    variants: dict[str, _Along]


def save_run(run: TrainedRun, path: Path) -> None:
    """Write ``run`` to a safetensors file; ``ValueError`` for one on a user's own data."""
    if run.setting.own is not None:
        raise ValueError("this run has data of its own, which a file of a run does not hold")
    along = {
        name: _Along(replace(variant.ensemble, state=variant.states), variant.test_loss)
        for name, variant in run.variants.items()
    }
    save_record(path, _Run(run.setting, run.seconds, along))


def load_run(path: Path) -> TrainedRun:
    """Read a run that `save_run` wrote; ``ValueError`` if the file is not one.

    It cannot be trained further, because the file does not hold the optimiser's state.
    """
    stored = load_record(_Run, path, "is not a trained run")
    frames = [Frame(int(step), {}) for step in next(iter(stored.variants.values())).ensemble.steps]
    for name, along in stored.variants.items():
        curves = {x: getattr(along.ensemble, x) for x in ("train_loss", "train_accuracy")}
        curves |= {"test_loss": along.test_loss, "test_accuracy": along.ensemble.test_accuracy}
        for index, frame in enumerate(frames):
            state = {part: x[index] for part, x in along.ensemble.state.items()}
            numbers = {curve: x[index] for curve, x in curves.items()}
            frame.snapshots[name] = Snapshot(frame.step, state=state, **numbers)
    batches = tuple(batches_of(stored.setting.configs))
    task, checkpoints = stored.setting.make_task(), (None,) * len(batches)
    return TrainedRun(stored.setting, task, tuple(frames), batches, stored.seconds, checkpoints)


def load_preset(name: str) -> TrainedRun:
    """Load the shipped run called ``name``."""
    check_choice("preset", name, {**PRESETS, **COMPARISONS})
    return load_run(FOLDER / f"{name}.safetensors")


def load_sweep(name: str) -> StrengthSweep:
    """Load the gate sweep of the shipped run called ``name``."""
    check_choice("preset", name, PRESETS)
    return load_record(StrengthSweep, FOLDER / f"{name}.sweep.safetensors", "holds no sweep")


def save_surface(surface: SurfaceResult, path: Path) -> None:
    """Write the curvature of ``surface`` to a safetensors file, without its points.

    K keeps its double precision. Errors of K are rounded up, areas to single precision.
    """
    error = surface.gaussian_error.astype(np.float32)
    error = np.where(error < surface.gaussian_error, np.nextafter(error, np.inf), error)
    nothing = np.empty(0)
    stored = replace(
        surface,
        axis=nothing,
        values=nothing,
        quadrature=nothing,
        gaussian_error=error.astype(np.float32),
        area_element=surface.area_element.astype(np.float32),
    )
    save_record(path, stored)


def load_surface(name: str, values: np.ndarray, grid: Grid) -> SurfaceResult:
    """Load the curvature of the shipped run ``name``, one of `PRESETS`, at all strengths.

    ``values`` (T, R, C, D) are its points on ``grid``, the grid that it was measured on.
    """
    check_choice("preset", name, PRESETS)
    stored = load_record(SurfaceResult, FOLDER / f"{name}.surface.safetensors", "holds no surface")
    if stored.gaussian.shape != values.shape[:3]:
        shape = (*stored.gaussian.shape, "D")
        raise ValueError(f"values are {values.shape}; they must be {shape}, as measured")
    return replace(
        stored,
        axis=grid.axis.numpy(),
        values=values,
        quadrature=grid.weights.numpy(),
        gaussian_error=stored.gaussian_error.astype(float),
        area_element=stored.area_element.astype(float),
    )


def load_measured(name: str) -> Curvatures:
    """Load the curvatures of the shipped run called ``name``."""
    check_choice("comparison", name, COMPARISONS)
    return load_curvatures(FOLDER / f"{name}.curvature.safetensors")


# --- Curvature along a run ------------------------------------------------------------------------

TEXTS = ("word", "bound_kind", "proof", "one_sign")  # fields of a verdict
NUMBERS = tuple(each.name for each in fields(Verdict) if each.name not in TEXTS)


@dataclass(frozen=True, eq=False)
class _Summary:
    """A summary and its verdicts by columns: ``numbers`` (T, 7), and T times `TEXTS`."""

    summary: CurvatureSummary
    numbers: np.ndarray
    texts: list[tuple[str | None, ...]]


def save_curvatures(curvatures: Curvatures, path: Path) -> None:
    """Write ``curvatures`` to a safetensors file."""
    parts = {
        part: [
            _Summary(
                replace(summary, verdicts=()),
                np.array([[getattr(v, x) for x in NUMBERS] for v in summary.verdicts], float),
                [tuple(getattr(v, x) for x in TEXTS) for v in summary.verdicts],
            )
            for summary in summaries.values()
        ]
        for part, summaries in vars(curvatures).items()
    }
    save_record(path, parts)


def load_curvatures(path: Path) -> Curvatures:
    """Read a file of `save_curvatures`; ``ValueError`` for any other file."""
    stored = load_record(dict[str, list[_Summary]], path, "holds no curvatures of a run")
    return Curvatures(
        **{
            part: {(x.summary.variant, x.summary.member): _whole(x) for x in summaries}
            for part, summaries in stored.items()
        }
    )


def _whole(stored: _Summary) -> CurvatureSummary:
    rows = zip(stored.numbers.tolist(), stored.texts, strict=True)
    verdicts: list[dict[str, Any]] = [
        dict(zip(NUMBERS, numbers, strict=True)) | dict(zip(TEXTS, texts, strict=True))
        for numbers, texts in rows
    ]
    return replace(
        stored.summary,
        verdicts=tuple(Verdict(**x | {"points": int(x["points"])}) for x in verdicts),
    )

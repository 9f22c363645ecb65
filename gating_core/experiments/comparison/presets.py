"""The shipped runs and their files: weights, gate sweeps, surfaces and curvatures.

The file of a run holds every frame: tensors are called ``VARIANT.NAME``, weights with the frames as
their leading axis. Setting and seconds stand in the metadata as JSON; the data are drawn again.
Tensors of curvatures are called ``along.VARIANT.MEMBER.PART`` and ``final.VARIANT.MEMBER.PART``.
Beside each run stand its gate's sweep and the curvature of every strength (1.3 MB), so that a
server just started shows it at once. All numbers are float64, except K along a run, which is
float32 (it is only drawn). The metadata lists each text of a verdict once; verdicts hold indices
into that list.

``references.json`` holds test accuracies of other trainings of the same tasks, which sentences
compare with: those of *Decision boundary*, with fixed values and with values from tokens.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gating_core.assets import ASSETS, read_asset
from gating_core.checks import check_choice
from gating_core.experiments.comparison.run import Frame, TrainedRun
from gating_core.experiments.comparison.run_curvature import Curvatures, CurvatureSummary
from gating_core.experiments.comparison.setting import FIRST_COMPARISON, FIRST_SETTING, Setting
from gating_core.experiments.comparison.sweep import StrengthSweep
from gating_core.export.weights import ensemble_from_tensors, ensemble_tensors
from gating_core.geometry.grid import Grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import SurfaceResult
from gating_core.geometry.verdict import Verdict
from gating_core.records import (
    load_record,
    save_record,
    save_tensors,
    tensors_and_metadata,
    tensors_of,
)
from gating_core.training.ensemble import batches_of
from gating_core.training.trainer import Snapshot

FOLDER = ASSETS / "presets"
PRESETS = {task: replace(FIRST_SETTING, task=task) for task in ("circle", "xor", "moons", "linear")}
INTEGRAL_PARTS = ("value", "error", "resolved", "finished")
COMPARISONS = {"comparison": FIRST_COMPARISON}  # with shipped curvature along the run, no sweep
# Of the same tasks in other trainings: by name, the task's setting there.
REFERENCES = {
    name: {task: replace(FIRST_COMPARISON, task=task, source=source) for task in PRESETS}
    for name, source in {"boundary": "memory", "tokens": "tokens"}.items()
}


def save_references(runs: dict[str, dict[str, TrainedRun]], path: Path) -> None:
    """Write the final test accuracies of ``runs``, by name and task, as JSON."""
    rows = {
        name: {
            task: [x.ensemble.test_accuracy[-1].tolist() for x in run.variants.values()]
            for task, run in runs_of_name.items()
        }
        for name, runs_of_name in runs.items()
    }
    path.write_text(json.dumps(rows, indent=1) + "\n")


def load_reference(name: str, task: str) -> np.ndarray:
    """(2, S): test accuracies without and with a gate of the run `REFERENCES` [name][task]."""
    check_choice("reference", name, REFERENCES)
    check_choice("task", task, PRESETS)
    return np.array(json.loads((FOLDER / "references.json").read_text())[name][task])


def save_run(run: TrainedRun, path: Path) -> None:
    """Write ``run`` to a safetensors file; ``ValueError`` for one on a user's own data."""
    if run.setting.own is not None:
        raise ValueError("this run has data of its own, which a file of a run does not hold")
    tensors: dict[str, np.ndarray] = {}
    for name, variant in run.variants.items():
        along = replace(variant.ensemble, state=variant.states)
        tensors |= ensemble_tensors(along, f"{name}.")
        tensors[f"{name}.test_loss"] = variant.test_loss
    save_tensors(path, tensors, {"setting": asdict(run.setting), "seconds": run.seconds})


def load_run(path: Path) -> TrainedRun:
    """Read a run that `save_run` wrote; ``ValueError`` if the file is not one.

    It cannot be trained further, because the file does not hold the optimiser's state.
    """
    with tensors_of(path, "is not a trained run") as (tensors, about):
        fields: dict[str, Any] = about["setting"]
        setting = Setting(**fields | {"variants": tuple(fields["variants"])})
        batches = tuple(batches_of(setting.configs))
        frames: list[Frame] = []
        for name, config in setting.configs.items():
            along = ensemble_from_tensors(tensors, config, setting.seeds, f"{name}.")
            frames = frames or [Frame(int(step), {}) for step in along.steps]
            for index, frame in enumerate(frames):
                frame.snapshots[name] = Snapshot(
                    step=frame.step,
                    train_loss=along.train_loss[index],
                    test_loss=tensors[f"{name}.test_loss"][index],
                    train_accuracy=along.train_accuracy[index],
                    test_accuracy=along.test_accuracy[index],
                    state={part: x[index] for part, x in along.state.items()},
                )
        seconds = tuple(about["seconds"])
    checkpoints = (None,) * len(batches)
    return TrainedRun(setting, setting.make_task(), tuple(frames), batches, seconds, checkpoints)


def save_sweep(sweep: StrengthSweep, path: Path) -> None:
    """Write ``sweep`` to a safetensors file."""
    save_record(path, sweep)


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
    tensors = {
        "gaussian": surface.gaussian,
        "gaussian_error": error.astype(np.float32),
        "area_element": surface.area_element.astype(np.float32),
        "resolved": surface.resolved,
        "total": surface.total,
        "total_error": surface.total_error,
        "bending": surface.bending,
        "bending_error": surface.bending_error,
        "complete": surface.complete,
        "bends": surface.bends,
    }
    save_tensors(path, tensors, {"bound_kind": surface.bound_kind, "proof": surface.proof})


def load_surface(name: str, values: np.ndarray, grid: Grid) -> SurfaceResult:
    """Load the curvature of the shipped run ``name``, one of `PRESETS`, at all strengths.

    ``values`` (T, R, C, D) are its points on ``grid``, the grid that it was measured on.
    """
    check_choice("preset", name, PRESETS)
    parts, about = tensors_and_metadata(read_asset(FOLDER / f"{name}.surface.safetensors"))
    if parts["gaussian"].shape != values.shape[:3]:
        shape = (*parts["gaussian"].shape, "D")
        raise ValueError(f"values are {values.shape}; they must be {shape}, as measured")
    precise: dict[str, Any] = {
        part: np.asarray(array, float) if array.dtype == np.float32 else array
        for part, array in parts.items()
    }
    return SurfaceResult(
        axis=grid.axis.numpy(),
        values=values,
        quadrature=grid.weights.numpy(),
        bound_kind=about["bound_kind"],
        proof=tuple(about["proof"]),
        **precise,
    )


def load_measured(name: str) -> Curvatures:
    """Load the curvatures of the shipped run called ``name``."""
    check_choice("comparison", name, COMPARISONS)
    return load_curvatures(FOLDER / f"{name}.curvature.safetensors")


# --- Curvature along a run ------------------------------------------------------------------------

CURVATURE_PARTS = ("along", "final")
VERDICT_TEXTS = ("word", "bound_kind", "proof", "one_sign")  # fields of a verdict
VERDICT_NUMBERS = tuple(each.name for each in fields(Verdict) if each.name not in VERDICT_TEXTS)


def save_curvatures(curvatures: Curvatures, path: Path) -> None:
    """Write ``curvatures`` to a safetensors file."""
    texts: list[str | None] = [None]
    tensors: dict[str, np.ndarray] = {}
    for part in CURVATURE_PARTS:
        for (name, member), summary in getattr(curvatures, part).items():
            prefix = f"{part}.{name}.{member}."
            verdicts = summary.verdicts
            numbers = [[getattr(v, each) for each in VERDICT_NUMBERS] for v in verdicts]
            indices = [
                [_index(texts, getattr(v, each)) for each in VERDICT_TEXTS] for v in verdicts
            ]
            own = {
                **{each: getattr(summary.total, each).numpy() for each in INTEGRAL_PARTS},
                "numbers": np.array(numbers, dtype=np.float64),
                "texts": np.array(indices, dtype=np.uint8),
            }
            if summary.known is not None:
                own["known"] = summary.known
            tensors |= {f"{prefix}{name}": array for name, array in own.items()}
    save_tensors(path, tensors, {"texts": texts})


def load_curvatures(path: Path) -> Curvatures:
    """Read a file of `save_curvatures`; ``ValueError`` for any other file."""
    curvatures = Curvatures()
    with tensors_of(path, "holds no curvatures of a run") as (tensors, about):
        keys = {tuple(key.split(".")[:3]) for key in tensors}
        for part, name, member in sorted(keys, key=lambda key: (*key[:2], int(key[2]))):
            prefix = f"{part}.{name}.{member}"
            own = [tensors[f"{prefix}.{x}"] for x in INTEGRAL_PARTS]
            shape = (-1,) if part == "along" else ()  # a file has no numbers without an axis
            total = Integral(*(torch.from_numpy(x.reshape(shape)) for x in own))
            rows = zip(
                tensors[f"{prefix}.numbers"].tolist(),
                tensors[f"{prefix}.texts"].tolist(),
                strict=True,
            )
            verdicts = tuple(_verdict(*row, about["texts"]) for row in rows)
            getattr(curvatures, part)[name, int(member)] = CurvatureSummary(
                name, int(member), total, verdicts, tensors.get(f"{prefix}.known"), part == "final"
            )
    return curvatures


def _index(texts: list[str | None], text: str | None) -> int:
    """``text`` is appended if it is new."""
    if text not in texts:
        texts.append(text)
    return texts.index(text)


def _verdict(numbers: list[float], indices: list[int], texts: list[str | None]) -> Verdict:
    parts: dict[str, Any] = dict(zip(VERDICT_NUMBERS, numbers, strict=True))
    # Files written before ``one_sign`` existed have one text less.
    parts |= {name: texts[index] for name, index in zip(VERDICT_TEXTS, indices, strict=False)}
    return Verdict(**parts | {"points": int(parts["points"])})

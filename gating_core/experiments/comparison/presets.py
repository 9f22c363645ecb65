"""Which runs are shipped, and how does a run become a file and a file a run?

A file holds every frame: tensors are called ``VARIANT.NAME``, weights with the frames as their
leading axis. Setting and seconds stand in the metadata as JSON. The data are drawn again. Beside
each run stands its gate's sweep and the curvature of every strength (1.3 MB): a server just started
shows it before any process could have measured it.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gating_core.checks import check_choice
from gating_core.experiments.comparison.measured import Curvatures, load_curvatures
from gating_core.experiments.comparison.run import Frame, TrainedRun
from gating_core.experiments.comparison.setting import FIRST_COMPARISON, FIRST_LOOK, Setting
from gating_core.experiments.comparison.sweep import StrengthSweep
from gating_core.export.weights import (
    ensemble_from_tensors,
    ensemble_tensors,
    tensor_file,
    tensors_and_metadata,
)
from gating_core.geometry.grid import Grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import SurfaceResult
from gating_core.training.ensemble import batches_of
from gating_core.training.trainer import Snapshot

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "presets"
PRESETS = {task: replace(FIRST_LOOK, task=task) for task in ("circle", "xor", "moons", "linear")}
COMPARISONS = {"comparison": FIRST_COMPARISON}  # shipped with what is measured of them, unswept


def save_run(run: TrainedRun, path: Path) -> None:
    """Write ``run`` to a safetensors file; ``ValueError`` for one on somebody's own data."""
    if run.setting.own is not None:
        raise ValueError("this run has data of its own, which a file of a run does not hold")
    tensors: dict[str, np.ndarray] = {}
    for name, variant in run.variants.items():
        along = replace(variant.ensemble, state=variant.states)
        tensors |= ensemble_tensors(along, f"{name}.")
        tensors[f"{name}.test_loss"] = variant.test_loss
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"setting": asdict(run.setting), "seconds": run.seconds}
    path.write_bytes(tensor_file(tensors, metadata))


def load_run(path: Path) -> TrainedRun:
    """Read a run that `save_run` wrote; ``ValueError`` if the file is not one.

    It cannot be trained further: what the optimiser remembered is not in the file.
    """
    try:
        tensors, about = tensors_and_metadata(path.read_bytes())
        fields: dict[str, Any] = about["setting"]
        setting = Setting(**fields | {"variants": tuple(fields["variants"])})
        batches = tuple(batches_of(setting.configs))
        frames: list[Frame] = []
        for name, config in setting.configs.items():
            along = ensemble_from_tensors(tensors, config, setting.seeds, f"{name}.")
            frames = frames or [Frame(int(step), {}) for step in along.steps]
            for place, frame in enumerate(frames):
                frame.snapshots[name] = Snapshot(
                    step=frame.step,
                    train_loss=along.train_loss[place],
                    test_loss=tensors[f"{name}.test_loss"][place],
                    train_accuracy=along.train_accuracy[place],
                    test_accuracy=along.test_accuracy[place],
                    state={part: x[place] for part, x in along.state.items()},
                )
        seconds = tuple(about["seconds"])
    except (OSError, KeyError, TypeError, IndexError, ValueError) as error:
        raise ValueError(f"{path.name} is not a trained run: {error}") from error
    nothing = (None,) * len(batches)
    return TrainedRun(setting, setting.make_task(), tuple(frames), batches, seconds, nothing)


def save_sweep(sweep: StrengthSweep, path: Path) -> None:
    """Write ``sweep`` to a safetensors file."""
    total = sweep.total
    tensors = {
        "weight": sweep.weight, "bias": sweep.bias, "measured": sweep.measured,
        "value": total.value.numpy(), "error": total.error.numpy(),
        "complete": total.complete.numpy(),
    }  # fmt: skip
    path.write_bytes(tensor_file(tensors, {"member": sweep.member}))


def load_preset(name: str) -> TrainedRun:
    """The shipped run called ``name``."""
    check_choice("preset", name, {**PRESETS, **COMPARISONS})
    return load_run(FOLDER / f"{name}.safetensors")


def load_sweep(name: str) -> StrengthSweep:
    """What the shipped run called ``name`` does as its gate is dialled up."""
    check_choice("preset", name, PRESETS)
    found, about = tensors_and_metadata((FOLDER / f"{name}.sweep.safetensors").read_bytes())
    total = Integral(*(torch.from_numpy(found[part]) for part in ("value", "error", "complete")))
    return StrengthSweep(about["member"], found["weight"], found["bias"], total, found["measured"])


def save_surface(surface: SurfaceResult, path: Path) -> None:
    """Write what is measured of ``surface`` to a safetensors file; its points are not in it.

    K keeps its double precision. Errors of K are rounded up, areas to single precision.
    """
    error = surface.gaussian_error.astype(np.float32)
    error = np.where(error < surface.gaussian_error, np.nextafter(error, np.inf), error)
    tensors = {
        "gaussian": surface.gaussian, "gaussian_error": error.astype(np.float32),
        "area_element": surface.area_element.astype(np.float32), "resolved": surface.resolved,
        "total": surface.total, "total_error": surface.total_error, "complete": surface.complete,
    }  # fmt: skip
    path.write_bytes(
        tensor_file(tensors, {"bound_kind": surface.bound_kind, "proof": surface.proof})
    )


def load_surface(name: str, values: np.ndarray, grid: Grid) -> SurfaceResult:
    """What was measured of the shipped run ``name``, one of `PRESETS`, at all strengths.

    ``values`` (T, R, C, D) are its points on ``grid``, which must be the one it was measured on.
    """
    check_choice("preset", name, PRESETS)
    parts, about = tensors_and_metadata((FOLDER / f"{name}.surface.safetensors").read_bytes())
    if parts["gaussian"].shape != values.shape[:3]:
        shape = (*parts["gaussian"].shape, "D")
        raise ValueError(f"values are {values.shape}; they must be {shape}, as measured")
    precise = {part: np.asarray(array, float) if array.dtype == np.float32 else array
               for part, array in parts.items()}  # fmt: skip
    return SurfaceResult(
        axis=grid.axis.numpy(), values=values, quadrature=grid.weights.numpy(),
        bound_kind=about["bound_kind"], proof=tuple(about["proof"]), **precise,
    )  # fmt: skip


def load_measured(name: str) -> Curvatures:
    """What is measured of the shipped run called ``name``."""
    check_choice("comparison", name, COMPARISONS)
    return load_curvatures(FOLDER / f"{name}.curvature.safetensors")

"""Train the shipped runs from their settings, and write them to ``assets/presets``.

python -m gating_core.experiments.comparison
"""

import logging

import torch

from gating_core.experiments.comparison.presets import (
    COMPARISONS,
    FOLDER,
    PRESETS,
    REFERENCES,
    save_curvatures,
    save_references,
    save_run,
    save_surface,
)
from gating_core.experiments.comparison.run import TrainedRun, train_setting
from gating_core.experiments.comparison.run_curvature import measured
from gating_core.experiments.comparison.setting import Setting
from gating_core.experiments.comparison.sweep import sweep_strengths
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.records import save_record


def trained(setting: Setting) -> TrainedRun:
    """Train a setting to its end."""
    *_, run = train_setting(setting)
    assert isinstance(run, TrainedRun)
    return run


def make_references() -> None:
    """Train `REFERENCES` and write their accuracies."""
    runs = {
        name: {task: trained(setting) for task, setting in settings.items()}
        for name, settings in REFERENCES.items()
    }
    save_references(runs, FOLDER / "references.json")


def main() -> None:
    """Train and write the references, the presets and the comparisons; log their accuracies."""
    torch.set_num_threads(1)  # models this small only wait for each other on more
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    make_references()
    for name, setting in {**PRESETS, **COMPARISONS}.items():
        run = trained(setting)
        path = FOLDER / f"{name}.safetensors"
        save_run(run, path)
        if name in COMPARISONS:
            save_curvatures(measured(run), path.with_suffix(".curvature.safetensors"))
        else:
            *_, sweep = sweep_strengths(run)
            save_record(path.with_suffix(".sweep.safetensors"), sweep)
            surface = measure_surface(sweep.model(run).attention, square_grid())
            save_surface(surface, path.with_suffix(".surface.safetensors"))
        ensembles = {name: variant.ensemble for name, variant in run.variants.items()}
        texts = [f"{name} {e.test_accuracy[-1, e.best]:.3f}" for name, e in ensembles.items()]
        logging.info("%s: %s", path.name, ", ".join(texts))


if __name__ == "__main__":
    main()

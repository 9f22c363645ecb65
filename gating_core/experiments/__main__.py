"""Train and measure what the app bundles of comparisons and of depth, from their settings.

python -m gating_core.experiments    # writes assets/presets and assets/depth
"""

import json
import logging

import torch

from gating_core.experiments.comparison.frames import measured
from gating_core.experiments.comparison.presets import (
    COMPARISONS,
    FOLDER,
    PRESETS,
    REFERENCES,
    save_curvatures,
    save_run,
    save_surface,
)
from gating_core.experiments.comparison.run import train
from gating_core.experiments.comparison.sweep import sweep_strengths
from gating_core.experiments.depth.request import TrainedRequest
from gating_core.experiments.depth.trained import SHIPPED, save_gates, train_depths
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.records import save_record

if __name__ == "__main__":
    torch.set_num_threads(1)  # models this small only wait for each other on more
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    accuracies = {
        name: {
            task: [x.ensemble.test_accuracy[-1].tolist() for x in train(setting).variants.values()]
            for task, setting in settings.items()
        }
        for name, settings in REFERENCES.items()
    }
    (FOLDER / "references.json").write_text(json.dumps(accuracies, indent=1) + "\n")
    for name, setting in {**PRESETS, **COMPARISONS}.items():
        run = train(setting)
        path = FOLDER / f"{name}.safetensors"
        save_run(run, path)
        if name in COMPARISONS:
            save_curvatures(measured(run), path.with_suffix(".curvature.safetensors"))
        else:
            *_, sweep = sweep_strengths(run)
            save_record(path.with_suffix(".sweep.safetensors"), sweep)
            surface = measure_surface(sweep.model(run).attention, square_grid())
            save_surface(surface, path.with_suffix(".surface.safetensors"))
        for variant, trained in run.variants.items():
            accuracy = trained.ensemble.test_accuracy[-1].mean()
            logging.info("%s, %s: test accuracy %.3f", path.name, variant, accuracy)
    save_record(SHIPPED, train_depths(TrainedRequest()))
    save_gates()

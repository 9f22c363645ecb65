"""Trained stacks of several depths, and what is bundled of depth.

The ungated and the gated stacks of one depth are one ensemble, and share data and all initial
weights that they have in common. Those of the default request have a residual: without one stacks
of eight layers do not learn at all, and with one they need no normalisation.

Shapes: S seeds, L depths, R x R grid points, D model dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gating_core.assets import ASSETS
from gating_core.attention.stack import Attention, EveryLayer, restore
from gating_core.checks import check_choice, check_integer
from gating_core.experiments.depth.curves import (
    DepthResult,
    Quantities,
    measure_quantities,
    measure_regime,
    regime_result,
    stack_depths,
)
from gating_core.experiments.depth.request import DepthRequest, TrainedRequest
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import jet_by_parts
from gating_core.progress import Progress, silent
from gating_core.records import load_record, save_record
from gating_core.tasks.task import make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trained import TrainedEnsemble
from gating_core.training.trainer import Trainer, ensemble_of

DEPTH_VARIANTS = {"ungated": False, "gated": True}  # whether there is a gate
MEASURING = 0.5  # time of measuring, relative to training, in shares done
FINAL_PART_POINTS = 60_000  # of all surfaces, between two reports of progress: a fifth of a second


@dataclass(frozen=True, eq=False)
class TrainedDepths:
    """Trained stacks of every depth, by variant: their weights and measured surfaces.

    ``ensembles`` have one snapshot, the last; ``quantities`` are those of the final surfaces, at
    the request's depths. Both have the keys of `DEPTH_VARIANTS`.
    """

    request: TrainedRequest
    ensembles: dict[str, tuple[TrainedEnsemble, ...]]
    quantities: dict[str, Quantities]

    @cached_property
    def results(self) -> dict[str, DepthResult]:
        """The final surfaces against depth, by variant."""
        depths = np.array(self.request.depths)
        return {
            variant: DepthResult(f"trained_{variant}", self.request, depths, quantities)
            for variant, quantities in self.quantities.items()
        }

    def layers(self, variant: str, depth: int, member: int | None = None) -> EveryLayer:
        """Restore the trained stacks of ``depth`` layers, with the output of every layer.

        All seeds, or one ``member`` of them, from 0.
        """
        check_choice("variant", variant, DEPTH_VARIANTS)
        if depth not in self.request.depths:
            raise ValueError(f"depth is {depth!r}; it must be one of {self.request.depths}")
        model = _restored(self.ensembles[variant][self.request.depths.index(depth)])
        if member is not None:
            check_integer("member", member, 0, self.request.seed_count - 1)
            model = model.member(member)
        return EveryLayer(model)

    def accuracy(self, variant: str) -> np.ndarray:
        """(S, L): accuracy on test points."""
        check_choice("variant", variant, DEPTH_VARIANTS)
        return np.stack([each.test_accuracy[-1] for each in self.ensembles[variant]], 1)


def train_depths(request: TrainedRequest, progress: Progress = silent) -> TrainedDepths:
    """Train and measure stacks of all depths, with the same result at every call.

    ``progress`` is called with the share done. Raises `TrainingDiverged` where a loss is no longer
    finite.
    """
    task = make_task(request.task, request.points, seeds=request.seeds)
    ensembles: dict[str, list[TrainedEnsemble]] = {variant: [] for variant in DEPTH_VARIANTS}
    quantities: dict[str, list[Quantities]] = {variant: [] for variant in DEPTH_VARIANTS}
    whole, done, grid = (1 + MEASURING) * sum(request.depths), 0.0, square_grid(request.grid)

    def report(_: float | None) -> None:
        progress((done + depth * trainer.step / request.steps) / whole)

    for depth in request.depths:
        configs = [request.stack(depth, x, request.arrangement) for x in DEPTH_VARIANTS.values()]
        trainer = Trainer(configs, task, Recipe(batch_size=min(64, request.points)))
        trainer.advance(request.steps, report)
        snapshots = trainer.snapshots(report)
        for variant, config, snapshot in zip(DEPTH_VARIANTS, configs, snapshots, strict=True):
            ensemble = ensemble_of(config, task.seeds, [snapshot])
            ensembles[variant].append(ensemble)
            model = _restored(ensemble)
            part = max(FINAL_PART_POINTS // (len(ensemble.seeds) * depth), 1)
            jet = jet_by_parts(model, grid.points, "rigorous", part, report)
            quantities[variant].append(measure_quantities(model, jet, grid))
        done += (1 + MEASURING) * depth
    progress(1.0)
    return TrainedDepths(
        request,
        {variant: tuple(parts) for variant, parts in ensembles.items()},
        {variant: stack_depths(parts) for variant, parts in quantities.items()},
    )


def _restored(ensemble: TrainedEnsemble) -> Attention:
    return restore(ensemble.config, ensemble.seeds, ensemble.state).attention


# --- What is bundled ------------------------------------------------------------------------------

SHIPPED = ASSETS / "depth" / "trained.safetensors"
SHIPPED_GATES = SHIPPED.with_name("gates.safetensors")
GATES = ("aligned", "random")  # keys of REGIMES


def load_shipped() -> TrainedDepths:
    """Load the shipped stacks, trained and measured with the request's defaults."""
    return load_record(TrainedDepths, SHIPPED, "holds no trained stacks")


def save_gates() -> None:
    """Measure the curves of `GATES` with the request's defaults, and write them."""
    results = {name: measure_regime(DepthRequest(), name) for name in GATES}
    save_record(SHIPPED_GATES, {name: result.quantities for name, result in results.items()})


def load_gates() -> dict[str, DepthResult]:
    """Return the curves that `save_gates` has written, by regime."""
    stored = load_record(dict[str, Quantities], SHIPPED_GATES, "holds no curves of gates")
    request = DepthRequest()
    return {name: regime_result(request, name, quantities) for name, quantities in stored.items()}

"""Trained stacks of several depths: training, measuring, and the shipped file.

The ungated and the gated stacks of one depth are one ensemble, and share data and all initial
weights that they have in common. Those of the default request have a residual: without one stacks
of eight layers do not learn at all, and with one they need no normalisation. In the file tensors
are called ``VARIANT.DEPTH.NAME``, and measured numbers ``VARIANT.found.PART.QUANTITY``; the request
stands in the metadata as JSON. Shapes: S seeds, L depths, R x R grid points, D model dimension.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gating_core.attention.classifier import restore
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, EveryLayer
from gating_core.checks import check_choice, check_integer
from gating_core.experiments.depth.curves import DepthResult, depth_result, measure_layers
from gating_core.experiments.depth.quantities import QUANTITIES, Measured, joined, measured
from gating_core.experiments.depth.request import TrainedRequest
from gating_core.export.weights import (
    ensemble_from_tensors,
    ensemble_tensors,
    tensor_file,
    tensors_and_metadata,
)
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import SurfaceResult, measure_surface
from gating_core.jets.second_order import jet_by_parts
from gating_core.tasks.task import Task, make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trained import TrainedEnsemble
from gating_core.training.trainer import Snapshot, Trainer

DEPTH_VARIANTS = {"ungated": False, "gated": True}  # whether there is a gate
MEASURING = 0.5  # of a depth's training: what measuring counts, where shares done are told
PART_POINTS = 60_000  # of all surfaces together, at a time: a fifth of a second
REPLAY_GRID = 31

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class TrainedDepths:
    """Trained stacks of every depth, by variant: their weights, and what was found on them.

    ``ensembles`` have one snapshot, the last; ``results`` tell of the final surfaces, at the
    request's depths. Both have the keys of `DEPTH_VARIANTS`.
    """

    request: TrainedRequest
    ensembles: dict[str, tuple[TrainedEnsemble, ...]]
    results: dict[str, DepthResult]

    def layers(self, variant: str, depth: int) -> EveryLayer:
        """What each of the layers of the trained stacks of ``depth`` layers writes."""
        return EveryLayer(_restored(self._ensemble(variant, depth)))

    def accuracy(self, variant: str) -> np.ndarray:
        """(S, L): on test points."""
        check_choice("variant", variant, DEPTH_VARIANTS)
        return np.stack([found.test_accuracy[-1] for found in self.ensembles[variant]], 1)

    def _ensemble(self, variant: str, depth: int) -> TrainedEnsemble:
        check_choice("variant", variant, DEPTH_VARIANTS)
        if depth not in self.request.depths:
            raise ValueError(f"depth is {depth!r}; it must be one of {self.request.depths}")
        return self.ensembles[variant][self.request.depths.index(depth)]


Event = float | TrainedDepths


def train_depths(request: TrainedRequest) -> Iterator[Event]:
    """Train and measure stacks of all depths: the same again, whenever it is called.

    Yields the share done, 0 to 1, several times a second, and at the end the `TrainedDepths`.
    Raises `TrainingDiverged` where a loss is no longer finite.
    """
    task = make_task(request.task, request.points, seeds=request.seeds)
    ensembles: dict[str, list[TrainedEnsemble]] = {variant: [] for variant in DEPTH_VARIANTS}
    found: dict[str, list[Measured]] = {variant: [] for variant in DEPTH_VARIANTS}
    whole, done = (1 + MEASURING) * sum(request.depths), 0.0
    for depth in request.depths:
        configs = [
            request.stack(depth, DEPTH_VARIANTS[variant], request.arrangement)
            for variant in DEPTH_VARIANTS
        ]
        trainer = Trainer(configs, task, Recipe(batch_size=min(64, request.points)))
        for _ in trainer.advance(request.steps):
            yield (done + depth * trainer.step / request.steps) / whole
        snapshots = yield from _told(trainer.snapshots(), (done + depth) / whole)
        for variant, config, snapshot in zip(DEPTH_VARIANTS, configs, snapshots, strict=True):
            ensemble = _ended(config, task, snapshot)
            ensembles[variant].append(ensemble)
            told = _told(_final(ensemble, request.grid), (done + depth) / whole)
            found[variant].append((yield from told))
        done += (1 + MEASURING) * depth
    yield 1.0
    yield trained_depths(
        request,
        {variant: tuple(several) for variant, several in ensembles.items()},
        {variant: joined(several) for variant, several in found.items()},
    )


def trained_depths(
    request: TrainedRequest,
    ensembles: dict[str, tuple[TrainedEnsemble, ...]],
    found: dict[str, Measured],
) -> TrainedDepths:
    """What was trained and ``found`` on the final surfaces, by variant."""
    depths = np.array(request.depths)
    results = {
        variant: depth_result(f"trained_{variant}", request, found[variant], depths)
        for variant in DEPTH_VARIANTS
    }
    return TrainedDepths(request, ensembles, results)


def measure_through(
    trained: TrainedDepths, variant: str, depth: int
) -> Generator[None, None, DepthResult]:
    """All seeds' surfaces after each layer of the trained stacks of ``depth`` layers."""
    layers = trained.layers(variant, depth)
    found = yield from measure_layers(layers, trained.request.grid)
    depths = np.arange(1, depth + 1)
    return depth_result(f"trained_{variant}", trained.request, found, depths)


def replay_trained(
    trained: TrainedDepths, variant: str, depth: int, member: int, grid_size: int = REPLAY_GRID
) -> SurfaceResult:
    """One trained stack's surface after every layer: as many frames as layers."""
    check_integer("member", member, 0, trained.request.seed_count - 1)
    model = trained.layers(variant, depth).model.member(member)
    return measure_surface(EveryLayer(model), square_grid(grid_size), bound="rigorous")


def _told(work: Generator[None, None, T], share: float) -> Generator[float, None, T]:
    """``work`` that yields the ``share`` done whenever it gives way."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
        yield share


def _ended(config: AttentionConfig, task: Task, snapshot: Snapshot) -> TrainedEnsemble:
    """An ensemble of which nothing but the end is kept."""
    return TrainedEnsemble(
        config=config,
        seeds=task.seeds,
        steps=np.array([snapshot.step]),
        train_loss=snapshot.train_loss[None],
        train_accuracy=snapshot.train_accuracy[None],
        test_accuracy=snapshot.test_accuracy[None],
        state=snapshot.state,
    )


def _restored(ensemble: TrainedEnsemble) -> Attention:
    return restore(ensemble.config, ensemble.seeds, ensemble.state).attention


def _final(ensemble: TrainedEnsemble, grid_size: int) -> Generator[None, None, Measured]:
    """What is found on the surfaces of all seeds, arrays (S,)."""
    model, grid = _restored(ensemble), square_grid(grid_size)
    part = max(PART_POINTS // (len(ensemble.seeds) * ensemble.config.depth), 1)
    jet = yield from jet_by_parts(model, grid.points, "rigorous", part)
    yield
    return measured(model, jet, grid)


# --- The shipped file -----------------------------------------------------------------------------

SHIPPED = Path(__file__).resolve().parents[3] / "assets" / "depth" / "trained.safetensors"


def save_depths(trained: TrainedDepths, path: Path) -> None:
    """Write ``trained`` to a safetensors file."""
    tensors: dict[str, np.ndarray] = {}
    kinds = {}
    for variant in DEPTH_VARIANTS:
        for depth, ensemble in zip(trained.request.depths, trained.ensembles[variant], strict=True):
            tensors |= ensemble_tensors(ensemble, f"{variant}.{depth}.")
        result = trained.results[variant]
        kinds[variant] = result.bound_kind
        tensors[f"{variant}.found.unresolved"] = result.unresolved
        tensors[f"{variant}.found.proved"] = result.proved
        for name, curve in result.curves.items():
            tensors[f"{variant}.found.values.{name}"] = curve.values
            tensors[f"{variant}.found.errors.{name}"] = curve.errors
            tensors[f"{variant}.found.known.{name}"] = curve.known
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"request": asdict(trained.request), "bound_kinds": kinds}
    path.write_bytes(tensor_file(tensors, about))


def load_depths(path: Path) -> TrainedDepths:
    """Read what `save_depths` wrote; ``ValueError`` if the file is none of these."""
    try:
        tensors, about = tensors_and_metadata(path.read_bytes())
        asked: dict[str, Any] = about["request"]
        request = TrainedRequest(
            **asked | {"depths": tuple(asked["depths"]), "gate": GateConfig(**asked["gate"])}
        )
        ensembles = {
            variant: tuple(
                ensemble_from_tensors(
                    tensors,
                    request.stack(depth, DEPTH_VARIANTS[variant], request.arrangement),
                    request.seeds,
                    f"{variant}.{depth}.",
                )
                for depth in request.depths
            )
            for variant in DEPTH_VARIANTS
        }
        found = {
            variant: Measured(
                values=_by_quantity(tensors, f"{variant}.found.values."),
                errors=_by_quantity(tensors, f"{variant}.found.errors."),
                known=_by_quantity(tensors, f"{variant}.found.known."),
                unresolved=tensors[f"{variant}.found.unresolved"],
                proved=tensors[f"{variant}.found.proved"],
                bound_kind=about["bound_kinds"][variant],
            )
            for variant in DEPTH_VARIANTS
        }
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path.name} holds no trained stacks: {error}") from error
    return trained_depths(request, ensembles, found)


def _by_quantity(tensors: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name: tensors[prefix + name] for name in QUANTITIES}


def load_shipped() -> TrainedDepths:
    """The stacks that are shipped, trained and measured with the request's defaults."""
    return load_depths(SHIPPED)

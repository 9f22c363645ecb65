"""What the folded parts compute: a real gated layer with its conic, and a gate for a shape.

The layer has one head, three values and a headwise sigmoid gate: random, or trained here; with its
own gate, or one whose exponents are set by hand. A small network learns the gate for a shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import gating_core.theory as theory
from gating_core.attention import AttentionConfig, GateConfig, restore
from gating_core.geometry import square_grid
from gating_core.tasks import make_task
from gating_core.training import train_ensemble
from ui.common.words import short
from ui.gates.frames import GateFrame, frame_of
from ui.gates.request import GRID_SIZE

LAYER_SOURCES = ("random", "trained")
FIRST_SEED = 2  # the first whose conic crosses the triangle
TRIANGLE_POINTS = 41  # along a side
TASK, TRAINING_POINTS, TRAINING_STEPS, TRAINED_SEEDS = "circle", 256, 400, 16
SIZES = (0.25, 2.0)  # of the shape, where the sheet is 1 from the origin
UNITS = (4, 8, 16, 32)
FIT_STEPS = 300


# --- A real layer ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerRequest:
    """A layer of D = ``width`` channels, by its ``seed``; the gate's exponents if ``by_hand``."""

    source: str = LAYER_SOURCES[0]
    seed: int = FIRST_SEED
    width: int = 3
    by_hand: bool = False
    p: float = -0.6
    q: float = -0.4
    log_scale: float = 0.0

    @property
    def as_trained(self) -> LayerRequest:
        """The same with the layer's own gate: what training depends on."""
        return LayerRequest(self.source, self.seed, self.width)


@dataclass(frozen=True, eq=False)
class TrainedLayer:
    """Weights of all seeds of an ensemble, the best by training accuracy, and its accuracies."""

    config: AttentionConfig
    seeds: tuple[int, ...]
    state: dict
    best: int
    train_accuracy: float
    test_accuracy: float


def measure_layer(
    request: LayerRequest, trained: TrainedLayer | None = None, size: int = TRIANGLE_POINTS
) -> theory.ConicResult:
    """Measure K of the requested layer over the triangle of its weights, and its conic."""
    if trained is None:
        model = theory.gated_layer(request.seed, request.width)
    else:
        model = restore(trained.config, trained.seeds, trained.state).attention.member(trained.best)
    if request.by_hand:
        model = theory.with_exponents(model, request.p, request.q, request.log_scale)
    return theory.measure_conic(model, size)


def train_layer(
    request: LayerRequest, steps: int = TRAINING_STEPS
) -> Iterator[float | TrainedLayer]:
    """Train sixteen seeds on a circle, from the request's on; shares done, then the best."""
    config = AttentionConfig(model_dim=request.width, gate=GateConfig(granularity="headwise"))
    seeds = tuple(range(request.seed, request.seed + TRAINED_SEEDS))
    task = make_task(TASK, TRAINING_POINTS, seeds=seeds)
    for snapshot in train_ensemble(config, task, seeds, steps):
        yield snapshot.step / steps
    score = [(-float(accuracy), float(loss)) for accuracy, loss in
             zip(snapshot.train_accuracy, snapshot.train_loss, strict=True)]  # fmt: skip
    best = score.index(min(score))
    yield TrainedLayer(
        config, seeds, snapshot.state, best, float(snapshot.train_accuracy[best]),
        float(snapshot.test_accuracy[best]),
    )  # fmt: skip


# --- A gate for a shape ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ShapeRequest:
    """A shape by its name and size; the network's tanh ``units``, and the ``seed`` it starts at."""

    shape: str = "sphere"
    size: float = 0.75
    units: int = 32
    seed: int = 0


@dataclass(frozen=True, eq=False)
class FittedGate:
    """The gate that a sigmoid can reach, the network that learned it, and both images.

    ``size`` is the shape's, made smaller if it had to be. Arrays are (R, C).
    """

    size: float
    largest_error: float  # of the gate
    error: np.ndarray  # network − gate
    exact: theory.MeasuredGate
    fitted: theory.MeasuredGate


def measure_design(request: ShapeRequest, size: int = GRID_SIZE) -> theory.GateDesign:
    """Return the gate for the shape, and what it makes of the sheet."""
    return theory.design(request.shape, request.size, square_grid(size))


def fit_shape(request: ShapeRequest, steps: int = FIT_STEPS,
              size: int = GRID_SIZE) -> Iterator[float | FittedGate]:  # fmt: skip
    """Fit a network to the gate for the shape; shares done, then the result."""
    grid = square_grid(size)
    gate = measure_design(request, size).reachable
    for fit in theory.fit_gate(gate, request.seed, request.units, steps):
        yield fit.step / steps
    exact, fitted = theory.measure_any_gate(gate, grid), theory.measure_any_gate(fit.network, grid)
    error = (fitted.gate - exact.gate)[..., 0]
    yield FittedGate(
        size=gate.size,
        largest_error=float(np.abs(error).max()),
        error=error,
        exact=exact,
        fitted=fitted,
    )


def shape_frames(designed: theory.GateDesign, fit: FittedGate | None) -> dict[str, GateFrame]:
    """Return what is drawn of a shape: the sheet under its gate, and under the network.

    Where no sigmoid reaches the gate, the smaller shape that was fitted stands between them.
    """
    images = {f"gate, size {short(designed.gate.size)}": designed.image}
    if fit is not None:
        images |= {f"gate, size {short(fit.size)}": fit.exact, "network": fit.fitted}
    return {name: frame_of(image) for name, image in images.items()}

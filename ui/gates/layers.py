"""A real gated layer whose K is compared with its conic.

One layer, one head, three values, a headwise sigmoid gate: random, or trained here; with its own
gate, or one whose exponents are set by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gating_core.attention import AttentionConfig, GateConfig, restore
from gating_core.tasks import make_task
from gating_core.theory import ConicResult, Exponents, gated_layer, measure_conic, with_exponents
from gating_core.training import train_ensemble

LAYER_SOURCES = ("random", "trained")
FIRST_SEED = 2  # the first whose conic crosses the triangle
TRIANGLE_POINTS = 41  # along a side
TASK, TRAINING_POINTS, TRAINING_STEPS, TRAINED_SEEDS = "circle", 256, 400, 16


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


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """A layer's conic and K over the triangle of its weights."""

    request: LayerRequest
    conic: ConicResult

    @property
    def exponents(self) -> Exponents:
        return self.conic.exponents


def measure_layer(
    request: LayerRequest, trained: TrainedLayer | None = None, size: int = TRIANGLE_POINTS
) -> MeasuredLayer:
    """Measure K of the requested layer, and its conic."""
    if trained is None:
        model = gated_layer(request.seed, request.width)
    else:
        model = restore(trained.config, trained.seeds, trained.state).attention.member(trained.best)
    if request.by_hand:
        model = with_exponents(model, request.p, request.q, request.log_scale)
    return MeasuredLayer(request, measure_conic(model, size))


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

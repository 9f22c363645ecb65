"""What is measured and drawn for the page of gates, in bounded caches shared by all visitors."""

from __future__ import annotations

import gating_core.theory as theory
from gating_core.geometry import square_grid
from gating_core.training import TrainingDiverged
from ui.gates import folded
from ui.gates.frames import GateFrame, measure_frames, measure_shares, measured_frames
from ui.gates.picture import GatePicture, gate_picture, settled_by
from ui.gates.request import GRID_SIZE, SETTLING, STRENGTHS, GateRequest
from ui.work import pool
from ui.work.cache import CACHE, NUMBERS_CACHE, cached
from ui.work.cached_jobs import CachedJobs
from ui.work.pool import Rank
from ui.work.shared import shared_stream, split_over_workers

Frames = tuple[GateFrame, ...]


@cached()
def at_strengths(request: GateRequest, strengths: tuple[float, ...]) -> Frames:
    """A gate at a few strengths: a tenth of a second each."""
    return pool.POOL.call(measured_frames, request, strengths)


EVERY: CachedJobs[GateRequest, Frames] = CachedJobs(
    "gate_strengths",
    lambda request: split_over_workers(measure_frames, STRENGTHS, request, rank=Rank.BRIEF),
    CACHE,
)


@cached()
def shares(request: GateRequest, strength: float) -> theory.SignShares:
    """On how much of the chart the sign of K is proved: half a second at most."""
    return pool.POOL.call(measure_shares, request, strength)


@cached()
def picture(request: GateRequest, strengths: tuple[float, ...], shown: str,
            _frames: Frames) -> GatePicture:  # fmt: skip
    """The linked view of a gate at ``strengths``."""
    settling = tuple(frame for frame in _frames if frame.strength in SETTLING)
    if len(settling) < len(SETTLING):
        settling = at_strengths(request, SETTLING)
    return gate_picture(_frames, shown, settled_by(settling))


# --- The folded parts -----------------------------------------------------------------------------

LAYERS: CachedJobs[folded.LayerRequest, folded.TrainedLayer] = CachedJobs(
    "gate_layer", lambda request: shared_stream(folded.train_layer, request), NUMBERS_CACHE,
    (TrainingDiverged,),
)  # fmt: skip
SHAPED: CachedJobs[folded.ShapeRequest, folded.FittedGate] = CachedJobs(
    "gate_fit", lambda request: shared_stream(folded.fit_shape, request), CACHE
)


@cached()
def layer(request: folded.LayerRequest, _trained: folded.TrainedLayer | None) -> theory.ConicResult:
    """A layer's conic and its K: some tenth of a second."""
    return pool.POOL.call(folded.measure_layer, request, _trained)


@cached("Measuring the counterexamples …")
def counterexamples(names: tuple[str, ...], seed: int) -> tuple[theory.MeasuredCounterexample, ...]:
    """Ungated models that curve, each with its twin: a third of a second each."""
    grid = square_grid(GRID_SIZE)
    return pool.POOL.map(theory.measure_counterexample, [(name, seed, grid) for name in names])


@cached()
def designed(shape: str, size: float) -> theory.GateDesign:
    """The gate for a shape, and what it makes of the sheet: some tenth of a second."""
    return pool.POOL.call(folded.measure_design, folded.ShapeRequest(shape, size))


@cached()
def shape_picture(
    request: folded.ShapeRequest,
    fitted: bool,
    _designed: theory.GateDesign,
    _fit: folded.FittedGate | None,
) -> tuple[dict[str, GateFrame], GatePicture]:
    """The frames of a shape by name, the network's among them once it is ``fitted``; their view."""
    frames = folded.shape_frames(_designed, _fit)
    return frames, gate_picture(tuple(frames.values()))

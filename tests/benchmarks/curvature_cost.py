"""The cost of curvature, in forward passes, and against nested torch.func."""

from __future__ import annotations

import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.jets.second_order import nested_jet, second_order_jet
from tests.benchmarks.process import threads_of
from tests.benchmarks.surfaces import POINT_COUNT, forward_written_out, gated_model, grid_points
from tests.benchmarks.table import Row, compare
from tests.benchmarks.timing import THREADS, interleaved

MODEL_DIM = VALUE_COUNT = 16
ROUNDS_BY_DEPTH = {1: 15, 4: 7}


def rows(process: str) -> list[Row]:
    """Jet and curvature against one forward pass and against nested forward mode."""
    counts = threads_of(process)
    return [row for depth in ROUNDS_BY_DEPTH for each in counts for row in _at_depth(depth, each)]


def _at_depth(depth: int, threads: int) -> list[Row]:
    model = gated_model(MODEL_DIM, VALUE_COUNT, depth)

    def measured(points: torch.Tensor) -> CurvatureField:
        return curvature(second_order_jet(model, points))

    def bounded(points: torch.Tensor) -> CurvatureField:
        return curvature(second_order_jet(model, points, "rigorous"))

    def nested(points: torch.Tensor) -> CurvatureField:
        return curvature(nested_jet(model, points))

    alternatives = {
        "forward pass": forward_written_out(model),
        "jet": lambda points: second_order_jet(model, points),
        "jet + curvature": measured,
        "with rigorous bounds": bounded,
    }
    pairs = [
        ("jet", "forward pass"),
        ("jet + curvature", "forward pass"),
        ("with rigorous bounds", "jet + curvature"),
    ]
    if threads == 1:
        alternatives["nested torch.func + curvature"] = nested
        pairs.append(("jet + curvature", "nested torch.func + curvature"))
    seconds = interleaved(alternatives, grid_points, ROUNDS_BY_DEPTH[depth], threads)
    sizes = f"N {POINT_COUNT}, D {MODEL_DIM}, n {VALUE_COUNT}, L {depth}, float64"
    return [
        compare(seconds, what, reference, sizes, what + THREADS[threads])
        for what, reference in pairs
    ]

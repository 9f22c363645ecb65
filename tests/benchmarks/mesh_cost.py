"""The cost of exact curvature against the discrete curvature of a mesh with the same points.

Both begin with points of the input plane and evaluate the model themselves.
"""

from __future__ import annotations

import pyvista
import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.jets.second_order import second_order_jet
from tests.benchmarks.process import threads_of
from tests.benchmarks.surfaces import GRID_SIDE, POINT_COUNT, gated_model, grid_points
from tests.benchmarks.table import Row, compare
from tests.benchmarks.timing import THREADS, interleaved

MODEL_DIM = VALUE_COUNT = 3
ROUNDS = 40


def rows(process: str) -> list[Row]:
    """Jet and curvature against PyVista's Gaussian curvature, forward pass included in both."""
    model = gated_model(MODEL_DIM, VALUE_COUNT, depth=1)

    def exact(points: torch.Tensor) -> CurvatureField:
        return curvature(second_order_jet(model, points))

    def discrete(points: torch.Tensor) -> object:
        surface = model(points)[0].reshape(GRID_SIDE, GRID_SIDE, MODEL_DIM).numpy()
        grid = pyvista.StructuredGrid(*(surface[..., axis] for axis in range(MODEL_DIM)))
        mesh = grid.extract_surface(algorithm="dataset_surface").triangulate()
        return mesh.curvature("gaussian")

    names = ("jet + curvature", "forward pass + PyVista mesh")
    alternatives = dict(zip(names, (exact, discrete), strict=True))
    sizes = f"N {POINT_COUNT}, D {MODEL_DIM}, n {VALUE_COUNT}, L 1, float64"
    return [
        compare(
            interleaved(alternatives, grid_points, ROUNDS, threads),
            *names,
            sizes,
            names[0] + THREADS[threads],
        )
        for threads in threads_of(process)
    ]

"""The cost of curvature: in forward passes, against nested torch.func, and against a mesh.

All begin with points of the input plane and evaluate the model themselves.
"""

from __future__ import annotations

import pyvista
import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.jets.second_order import nested_jet, second_order_jet
from tests.benchmarks.surfaces import (
    GRID_SIDE,
    POINT_COUNT,
    forward_written_out,
    gated_model,
    grid_points,
)
from tests.benchmarks.table import Row, compare
from tests.benchmarks.timing import interleaved

MODEL_DIM = VALUE_COUNT = 16
MESH_DIM = 3  # of the surface that PyVista's mesh has, too
ROUNDS, MESH_ROUNDS = 12, 30
EXACT, BOUNDED = "jet + curvature", "with rigorous bounds"
FORWARD, NESTED, MESH = (
    "forward pass",
    "nested torch.func + curvature",
    "forward pass + PyVista mesh",
)


def rows(process: str) -> list[Row]:
    """Jet and curvature against a forward pass and two peers, and what bounds cost."""
    model = gated_model(MODEL_DIM, VALUE_COUNT, 1)

    def exact(points: torch.Tensor) -> CurvatureField:
        return curvature(second_order_jet(model, points))

    def bounded(points: torch.Tensor) -> CurvatureField:
        return curvature(second_order_jet(model, points, "rigorous"))

    def nested(points: torch.Tensor) -> CurvatureField:
        return curvature(nested_jet(model, points))

    alternatives = {
        FORWARD: forward_written_out(model),
        EXACT: exact,
        BOUNDED: bounded,
        NESTED: nested,
    }
    seconds = interleaved(alternatives, grid_points, ROUNDS)
    pairs = (EXACT, FORWARD), (BOUNDED, EXACT), (EXACT, NESTED)
    sizes = f"N {POINT_COUNT}, D {MODEL_DIM}, n {VALUE_COUNT}, L 1, float64"
    return [*(compare(seconds, *pair, sizes) for pair in pairs), _mesh()]


def _mesh() -> Row:
    """Jet and curvature against PyVista's Gaussian curvature of a mesh with the same points."""
    model = gated_model(MESH_DIM, MESH_DIM, 1)

    def exact(points: torch.Tensor) -> CurvatureField:
        return curvature(second_order_jet(model, points))

    def discrete(points: torch.Tensor) -> object:
        surface = model(points)[0].reshape(GRID_SIDE, GRID_SIDE, MESH_DIM).numpy()
        grid = pyvista.StructuredGrid(*(surface[..., axis] for axis in range(MESH_DIM)))
        mesh = grid.extract_surface(algorithm="dataset_surface").triangulate()
        return mesh.curvature("gaussian")

    seconds = interleaved({EXACT: exact, MESH: discrete}, grid_points, MESH_ROUNDS)
    sizes = f"N {POINT_COUNT}, D {MESH_DIM}, n {MESH_DIM}, L 1, float64"
    return compare(seconds, EXACT, MESH, sizes)

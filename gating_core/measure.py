"""From a trained model to a measured surface: sampling, curvature, cut.

Shapes: T frames (gate strengths), N = R C grid points, D model dimension, P data points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from gating_core.geometry import CurvatureField, curvature
from gating_core.integrals import total_absolute_curvature
from gating_core.jets import SecondOrderJet, second_order_jet
from gating_core.results import AreaShares, CutSurface, SurfaceResult, TrainedEnsemble
from gating_core.sample import Grid, square_grid
from gating_core.tasks import Task
from gating_core.train import accuracy, restore

DRAWN_POINTS = 200


def measure_surface(
    function: Callable[[torch.Tensor], torch.Tensor],
    grid: Grid,
    covariance: object = None,
    bound: str = "rigorous",
) -> SurfaceResult:
    """Sample ``function``, a torch callable (N, 2) -> (..., N, D), on ``grid`` and measure it.

    Leading axes become frames. Errors as in `second_order_jet` and `curvature`.
    """
    jet = second_order_jet(function, grid.points, bound)
    return surface_result(jet, curvature(jet, covariance), grid)


def surface_result(jet: SecondOrderJet, field: CurvatureField, grid: Grid) -> SurfaceResult:
    """What ``jet`` and its curvature ``field`` say about a surface sampled on ``grid``."""
    total = total_absolute_curvature(field, grid.weights)
    shape = tuple(grid.weights.shape)

    def frames(x: torch.Tensor, *rest: int) -> np.ndarray:
        return x.reshape(-1, *shape, *rest).numpy()

    return SurfaceResult(
        axis=grid.axis.numpy(),
        values=frames(jet.value, jet.value.shape[-1]),
        gaussian=frames(field.gaussian),
        gaussian_error=frames(field.gaussian_error),
        bound_kind=field.bound_kind,
        resolved=frames(field.resolved),
        area_element=frames(field.area_element),
        total=total.value.reshape(-1).numpy(),
        total_error=total.error.reshape(-1).numpy(),
        complete=total.complete.reshape(-1).numpy(),
        shares=_shares(field, grid.weights.flatten()),
    )


def _shares(field: CurvatureField, weights: torch.Tensor) -> AreaShares:
    area = torch.nan_to_num(field.area_element) * weights
    decided = field.resolved & ~field.flat
    whole = area.sum(-1)

    def share(where: torch.Tensor) -> np.ndarray:
        part = (area * where).sum(-1) / whole
        return torch.where(whole > 0, part, 0.0).reshape(-1).numpy()

    positive = share(decided & (field.gaussian > 0))
    negative = share(decided & (field.gaussian < 0))
    return AreaShares(positive, negative, 1 - positive - negative)


def cut_surface(
    ensemble: TrainedEnsemble,
    task: Task,
    member: int,
    strengths: Sequence[float] | None = None,
    grid: Grid | None = None,
) -> CutSurface:
    """Measure one member of a trained two-class ensemble on the query chart.

    With ``strengths`` its gate is dialled through them, one frame each; the weights stay as they
    were trained. ``ValueError`` for tasks with more than two classes.
    """
    if task.class_count != 2:
        raise ValueError(f"task has {task.class_count} classes; a cut needs exactly 2")
    grid = grid or square_grid()
    model = restore(ensemble.config, ensemble.seeds, ensemble.state)
    attention = model.attention.member(member, strengths)
    weight, bias = model.weight[member], model.bias[member]
    normal, offset = weight[:, 1] - weight[:, 0], bias[1] - bias[0]

    surface = measure_surface(attention, grid)
    data = torch.from_numpy(task.train_points[member, :DRAWN_POINTS])
    test_points = torch.from_numpy(task.test_points[member])
    test_labels = torch.from_numpy(task.test_labels[member])
    return CutSurface(
        surface=surface,
        margin=surface.values @ normal.numpy() + offset.item(),
        normal=normal.numpy(),
        offset=offset.item(),
        value_vectors=attention.blocks[-1].values[0].numpy(),
        data=data.numpy(),
        labels=task.train_labels[member, :DRAWN_POINTS],
        data_values=attention(data).numpy(),
        test_accuracy=accuracy(attention(test_points) @ weight + bias, test_labels),
    )

"""How does a model's surface change while it learns? Every frame of a run, sampled and measured.

A model's snapshots are evaluated as one ensemble whose members are the frames. Shapes: T frames,
R x C grid points, D model dimension, P data points, K classes, S seeds.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator

import numpy as np
import torch

from gating_core.attention import Attention, LayerLook
from gating_core.classifier import Classifier, restore
from gating_core.film_view import FilmData, FilmSide
from gating_core.geometry import CurvatureField, curvature
from gating_core.integrals import Integral
from gating_core.jets import second_order_jet
from gating_core.results import TrainedEnsemble
from gating_core.runs import TrainedRun
from gating_core.sample import square_grid
from gating_core.scores import PAUSE_SECONDS
from gating_core.specimen import affordable_integrals

FILM_GRID = 31  # points along each side
DRAWN_POINTS = 150  # of the training points, and of the test points as many again
MOST_FRAMES = 48  # so that a film stays below 8 MB
PART_NUMBERS = 400_000  # of the widest tensors, in what is measured without giving way
SHOWN = ("best", "median", "worst")


def shown_member(ensemble: TrainedEnsemble, which: str) -> int:
    """The member with the best, median or worst training accuracy; test points are not looked at.

    Among equals the training loss decides.
    """
    order = ensemble.ranking
    place = {"best": 0, "median": (len(order) - 1) // 2, "worst": len(order) - 1}[which]
    return int(order[place])


def drawn_frames(run: TrainedRun) -> np.ndarray:
    """(T,): which of a run's frames are drawn: all, or of a long run as many as can be sent."""
    count = len(run.frames)
    return np.unique(np.linspace(0, count - 1, min(count, MOST_FRAMES)).round().astype(int))


def film_data(run: TrainedRun, member: int) -> FilmData:
    """The points that seed ``member`` was trained on and tested with, as many as are drawn."""
    task = run.task
    train = slice(0, DRAWN_POINTS)
    points = np.concatenate([task.train_points[member, train], task.test_points[member, train]])
    labels = np.concatenate([task.train_labels[member, train], task.test_labels[member, train]])
    tested = np.arange(len(points)) >= len(task.train_points[member, train])
    axis = square_grid(FILM_GRID).axis.numpy()
    return FilmData(run.steps[drawn_frames(run)], axis, points, labels, tested, task.class_count)


def film_side(run: TrainedRun, name: str, member: int) -> tuple[FilmSide, np.ndarray]:
    """Variant ``name`` of seed ``member`` along the run, and its total curvature (T,).

    Curvature is measured on 31 x 31 points with an estimated error.
    """
    model = _frames(run, name, member)
    grid = square_grid(FILM_GRID)
    shape = (FILM_GRID, FILM_GRID)
    jet = second_order_jet(model.attention, grid.points)
    field = curvature(jet)
    data = film_data(run, member)
    gaussian = torch.where(field.resolved, field.gaussian, torch.nan)
    side = FilmSide(
        values=jet.value.unflatten(1, shape).numpy(),
        logits=model.read_out(jet.value).unflatten(1, shape).numpy(),
        gaussian=gaussian.unflatten(1, shape).numpy(),
        weight=model.weight.numpy(),
        bias=model.bias.numpy(),
        data_values=model.attention(torch.from_numpy(data.points)).numpy(),
    )
    return side, _totals(field, grid.weights.flatten())


def curvature_along(
    run: TrainedRun, name: str, first: int
) -> Iterator[tuple[int, np.ndarray] | None]:
    """(member, total curvature (T,)) for all other seeds than ``first``, one after the other.

    Yields ``None`` now and then in between, so that it can be stopped.
    """
    for member in range(len(run.task.seeds)):
        if member != first:
            yield member, (yield from _total(_frames(run, name, member).attention))


def _total(model: Attention) -> Generator[None, None, np.ndarray]:
    """(S,): total curvature of all members, part by part of the square; gives way in between."""
    grid = square_grid(FILM_GRID)
    size = max(PART_NUMBERS // (len(model.seeds) * _width(model)), 1)
    total = np.zeros(len(model.seeds))
    resumed = time.perf_counter()
    for points, weights in zip(
        grid.points.split(size), grid.weights.flatten().split(size), strict=True
    ):
        field = curvature(second_order_jet(model, points))
        total += _totals(field, weights)
        if time.perf_counter() - resumed > PAUSE_SECONDS:
            yield
            resumed = time.perf_counter()
    return total


def _width(model: Attention) -> int:
    """How many numbers all layers hold for one member and one point, in their widest tensors."""
    config = model.config
    tokens = config.value_count**2 if config.source == "tokens" else 1
    return config.depth * config.model_dim * tokens


def final_curvature(run: TrainedRun, name: str, member: int) -> Integral:
    """Total curvature of the final surface, refined, with rigorous bounds on rounding."""
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    return affordable_integrals(model.member(member), ensemble.config).absolute


def inside(run: TrainedRun, name: str, member: int) -> dict[str, np.ndarray]:
    """What goes on inside the final model: every attention weight and gate, (R, C) by name."""
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention.member(member)
    looks: list[LayerLook] = []
    model(square_grid(FILM_GRID).points, looks)
    fields = {}
    for layer, look in enumerate(looks, 1):
        for head, weights in enumerate(look.weights[0], 1):
            for slot in range(weights.shape[-1]):
                place = f"layer {layer} · α{slot + 1}"
                place += f" · head {head}" if len(look.weights[0]) > 1 else ""
                fields[place] = weights[:, slot].reshape(FILM_GRID, FILM_GRID).numpy()
        if look.gate is not None:
            gates = look.gate[0].expand(FILM_GRID**2, -1)
            for channel in range(gates.shape[-1]):
                field = gates[:, channel].reshape(FILM_GRID, FILM_GRID).numpy()
                fields[f"layer {layer} · gate {channel + 1}"] = field
    return fields


def _frames(run: TrainedRun, name: str, member: int) -> Classifier:
    """One member's snapshots as an ensemble of T; the frames' numbers stand for seeds."""
    variant, frames = run.variants[name], drawn_frames(run)
    states = {name: np.ascontiguousarray(x[frames, member]) for name, x in variant.states.items()}
    return restore(variant.ensemble.config, range(len(states["bias"])), states)


def _totals(field: CurvatureField, weights: torch.Tensor) -> np.ndarray:
    """(T,): the integral of |K| over points with ``weights`` (N,), where they are resolved."""
    density = torch.where(field.resolved, field.gaussian.abs() * field.area_element, 0.0)
    return (density * weights).sum(-1).numpy()

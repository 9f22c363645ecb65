"""How does a model's surface change while it learns? Every frame of a run, sampled.

A model's snapshots are evaluated as one ensemble whose members are the frames. Shapes: T frames,
R x C grid points, D model dimension, P data points, K classes, S seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import contourpy
import numpy as np
import torch

from gating_core.attention.classifier import Classifier, restore
from gating_core.experiments.budget import cost
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.experiments.inside import look_inside
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.surface import SurfaceResult, measure_surface
from gating_core.tasks.task import Task
from gating_core.training.scores import accuracy
from gating_core.training.trained import TrainedEnsemble

FILM_GRID = 31  # points along each side
DRAWN_POINTS = 150  # of the training points, and of the test points as many again
MOST_FRAMES = 48  # so that a film stays below 8 MB
FEWEST_FRAMES = 8
AFFORDABLE = 2.5e8  # of `cost` times points and frames: about half a second
SHOWN = ("best", "median", "worst")


def shown_member(ensemble: TrainedEnsemble, which: str) -> int:
    """The member with the best, median or worst training accuracy; test points are not looked at.

    Among equals the training loss decides.
    """
    order = ensemble.ranking
    place = {"best": 0, "median": (len(order) - 1) // 2, "worst": len(order) - 1}[which]
    return int(order[place])


def drawn_frames(run: TrainedRun) -> np.ndarray:
    """(T,): which of a run's frames are drawn, evenly spread, the first and the last among them.

    All, unless there are too many to send or, of a large model, to compute at once.
    """
    dearest = max(cost(variant.ensemble.config) for variant in run.variants.values())
    most = min(MOST_FRAMES, max(FEWEST_FRAMES, int(AFFORDABLE / (dearest * FILM_GRID**2))))
    count = len(run.frames)
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def film_data(run: TrainedRun, member: int) -> FilmData:
    """The points that seed ``member`` was trained on and tested with, as many as are drawn."""
    task, own = run.task, run.setting.own
    train, test = (_some(x.shape[1]) for x in (task.train_points, task.test_points))
    parts = ((task.train_points, train), (task.test_points, test))
    names = own.names if own else tuple(f"class {label}" for label in range(task.class_count))
    return FilmData(
        steps=run.steps[drawn_frames(run)],
        axis=square_grid(FILM_GRID).axis.numpy(),
        points=np.concatenate([x[member, chosen] for x, chosen in parts]),
        labels=np.concatenate([task.train_labels[member, train], task.test_labels[member, test]]),
        tested=np.arange(len(train) + len(test)) >= len(train),
        names=names,
        colours=own.colours[: len(names)] if own else tuple(range(len(names))),
    )


def _some(count: int) -> np.ndarray:
    """The places of as many of ``count`` points as are drawn, from all over: a table is sorted."""
    return np.linspace(0, count - 1, min(count, DRAWN_POINTS)).round().astype(int)


def film_side(run: TrainedRun, name: str, member: int) -> FilmSide:
    """Variant ``name`` of seed ``member`` along the run, in the drawn frames."""
    model = frames_model(run, name, member)
    shape = (FILM_GRID, FILM_GRID)
    values = model.attention(square_grid(FILM_GRID).points)
    return FilmSide(
        values=values.unflatten(1, shape).numpy(),
        logits=model.read_out(values).unflatten(1, shape).numpy(),
        weight=model.weight.numpy(),
        bias=model.bias.numpy(),
        data_values=model.attention(torch.from_numpy(film_data(run, member).points)).numpy(),
    )


def frames_model(run: TrainedRun, name: str, member: int) -> Classifier:
    """One member's drawn snapshots as an ensemble of T; the frames' numbers stand for seeds."""
    variant, frames = run.variants[name], drawn_frames(run)
    states = {part: np.ascontiguousarray(x[frames, member]) for part, x in variant.states.items()}
    return restore(variant.ensemble.config, range(len(frames)), states)


@dataclass(frozen=True, eq=False)
class FilmSide:
    """One model along a run, sampled on the input square.

    ``values`` (T, R, C, D); ``logits`` (T, R, C, K); the classifier's weights ``weight`` (T, D, K)
    and ``bias`` (T, K); ``data_values`` (T, P, D).
    """

    values: np.ndarray
    logits: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    data_values: np.ndarray


@dataclass(frozen=True, eq=False)
class FilmData:
    """What both sides share: ``steps`` (T,), ``axis`` (R,), points (P, 2) and their labels (P,).

    ``tested`` (P,) says which of them were kept for testing; ``names`` and ``colours`` (places in
    the palette) are those of the K classes.
    """

    steps: np.ndarray
    axis: np.ndarray
    points: np.ndarray
    labels: np.ndarray
    tested: np.ndarray
    names: tuple[str, ...]
    colours: tuple[int, ...]

    @property
    def class_count(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class CutSurface:
    """A classifier's surface together with the plane that cuts it and the data on it."""

    surface: SurfaceResult
    margin: np.ndarray  # (T, R, C): logit of class 1 minus logit of class 0
    normal: np.ndarray  # (D,): the plane is normal . y + offset = 0
    offset: float
    value_vectors: np.ndarray  # (n, D): the last layer's values
    data: np.ndarray  # (P, 2): training points
    labels: np.ndarray  # (P,)
    data_values: np.ndarray  # (T, P, D)
    test_accuracy: np.ndarray  # (T,)


DRAWN_POINTS = 200


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


@dataclass(frozen=True)
class Cut:
    """How a plane cuts a sheet: the number of closed loops and of open lines."""

    loops: int
    lines: int

    @property
    def count(self) -> int:
        return self.loops + self.lines

    @property
    def text(self) -> str:
        parts = []
        if self.loops:
            parts.append("a closed loop" if self.loops == 1 else f"{self.loops} closed loops")
        if self.lines:
            parts.append("an open line" if self.lines == 1 else f"{self.lines} open lines")
        return " and ".join(parts) or "nothing at all"


def cut_of(cut: CutSurface, frame: int) -> Cut:
    """What the classifier's plane cuts out of the sheet in one frame."""
    axis = cut.surface.axis
    lines = contourpy.contour_generator(axis, axis, cut.margin[frame]).lines(0.0)
    closed = sum(bool((np.asarray(line)[0] == np.asarray(line)[-1]).all()) for line in lines)
    return Cut(closed, len(lines) - closed)


def inside(run: TrainedRun, name: str, member: int) -> dict[str, np.ndarray]:
    """What goes on inside the final model: every attention weight and gate, (R, C) by name."""
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention.member(member)
    fields = {}
    for layer, found in enumerate(look_inside(model, square_grid(FILM_GRID)), 1):
        heads = len(found.weights)
        for head, weights in enumerate(found.weights, 1):
            for slot in range(weights.shape[-1]):
                place = f"layer {layer} · α{slot + 1}" + (f" · head {head}" if heads > 1 else "")
                fields[place] = weights[..., slot]
        for channel, gate in enumerate(() if found.gates is None else found.gates, 1):
            fields[f"layer {layer} · gate {channel}"] = gate
    return fields

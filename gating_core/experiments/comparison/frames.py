"""Versions of one model as frames: steps of its training, or strengths of its gate.

All versions are evaluated as one ensemble. Shapes: T frames (versions), R x C
grid points, D model dimension, P data points, K classes, S seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import contourpy
import numpy as np
import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Classifier, restore
from gating_core.experiments.budget import cost
from gating_core.experiments.comparison.run import Frame, TrainedRun
from gating_core.geometry.grid import Grid, square_grid
from gating_core.training.trained import TrainedEnsemble, accuracy

FRAME_GRID = 31  # points along each side
FINER = (3, 2)  # times as many for the decision boundary: the first of them that is affordable
DRAWN_POINTS = 150  # training points at most, and as many test points
MOST_FRAMES = 48  # so that all frames together stay below 8 MB
FEWEST_FRAMES = 8
FRAMES_COST = 2.5e8  # of `cost` times points and frames: about half a second


# --- Versions of a model --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassifierFrames:
    """Versions of one model, sampled on the input square.

    ``values`` (T, R, C, D); ``logits`` (T, R, C, K); the classifier's weights ``weight`` (T, D, K)
    and ``bias`` (T, K); ``data_values`` (T, P, D). With two classes the second is more likely where
    ``margin`` (T, R, C) is positive, on one side of the plane ``normal`` . y + ``offset`` = 0.
    ``fine_logits`` (T, F, F, K), if present, are float32 on a finer grid of the same square.
    ``averaged`` (T, n, D) are the fixed vectors that the values are averages of, or ``None``.
    """

    values: np.ndarray
    logits: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    data_values: np.ndarray
    fine_logits: np.ndarray | None = None
    averaged: np.ndarray | None = None

    def frame(self, index: int) -> ClassifierFrames:
        """Return one frame alone."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        here = slice(index, index + 1)
        return replace(self, **{name: x[here] for name, x in parts.items() if x is not None})

    @property
    def margin(self) -> np.ndarray:
        """The difference of the logits (T, R, C) of the second class and the first, for K = 2."""
        return self.logits[..., 1] - self.logits[..., 0]

    @property
    def normal(self) -> np.ndarray:
        """The normal (T, D) of the classifier's plane, for two classes."""
        return self.weight[..., 1] - self.weight[..., 0]

    @property
    def offset(self) -> np.ndarray:
        """The offset (T,) of the classifier's plane, for two classes."""
        return self.bias[:, 1] - self.bias[:, 0]


def steps_model(run: TrainedRun, name: str, member: int) -> Classifier:
    """Restore one member's drawn snapshots as an ensemble of T, with frame numbers as seeds."""
    frames = [run.frames[index] for index in drawn_frames(run)]
    config, states = steps_of(frames, run, name, member)
    return restore(config, range(len(frames)), states)


def strengths_model(
    ensemble: TrainedEnsemble, member: int, strengths: Sequence[float] | None = None
) -> Classifier:
    """Restore one member of a trained ensemble at several gate ``strengths``, as an ensemble.

    The weights stay as trained. Without ``strengths`` it is an ensemble of one.
    """
    model = restore(ensemble.config, ensemble.seeds, ensemble.state)
    model.attention = model.attention.member(member, strengths)
    for part in (model.weight, model.bias):
        versions = len(model.attention.seeds), *part.shape[1:]
        part.data = part.data[member : member + 1].expand(versions)
    return model


def sample(model: Classifier, grid: Grid, points: np.ndarray) -> ClassifierFrames:
    """Sample all members of ``model``, as frames, on ``grid`` and at data ``points`` (P, 2)."""
    shape = tuple(grid.weights.shape)
    values = model.attention(grid.points)
    return ClassifierFrames(
        values=values.unflatten(1, shape).numpy(),
        logits=model.read_out(values).unflatten(1, shape).numpy(),
        weight=model.weight.numpy(),
        bias=model.bias.numpy(),
        data_values=model.attention(torch.from_numpy(points)).numpy(),
        averaged=_averaged(model),
    )


def _averaged(model: Classifier) -> np.ndarray | None:
    config = model.attention.config
    if config.output_projection or config.sink != "none":  # no averages of the values alone
        return None
    spans = [span for span in model.attention.spans() if span is not None and len(span) == 1]
    return np.stack([x.numpy() for (x,) in spans]) if len(spans) == len(model.weight) else None


def frame_accuracies(model: Classifier, run: TrainedRun, member: int) -> np.ndarray:
    """(T,): accuracy of each version at the test points of seed ``member``."""
    points = torch.from_numpy(run.task.test_points[member])
    return accuracy(model(points), torch.from_numpy(run.task.test_labels[member]))


# --- Training frames ------------------------------------------------------------------------------


def shown_member(ensemble: TrainedEnsemble, which: str) -> int:
    """Select the member with the best, median or worst training accuracy, among equals by the loss.

    Test points are not used.
    """
    order = ensemble.ranking
    rank = {"best": 0, "median": (len(order) - 1) // 2, "worst": len(order) - 1}[which]
    return int(order[rank])


def drawn_frames(run: TrainedRun) -> np.ndarray:
    """(T,): indices of the frames that are drawn, evenly spread, with the first and the last.

    All frames, unless these are too many to send or, for a large model, to compute at once.
    """
    highest_cost = max(map(cost, run.setting.configs.values()))
    most = min(MOST_FRAMES, max(FEWEST_FRAMES, int(FRAMES_COST / (highest_cost * FRAME_GRID**2))))
    count = len(run.frames)
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


@dataclass(frozen=True, eq=False)
class DrawnData:
    """Drawn data: points (P, 2) with labels (P,), on a grid with rows and columns at ``axis`` (R,).

    ``tested`` (P,) marks test points; ``names`` and ``colours`` (indices into the palette) are
    those of the K classes.
    """

    axis: np.ndarray
    points: np.ndarray
    labels: np.ndarray
    tested: np.ndarray
    names: tuple[str, ...]
    colours: tuple[int, ...]

    @property
    def class_count(self) -> int:
        """The number K of classes."""
        return len(self.names)


def drawn_data(
    run: TrainedRun, member: int, grid: Grid, train: np.ndarray, test: np.ndarray
) -> DrawnData:
    """Select points of seed ``member`` by the indices ``train`` and ``test``."""
    task, own = run.task, run.setting.own
    names = own.names if own else tuple(f"class {label}" for label in range(task.class_count))
    return DrawnData(
        axis=grid.axis.numpy(),
        points=np.concatenate([task.train_points[member, train], task.test_points[member, test]]),
        labels=np.concatenate([task.train_labels[member, train], task.test_labels[member, test]]),
        tested=np.arange(len(train) + len(test)) >= len(train),
        names=names,
        colours=own.colours[: len(names)] if own else tuple(range(len(names))),
    )


def training_data(run: TrainedRun, member: int) -> DrawnData:
    """Select the training and test points of seed ``member`` that are drawn."""
    train, test = (
        _drawn_indices(x.shape[1]) for x in (run.task.train_points, run.task.test_points)
    )
    return drawn_data(run, member, square_grid(FRAME_GRID), train, test)


def _drawn_indices(count: int) -> np.ndarray:
    """Indices of the drawn ones among ``count`` points, evenly spread because tables are sorted."""
    return np.linspace(0, count - 1, min(count, DRAWN_POINTS)).round().astype(int)


def training_frames(run: TrainedRun, name: str, member: int) -> ClassifierFrames:
    """Sample variant ``name`` of seed ``member`` in the drawn frames of the run."""
    frames, points = [run.frames[i] for i in drawn_frames(run)], training_data(run, member).points
    size = fine_size(run.setting.configs[name], len(frames))
    return sample_steps(*steps_of(frames, run, name, member), points, size)


def steps_of(
    frames: Sequence[Frame], run: TrainedRun, name: str, member: int
) -> tuple[AttentionConfig, dict[str, np.ndarray]]:
    """Return what is sampled of some ``frames`` of a run: one member's weights (T, ...) by name."""
    states = [frame.snapshots[name].state for frame in frames]
    return run.setting.configs[name], {
        part: np.stack([state[part][member] for state in states]) for part in states[0]
    }


def fine_size(config: AttentionConfig, count: int) -> int | None:
    """Return the points along a side of the finer grid of ``count`` frames, if there is one."""
    sizes = (times * (FRAME_GRID - 1) + 1 for times in FINER)
    return next((size for size in sizes if cost(config) * count * size**2 <= FRAMES_COST), None)


def sample_steps(
    config: AttentionConfig, states: dict[str, np.ndarray], points: np.ndarray, size: int | None
) -> ClassifierFrames:
    """Sample `steps_of` some frames, at data ``points`` and on a finer grid of ``size``, too."""
    model = restore(config, range(len(states["bias"])), states)
    frames = sample(model, square_grid(FRAME_GRID), points)
    if size is None:
        return frames
    finer = square_grid(size)
    logits = model.read_out(model.attention(finer.points)).unflatten(1, tuple(finer.weights.shape))
    return replace(frames, fine_logits=logits.numpy().astype(np.float32))


# --- Boundaries and layers ------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """The cut of a sheet by a plane: the number of closed loops and of open lines.

    ``bend`` is the largest distance of an open line from the chord between its ends, in the chart.
    """

    loops: int
    lines: int
    bend: float = 0.0

    @property
    def count(self) -> int:
        """The number of closed loops and open lines together."""
        return self.loops + self.lines

    @property
    def text(self) -> str:
        """The parts of the cut in words, such as "a closed loop and 2 open lines"."""
        parts = []
        if self.loops:
            parts.append("a closed loop" if self.loops == 1 else f"{self.loops} closed loops")
        if self.lines:
            parts.append("an open line" if self.lines == 1 else f"{self.lines} open lines")
        return " and ".join(parts) or "nothing at all"


def cut_of(margin: np.ndarray, axis: np.ndarray) -> Cut:
    """Trace the cut of the classifier's plane through a sheet whose ``margin`` is (R, C)."""
    lines = contourpy.contour_generator(axis, axis, margin).lines(0.0)
    lines = [np.asarray(line) for line in lines]
    opened = [line for line in lines if (line[0] != line[-1]).any()]
    bend = max(map(_sagitta, opened), default=0.0)
    return Cut(len(lines) - len(opened), len(opened), bend)


def _sagitta(line: np.ndarray) -> float:
    """The largest distance of the points of an open line (M, 2) from the chord of its ends."""
    chord, rest = line[-1] - line[0], line - line[0]
    return float(np.abs(chord[0] * rest[:, 1] - chord[1] * rest[:, 0]).max() / np.hypot(*chord))

"""Versions of one model as frames, steps of its training or strengths of its gate; their curvature.

All versions are evaluated as one ensemble. Shapes: T frames (versions), R x C grid points, D model
dimension, P data points, K classes, S seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from weakref import WeakKeyDictionary

import contourpy
import numpy as np
import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Attention, Classifier, restore
from gating_core.experiments.comparison.run import Frame, TrainedRun
from gating_core.experiments.measuring import PART_COST, affordable_integrals, cost, layer_fields
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult, measure_surface
from gating_core.geometry.verdict import Verdict
from gating_core.jets.second_order import jet_by_parts
from gating_core.progress import Progress, silent
from gating_core.training.trained import TrainedEnsemble, accuracy

FRAME_GRID = 31  # points along each side
FINER = (3, 2)  # times as many for the decision boundary: the first of them that is affordable
DRAWN_POINTS = 150  # training points at most, and as many test points
MOST_FRAMES = 48  # so that all frames together stay below 8 MB
FEWEST_FRAMES = 8
FRAMES_COST = 2.5e8  # of `cost` times points and frames: about half a second
BLOCK_COST = 1e6  # the same, of points that are evaluated together: they stay in the cache


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
    train, test = (  # evenly spread because tables are sorted
        np.linspace(0, count - 1, min(count, DRAWN_POINTS)).round().astype(int)
        for count in (run.task.train_points.shape[1], run.task.test_points.shape[1])
    )
    return drawn_data(run, member, square_grid(FRAME_GRID), train, test)


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
    block = max(int(BLOCK_COST / (cost(config) * len(model.weight))), 2)
    parts = square_grid(size).points.split(block)
    # Points last: see `gating_core.points_last`.
    logits = torch.cat([model(part.T.contiguous().T).float() for part in parts], 1)
    return replace(frames, fine_logits=logits.unflatten(1, (size, size)).numpy())


# --- Boundaries -----------------------------------------------------------------------------------


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


# --- Curvature ------------------------------------------------------------------------------------

FINAL_GRID = 61  # points along each side
TYPICAL_GRID = 21  # points along each side: enough to rank totals
TYPICAL_COST = 1e7  # of `cost` times points: half a second
EQUAL_DECIMALS = 12  # to which accuracies are equal
_typical: WeakKeyDictionary[TrainedRun, int] = WeakKeyDictionary()
Key = tuple[str, int]  # variant, member
Measure = Callable[..., "CurvatureSummary"]  # of a run, a variant, a member


@dataclass(frozen=True, eq=False)
class CurvatureSummary:
    """The curvature of one member of a variant, in T frames of its run or at its end alone.

    ``total`` is the integral of |K| dA (T,), with T ``verdicts``. Along a run errors are estimates,
    and ``known`` (T, R, C) float32 is K where it is known, as in `SurfaceResult`, or ``None`` if it
    is not stored. If ``at_end``, the total has no axis, there is one verdict, bounds on rounding
    are rigorous, and the total is refined.
    """

    variant: str
    member: int
    total: Integral
    verdicts: tuple[Verdict, ...]
    known: np.ndarray | None = None
    at_end: bool = False


# --- The typical seed -----------------------------------------------------------------------------


def nearest_to_medians(quantities: np.ndarray) -> int:
    """Select the member whose ranks in ``quantities`` (Q, S) are nearest to the middle.

    A member's distance from the median of a quantity is the share of members below it less that of
    members above it. The largest of its distances counts, and their sum among equals.
    """
    values = np.round(quantities, EQUAL_DECIMALS)
    below = (values[:, :, None] > values[:, None]).sum(-1)
    above = (values[:, :, None] < values[:, None]).sum(-1)
    away = np.abs(below - above)
    return int(np.lexsort((away.sum(0), away.max(0)))[0])


def typical_member(run: TrainedRun) -> int:
    """Select the member of ``run`` that is nearest to all medians, by `nearest_to_medians`.

    The quantities are those of the compared variants after the last step: both test accuracies,
    their difference, and both total curvatures, which are sampled coarsely; accuracies alone where
    that would take long. Test points are used, so that the member is typical of them.
    """
    if run not in _typical:
        pair = [run.variants[name].ensemble for name in run.setting.compared]
        accuracies = np.stack([ensemble.test_accuracy[-1] for ensemble in pair])
        quantities = np.concatenate([accuracies, np.diff(accuracies, axis=0)])
        if TYPICAL_GRID**2 * sum(len(x.seeds) * cost(x.config) for x in pair) <= TYPICAL_COST:
            totals = np.stack([_rough_totals(ensemble) for ensemble in pair])
            quantities = np.concatenate([quantities, totals])
        _typical[run] = nearest_to_medians(quantities)
    return _typical[run]


def _rough_totals(ensemble: TrainedEnsemble) -> np.ndarray:
    """(S,): total absolute curvatures on a coarse grid; 0 where weights are not finite."""
    if not all(np.isfinite(x).all() for x in ensemble.state.values()):
        return np.zeros(len(ensemble.seeds))
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    return np.nan_to_num(measure_surface(model, square_grid(TYPICAL_GRID), bound="estimate").total)


# --- Measurements ---------------------------------------------------------------------------------


def pending_measurements(
    run: TrainedRun,
    names: tuple[str, ...],
    first: int,
    known: Collection[Key] = (),
    final: Collection[Key] = (),
) -> Iterator[tuple[Measure, str, int]]:
    """List what is still to be measured: all seeds along the run, member ``first`` at its end too.

    Yields (function, variant, member) for the variants ``names``, those of ``first`` first; call
    the function with ``run``, variant and member. ``known`` and ``final`` are the keys measured
    already, along the run and at its end.
    """
    yield from ((curvature_along, n, first) for n in names if (n, first) not in known)
    yield from ((final_curvature, n, first) for n in names if (n, first) not in final)
    others = (member for member in range(len(run.task.seeds)) if member != first)
    yield from ((curvature_along, n, i) for i in others for n in names if (n, i) not in known)


def measure_each(
    run: TrainedRun, pending: Iterable[tuple[Measure, str, int]], progress: Progress = silent
) -> Iterator[CurvatureSummary]:
    """Measure what is ``pending``, as `pending_measurements` lists it, one after the other."""
    for measure, name, member in pending:
        yield measure(run, name, member, progress)


def along_cost(run: TrainedRun) -> float:
    """Estimate the cost of `curvature_along` for one seed and all compared variants."""
    points = len(drawn_frames(run)) * FRAME_GRID**2
    return points * sum(cost(run.setting.configs[name]) for name in run.setting.compared)


def curvature_along(
    run: TrainedRun, name: str, member: int, progress: Progress = silent
) -> CurvatureSummary:
    """Measure one member in every drawn frame, on the frames' grid.

    The error of a total is its change under halving of the grid, or its difference from the
    holonomy sum, whichever is larger.
    """
    found = _measured(steps_model(run, name, member).attention, FRAME_GRID, "estimate", progress)
    surface = found.surface
    progress(None)
    with np.errstate(over="ignore"):  # infinite beyond float32, and beyond any colour scale
        known = surface.known.astype(np.float32)
    return CurvatureSummary(name, member, found.total, surface.verdicts, known)


def final_curvature(
    run: TrainedRun, name: str, member: int, progress: Progress = silent
) -> CurvatureSummary:
    """Measure one member's total curvature after the last step."""
    ensemble = run.variants[name].ensemble
    model = strengths_model(ensemble, member).attention
    surface = _measured(model, FINAL_GRID, "rigorous", progress).surface
    integrals = affordable_integrals(model, ensemble.config, progress=progress)
    return CurvatureSummary(name, member, integrals.absolute, surface.verdicts, at_end=True)


def measure_fields(
    model: Attention, grid_size: int = FRAME_GRID
) -> tuple[SurfaceResult, dict[str, np.ndarray]]:
    """Measure the surface of a model, an ensemble of one, with rigorous bounds.

    Returns the surface, and by name |H|, and gates and attention weights of the last layer: (R, C)
    each.
    """
    found = _measured(model, grid_size, "rigorous", silent)
    (mean,) = found.mean_norm
    return found.surface, {"|H|": mean} | layer_fields(model, found.grid)[-1].by_name


def _measured(model: Attention, size: int, bound: str, progress: Progress) -> MeasuredSurface:
    """Measure all members of ``model`` on a grid; the jet is computed part by part."""
    grid, part = square_grid(size), int(PART_COST / (cost(model.config) * len(model.seeds)))
    jet = jet_by_parts(model, grid.points, bound, part, lambda _: progress(None))
    return MeasuredSurface(model, grid, jet=jet)


@dataclass(frozen=True, eq=False)
class Curvatures:
    """Measured curvatures of a run by variant and member: along it, and at its end."""

    along: dict[Key, CurvatureSummary] = field(default_factory=dict)
    final: dict[Key, CurvatureSummary] = field(default_factory=dict)


def measured(run: TrainedRun) -> Curvatures:
    """Measure both compared variants: all seeds along ``run``, the typical one at its end too.

    K itself is stored for the typical seed only, to save space.
    """
    curvatures = Curvatures()
    typical = typical_member(run)
    for measure, name, member in pending_measurements(run, run.setting.compared, typical):
        summary = measure(run, name, member)
        if measure is final_curvature:
            curvatures.final[name, member] = summary
        else:
            known = summary.known if member == typical else None
            curvatures.along[name, member] = replace(summary, known=known)
    return curvatures

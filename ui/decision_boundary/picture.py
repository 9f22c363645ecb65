"""The picture of a run: two models as they learn, frame by frame, and curves beside them.

A worker makes it. Shapes: T frames (snapshots of a run), S seeds, R x C grid points. "left" and
"right" are the sides on which the two variants stand.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gating_core.experiments.comparison import (
    ClassifierFrames,
    DrawnData,
    TrainedRun,
    confidence_and_correctness,
    covered_shares,
    drawn_frames,
    training_data,
    training_frames,
)
from gating_core.lm.measurements.calibration import ResampledReliability, bootstrap_reliability
from ui.common.formatting import percent
from ui.decision_boundary.model import BoundaryView
from ui.drawing import classified, palette
from ui.drawing.axes import Axes, frame_axes
from ui.drawing.camera import camera_from
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.panels import QUIET, Panel, View, cells, ref
from ui.drawing.sheet import Sheet, classifier_planes
from ui.foreign import in_plot

if TYPE_CHECKING:  # a worker process needs no Streamlit
    from ui.work.runs import Shown

SIDES = ("left", "right")
BAND = (0.1, 0.9)  # quantiles over the seeds
BAR_ROOM = 1.5  # of the curves' height: bars may take that much, and are cut off beyond
GAP = 0.06  # between the plots, of their height
BEGIN_FROM = np.array([0.6, 0.64, 0.48])  # where a run is seen from before it is complete


@dataclass(frozen=True, eq=False)
class RunCurve:
    """A quantity along the run: by side (T, S) over seeds; NaN where it is not measured yet.

    ``errors`` (T,) by side are those of the ``shown`` seed; where it is ``open`` (T,) its curve is
    a lower estimate.
    """

    title: str
    by_side: dict[str, np.ndarray]
    shown: int  # the shown seed's column
    errors: dict[str, np.ndarray] = field(default_factory=dict)
    open: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TrainingFrames:
    """The ``picture``, which has curvature in it if that of both variants is ``measured``.

    ``spanned`` (T,) is by side the share of the convex hull of its values that a surface spans;
    ``axes`` says what is drawn of more than three dimensions.
    """

    picture: View
    measured: bool
    spanned: dict[str, np.ndarray | None]
    axes: str


def variants_of(run: TrainedRun) -> dict[str, str]:
    """Return the compared variants by side, "left" and "right"."""
    return dict(zip(SIDES, run.setting.compared, strict=False))


def frames_of(
    run: TrainedRun,
    member: int,
    curves: list[RunCurve],
    gaussian: dict[str, np.ndarray],
    view: BoundaryView,
    unfinished: bool,
) -> TrainingFrames:
    """Draw the frames of seed ``member``, with ``curves`` beside them and ``gaussian``, K by side.

    All ``unfinished`` runs are seen from the same direction: the best one would turn with every
    step.
    """
    variants = {s: training_frames(run, name, member) for s, name in variants_of(run).items()}
    axes = frame_axes(variants)
    picture = training_picture(
        variants,
        training_data(run, member),
        run.steps[drawn_frames(run)],
        axes,
        curves,
        view.paint,
        view.discrete,
        view.tested,
        gaussian,
    )
    if unfinished:
        picture = replace(picture, camera=camera_from(BEGIN_FROM))
    spanned = {side: covered_shares(frames) for side, frames in variants.items()}
    measured = len(gaussian) == len(variants)
    return TrainingFrames(picture, measured, spanned, axes_text(variants, axes))


def gaussian_of(shown: Shown, member: int) -> dict[str, np.ndarray]:
    """Return K (T, R, C) by side, of those variants of which it is measured."""
    pairs = {s: shown.along.get((name, member)) for s, name in variants_of(shown.run).items()}
    return {s: x.known for s, x in pairs.items() if x is not None and x.known is not None}


def drawn_key(shown: Shown, member: int) -> Hashable:
    """Return a key that changes when something is measured that the frames of a seed show."""
    names = shown.run.setting.compared
    keys = [(name, member) for name in names]
    return (
        *(key in shown.along for key in keys),
        *(key in shown.final for key in keys),
        *gaussian_of(shown, member),
        *(_is_whole(shown, name) for name in names),
    )


def _is_whole(shown: Shown, name: str) -> bool:
    return all((name, member) in shown.along for member in range(len(shown.run.task.seeds)))


def curves_of(shown: Shown, member: int) -> list[RunCurve]:
    """Return total curvature, accuracy and loss of all seeds along the run, one seed marked.

    Curvature of seeds that are not shown appears once all are measured: the picture, which is
    large, would be sent again for each. The refined total is the last point of its curve.
    """
    run, variants = shown.run, variants_of(shown.run)
    frames, seeds = drawn_frames(run), range(len(run.task.seeds))
    ensembles = {side: run.variants[name].ensemble for side, name in variants.items()}
    curvature, errors, lower = {}, {}, {}
    for side, name in variants.items():
        totals = {i: shown.along[name, i].total for i in seeds if (name, i) in shown.along}
        curvature[side] = np.full((len(frames), len(seeds)), np.nan)
        for i, total in totals.items():
            if i == member or _is_whole(shown, name):
                curvature[side][:, i] = total.value.numpy()
        if member in totals:
            total = totals[member]
            errors[side], lower[side] = total.error.numpy().copy(), ~total.resolved.numpy()
            if (end := shown.final.get((name, member))) is not None:
                curvature[side][-1, member] = float(end.total.value)
                errors[side][-1] = float(end.total.error)
                lower[side][-1] = not bool(end.total.resolved)
    accuracy = {side: e.test_accuracy[frames] for side, e in ensembles.items()}
    loss = {side: e.train_loss[frames] for side, e in ensembles.items()}
    return [
        RunCurve("total curvature", curvature, member, errors, lower),
        RunCurve("test accuracy", accuracy, member),
        RunCurve("training loss", loss, member),
    ]


# --- Surfaces and input planes --------------------------------------------------------------------


def axes_text(variants: dict[str, ClassifierFrames], axes: dict[str, Axes]) -> str:
    """Return what is drawn of more than three dimensions, and what of the classifier's plane."""
    where = [side for side, own in axes.items() if own.principal]
    if not where:
        return ""
    whose = "both models'" if len(where) == len(axes) else f"the {where[0]} model's"
    shares = [f"{percent(axes[side].share(variants[side].values[-1]))} ({side})" for side in where]
    text = (
        f"The pictures are drawn along three principal components of {whose} final points. These"
        f" hold {' and '.join(shares)} of the variance."
    )
    planes = {side: classifier_planes(variants[side], axes[side]) for side in where}
    fits = {side: plane[2] for side, plane in planes.items() if plane is not None}
    if not fits:
        return text
    missing = [side for side, steps in fits.items() if not steps.all()]
    if not missing:
        dims = sorted({variants[side].values.shape[-1] for side in where})
        all_dims = f"{' or '.join(map(str, dims))} dimensions"
        return f"{text} The classifier's plane decides in them as in all {all_dims}."
    when = "at any step" if not any(fits[side].any() for side in missing) else "at some steps"
    models = f"{' and '.join(missing)} {'models' if len(missing) > 1 else 'model'}"
    return f"{text} In these the plane of the {models} cannot be drawn {when}."


def training_picture(
    variants: dict[str, ClassifierFrames],
    data: DrawnData,
    steps: np.ndarray,
    axes: dict[str, Axes],
    curves: list[RunCurve],
    paint: str = "class",
    discrete: bool = False,
    tested: bool = True,
    gaussian: dict[str, np.ndarray] | None = None,
) -> View:
    """Draw both variants' surfaces and input planes, and the curves with the current step marked.

    ``paint`` "class" shows the classifier: its probability, or, where ``discrete``, the likeliest
    class. "curvature" shows ``gaussian``, K (T, R, C) by side, on one scale, neutral and hatched
    where it is NaN: unresolved. A side that is not in it is not measured yet and is neutral.
    ``steps`` (T,) are those of the frames; ``tested`` shows the test points too.
    """
    fields = (gaussian or {}) if paint == "curvature" else {}
    by_class = paint == "class"
    if by_class:
        scale = ColourScale(palette.class_scale(data.colours), 0.0, data.class_count - 1.0)
    else:
        scale = scale_of("curvature", [field[-1] for field in fields.values()])
    reading = _reading(data) if by_class else "K is not measured yet"
    style = classified.SheetStyle(scale.style, reading, tested=tested, filled=not by_class)
    arrays: dict[str, np.ndarray] = {"axis": data.axis, **cells(len(data.axis))}
    framed: dict[str, np.ndarray] = {}
    columns = []
    sheets: list[Sheet] = []
    for side, frames in variants.items():
        k = fields.get(side)
        fine = None
        if by_class:
            colours = classified.class_colours(frames.logits, discrete)
            if frames.fine_logits is not None:
                fine = classified.class_colours(frames.fine_logits, discrete)
        elif k is not None:  # K beyond the scale has the colour of its end
            colours = scale.apply(np.nan_to_num(k, nan=0.0).clip(*scale.ends))
        else:
            colours = np.zeros(frames.logits.shape[:3])
        # Between classes 0 and 2 there is no class 1: then no colours are between two.
        parted = by_class and data.class_count > 2
        sheet = Sheet(
            side,
            frames,
            data,
            axes[side],
            colours,
            parted,
            fine,
            k,
            _convex_hull(frames, axes[side]),
            grounded=by_class,
        )
        moving, fixed = classified.sheet_arrays(sheet)
        arrays, framed = arrays | fixed, framed | moving
        sheets.append(sheet)
        columns.append(classified.sheet_panels(sheet, style))
    framed["now"] = np.repeat(steps[:, None], 2, 1).astype(float)
    columns.append([curves_panel(steps, curves, arrays)])
    return View(
        columns=columns,
        arrays=arrays | framed,
        framed=frozenset(framed),
        frames=len(steps),
        camera=classified.sheets_camera(sheets),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )


def _convex_hull(frames: ClassifierFrames, axes: Axes) -> np.ndarray | None:
    """(T, 3, 3): the flat space of averages of three values, where the surface is in it."""
    if frames.averaged is None or frames.averaged.shape[1] != 3:
        return None
    return axes.project(frames.averaged)


def _reading(data: DrawnData) -> str:
    """Return what a point of the chart says of its class."""
    names = [in_plot(name) for name in data.names]
    if data.class_count == 2:
        return f"p({names[1]}) = %{{z:.2f}}"
    return f"%{{z}} of {', '.join(f'{label}: {name}' for label, name in enumerate(names))}"


def curves_panel(steps: np.ndarray, curves: list[RunCurve], arrays: dict[str, np.ndarray]) -> Panel:
    """Draw all curves above each other on one step axis: the shown seed, and the band over seeds.

    What they need is added to ``arrays``; "now" (T, 2) among them, the current step, is the
    caller's.
    """
    traces: list[dict[str, Any]] = []
    height = (1 - GAP * (len(curves) - 1)) / len(curves)
    ends = [0, float(steps[-1])]
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "step"}, "range": ends, "zeroline": False, "anchor": "y"}
    }
    arrays["steps"] = steps.astype(float)
    for number, curve in enumerate(curves):
        axis = "y" if number == 0 else f"y{number + 1}"
        bottom, top = number * (height + GAP), 0.0
        for side, over_seeds in curve.by_side.items():
            key = f"curve{number}_{side}"
            arrays |= _band(key, over_seeds, curve.shown)
            traces += _curve_traces(key, side, axis)
            traces += _doubt_traces(key, side, curve, axis, arrays)
            top = max(top, _highest(arrays[f"{key}_shown"]), _highest(arrays[f"{key}_high"]))
        top = top * 1.05 or 1.0
        bars = [curve.by_side[side][:, curve.shown] + error for side, error in curve.errors.items()]
        top = min(max(top, *map(_highest, bars), 0.0), top * BAR_ROOM)
        layout[axis.replace("y", "yaxis")] = {
            "title": {"text": curve.title},
            "domain": [bottom, min(bottom + height, 1.0)],
            "range": [0, top],
            "zeroline": False,
            "nticks": 4,
        }
        now = {"color": palette.ACCENT, "width": 2}
        traces.append(_trace(axis, "lines", x=ref("now"), y=[0, top], line=now))
    return Panel(
        kind="plane",
        label="loss, accuracy and total curvature against steps, with the current step marked",
        traces=traces,
        layout=layout,
        pick={},
    )


def _highest(values: np.ndarray) -> float:
    return float(values[np.isfinite(values)].max(initial=0))


def _trace(axis: str, mode: str, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": mode, "x": ref("steps"), "yaxis": axis, **QUIET, **more}


def _band(key: str, over_seeds: np.ndarray, shown: int) -> dict[str, np.ndarray]:
    whole = np.isfinite(over_seeds).all(1)
    ends = np.full((2, len(over_seeds)), np.nan)
    if whole.any():
        ends[:, whole] = np.quantile(over_seeds[whole], BAND, axis=1)
    return {f"{key}_low": ends[0], f"{key}_high": ends[1], f"{key}_shown": over_seeds[:, shown]}


def _curve_traces(key: str, side: str, axis: str) -> list[dict[str, Any]]:
    colour = palette.SIDE_COLOURS[side]
    thin, thick = {"color": colour, "width": 0}, {"color": colour, "width": 2.5}
    fill = {"fill": "tonexty", "fillcolor": f"{colour}33"}
    return [
        _trace(axis, "lines", y=ref(f"{key}_low"), line=thin),
        _trace(axis, "lines", y=ref(f"{key}_high"), line=thin, **fill),
        _trace(axis, "lines", y=ref(f"{key}_shown"), line=thick),
    ]


def _doubt_traces(
    key: str, side: str, curve: RunCurve, axis: str, arrays: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Draw bars as long as the error of the shown seed's curve, rings where it is ``open``."""
    colour = palette.SIDE_COLOURS[side]
    traces = []
    if side in curve.errors:
        arrays[f"{key}_error"] = curve.errors[side]
        bars = {
            "type": "data",
            "array": ref(f"{key}_error"),
            "width": 0,
            "thickness": 1.5,
            "color": colour,
        }
        marker = {"size": 1, "color": colour}
        traces.append(_trace(axis, "markers", y=ref(f"{key}_shown"), error_y=bars, marker=marker))
    where = curve.open.get(side)
    if where is not None and where.any():
        arrays[f"{key}_open"] = np.where(where, arrays[f"{key}_shown"], np.nan)
        ring = {"size": 7, "symbol": "circle-open", "color": colour}
        traces.append(_trace(axis, "markers", y=ref(f"{key}_open"), marker=ring))
    return traces


# --- Calibration ----------------------------------------------------------------------------------


def calibrations(run: TrainedRun) -> dict[str, ResampledReliability]:
    """Return the reliability of both variants at the test points of all seeds together.

    Seeds are drawn again, the same ones for both.
    """
    results = {}
    for name in run.setting.compared:
        sure, right = confidence_and_correctness(run.variants[name].ensemble, run.task)
        seeds = np.repeat(np.arange(len(sure)), sure.shape[1])
        results[name] = bootstrap_reliability(sure.ravel(), right.ravel(), seeds)
    return results

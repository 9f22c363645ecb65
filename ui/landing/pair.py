"""The linked view of the landing page: a model without a gate beside a gated one at every strength.

Both output surfaces in R^3 beside their input planes, what stands above and below them, and what
the visitor does with them: the strength and the marked point are kept in the link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    STRENGTHS,
    Cut,
    MeasuredModel,
    MeasuredPair,
    Setting,
    StrengthSweep,
    TrainedRun,
    cut_of,
)
from gating_core.geometry import MOST_CURVED, UNKNOWN, SurfaceResult
from gating_core.training import mean_interval
from ui.common import formatting as common
from ui.common.lessons import section
from ui.components.view3d import Legend, clicked, stopped, view3d
from ui.drawing import classified, palette
from ui.drawing.axes import coordinate_axes
from ui.drawing.camera import edge_on_camera
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.lines import plane_lines
from ui.drawing.panels import EdgeOn, View, cells
from ui.drawing.sheet import Sheet
from ui.drawing.surfaces import ridge_curves
from ui.work.cache import cached

VIEW_KEY = "pair_view"
MODEL_NAMES = ("Without gate", "With gate")
LEFT = {"same": "Gate ablated (λ = 0)", "own": "Trained without a gate"}
DISCS = ("circle", "circle")
CLASSES = ColourScale(palette.CLASS_SCALE, 0.0, 1.0)
OTHER_PIXELS = 448  # high: all but the pictures
STRAIGHT = 0.01  # in the input plane [-1, 1]^2: about a pixel


@dataclass(frozen=True, eq=False)
class Result:
    """A trained run with its pair of models, and what the visitor sees of it."""

    run: TrainedRun
    sweep: StrengthSweep
    pair: MeasuredPair
    left: str  # "same" or "own", see `measure_pair`
    colouring: str  # "class" or "curvature"
    frame: int  # the strength of the model on the right
    point: tuple[int, int] | None  # the marked grid point

    @property
    def models(self) -> list[tuple[str, MeasuredModel, int]]:
        """Name, measured model and shown frame of both."""
        models = self.pair.left, self.pair.right
        return list(zip(MODEL_NAMES, models, (0, self.frame), strict=True))

    @property
    def test_accuracies(self) -> dict[str, np.ndarray]:
        """(S,) by name: all seeds as they were trained, without a gate and with one."""
        variants = self.run.variants.values()
        accuracies = (variant.ensemble.test_accuracy[-1] for variant in variants)
        return dict(zip(MODEL_NAMES, accuracies, strict=True))


def draw_pair(result: Result) -> None:
    """Draw the linked view."""
    setting = result.run.setting
    drawn = pair_picture(setting, result.left, result.colouring, result.pair)
    view3d(
        drawn,
        key=VIEW_KEY,
        **shown_with(result, drawn),
        pick=result.point,
        arrive="strength" not in st.query_params,  # nobody has chosen one yet
        spare=OTHER_PIXELS,
        scene=f"{setting} {result.left}",
        on_pick=_on_pick,
        on_stop=_on_stop,
    )


def shown_with(result: Result, drawn: View) -> dict[str, Any]:
    """Return the timeline and the texts round the picture ``drawn`` of a ``result``."""
    pair, setting = result.pair, result.run.setting
    first, second = fair_lines(setting, result.test_accuracies)
    return {
        "headings": (LEFT[result.left], "With a gate"),
        "captions": [captions(pair.left, None, pair.seen, first),
                     captions(pair.right, result.sweep, pair.seen, second)],
        "readings": readings(setting, result.left, pair),
        "frame": result.frame,
        "frame_labels": [f"λ = {strength:.2f}" for strength in STRENGTHS],
        "ends": ("no gate", "full gate"),
        "legend": _legend(drawn, result.colouring == "class" or not pair.seen),
        "scrub": True,
    }  # fmt: skip


def _on_pick() -> None:
    if point := clicked(VIEW_KEY):
        st.query_params["pick"] = point


def _on_stop() -> None:
    frame = stopped(VIEW_KEY, len(STRENGTHS))
    if frame is not None:
        st.query_params["strength"] = f"{STRENGTHS[frame]:g}"


def _legend(drawn: View, by_class: bool) -> Legend:
    if by_class:
        return Legend(palette.CLASS_SCALE, "class 0", "class 1")
    note = (
        f"saddle-like to dome-like · asinh scale, {common.percent(drawn.beyond)} of the points at"
        f" λ = 1 exceed it · {common.ridge_text()} · hatched: undetermined"
    )
    low, high = (f"K = {common.rough(end)}" for end in drawn.colour_range)
    return Legend(palette.SIGNED_SCALE, low, high, note)


# --- The pictures ---------------------------------------------------------------------------------


@cached()
def pair_picture(setting: Setting, left: str, colouring: str, _pair: MeasuredPair) -> View:
    """Return the view of a pair, which follows from ``setting`` and ``left``."""
    return pair_view(_pair, colouring)


def curvature_colours(surface: SurfaceResult) -> ColourScale:
    """Return colours of K at full strength, symmetric about zero, on an asinh scale."""
    return scale_of("curvature", [surface.known[-1]])


def pair_view(pair: MeasuredPair, colouring: str = "class") -> View:
    """Draw two surfaces in R^3 beside their input planes; frames are those of the right model.

    The left model has a single frame. Two models with the same values are drawn in one box. Lines
    on the surfaces are straight where the gate is ablated. Where there is no surface to see, only
    the input planes are drawn, coloured by class.

    Args:
        pair: The models.
        colouring: "class" for the classifier's probability, "curvature" for K on one scale.
    """
    left, right = pair.left, pair.right
    by_class = colouring == "class" or not pair.seen
    scale = CLASSES if by_class else curvature_colours(right.surface)
    reading = "p(class 1) = %{z:.2f}" if by_class else "K"
    style = classified.SheetStyle(scale.style, reading, DISCS, outline=0.6)
    sheets = [_sheet("left", left, scale, by_class), _sheet("right", right, scale, by_class)]
    room, alike = None, left.value_vectors.tolist() == right.value_vectors.tolist()
    if alike:
        low, high = zip(*(sheet.box for sheet in sheets), strict=True)
        room = np.minimum(*low), np.maximum(*high)
    arrays = {"axis": left.data.axis, **cells(len(left.data.axis))}
    columns, framed = [], set()
    for sheet in sheets:
        moving, fixed = classified.sheet_arrays(sheet)
        if len(sheet.frames.values) == 1:
            moving, fixed = {}, fixed | {key: array[0] for key, array in moving.items()}
        arrays |= moving | fixed
        framed |= set(moving)
        columns.append(classified.sheet_panels(sheet, style, room))
    edges = zip((left, right), sheets, strict=True)
    if alike:  # one plane: seen with one camera, along which the gated surface is broad
        edges = zip((left,), sheets[1:], strict=True)
    view = View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(framed),
        frames=len(right.frames.values),
        camera=classified.sheets_camera(sheets),
        edge_on=tuple(
            EdgeOn(
                edge_on_camera(model.value_vectors, sheet.values[-1]),
                tuple(model.value_vectors[0].tolist()),
            )
            for model, sheet in edges
        ),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )
    return view if pair.seen else _maps_alone(view)


def _maps_alone(view: View) -> View:
    """``view`` without its scenes, and without the arrays that only these need."""
    columns = [[panel for panel in panels if panel.kind == "plane"] for panels in view.columns]
    panels = [panel for column in columns for panel in column]
    drawn = set(_array_names([asdict(panel) for panel in panels]))
    drawn |= {name for panel in panels for name in panel.pick.values()}
    arrays = {name: array for name, array in view.arrays.items() if name in drawn}
    return replace(view, columns=columns, arrays=arrays, framed=view.framed & drawn, edge_on=())


def _array_names(tree: Any) -> Iterator[str]:
    """The names of all arrays that are referred to in ``tree``."""
    if isinstance(tree, dict):
        if "array" in tree:
            yield tree["array"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _array_names(part)


def _sheet(name: str, model: MeasuredModel, scale: ColourScale, by_class: bool) -> Sheet:
    known = model.surface.known
    return Sheet(
        name,
        model.frames,
        model.data,
        coordinate_axes(3),
        classified.class_colours(model.frames.logits)
        if by_class
        else np.nan_to_num(scale.apply(known)).clip(scale.low, scale.high),
        field=None if by_class else known,
        corners=np.tile(model.value_vectors, (len(model.frames.values), 1, 1)),
        lines=plane_lines(model.frames.values[0], model.data.axis, model.value_vectors),
        ridges=None if by_class else ridge_curves(model.surface, model.frames.values),
        grounded=by_class,
    )


# --- Above them -----------------------------------------------------------------------------------


def fair_lines(setting: Setting, accuracies: dict[str, np.ndarray]) -> tuple[str, str]:
    """Return the first lines of both captions: a fair comparison, of what training reaches.

    ``accuracies`` (S,) are test accuracies of models trained without a gate and with one.
    """
    ungated, gated = accuracies.values()
    count = setting.seed_count
    before, after = (common.accuracy_text(mean_interval(x)) for x in (ungated, gated))
    return (
        f"Trained without a gate{terms_text(setting, gated=False)}: **{before}**\n"
        f"test accuracy, mean of {count} seeds, 95\u00a0% interval",
        f"Trained with a gate{terms_text(setting, gated=True)}: **{after}**\n"
        f"{common.paired_text(mean_interval(gated - ungated), count, 'the gate')}",
    )


def terms_text(setting: Setting, gated: bool) -> str:
    """Name in brackets what is added to the loss of models of a ``setting``; "" for nothing."""
    terms = {
        "entropy": setting.entropy_bonus,
        "spread": setting.spread_bonus,
        "gate-logit": gated and setting.gate_penalty,  # a model without a gate has no such logits
    }
    used = [name for name, weight in terms.items() if weight]
    text = " and ".join(filter(None, (", ".join(used[:-1]), *used[-1:])))
    return f" ({text} {'term' if len(used) == 1 else 'terms'} in the loss)" if used else ""


def captions(
    model: MeasuredModel, sweep: StrengthSweep | None, seen: bool, trained: str
) -> list[str]:
    """Return the lines above a model's pictures, at every strength.

    Args:
        model: The model.
        sweep: Its total curvatures, measured or not yet; ``None`` for a model without a gate.
        seen: Whether there is a surface to see; else the lines say nothing of its curvature.
        trained: The first lines, of models that were trained so; the same at all strengths.
    """
    lines = []
    for frame, accuracy in enumerate(model.test_accuracy):
        curvature = f" · {_total_text(model, frame, sweep)}" if seen else ""
        shown = f"Shown, seed {model.seed}: {common.percent(accuracy)}, classifier refitted"
        lines.append(f"{trained}\n{shown}{curvature}")
    return lines


def _total_text(model: MeasuredModel, frame: int, sweep: StrengthSweep | None) -> str:
    if model.surface.flat[frame]:
        return "total curvature **0**: flat"
    if sweep is None or not sweep.measured[frame]:
        return "total curvature is being measured …"
    text = common.final_total_text(sweep.total.at(frame), flat=False)
    if text == UNKNOWN:
        return f"total curvature: {text}, the surface folds too sharply"
    share, area = map(common.percent, (model.concentration[frame], MOST_CURVED))
    return f"total curvature **{text}**, {share} of it on {area} of the area"


def chosen_text(result: Result) -> str:
    """Say how the shown seed was chosen."""
    count = result.run.setting.seed_count
    return section(
        "landing", "chosen", seed=result.pair.right.seed, better=(count + 1) // 2, count=count
    )


def stale_text(shown: Setting, requested: Setting) -> str:
    """Return the note over the picture of another setting than the one ``requested``."""
    if shown == requested:
        return ""

    def names(of: Setting) -> tuple[str, ...]:
        return of.task, common.layers_text(of.depth), f"{of.compared[1]} gate", f"seed {of.seed}"

    pairs = zip(names(shown), names(requested), strict=True)
    differing = [pair for pair in pairs if pair[0] != pair[1]] or [("the last model", "the next")]
    before, after = (", ".join(each) for each in zip(*differing, strict=True))
    return f"Still showing {before}. {after[0].upper()}{after[1:]} is not ready yet."


# --- Below them -----------------------------------------------------------------------------------


@cached()
def readings(setting: Setting, left: str, _pair: MeasuredPair) -> list[str]:
    """Return the paragraph below the pictures at every strength; ``left`` is a key of `LEFT`."""
    describe = _surface_text if _pair.seen else _boundary_text
    first = f"**{LEFT[left]}:** {describe(_pair.left, 0)}."
    weights = "Same weights, gate" if left == "same" else "Gate"
    return [
        f"{first} **{weights} at λ = {strength:.2f}:** {describe(_pair.right, frame)}."
        for frame, strength in enumerate(STRENGTHS)
    ]


def _surface_text(model: MeasuredModel, frame: int) -> str:
    verdict = model.surface.verdicts[frame]
    shape = "provably flat" if verdict.proof else common.verdict_text(verdict)
    cut = cut_of(model.frames.margin[frame], model.data.axis)
    if not cut.count:
        how = "misses it"
    elif model.surface.flat[frame]:  # two planes meet in a line
        how = f"cuts it in a straight line (in the input plane {cut.text}{_bend_text(cut)})"
    else:
        how = f"cuts it in {cut.text}"
    return f"the surface is {shape}. The linear classifier, refitted to it, {how}"


def _bend_text(cut: Cut) -> str:
    """Say how far open lines depart from their chords, in units of the input plane."""
    if not cut.lines:
        return ""
    if cut.bend < STRAIGHT:
        return f", straight to within {STRAIGHT:g}"
    return f" that {'bends' if cut.lines == 1 else 'bend'} by up to {common.rough(cut.bend)}"


def _boundary_text(model: MeasuredModel, frame: int) -> str:
    cut = cut_of(model.frames.margin[frame], model.data.axis)
    return f"the decision boundary is {cut.text}" if cut.count else "there is no decision boundary"

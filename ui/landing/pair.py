"""The landing page's two models: one without a gate beside a gated one at every strength.

Both output surfaces in R^3 under one camera, the input square of each with its data points, and
what is known of them. The strength and the marked point are kept in the link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_SETTING,
    STRENGTHS,
    Cut,
    Setting,
    StrengthSweep,
    TrainedRun,
    cut_of,
)
from gating_core.geometry import FLAT, MOST_CURVED, UNKNOWN, SurfaceResult
from gating_core.training import mean_interval
from ui.common import formatting as common
from ui.common.lessons import section
from ui.common.links import pick_text, put_in_link
from ui.components.pair import Classified, Pair, Point, Side, draw_pair
from ui.components.strip import strip
from ui.drawing import palette
from ui.drawing.colours import ColourScale, class_colours, scale_of
from ui.drawing.first_view import (
    NO_SEGMENTS,
    Place,
    eye_over,
    level,
    scale_share,
    straight_segments,
)
from ui.landing.picture import MeasuredModel, MeasuredPair
from ui.work.cache import cached

VIEW_KEY = "pair_view"
MODEL_NAMES = ("Without gate", "With gate")
LEFT = {"same": "Gate ablated (λ = 0)", "own": "Trained without a gate"}
CLASSES = ColourScale(palette.CLASS_SCALE, 0.0, 1.0)
STRAIGHT = 0.01  # in the input square [-1, 1]^2: about a pixel
CLASS_NOTE = (
    "Dots: training data. Grey plane: the linear classifier, refitted at every λ; where it cuts the"
    " surface, black, is the decision boundary."
)


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


def draw_models(result: Result) -> None:
    """Draw both models."""
    setting = result.run.setting
    drawn, scale = picture_of(setting, result.left, result.colouring, result.pair)
    follow = "" if "strength" in st.query_params else "arrive"  # nobody has chosen one yet
    shown = shown_with(result, scale)
    draw_pair(drawn, key=VIEW_KEY, on_leave=_on_leave, follow=follow, **shown)


def draw_strip(result: Result, key: str) -> None:
    """Draw what every seed reached, without a gate and with one."""
    strip(
        key=key,
        label="Test accuracy, one dot per seed, without and with a gate.",
        title="test accuracy, %, one dot per seed",
        accuracies=result.test_accuracies,
        colours=[*palette.SIDE_COLOURS.values()],
        seeds=result.run.setting.seeds,
    )


def shown_with(result: Result, scale: ColourScale) -> dict[str, Any]:
    """Return what the component is told of a ``result`` besides the picture."""
    pair, setting = result.pair, result.run.setting
    texts = fair_texts(setting, result.test_accuracies)
    gain, means = (text.replace("**", "") for text in texts)
    by_class = result.colouring == "class" or not pair.seen
    return {
        "scene": f"{setting} {result.left}",
        "frame": result.frame,
        "point": result.point,
        "verdicts": [verdicts(pair.left, None, pair.seen),
                     verdicts(pair.right, result.sweep, pair.seen)],
        "findings": [(f"{gain}.", f"{means}.")] * len(STRENGTHS),
        "quantity": "Probability of class 1" if by_class else "K over the input square",
        "names": ("x₁", "x₂"),
        "note": CLASS_NOTE if by_class else f"{CLASS_NOTE} {_curvature_note(scale)}",
    }  # fmt: skip


def _curvature_note(scale: ColourScale) -> str:
    return (
        f"Violet, saddle-like, to green, dome-like: asinh scale, {common.percent(scale.beyond)} of"
        " the points at λ = 1 exceed it. Dotted: undetermined."
    )


def _on_leave(frame: int, point: Point | None, corners: np.ndarray | None) -> None:
    """Put the strength and the marked point into the link."""
    put_in_link(strength=f"{STRENGTHS[frame]:g}", pick=pick_text(point))


# --- The picture ----------------------------------------------------------------------------------


@cached()
def picture_of(
    setting: Setting, left: str, colouring: str, _pair: MeasuredPair
) -> tuple[Pair, ColourScale]:
    """Return what is drawn of a pair, which follows from ``setting`` and ``left``."""
    return pair_of(_pair, colouring)


def curvature_colours(surface: SurfaceResult) -> ColourScale:
    """Return colours of K at full strength, symmetric about zero, on an asinh scale."""
    return scale_of("curvature", [surface.known[-1]])


def pair_of(pair: MeasuredPair, colouring: str = "class") -> tuple[Pair, ColourScale]:
    """Return two surfaces beside their input squares, and the scale of their colours.

    Frames are those of the right model; the left one has a single frame. Each surface stands as it
    does where its gate is ablated: flat and level. Two models with the same values are drawn alike.
    Where there is no surface to see, only the input squares are drawn, coloured by class.
    """
    left, right = pair.left, pair.right
    by_class = colouring == "class" or not pair.seen
    scale = CLASSES if by_class else curvature_colours(right.surface)
    alike = left.value_vectors.tolist() == right.value_vectors.tolist()
    places = [_place(x.frames.values, x.value_vectors) for x in (right if alike else left, right)]
    eye = eye_over(places[1].planes(right.frames.normal, right.frames.offset)[-1])
    if not alike:  # the flat one lies across
        cosine, sine = np.cos(eye[0] + np.pi / 2), np.sin(eye[0] + np.pi / 2)
        across = np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]])
        places[0] = replace(places[0], turn=places[0].turn @ across)
    names = LEFT["same" if alike else "own"], "With a gate"
    sides = tuple(
        _side(*each, scale, by_class)
        for each in zip(names, MODEL_NAMES, (left, right), places, strict=True)
    )
    low, high = scale.ends
    ends = (f"K = {common.rough(low)}", f"K = {common.rough(high)}")
    if by_class:
        ends = ("class 0", "class 1")
    drawn = Pair(
        sides,
        [f"Gate λ = {strength:.2f}" for strength in STRENGTHS],
        STRENGTHS,
        eye,
        scale.colours,
        ends,
        symbol="p(class 1)" if by_class else "K",
        alone=not pair.seen,
    )
    return drawn, scale


def _place(values: np.ndarray, corners: np.ndarray) -> Place:
    """Return the place in which surfaces (T, R, R, 3) and ``corners`` (3, 3) fill a box."""
    middle, turn, _ = level(values[0], values[-1])
    shown = np.concatenate([values[[0, -1]].reshape(-1, 3), corners])
    points = (shown - middle) @ turn
    low, high = points.min(0), points.max(0)
    return Place(middle + turn @ (low + high) / 2, turn, 2 / float(np.linalg.norm(high - low)))


def _side(
    name: str,
    short: str,
    model: MeasuredModel,
    place: Place,
    scale: ColourScale,
    by_class: bool,
) -> Side:
    frames, surface, data = model.frames, model.surface, model.data
    field = class_colours(frames.logits) if by_class else surface.known
    flat = [proof is not None for proof in surface.proof]
    values = place.drawn(frames.values)
    corners = model.value_vectors
    return Side(
        name=name,
        short=short.lower(),
        values=values,
        shares=scale_share(field, scale),
        signed=frames.margin,
        gaussian=field,
        error=np.zeros_like(field) if by_class else surface.known_error,
        flat=flat,
        corners=place.drawn(corners),
        lines=straight_segments(frames.values[0], values[0], data.axis, corners)[None]
        if flat[0]
        else NO_SEGMENTS,
        classified=Classified(
            data.points,
            data.labels,
            data.tested,
            place.planes(frames.normal, frames.offset),
            [palette.POINT_COLOURS[index] for index in data.colours],
        ),
    )


# --- Above them -----------------------------------------------------------------------------------


def fair_texts(setting: Setting, accuracies: dict[str, np.ndarray]) -> tuple[str, str]:
    """Return a fair comparison of what training reaches: what the gate gains, and both means.

    ``accuracies`` (S,) are test accuracies of models trained without a gate and with one.
    """
    ungated, gated = accuracies.values()
    without, trained = (common.accuracy_text(mean_interval(x)) for x in (ungated, gated))
    terms = [terms_text(setting, gated=is_gated) for is_gated in (False, True)]
    return (
        common.paired_text(mean_interval(gated - ungated), setting.seed_count, "the gate"),
        f"Mean test accuracy of {setting.seed_count} models without a gate{terms[0]}:"
        f" **{without}**; with one{terms[1]}: **{trained}**",
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


def verdicts(
    model: MeasuredModel, sweep: StrengthSweep | None, seen: bool
) -> list[tuple[str, str]]:
    """Return what stands above a model's pictures at every strength: what the cut is, and the rest.

    Args:
        model: The model.
        sweep: Its total curvatures, measured or not yet; ``None`` for a model without a gate.
        seen: Whether there is a surface to see; else nothing is said of its curvature.
    """
    told = []
    for frame, accuracy in enumerate(model.test_accuracy):
        cut = cut_of(model.frames.margin[frame], model.data.axis)
        shown = f"Seed {model.seed}: {common.percent(accuracy)} test accuracy, classifier refitted"
        if not seen:
            boundary = f"Decision boundary: {cut.text}" if cut.count else "No decision boundary"
            told.append((boundary, shown))
            continue
        verdict = model.surface.verdicts[frame]
        flat = verdict.word == FLAT
        # Two planes meet in a line, whatever it looks like on the square.
        how = f"cut in {'a straight line' if flat else cut.text}" if cut.count else "not cut"
        square = f"in the input square {cut.text}{_bend_text(cut)}" if flat and cut.count else ""
        known = common.verdict_text(verdict)
        total = _total_text(model, frame, sweep)
        parts = [known[0].upper() + known[1:], total, square, shown]
        told.append((f"{verdict.word.capitalize()}, {how}", " · ".join(filter(None, parts))))
    return told


def _total_text(model: MeasuredModel, frame: int, sweep: StrengthSweep | None) -> str:
    if model.surface.without_curvature[frame]:
        return "total curvature 0"
    if sweep is None or not sweep.measured[frame]:
        return "total curvature is being measured …"
    text = common.final_total_text(sweep.total.at(frame), flat=False)
    if text == UNKNOWN:
        return f"total curvature: {text}, the surface folds too sharply"
    share, area = map(common.percent, (model.concentration[frame], MOST_CURVED))
    return f"total curvature {text}, {share} of it on {area} of the area"


def chosen_text(result: Result) -> str:
    """Say how the shown seed was chosen."""
    setting, seed = result.run.setting, result.pair.right.seed
    name = "pictured" if setting == FIRST_SETTING else "chosen"
    count = setting.seed_count
    return section("landing", name, seed=seed, better=(count + 1) // 2, count=count)


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


def _bend_text(cut: Cut) -> str:
    """Say how far open lines depart from their chords, in units of the input plane."""
    if not cut.lines:
        return ""
    if cut.bend < STRAIGHT:
        return f", straight to within {STRAIGHT:g}"
    return f" that {'bends' if cut.lines == 1 else 'bend'} by up to {common.rough(cut.bend)}"

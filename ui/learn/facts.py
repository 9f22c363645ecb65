"""Facts of lessons, computed from the models: numbers, correct answers, and what is ticked off.

A lesson is a row of `FACTS`. The files of lessons say which answer is correct; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    STRENGTHS,
    covered_share,
    first_plane,
    strengths_model,
)
from gating_core.geometry import CURVED, affine_hull, measure_surface, square_grid
from gating_core.theory import (
    BENT,
    KeySurface,
    barycentric_coordinates,
    four_key_curvature,
    key_sign,
)
from gating_core.training import mean_interval
from ui.bent import islands
from ui.claims.shared import Source, frozen, judged
from ui.common.formatting import percent, points_text, short
from ui.common.lessons import fill
from ui.common.links import link_value, parse_plane
from ui.depth import layers
from ui.depth.shared import bundled, exponent_text
from ui.gates.picture import range_text
from ui.keys import four_keys
from ui.landing.page import bundled_result, linked_frame
from ui.landing.pair import Result
from ui.landing.stage import linked_plane, stage_of
from ui.learn.lessons import Lesson, lessons
from ui.learn.pictures import ALIGNED_STACK, LOOPS, SHAPES, State, full_gate, own_gate
from ui.manifold import misleading
from ui.work import pool
from ui.work.cache import cached

GRID = square_grid(41)  # as the component draws the surface of keys
WHOLE_WEIGHT = 0.95  # of one value, in a corner
COARSE = 5  # points along a side
STEEP = 1.0  # K that a ring proves, 1 / length^2
# Of the choices of *keys*: inside, farther out, on the edge.
FOURTH_KEYS = ((0.0, -0.25), (0.5, -4.0), (0.0, -2.0))
LAYERS = (4, 8, 16)
NEARLY_CLOSED = 0.1  # a gate's strength: the fitted plane cuts no ring there
FIFTYFOLD = 50
WHERE = {2: 1, 3: 0}  # dimension of the outputs' hull: the choice of *hull*, if some lie outside


@dataclass(frozen=True)
class Facts:
    """The index of the correct answer, and the numbers in the text by field."""

    answer: int
    fields: dict[str, str]


@cached("Computing the numbers …")
def facts_of(name: str) -> Facts:
    """Return what the models say of the lesson called ``name``."""
    return FACTS[name](lessons()[name])


def after_text(name: str) -> str:
    """Return the explanation of a lesson with its numbers."""
    return fill(lessons()[name].after, f"*after* of {name}", facts_of(name).fields)


def try_text(name: str) -> str:
    """Return what a lesson asks to try."""
    wanted = {"hull": percent(WHOLE_WEIGHT), "island": short(STEEP)}
    fields = {"wanted": wanted[name]} if name in wanted else {}
    return fill(lessons()[name].try_it, f"*try* of {name}", fields)


# --- Keys and values ------------------------------------------------------------------------------


def surface_of(model: four_keys.FourKeys) -> KeySurface:
    """Return the surface over the first three keys of ``model``."""
    model = four_keys.with_mode("none", model)
    return KeySurface(model.keys, model.biases, model.values)


def _hull(lesson: Lesson) -> Facts:
    fields: dict[str, str] = {}
    outside, dimension = False, 0
    for prefix, texts in (("near_", lesson.state), ("", lesson.reveal)):
        surface = surface_of(four_keys.model_of(texts))
        weights, outputs = surface.weights(GRID.points), surface(GRID.points)
        outside |= bool((weights <= 0).any())
        dimension = max(dimension, affine_hull(outputs).dimension)
        mesh = outputs.reshape(*GRID.weights.shape, 3).numpy()
        fields |= {
            f"{prefix}least": _fine_percent(float(weights.min())),
            f"{prefix}most": _fine_percent(float(weights.max())),
            f"{prefix}share": percent(covered_share(mesh, surface.values.numpy())),
        }
    return Facts(WHERE[dimension] if outside else 2, fields)


def _fine_percent(share: float) -> str:
    return f"{short(100 * share)}\u00a0%"


def _flat(lesson: Lesson) -> Facts:
    surface = surface_of(four_keys.model_of(lesson.reveal))
    measured = pool.POOL.call(measure_surface, surface, GRID)
    spreads = affine_hull(surface(GRID.points)).spreads
    proof = measured.proof[0]
    return Facts(
        0 if proof is None else 2,
        {
            "off": short(float(spreads[2] / spreads[0])),
            "proof": str(proof),
        },
    )


def _keys(lesson: Lesson) -> Facts:
    before, after = (four_keys.model_of(texts) for texts in (lesson.state, lesson.reveal))
    fields: dict[str, str] = {}
    for name, model in (("saddle", before), ("dome", after)):
        k = four_key_curvature(model.keys, model.biases, model.values, GRID.points).gaussian
        fields |= {f"{name}_least": short(float(k.min())), f"{name}_most": short(float(k.max()))}
    signs = [key_sign([*before.keys[:3], place]).sign for place in FOURTH_KEYS]
    return Facts(signs.index(1) if 1 in signs else len(signs), fields)


# --- Trained models -------------------------------------------------------------------------------


def _multiply(lesson: Lesson) -> Facts:
    result = bundled_result(lesson.state["task"])
    stage = stage_of(result.run.setting, result.run, result.sweep)
    surface = result.pair.right.surface
    closed, opened = (stage.cut(strength, stage.plane(strength)) for strength in (0.0, 1.0))
    known, is_curved = surface.known[-1], surface.verdicts[-1].word == CURVED
    return Facts(
        1 + (opened.loops > closed.loops) if is_curved else 0,
        {
            "flat": percent(stage.accuracy(0.0, stage.plane(0.0))),
            "open": percent(stage.accuracy(1.0, stage.plane(1.0))),
            "least": short(float(np.nanmin(known))),
            "most": short(float(np.nanmax(known))),
            "cut": opened.text,
        },
    )


def gains(result: Result) -> np.ndarray:
    """Return what a gate gains in test accuracy, seed by seed (S,)."""
    without, gated = result.test_accuracies.values()
    return gated - without


def _plane(lesson: Lesson) -> Facts:
    result, study = bundled_result(lesson.state["task"]), judged(Source())
    word, evidence, _ = frozen()["reported"]["slots"]["C5"]
    difference = mean_interval(gains(result))
    inside = abs(difference.mean) <= difference.half_width
    return Facts(
        1 if inside else 0 if difference.mean > 0 else 2,
        {
            "count": str(result.run.setting.seed_count),
            "difference": points_text(difference),
            "contains": "contains" if inside else "excludes",
            "study": study.claims["C5"].evidence,
            "larger": f"“{word}”: {evidence}",
        },
    )


def _loops(lesson: Lesson) -> Facts:
    result, study = bundled_result(lesson.state["task"]), judged(Source()).claims["C4"]
    most, tasks = study.counts["significantly"], study.counts["tasks"]
    answer = 0 if most == 0 else 1 if most <= 2 else 3 if most == tasks else 2
    return Facts(
        answer,
        {
            "gain": points_text(mean_interval(gains(result))),
            "count": str(result.run.setting.seed_count),
            "adding": study.sentences.partition("; on")[0],
            "by_mean": str(study.counts["by the mean"]),
        },
    )


# --- Gates, layers, maps --------------------------------------------------------------------------


def _bent(lesson: Lesson) -> Facts:
    frames = {name: full_gate(name) for name in SHAPES}
    unrolled = [name for name, frame in frames.items() if frame.whole.word == BENT]
    answers = [["tube"], ["tube", "saddle"], [*SHAPES]]
    return Facts(
        answers.index(unrolled),
        {
            "tube_bend": short(frames["tube"].largest_bend),
            **{name: range_text(frame.range) for name, frame in frames.items()},
        },
    )


def at_origin() -> np.ndarray:
    """Return K at the origin after every layer of equal small gates, (L,)."""
    surface = layers.replayed(ALIGNED_STACK, None)
    middle = len(surface.axis) // 2
    return surface.known[:, middle, middle]


def _layers(lesson: Lesson) -> Facts:
    k = at_origin()
    four, eight, sixteen = (float(k[layer - 1]) for layer in LAYERS)
    ratio = sixteen / eight
    trained = bundled().results["gated"].curves["centre"].course.whole
    return Facts(
        [2, 4, 1].index(round(ratio)),
        {
            "four": short(four),
            "eight": short(eight),
            "sixteen": short(sixteen),
            "ratio": short(ratio),
            "trained": exponent_text(trained),
        },
    )


def _misleading(lesson: Lesson) -> Facts:
    lie = misleading.picture(lesson.state["fooled"])
    circle, linear = bundled_result("circle"), bundled_result("linear")
    ensemble = circle.run.variants[circle.run.setting.compared[1]].ensemble
    model = strengths_model(ensemble, circle.sweep.member, [1.0]).attention
    coarse = pool.POOL.call(measure_surface, model, square_grid(COARSE))
    fine = circle.pair.right.surface
    gain = gains(linear)
    return Facts(2 if lie.flat else 0, {
        "end": str(lie.fields["end"]), "coarse": str(COARSE), "fine": str(len(fine.axis)),
        "coarse_total": short(float(coarse.total[0])), "fine_total": short(float(fine.total[-1])),
        "seed": str(linear.run.setting.seeds[int(gain.argmax())]),
        "lucky": f"{100 * gain.max():+.1f}", "count": str(len(gain)),
        "mean": points_text(mean_interval(gain)),
    })  # fmt: skip


def _island(lesson: Lesson) -> Facts:
    flat, layer = (
        islands.island_of(name, first_plane(name))
        for name in (lesson.state["island_surface"], "gated layer")
    )
    assert flat is not None
    assert layer is not None
    assert flat.needed_mean is not None
    curved = islands.sampled(lesson.state["island_surface"]).gaussian.any()
    needed = layer.needed_gaussian
    return Facts(0 if curved else 1 if needed is None else 2, {
        "mean": short(flat.mean), "needed_mean": short(flat.needed_mean),
        "dimension": islands.COUNT_WORDS[flat.dimension],
        "needed": short(needed or 0.0), "there": short(layer.gaussian),
    })  # fmt: skip


FACTS: dict[str, Callable[[Lesson], Facts]] = {
    "hull": _hull, "flat": _flat, "multiply": _multiply, "bent": _bent, "plane": _plane,
    "loops": _loops, "layers": _layers, "misleading": _misleading, "keys": _keys,
    "island": _island,
}  # fmt: skip


# --- Checks of what a lesson asks to try, from the state that its link says ----------------------


def _strength(state: State) -> float:
    return STRENGTHS[linked_frame(float(state.base["strength"]))]


def _model(state: State) -> four_keys.FourKeys:
    return four_keys.linked_model(four_keys.model_of(state.base))


def _three(state: State) -> KeySurface:
    """The surface over three keys."""
    return surface_of(_model(state))


def ring(state: State) -> bool:
    """Return whether the visitor's plane cuts only closed rings at a nearly closed gate."""
    strength, plane = _strength(state), linked_plane()
    if plane is None or not 0 < strength <= NEARLY_CLOSED:
        return False
    result = bundled_result(state.base["task"])
    cut = stage_of(result.run.setting, result.run, result.sweep).cut(strength, plane)
    return cut.loops > 0 and not cut.lines


def closed(state: State) -> bool:
    """Return whether the gate is closed again."""
    return _strength(state) == 0


def least_gain(state: State) -> bool:
    """Return whether the task is shown, with its gate open, on which the gate gains least."""
    means = {name: mean_interval(gains(bundled_result(name))).mean for name in LOOPS}
    least = min(means, key=means.__getitem__)
    return st.session_state.get("task") == least and _strength(state) == 1


def corner(state: State) -> bool:
    """Return whether one weight at the marked point is nearly all."""
    surface = _three(state)
    at = surface.keys.new_tensor([_model(state).at])
    return float(surface.weights(at).max()) >= WHOLE_WEIGHT


def curve(state: State) -> bool:
    """Return whether the three keys lie on one line."""
    return affine_hull(_three(state).keys).dimension < 2


def dome_outside(state: State) -> bool:
    """Return whether the surface is a dome though key 4 lies outside the triangle of the others."""
    model = _model(state)
    values = KeySurface(model.keys, model.biases, model.values).values
    is_dome = key_sign(model.keys).sign == 1 and affine_hull(values).dimension == 3
    return is_dome and bool(barycentric_coordinates(model.keys).min() < 0)


def bends(state: State) -> bool:
    """Return whether the visitor's gate bends the surface and does not curve it."""
    formula = str(st.session_state.get("formula") or "")
    return bool(formula) and own_gate(formula).whole.word == BENT


def fiftyfold(state: State) -> bool:
    """Return whether the first layer is shown after which K is fifty times that after the first."""
    k = at_origin()
    return layers.linked_layer(None) == int(np.argmax(k >= FIFTYFOLD * k[0])) + 1


def invented(state: State) -> bool:
    """Return whether another picture is shown that invents curvature on a flat surface."""
    name = st.session_state.get("fooled", state.base["fooled"])
    return name != state.base["fooled"] and misleading.picture(name).flat


def steep_ring(state: State) -> bool:
    """Return whether the visitor's plane cuts a ring out of the layer that proves `STEEP`."""
    name = st.session_state.get("island_surface", state.base["island_surface"])
    plane = link_value("island_plane", parse_plane, first_plane(name), "the first plane")
    island = islands.island_of(name, plane)
    return island is not None and (island.needed_gaussian or 0.0) >= STEEP


CHECKS: dict[str, Callable[[State], bool]] = {
    "corner": corner, "curve": curve, "ring": ring, "bends": bends, "closed": closed,
    "least gain": least_gain, "fiftyfold": fiftyfold, "invented": invented,
    "dome outside": dome_outside, "steep ring": steep_ring,
}  # fmt: skip

"""The picture of a lesson, drawn by the page that it is from, and what is tried with it.

Parameters of that page stand in the link of *Learn* as they stand in its own, so what a visitor
does to the picture is in the link. A page is a row of `PICTURES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import streamlit as st

from gating_core.experiments.comparison import EXAMPLES
from ui.bent import islands
from ui.common.links import LINK
from ui.components.pair import Pair, draw_pair
from ui.depth import layers
from ui.depth.shared import ALIGNED
from ui.foreign import as_words
from ui.gates.frames import OWN, SETTLING, GateFrame, GateRequest, resolve
from ui.gates.gallery import at_strengths
from ui.gates.picture import gate_picture, numbers_text, side_by_side, verdict_of
from ui.keys import four_keys
from ui.landing.page import TASKS, bundled_result, linked_frame
from ui.landing.pair import draw_strip
from ui.landing.stage import draw_surface
from ui.learn.lessons import Lesson
from ui.limits import FORMULA_CHARACTERS
from ui.manifold import misleading
from ui.work.cache import cached

ALIGNED_STACK = layers.Stack(ALIGNED, second=False)  # weak gates
TUBE = GateRequest(OWN, formula="1/sqrt(u^2+1)")  # onto a round tube about an axis of space
SHAPES = {"tube": TUBE, "dome": GateRequest("sphere"), "saddle": GateRequest("saddle")}
ENDS = {"K": ("K < 0: saddle", "K > 0: dome"), "|H|": ("|H| = 0", "large |H|")}  # of colours
BENDING = (0.0, 0.25, 0.5, 0.75, 1.0)  # strengths of the gates that are drawn
MAP_PIXELS = 400  # the height of a misleading map
LOOPS = tuple(name for name in TASKS if name != "linear")
# Of the camera before and after, in radians: a flat triangle from above, then along its plane.
ELEVATIONS = {"hull": (1.2, 1.2), "flat": (1.2, 0.0)}


@dataclass(frozen=True)
class State:
    """A lesson and where its picture stands: what its link does not say is that of ``base``."""

    lesson: Lesson
    committed: bool

    @property
    def base(self) -> Mapping[str, str]:
        """Parameters of the page that the picture is from."""
        lesson = self.lesson
        return {**lesson.state, **lesson.reveal} if self.committed else lesson.state

    @property
    def key(self) -> str:
        """The key of the picture's component."""
        return f"learn_{self.lesson.name}"


@dataclass(frozen=True)
class Picture:
    """A function that draws it, and the ``parameters`` of the link that it reads and writes."""

    draw: Callable[[State], None]
    parameters: tuple[str, ...]


def draw_picture(lesson: Lesson, committed: bool) -> None:
    """Draw the picture of ``lesson``: held before a guess, then as the reveal leaves it.

    The reveal plays when it is first drawn ``committed``, after it was held.
    """
    PICTURES[lesson.page].draw(State(lesson, committed))


# --- Surfaces of trained models -------------------------------------------------------------------


def _draw_stage(state: State) -> None:
    task = state.base["task"]
    if state.committed and state.lesson.name == "loops":
        task = st.radio("Task", LOOPS, LOOPS.index(task), key="task", horizontal=True, **LINK)
    result = bundled_result(task, linked_frame(float(state.base["strength"])))
    draw_surface(result, state.key, hold=not state.committed)
    if state.committed and state.lesson.name in ("plane", "loops"):
        draw_strip(result, f"{state.key}_seeds")


# --- Keys and values ------------------------------------------------------------------------------


def _draw_keys(state: State) -> None:
    first = four_keys.model_of(state.base)
    mode = four_keys.FOURTH[state.base.get("fourth", "key")]
    model = four_keys.linked_model(first) if state.committed else first
    four_keys.draw_keys(
        state.key,
        mode,
        model,
        first,
        hold=not state.committed,
        alone=True,
        elevations=ELEVATIONS.get(state.lesson.name),
    )


# --- Gates ----------------------------------------------------------------------------------------


def full_gate(name: str) -> GateFrame:
    """Return one of `SHAPES` under its full gate."""
    return at_strengths(SHAPES[name], SETTLING)[-1]


def own_gate(formula: str) -> GateFrame:
    """Return the surface under the gate of a visitor's formula."""
    request, _ = resolve(GateRequest(OWN, formula=formula))
    return at_strengths(request, SETTLING)[-1]


@cached("Measuring the surfaces …")
def _shapes(
    shown: str, formula: str, strengths: tuple[float, ...]
) -> tuple[list[tuple[GateFrame, ...]], Pair]:
    """The frames of every shape, and their pictures at one size."""
    requests = dict(SHAPES)
    if formula:
        requests["yours"], _ = resolve(GateRequest(OWN, formula=formula))
    frames = [at_strengths(each, strengths) for each in requests.values()]
    pictures = [
        gate_picture(each, shown, title=name, smallest=math.inf)
        for name, each in zip(requests, frames, strict=True)
    ]
    return frames, replace(side_by_side(pictures), ends=ENDS[shown])


def _draw_shapes(state: State) -> None:
    shown, formula = state.base["tint"], ""
    if state.committed:
        formula = st.text_input(
            "Your gate g(u, v)",
            "",
            FORMULA_CHARACTERS,
            key="formula",
            placeholder="1 / (1 + exp(2*u))",
            **LINK,
        )
        if formula and (note := resolve(GateRequest(OWN, formula=formula))[1]):
            st.error(as_words(note))
            formula = ""
    strengths = BENDING if state.committed else BENDING[-1:]  # before, the full gate alone
    frames, pair = _shapes(shown, formula, strengths)
    draw_pair(
        pair,
        key=f"{state.key}_{len(frames)}",
        scene=formula,
        frame=len(strengths) - 1,
        point=None,
        verdicts=[
            [_told(frame, shown) if state.committed else ("", "") for frame in each]
            for each in frames
        ],
        quantity="",
        names=("u", "v"),
        note="Every surface has colours of its own, and is drawn at one size",
        on_leave=lambda *_: None,
        maps=False,
        follow=state.key if state.committed else "",
    )


def _told(frame: GateFrame, shown: str) -> tuple[str, str]:
    word, known = verdict_of(frame)
    numbers = " · ".join(filter(None, numbers_text(frame, shown)))
    return word, f"{known.lstrip(', ')} · {numbers}"


# --- Layers ---------------------------------------------------------------------------------------


def _draw_layers(state: State) -> None:
    surface = layers.replayed(ALIGNED_STACK, None)
    # The reveal plays, unless the link names a layer.
    follow = state.key if state.committed and "after" not in st.query_params else ""
    layers.draw_replay(ALIGNED_STACK, surface, state.key, int(state.base["after"]), follow)


# --- Islands --------------------------------------------------------------------------------------


def _draw_island(state: State) -> None:
    name, turned = state.base["island_surface"], int(state.base["island_turn"])
    if state.committed:
        names = [*EXAMPLES]
        name = st.radio("Surface", names, names.index(name), key="island_surface",
                        horizontal=True, **LINK)  # fmt: skip
    island = islands.draw_example(name, state.key, turned, hold=not state.committed)
    if state.committed:
        st.markdown(islands.island_text(name, island))


# --- Misleading pictures --------------------------------------------------------------------------


def _draw_misleading(state: State) -> None:
    name = state.base["fooled"]
    if state.committed:
        names = [*misleading.CASES]
        name = st.selectbox("Picture", names, names.index(name), key="fooled", **LINK)
    case = misleading.picture(name)
    if not state.committed:
        misleading.draw_lie(name, case, state.lesson.alt["before"], MAP_PIXELS)
        return
    left, right = st.columns(2)
    with left:
        misleading.draw_lie(name, case, height=MAP_PIXELS)
    with right:
        misleading.draw_number(case)


PICTURES = {
    "Flat or curved?": Picture(_draw_stage, ("task", "strength", "plane")),
    "Which keys curve?": Picture(_draw_keys, ("keys", "biases", "values", "at", "cut")),
    "Which gates curve?": Picture(_draw_shapes, ("formula",)),
    "Depth": Picture(_draw_layers, ("after", "stacked_point")),
    "Manifold": Picture(_draw_misleading, ("fooled",)),
    "Curved or bent?": Picture(_draw_island, ("island_surface", "island_plane", "island_turn")),
}

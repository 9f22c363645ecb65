"""The parts of the page of gates: what is fetched for it, and how it is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

import gating_core.theory as theory
from gating_core.theory import BENT, PLANE, GateCase, LawAtPoint, law_at
from ui.common.lessons import section
from ui.common.parts import draw_explanation
from ui.common.view_links import frame_to_link, nearest_frame, point_to_link
from ui.common.words import plus_minus, rough, short
from ui.components.tiles import Tile
from ui.components.view3d import Legend, view3d
from ui.foreign import as_code, as_words
from ui.gates import measured, words
from ui.gates.controls import GATES, front_controls, marked
from ui.gates.frames import GateFrame
from ui.gates.picture import GatePicture
from ui.gates.request import OWN, SETTLING, STRENGTHS, GateRequest, case_of, resolve
from ui.gates.shipped import numbers_of
from ui.work.job import Job

VIEW_KEY = "gates_view"
STYLE = Path(__file__).with_name("gates.css")
ON_TILE = 18  # characters of a formula
SPARE = 560  # pixels of the window's height that all but the pictures takes


@dataclass(frozen=True, eq=False)
class GateResult:
    """What there is to show."""

    request: GateRequest
    case: GateCase
    shown: str
    frames: tuple[GateFrame, ...]
    index: int  # in ``frames``
    at: tuple[int, int]  # the marked grid point, or the middle
    measuring: Job | None  # of all strengths, as long as there is only the requested one

    @property
    def frame(self) -> GateFrame:
        return self.frames[self.index]

    @property
    def strengths(self) -> tuple[float, ...]:
        return tuple(frame.strength for frame in self.frames)

    @property
    def point(self) -> tuple[float, float]:
        """(u, v) of the marked point."""
        u, v = (float(self.frame.axis[index]) for index in self.at[::-1])
        return u, v

    @property
    def point_text(self) -> str:
        return f"({', '.join(map(short, self.point))})"

    def law(self) -> LawAtPoint | None:
        """The law at the marked point; ``None`` where there is none to speak of."""
        if not self.case.scalar or self.frame.gate[self.at] != self.frame.gate[self.at]:
            return None
        at = law_at(self.case.gate, *self.point, self.frame.strength)
        return at if np.isfinite(at.gaussian.value) else None


def draw_gallery() -> GateResult:
    """Draw sixteen tiles, and beside them the one that is open."""
    st.html(STYLE)
    with st.container(key="gates_desk"):
        left, right = st.columns([5, 8], gap="medium")
        tiles = left.container()
        with right:
            request, shown = front_controls(st)
            request, note = resolve(request)
            if note:
                st.error(as_words(note))
            result = _fetch(request, shown)
            _draw_view(result)
        GATES["case"].draw(tiles, own=_own_tile(request))
        with left, st.container(key="gates_law"):
            _draw_law(result)
    return result


def _own_tile(request: GateRequest) -> Tile | None:
    """The tile of a formula that somebody typed: it has no picture."""
    if request.formula == theory.FIRST_FORMULA:
        return None
    full = measured.at_strengths(request, SETTLING)[-1]
    formula = (
        request.formula if len(request.formula) <= ON_TILE else f"{request.formula[:ON_TILE]}…"
    )
    return Tile(OWN, f"{as_code(formula)}  \n{words.tile_line(numbers_of(full.whole, full.range))}")


def _fetch(request: GateRequest, shown: str) -> GateResult:
    frames, job = measured.EVERY.fetch(request)
    index = nearest_frame(GATES["level"], STRENGTHS)
    if frames is None:  # mostly the full gate, which colours and boxes need anyhow
        strength, index = STRENGTHS[index], 0
        some = measured.at_strengths(request, SETTLING if strength in SETTLING else (strength,))
        frames = tuple(frame for frame in some if frame.strength == strength)
    middle = len(frames[0].axis) // 2
    at = marked() or (middle, middle)
    return GateResult(request, case_of(request), shown, frames, index, at, job)


def _draw_view(result: GateResult) -> None:
    picture = measured.picture(result.request, result.strengths, result.shown, result.frames)
    exact = words.exact_name(result.case, result.request.radius)
    view3d(
        picture.view,
        key=VIEW_KEY,
        headings=[""],
        captions=[[words.caption(frame, result.shown) for frame in result.frames]],
        readings=[words.reading(frame, exact) for frame in result.frames],
        readouts=[words.readout(result.case.scalar)],
        frame=result.index,
        frame_labels=[f"λ = {strength:.2f}" for strength in result.strengths],
        playable=result.measuring is None,
        ends=("flat sheet", "full gate"),
        scrub=True,
        scene=str(result.request.case),
        spare=SPARE,
        legend=legend_of(picture, result.shown, result.frames),
        pick=marked(),
        rest=result.at,
        on_pick=point_to_link(VIEW_KEY, "mark"),
        on_stop=(lambda: None) if result.measuring else frame_to_link(VIEW_KEY, "level", STRENGTHS),
    )  # fmt: skip
    with st.container(key="progress"):
        if result.measuring is not None:
            measured.EVERY.watch(result.measuring, "Measuring every strength of the gate")


def legend_of(picture: GatePicture, shown: str, frames: tuple[GateFrame, ...]) -> Legend:
    """Return the colours of a picture, and what else is to be known of it."""
    ends = [f"{shown} = {rough(end)}" for end in picture.scale.ends]
    low, high = ("", "") if picture.scale.collapsed else ends
    return Legend(picture.scale.colours, low, high, words.legend_notes(picture, frames))


def _draw_law(result: GateResult) -> None:
    """The law, and the law with the numbers of the marked point."""
    st.latex(section("gates", "law"))
    law = result.law()
    where = f"{'the marked point' if marked() else 'the middle'} {result.point_text}"
    if law is not None:
        st.latex(words.law_latex(law))
        k = plus_minus(law.gaussian.value, law.gaussian.error)
        st.caption(
            f"At {where}, λ = {result.frame.strength:.2f}: **K = {k}**. {words.law_sentence(law)}"
        )
    elif result.case.scalar:
        value = float(result.case.formulas[0].at(*result.point))
        st.caption(words.no_gate_text(result.frame, result.at, where, value))
    else:
        st.caption(section("gates", "no_law"))


def draw_why(result: GateResult) -> None:
    """Draw two lines, the formula with its numbers, and where it comes from."""
    st.markdown("  \n".join(result.case.why))
    frame = result.frame
    if frame.whole.word not in (PLANE, BENT) and frame.share_lost < 1:
        st.caption(words.shares_text(frame, measured.shares(result.request, frame.strength)))
    law = result.law()
    if law is None:
        st.markdown(section("gates", "derivation" if result.case.scalar else "elementwise"))
        return
    st.latex(rf"g(u, v) = {result.case.formulas[0].latex()}")
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.table(words.law_rows(law))
    with right:
        st.markdown(f"At (u, v) = {result.point_text}:")
        st.latex(words.law_latex(law))
        st.markdown(section("gates", "derivation"))


def draw_explanations(result: GateResult) -> None:
    """Draw how the pictures are read."""
    frame = result.frame
    draw_explanation(
        "gates", "the gated sheet", "sheet", points=len(frame.axis),
        caption=words.caption(frame, result.shown), doubt=words.doubt_text(frame),
    )  # fmt: skip

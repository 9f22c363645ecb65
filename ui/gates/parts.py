"""The parts of the page of gates: what is fetched for it, and how it is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from gating_core.theory import GateCase, LawAtPoint, law_at
from ui.common.explain import beats, explain
from ui.common.words import short
from ui.components.view3d import Legend, view3d
from ui.foreign import as_words
from ui.gates import measured, words
from ui.gates.controls import GATES, VIEW_KEY, frame_shown, front_controls, marked, on_pick, on_stop
from ui.gates.frames import GateFrame
from ui.gates.picture import GatePicture
from ui.gates.request import STRENGTHS, GateRequest, case_of, resolve
from ui.work.job import Job

STYLE = Path(__file__).with_name("gates.css")
PLACES = 9  # of coordinates: a grid's middle is 1e-17 off, which nobody wants to read
SPARE = 560  # pixels of the window's height that all but the pictures takes


@dataclass(frozen=True, eq=False)
class FoundGate:
    """What there is to show."""

    request: GateRequest
    case: GateCase
    shown: str
    frames: tuple[GateFrame, ...]
    place: int  # in ``frames``
    at: tuple[int, int]  # the marked grid point, or the middle
    measuring: Job | None  # of all strengths, as long as there is only the one asked for

    @property
    def frame(self) -> GateFrame:
        return self.frames[self.place]

    @property
    def strengths(self) -> tuple[float, ...]:
        return tuple(frame.strength for frame in self.frames)

    @property
    def point(self) -> tuple[float, float]:
        """(u, v) of the marked point, to `PLACES` decimals."""
        axis = self.frame.axis
        u, v = (round(float(axis[place]), PLACES) for place in self.at[::-1])
        return u, v

    def law(self) -> LawAtPoint | None:
        """The law at the marked point; ``None`` where there is none to speak of."""
        if not self.case.scalar or self.frame.gate[self.at] != self.frame.gate[self.at]:
            return None
        found = law_at(self.case.gate, *self.point, self.frame.strength)
        return found if np.isfinite(found.gaussian.value) else None


def draw_gallery() -> FoundGate:
    """Sixteen tiles, and beside them the one that is open."""
    st.html(STYLE)
    with st.container(key="gates_desk"):
        left, right = st.columns([5, 8], gap="medium")
        GATES["case"].draw(left)
        with right:
            asked, shown = front_controls(st)
            request, note = resolve(asked)
            if note:
                st.error(as_words(note))
            found = _found(request, shown)
            _draw_view(found)
        with left, st.container(key="gates_law"):
            _draw_law(found)
    return found


def _found(request: GateRequest, shown: str) -> FoundGate:
    every, job = measured.EVERY.fetch(request)
    place = frame_shown()
    frames = every or (measured.single(request, STRENGTHS[place]),)
    middle = len(frames[0].axis) // 2
    at = marked() or (middle, middle)
    return FoundGate(request, case_of(request), shown, frames, place if every else 0, at, job)


def _draw_view(found: FoundGate) -> None:
    picture = measured.picture(found.request, found.strengths, found.shown, found.frames)
    exact = words.exact_name(found.case, found.request.radius)
    view3d(
        picture.view,
        key=VIEW_KEY,
        headings=[""],
        captions=[[words.caption(frame) for frame in found.frames]],
        readings=[words.reading(frame, exact) for frame in found.frames],
        readouts=[words.readout(found.case.scalar)],
        frame=found.place,
        frame_labels=[f"λ = {strength:.2f}" for strength in found.strengths],
        playable=found.measuring is None,
        ends=("flat sheet", "full gate"),
        scrub=True,
        scene=str(found.request.case),
        spare=SPARE,
        legend=legend_of(picture, found.shown, found.frames),
        pick=marked(),
        rest=found.at,
        on_pick=on_pick,
        on_stop=on_stop if found.measuring is None else lambda: None,
    )  # fmt: skip
    with st.container(key="progress"):
        if found.measuring is not None:
            measured.EVERY.watch(found.measuring, "Measuring every strength of the gate")


def legend_of(picture: GatePicture, shown: str, frames: tuple[GateFrame, ...]) -> Legend:
    """The colours of a picture, and what else is to be known of it."""
    ends = [f"{shown} = {short(float(f'{end:.2g}'))}" for end in picture.scale.ends]
    low, high = ("", "") if picture.scale.collapsed else ends
    return Legend(picture.scale.colours, low, high, words.legend_note(picture, frames))


def _draw_law(found: FoundGate) -> None:
    """The law, and the law with the numbers of the marked point."""
    st.latex(words.LAW)
    law = found.law()
    u, v = found.point
    where = "the marked point" if marked() else "the middle"
    if law is None:
        st.caption(
            "The law is for scalar gates."
            if not found.case.scalar
            else f"At {where} ({short(u)}, {short(v)}) the formula is no gate."
        )
        return
    st.latex(words.law_latex(law))
    st.caption(
        f"At {where} ({short(u)}, {short(v)}), λ = {found.frame.strength:.2f}:"
        f" **K = {words.with_error(law.gaussian)}**. {words.law_sentence(law)} ρ = 1/g."
    )


def draw_why(found: FoundGate) -> None:
    """Two lines, the formula with its numbers, and where it comes from."""
    st.markdown("  \n".join(found.case.why))
    law = found.law()
    if law is None:
        st.markdown(words.DERIVATION if found.case.scalar else words.ELEMENTWISE)
        return
    u, v = found.point
    formula = found.case.formulas[0]
    st.latex(rf"g(u, v) = {formula.latex()}")
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.table(words.law_rows(law))
    with right:
        st.markdown(f"At (u, v) = ({short(u)}, {short(v)}):")
        st.latex(words.law_latex(law))
        st.markdown(words.DERIVATION)


def draw_explanations(found: FoundGate) -> None:
    """How the pictures are read."""
    frame = found.frame
    explain(
        "the gated sheet",
        beats(
            "The flat sheet (u, v, 1) over [−1, 1]², every point multiplied by its gate; faint: the"
            " sheet itself. The gate in force is (1 − λ) + λ g. Beside it K (or |H|) and the gate"
            " over the chart; below it the law with the numbers of the point under the pointer, or"
            " else of the marked one, or of the middle.",
            f"K = (⟨n_uu, n_vv⟩ − |n_uv|²) / det g at {len(frame.axis)}² points;"
            f" {words.caption(frame)}.",
            "Where the colour is grey the sheet does not curve, however much it bends: |H| tells"
            " that. Between λ = 0 and 1 a verdict may change: the sphere's gate passes through"
            " *mixed*.",
            "As if a gate that varies in two directions had to curve: 1/(3 + u² + v) does not. And"
            " a verdict is about the chart that is shown, not about the formula everywhere.",
        ),
    )

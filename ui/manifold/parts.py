"""The Manifold page's parts: what is fetched for it, and how its tabs are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen, Specimen
from ui.common.explain import explain
from ui.common.words import percent, short
from ui.components.view3d import Legend, clicked, stopped, view3d
from ui.manifold import captions, measured, words
from ui.manifold.arrays import draws_simplex
from ui.manifold.controls import REVEALED, SHOWN_DEPTH, Asked, fit_axes, marked, put_strength
from ui.manifold.dial import dial_of, strengths, watch_dial
from ui.manifold.doubt import draw_doubt as draw_doubts
from ui.manifold.explain import handles_text, heatmap_text, simplex_text, surfaces_text
from ui.manifold.hold import can_hold, draw_hold, is_dragging
from ui.manifold.marked_point import point_rows
from ui.manifold.picture import ManifoldPicture
from ui.manifold.request import Metric, Request, Resolved
from ui.manifold.totals import TOTALS, Totals, watch_totals
from ui.manifold.whole import Whole, strength_of, whole_of
from ui.work.job import Job

VIEW_KEY = "manifold_view"
BESIDE = "gc-beside"  # the pads stand beside the view as pad.css says
LAST_GOOD = "manifold_last_good"
STRENGTHS = "manifold_strengths"  # of the frames in the browser
SPARE, SPARE_INSPECT = 545, 530  # pixels of the window that all but the pictures takes
HIDDEN = ("value_count", "heads", "grid", "part")  # notes whose controls are under *More*


@dataclass(frozen=True, eq=False)
class ShownSides:
    """What there is to show: the one or two sides as asked for, and the last at all strengths."""

    asked: Asked
    resolved: Resolved
    sides: list[MeasuredSpecimen]
    dial: Sequence[MeasuredSpecimen]  # frames of the gated side; none where there is no such side
    measuring: Job | None  # of all strengths, as long as ``dial`` has only the one asked for

    @property
    def frame(self) -> int:
        """The place of the strength that was asked for."""
        return self.strengths.index(self.resolved.request.strength) if self.dial else 0

    @property
    def strengths(self) -> list[float]:
        return [strength_of(side) for side in self.dial]

    @property
    def at(self) -> tuple[int, int]:
        """The marked grid point, or the middle."""
        middle = self.resolved.grid // 2
        return marked(self.resolved.grid) or (middle, middle)


def fetch(asked: Asked) -> ShownSides:
    """Everything for what was asked; where nothing of it can be, the last good picture."""
    try:
        found = _measure(asked, asked.request)
        st.session_state[LAST_GOOD] = asked.request
    except ValueError as error:
        last = st.session_state.get(LAST_GOOD)
        found = _measure(asked, last or Request())
        shown = "the last picture that could be drawn" if last else "the first example"
        st.error(f"{error} Shown: {shown}.")
    principal = found.resolved.axes.principal
    st.session_state[SHOWN_DEPTH] = found.resolved.request.depth if principal else None
    return found


def _measure(asked: Asked, request: Request) -> ShownSides:
    resolved = measured.resolved(request)
    sides = [measured.measured(side, resolved.grid) for side in resolved.sides[:1]]
    dial, job = _dial(resolved, not asked.dials or (asked.look.inspect and is_dragging()))
    sides += [side for side in dial if strength_of(side) == request.strength]
    # The last good picture may have fewer layers than the one that was asked for.
    look = replace(asked.look, layer=min(asked.look.layer, request.depth - 1))
    return ShownSides(replace(asked, look=look), resolved, sides, dial, job)


def _dial(resolved: Resolved, alone: bool) -> tuple[Sequence[MeasuredSpecimen], Job | None]:
    """The gated side, if there is one, at all strengths; ``alone``: at the one asked for.

    While a job measures the others it is alone, too.
    """
    if len(resolved.sides) == 1:
        return (), None
    gated, grid, asked = resolved.sides[1], resolved.grid, resolved.request.strength
    found, job = ((), None) if alone else dial_of(gated, grid)
    if asked not in map(strength_of, found):
        found = tuple(sorted((*found, measured.measured(gated, grid)), key=strength_of))
    return found, job


def put_notes(found: ShownSides, more_open: bool) -> None:
    """Each sentence beside its control; those of folded controls where they can be seen."""
    notes = found.resolved.notes | words.part_note(found.sides[-1], found.asked.look)
    if "point" in st.query_params and marked(found.resolved.grid) is None:
        notes = {"grid": "The marked point lies outside this grid. Shown: none."} | notes
    for name, note in notes.items():
        if name in HIDDEN and not more_open:
            st.caption(f":material/info: {note}")
        else:
            found.asked.slots[name].caption(f":material/info: {note}")


def draw_view(found: ShownSides, spare: int = SPARE) -> ManifoldPicture:
    """The linked surfaces and heatmaps, and what plays them."""
    asked, resolved = found.asked, found.resolved
    frames = [found.sides[:1], *([found.dial] if found.dial else [])]
    specimens = _specimens(found)
    refined = TOTALS.cached(specimens)
    there = tuple(found.strengths)
    totalled = resolved.request, there, tuple(each in refined for each in specimens)
    request = replace(resolved.request, strength=Request().strength)  # of all it has a frame
    wholes = _wholes(found)
    settled = tuple(wholes[-1].values)
    picture = measured.picture((request, there, settled), frames, resolved.axes, asked.look, wholes)
    colouring = COLOURINGS[asked.look.colouring]
    ends = [f"{colouring.symbol} = {short(float(f'{end:.2g}'))}" for end in picture.scale.ends]
    low, high = ("", "") if picture.scale.collapsed else ends
    st.session_state[STRENGTHS] = found.strengths
    view3d(
        picture.view,
        key=VIEW_KEY,
        headings=[words.heading(side) for side in found.sides],
        captions=measured.captions(
            (totalled, settled, asked.look),
            frames,
            refined,
            picture,
            captions.model_text(resolved),
        ),
        readings=words.readings(found.sides[0], found.dial),
        readouts=picture.readouts,
        frame=found.frame,
        frame_labels=[f"λ = {strength:.2f}" for strength in found.strengths],
        ends=("no gate", "full gate"),
        scrub=True,
        scene=str(_scene_of(resolved.request)),
        spare=spare,
        reveal=st.session_state.get(REVEALED, 0),
        legend=Legend(picture.scale.colours, low, high, words.scale_notes(picture, asked.look)),
        pick=marked(resolved.grid),
        on_pick=_on_pick,
        on_stop=_on_stop,
    )
    with st.container(key="progress"):
        if found.measuring is not None:
            watch_dial(found.measuring)
    return picture


def _wholes(found: ShownSides) -> list[Whole]:
    """What colours, camera and boxes come from, whichever strengths have been measured so far."""
    wholes = [whole_of(found.sides[:1])]
    if found.dial:
        gated, grid = found.resolved.sides[1], found.resolved.grid
        every = {*strengths(gated, grid), *found.strengths}
        wholes.append(measured.whole(gated, grid, tuple(sorted(every))))
    return wholes


def _scene_of(request: Request) -> Request:
    """What the camera is chosen for: the model, whatever is dragged, dialled or measured of it."""
    plain = Request()
    return replace(
        request, strength=plain.strength, grid=plain.grid, metric=Metric(), values=None,
        gate_weight=None,
    )  # fmt: skip


def _on_pick() -> None:
    if point := clicked(VIEW_KEY):
        st.query_params["point"] = point


def _on_stop() -> None:
    """The slider was let go, or playing ended: keep the strength in the link."""
    places = st.session_state.get(STRENGTHS, ())
    place = stopped(VIEW_KEY, len(places))
    if places and place is not None:
        put_strength(places[place])


def draw_see(found: ShownSides, stage: DeltaGenerator) -> None:
    """On the ``stage`` two surfaces, their heatmaps, one sentence; below two numbers a side."""
    with stage:
        picture = draw_view(found)
    for line in _asides(found, picture):
        st.caption(line)
    _offer_axes(found)
    _explanations(found)
    doubtful = tuple(
        side.specimen for side in found.sides if captions.best_total(side, None) is None
    )
    watch_totals(doubtful, lambda totals: _draw_totals(found, totals))


def _specimens(found: ShownSides) -> tuple[Specimen, ...]:
    return tuple(side.specimen for side in found.sides)


def _draw_totals(found: ShownSides, totals: Totals) -> None:
    for column, side in zip(st.columns(2), found.sides, strict=False):
        with column:
            total = captions.best_total(side, totals.get(side.specimen))
            left, right = st.columns(2)
            name = words.side_name(side)
            left.metric(
                f"Total curvature, {name[:1].lower()}{name[1:]}",
                "…" if total is None else captions.total_of(side, total),
                help=captions.total_help(side),
            )  # fmt: skip
            right.metric(
                "Undecided area", percent(side.verdict.undecided),
                help="The share of the area on which it is not known whether, or which way, the"
                " surface curves. Where it is known to be flat, it is decided.",
            )  # fmt: skip
            if total is not None:
                st.caption(captions.total_caption(side, total))


def _asides(found: ShownSides, picture: ManifoldPicture) -> list[str]:
    """The chart, the axes, and the warning where the slice, not the manifold, curves."""
    resolved = found.resolved
    depth = resolved.request.drawn_depth
    lines = [
        words.slice_warning(found.sides[0]),
        words.chart_text(found.sides) + " " + words.axes_text(resolved.axes, picture.shares, depth),
        words.metric_text(resolved.request.metric),
    ]
    return [line for line in lines if line]


def _offer_axes(found: ShownSides) -> None:
    """A way back to the shown depth's own components, where the frozen ones are another's."""
    request = found.resolved.request
    if found.resolved.axes.principal and request.drawn_depth != request.depth:
        st.button("Fit the axes to this depth", key="fit_axes", on_click=fit_axes)


def _explanations(found: ShownSides) -> None:
    sides, look, at = found.sides, found.asked.look, found.at
    with st.container(horizontal=True):
        explain("the surfaces", surfaces_text(sides, at))
        explain("the heatmaps", heatmap_text(sides, look, at))
        if look.inspect and draws_simplex(sides[0].specimen.config):
            explain("the triangles", simplex_text(sides, look, at))
        if look.inspect and can_hold(sides[-1]):
            explain("the handles", handles_text(sides[-1].specimen))


def draw_inspect(found: ShownSides, stage: DeltaGenerator) -> None:
    """Handles to drag beside what they move, the same point marked everywhere, all known of it."""
    with stage:
        if can_hold(found.sides[-1]):
            with st.container(horizontal=True, wrap=False, key=BESIDE):
                with st.container():
                    picture = draw_view(found, SPARE_INSPECT)
                with st.container():
                    draw_hold(found.sides[-1], found.resolved.axes)
        else:
            picture = draw_view(found, SPARE_INSPECT)
            st.caption("Dragging needs memory slots and n = 3 values.")
    for line in _asides(found, picture):
        st.caption(line)
    _explanations(found)
    if marked(found.resolved.grid) is None:
        st.caption("No point is marked: click one. Below: the middle of the chart.")
    st.table(point_rows(found.sides, found.at, found.asked.look))


def draw_doubt(found: ShownSides) -> None:
    """How sure all this is."""
    draw_doubts(found.resolved, found.sides)

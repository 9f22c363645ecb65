"""The Manifold page's parts: what is fetched for it, and how its tabs are laid out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen
from ui.common.explain import explain
from ui.common.words import percent, short
from ui.components.view3d import Legend, view3d
from ui.manifold import measured, words
from ui.manifold.controls import SHOWN_DEPTH, Asked, fit_axes, marked
from ui.manifold.doubt import draw_doubt as draw_doubts
from ui.manifold.explain import heatmap_text, simplex_text, surfaces_text
from ui.manifold.hold import draw_hold
from ui.manifold.picture import ManifoldPicture, manifold_view
from ui.manifold.request import Request, Resolved

VIEW_KEY = "manifold_view"
LAST_GOOD = "manifold_last_good"
HIDDEN = ("value_count", "heads", "grid", "part")  # notes whose controls are under *More*


@dataclass(frozen=True, eq=False)
class ShownSides:
    """What there is to show: the one or two sides, and what was asked for."""

    asked: Asked
    resolved: Resolved
    sides: list[MeasuredSpecimen]

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
    sides = [measured.measured(side, resolved.grid) for side in resolved.sides]
    # The last good picture may have fewer layers than the one that was asked for.
    look = replace(asked.look, layer=min(asked.look.layer, request.depth - 1))
    return ShownSides(replace(asked, look=look), resolved, sides)


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


def draw_view(found: ShownSides) -> ManifoldPicture:
    """The linked surfaces and heatmaps."""
    asked, resolved = found.asked, found.resolved
    picture = manifold_view(found.sides, resolved.axes, asked.look)
    colouring = COLOURINGS[asked.look.colouring]
    low, high = (short(end) for end in picture.scale.ends)
    config = resolved.sides[-1].config
    view3d(
        picture.view,
        key=VIEW_KEY,
        camera_key=f"{VIEW_KEY} {config.source} {config.model_dim} {resolved.request.seed}",
        headings=[words.heading(side) for side in found.sides],
        captions=[[_caption(side)] for side in found.sides],
        readouts=picture.readouts,
        frame=0,
        frame_labels=(),
        legend=Legend(
            picture.scale.colours,
            f"{colouring.symbol} = {low}",
            f"{colouring.symbol} = {high}",
            words.scale_note(picture.scale, asked.look),
        ),
        pick=marked(resolved.grid),
        on_pick=_on_pick,
    )
    return picture


def _caption(side: MeasuredSpecimen) -> str:
    config = side.specimen.config
    layers = "1 layer" if config.depth == 1 else f"{config.depth} layers"
    return f"{layers}, D = {config.model_dim}, n = {config.value_count}"


def _on_pick() -> None:
    point = (st.session_state.get(VIEW_KEY) or {}).get("pick")
    if point:
        st.query_params["point"] = f"{int(point['row'])}.{int(point['column'])}"


def draw_see(found: ShownSides) -> None:
    """Two surfaces, their heatmaps, one sentence, two numbers a side."""
    picture = draw_view(found)
    st.markdown(words.reading(found.sides))
    for line in _asides(found, picture):
        st.caption(line)
    _offer_axes(found)
    _explanations(found)
    for column, side in zip(st.columns(2), found.sides, strict=False):
        with column:
            total = measured.integrals(side.specimen)
            left, right = st.columns(2)
            name = words.side_name(side)
            left.metric(
                f"Total curvature, {name[:1].lower()}{name[1:]}", words.total_of(side, total),
                help=words.total_help(side),
            )  # fmt: skip
            right.metric(
                "Undecided area", percent(side.verdict.undecided),
                help="The share of the area on which it is not known whether, or which way, the"
                " surface curves. Where it is known to be flat, it is decided.",
            )  # fmt: skip
            st.caption(words.total_caption(side, total))


def _asides(found: ShownSides, picture: ManifoldPicture) -> list[str]:
    """The chart, the axes, and the warning where the slice, not the manifold, curves."""
    resolved = found.resolved
    depth = resolved.request.axes_depth or resolved.request.depth
    lines = [
        words.slice_warning(found.sides[0]),
        words.chart_text(found.sides) + " " + words.axes_text(resolved.axes, picture.shares, depth),
        words.metric_text(resolved.request.metric),
    ]
    return [line for line in lines if line]


def _offer_axes(found: ShownSides) -> None:
    """A way back to the shown depth's own components, where the frozen ones are another's."""
    request = found.resolved.request
    if found.resolved.axes.principal and request.axes_depth not in (None, request.depth):
        st.button("Fit the axes to this depth", key="fit_axes", on_click=fit_axes)


def _explanations(found: ShownSides, simplex: bool = False) -> None:
    sides, look, at = found.sides, found.asked.look, found.at
    with st.container(horizontal=True):
        explain("the surfaces", surfaces_text(sides, at))
        explain("the heatmaps", heatmap_text(sides, look, at))
        if simplex:
            explain("the triangles", simplex_text(sides, look, at))


def draw_inspect(found: ShownSides) -> None:
    """The same point marked everywhere, all that is known of it, and handles to drag."""
    picture = draw_view(found)
    for line in _asides(found, picture):
        st.caption(line)
    _explanations(found, simplex=found.sides[0].specimen.config.value_count == 3)
    if marked(found.resolved.grid) is None:
        st.caption("No point is marked: click one. Below: the middle of the chart.")
    st.table(words.point_rows(found.sides, found.at, found.asked.look))
    draw_hold(found.sides[-1], found.resolved.axes)


def draw_doubt(found: ShownSides) -> None:
    """How sure all this is."""
    draw_doubts(found.resolved, found.sides)

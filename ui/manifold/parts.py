"""The Manifold page's parts: what is fetched for it, how its tabs and its gallery are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen, Specimen
from ui.common.lessons import section
from ui.common.parts import BARE, beats, explain
from ui.common.view_links import point_to_link
from ui.common.words import percent, rough
from ui.components.view3d import Legend, stopped, view3d
from ui.manifold import captions, controls, measured, words
from ui.manifold.controls import MANIFOLD, Slots, marked
from ui.manifold.explain import (
    explain_handles,
    explain_heatmap,
    explain_simplex,
    explain_surfaces,
)
from ui.manifold.handles import can_drag, draw_handles, is_dragging
from ui.manifold.lying import LYING, LyingPicture, lying_picture
from ui.manifold.measured import DIALS, TOTALS, Dial, Totals, dial_of, strengths, watch_totals
from ui.manifold.picture import ManifoldPicture, ManifoldView
from ui.manifold.request import ManifoldRequest, Metric, Resolved
from ui.manifold.variants import Settled, draws_simplex, settled_by, strength_of
from ui.work import pool
from ui.work.cache import cached
from ui.work.job import Job

VIEW_KEY = "manifold_view"
BESIDE = "gc-beside"  # the pads stand beside the view as pad.css says
LAST_GOOD = "manifold_last_good"
STRENGTHS = "manifold_strengths"  # of the frames in the browser
SPARE, SPARE_INSPECT = 545, 530  # pixels of the window that all but the pictures takes
HIDDEN = ("value_count", "heads", "grid", "part")  # notes whose controls are under *More*


@dataclass(frozen=True, eq=False)
class ManifoldResult:
    """The one or two variants at the requested strength, and the gated one at all strengths."""

    view: ManifoldView
    resolved: Resolved
    variants: list[MeasuredSpecimen]
    dial: Sequence[MeasuredSpecimen]  # frames of the gated variant; none without one
    measuring: Job | None  # of all strengths, as long as ``dial`` has only the requested one

    @property
    def request(self) -> ManifoldRequest:
        return self.resolved.request

    @property
    def frame(self) -> int:
        """The place of the requested strength among `strengths`."""
        return self.strengths.index(self.request.strength) if self.dial else 0

    @property
    def strengths(self) -> list[float]:
        return list(map(strength_of, self.dial))

    @property
    def at(self) -> tuple[int, int]:
        """The marked grid point, or the middle."""
        middle = self.resolved.grid // 2
        return marked(self.resolved.grid) or (middle, middle)

    @property
    def specimens(self) -> tuple[Specimen, ...]:
        return tuple(variant.specimen for variant in self.variants)


def fetch(request: ManifoldRequest, view: ManifoldView, dials: bool = True) -> ManifoldResult:
    """Return what is requested; where nothing of it can be shown, the last good picture.

    Without ``dials`` no strength of the gate is measured but the requested one.
    """
    try:
        result = _measure(request, view, dials)
        st.session_state[LAST_GOOD] = request
    except ValueError as error:
        last = st.session_state.get(LAST_GOOD)
        result = _measure(last or ManifoldRequest(), view, dials)
        shown = "the last picture that could be drawn" if last else "the first example"
        st.error(f"{error} Shown: {shown}.")
    principal = result.resolved.axes.principal
    st.session_state[controls.SHOWN_DEPTH] = result.request.depth if principal else None
    return result


def _measure(request: ManifoldRequest, view: ManifoldView, dials: bool) -> ManifoldResult:
    resolved = measured.resolved(request)
    ungated, *gated = resolved.variants
    variants, job = [measured.measured(ungated, resolved.grid)], None
    dial: Dial = ()
    if gated:
        if dials and not (view.inspect and is_dragging()):
            dial, job = dial_of(gated[0], resolved.grid)
        if request.strength not in map(strength_of, dial):  # alone while a job measures the others
            own = measured.measured(gated[0], resolved.grid)
            dial = tuple(sorted((*dial, own), key=strength_of))
        variants += [frame for frame in dial if strength_of(frame) == request.strength]
    # The last good picture may have fewer layers than the requested one.
    view = replace(view, layer=min(view.layer, request.depth - 1))
    return ManifoldResult(view, resolved, variants, dial, job)


def put_notes(result: ManifoldResult, slots: Slots, more_open: bool) -> None:
    """Draw each sentence beside its control; those of folded controls where they can be seen."""
    notes = result.resolved.notes | words.part_note(result.variants[-1], result.view)
    if "point" in st.query_params and marked(result.resolved.grid) is None:
        notes = {"grid": "The marked point lies outside this grid. Shown: none."} | notes
    for name, note in notes.items():
        slot = st if name in HIDDEN and not more_open else slots[name]
        slot.caption(f":material/info: {note}")


def draw_view(result: ManifoldResult) -> ManifoldPicture:
    """Draw the linked surfaces and heatmaps, and what plays them."""
    resolved, request, view = result.resolved, result.request, result.view
    frames = [result.variants[:1], *([result.dial] if result.dial else [])]
    refined = TOTALS.cached(result.specimens)
    every = _settled(result)
    there = tuple(result.strengths), tuple(every[-1].values)
    model = replace(request, strength=ManifoldRequest().strength)  # it has a frame of each
    picture = measured.picture((model, *there), frames, resolved.axes, view, every)
    totals = request, *there, tuple(each in refined for each in result.specimens), view
    unrefined = captions.REFINED_ELSEWHERE if view.inspect else captions.BEING_REFINED
    symbol, scale = COLOURINGS[view.colouring].symbol, picture.scale
    notes = [words.scale_note(picture, view, frame) for frame in range(picture.view.frames)]
    ends = [f"{symbol} = {rough(end)}" for end in scale.ends]
    low, high = ("", "") if scale.collapsed else ends
    st.session_state[STRENGTHS] = result.strengths
    view3d(
        picture.view,
        key=VIEW_KEY,
        headings=[words.heading(variant) for variant in result.variants],
        captions=measured.captions(
            totals, frames, refined, picture, captions.model_text(resolved), unrefined
        ),
        readings=words.readings(result.variants[0], result.dial),
        readouts=picture.readouts,
        frame=result.frame,
        frame_labels=[f"λ = {strength:.2f}" for strength in result.strengths],
        ends=("no gate", "full gate"),
        scrub=True,
        scene=str(_scene_of(request)),
        spare=SPARE_INSPECT if view.inspect else SPARE,
        reveal=st.session_state.get(controls.REVEALED, 0),
        legend=Legend(scale.colours, low, high, notes),
        pick=marked(resolved.grid),
        on_pick=point_to_link(VIEW_KEY, "point"),
        on_stop=_on_stop,
    )
    with st.container(key="progress"):
        if result.measuring is not None:
            DIALS.watch(result.measuring, "Measuring every strength of the gate",
                        again="Measure every strength", beside=False)  # fmt: skip
    return picture


def _settled(result: ManifoldResult) -> list[Settled]:
    """What colours, camera and boxes come from, whichever strengths have been measured so far."""
    settled = [settled_by(result.variants[:1])]
    if result.dial:
        gated, grid = result.resolved.variants[1], result.resolved.grid
        every = {*strengths(gated, grid), *result.strengths}
        settled.append(measured.settled(gated, grid, tuple(sorted(every))))
    return settled


def _scene_of(request: ManifoldRequest) -> ManifoldRequest:
    """What the camera is chosen for: the model, whatever is dragged, dialled or measured of it."""
    plain = ManifoldRequest()
    return replace(
        request, strength=plain.strength, grid=plain.grid, metric=Metric(), values=None,
        gate_weight=None,
    )  # fmt: skip


def _on_stop() -> None:
    """The slider was let go, or playing ended: put the strength into the link."""
    shown = st.session_state.get(STRENGTHS, ())
    frame = stopped(VIEW_KEY, len(shown))
    if shown and frame is not None:
        controls.put_strength(shown[frame])


def draw_see(result: ManifoldResult, stage: DeltaGenerator) -> None:
    """Draw two surfaces, their heatmaps and one sentence; below two numbers for each variant."""
    with stage:
        picture = draw_view(result)
    _draw_asides(result, picture)
    request = result.request
    if result.resolved.axes.principal and request.drawn_depth != request.depth:
        st.button("Fit the axes to this depth", key="fit_axes", on_click=controls.fit_axes)
    _draw_explanations(result)
    doubtful = tuple(x.specimen for x in result.variants if captions.best_total(x, None) is None)
    watch_totals(doubtful, lambda totals: _draw_totals(result, totals))


def _draw_totals(result: ManifoldResult, totals: Totals) -> None:
    for column, variant in zip(st.columns(2), result.variants, strict=False):
        with column:
            total = captions.best_total(variant, totals.get(variant.specimen))
            left, right = st.columns(2)
            name = words.variant_name(variant)
            left.metric(
                f"Total curvature, {name[:1].lower()}{name[1:]}",
                "…" if total is None else captions.total_of(variant, total),
                help=captions.total_help(variant),
            )
            right.metric(
                "Undecided area", percent(variant.verdict.undecided),
                help=section("manifold", "help_undecided"),
            )  # fmt: skip
            if total is not None:
                st.caption(captions.total_caption(variant, total))


def _draw_asides(result: ManifoldResult, picture: ManifoldPicture) -> None:
    """The chart, the axes, and the warning where the slice, not the manifold, curves."""
    axes, request = result.resolved.axes, result.request
    for line in (
        words.slice_warning(result.variants[0]),
        f"{words.chart_text(result.variants)} "
        f"{words.axes_text(axes, picture.shares, request.drawn_depth)}",
        words.metric_text(request.metric),
    ):
        if line:
            st.caption(line)


def _draw_explanations(result: ManifoldResult) -> None:
    variants, view, at = result.variants, result.view, result.at
    with st.container(horizontal=True):
        explain_surfaces(variants, at)
        explain_heatmap(variants, view, at)
        if view.inspect and draws_simplex(variants[0].specimen.config):
            explain_simplex(variants, view, at)
        if view.inspect and can_drag(variants[-1]):
            explain_handles(variants[-1].specimen)


def draw_inspect(result: ManifoldResult, stage: DeltaGenerator) -> None:
    """Draw handles beside what they move, the same point marked everywhere, all known of it."""
    with stage:
        if can_drag(result.variants[-1]):
            with st.container(horizontal=True, wrap=False, key=BESIDE):
                with st.container():
                    picture = draw_view(result)
                with st.container():
                    draw_handles(result.variants[-1], result.resolved.axes)
        else:
            picture = draw_view(result)
            st.caption("Dragging needs memory slots and n = 3 values.")
    _draw_asides(result, picture)
    _draw_explanations(result)
    if marked(result.resolved.grid) is None:
        st.caption("No point is marked: click one. The table is about the middle of the chart.")
    st.table(words.point_rows(result.variants, result.at, result.view))


# --- The gallery ----------------------------------------------------------------------------------


@cached("Computing the picture and the number …")
def _lying_picture(name: str) -> LyingPicture:
    return pool.POOL.call(lying_picture, name)


def draw_lying_pictures() -> None:
    """One case, and the choice among all."""
    name = MANIFOLD["fooled"].draw(st)
    lie = _lying_picture(name)
    st.subheader(lie.title, anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**The picture says:** {lie.lie}.")
        alt = f"{lie.title}. The picture says: {lie.lie}. The number says: {lie.number_name}"
        st.plotly_chart(
            lie.figure, alt=f"{alt} {lie.number}.", key=f"lying_{name}",
            config=BARE,
        )  # fmt: skip
        misread = f"It seems to say: {lie.lie}. {' '.join(lie.reasons)}"
        explain("the misleading picture", beats(lie.drawn, lie.formula, lie.look_for, misread))
    with right:
        st.markdown("**The number says:**")
        st.metric(lie.number_name, lie.number)
        st.caption(lie.doubt)
        for reason in lie.reasons:
            st.markdown(reason)
        if (request := LYING[name].request) is not None:
            st.button(
                "Show this model on the page", icon=":material/visibility:",
                key=f"lying_show_{name}", on_click=controls.apply_request, args=(request,),
            )  # fmt: skip

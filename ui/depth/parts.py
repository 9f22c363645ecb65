"""The parts of the Depth page and how they are laid out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import streamlit as st

from gating_core.experiments.depth import (
    QUANTITIES,
    REGIMES,
    STRUCTURED_LIMIT,
    DepthResult,
    TrainedDepths,
)
from gating_core.geometry import SurfaceResult
from ui.common.lessons import section
from ui.common.parts import draw_figure, explain
from ui.common.view_links import frame_to_link, point_to_link
from ui.common.words import layers_text, percent, rough
from ui.components.view3d import Legend, view3d
from ui.depth import measured, words
from ui.depth.chart import COLOURS, ChartCurve, depth_chart
from ui.depth.controls import DEPTH, choose_stacked
from ui.depth.replay import Replay
from ui.depth.request import (
    SHIPPED,
    TRAINED,
    UNTRAINED,
    DepthSelection,
    manifold_link,
)
from ui.drawing import palette
from ui.work import jobs

VIEW_KEY = "depth_view"
LAST_SHOWN = "depth_last_shown"
SPARE, STRIP_PIXELS = 640, 80  # of the window: all but the pictures; the strip of maps
CLEAR = 0.5  # of the points: a surface of which less is known is not shown first
COMMAND = "python -m gating_core.experiments.depth"


@dataclass(frozen=True, eq=False)
class DepthView:
    """What the page shows: the selection that is ``requested``, or the one shown before it.

    The replayed stack is measured on first use, after the chart is drawn.
    """

    requested: DepthSelection
    shown: DepthSelection
    results: dict[str, DepthResult]
    trained: TrainedDepths | None

    @cached_property
    def key(self) -> measured.ReplayKey:
        return measured.replay_key(self.shown)

    @cached_property
    def surface(self) -> SurfaceResult:
        """The replayed stack's surface after every layer."""
        return measured.replayed(self.key, self.trained)

    @cached_property
    def replay(self) -> Replay:
        return measured.view_of(self.key, self.surface)

    @cached_property
    def frame(self) -> int:
        """The shown frame: the linked layer, or the last at which K is known at enough points."""
        clear = np.flatnonzero(np.isfinite(self.surface.known).mean((1, 2)) >= CLEAR)
        layer = DEPTH["after"].linked or (int(clear[-1]) + 1 if clear.size else 1)
        return min(layer, self.shown.depth) - 1

    @cached_property
    def curves(self) -> list[ChartCurve]:
        """The curves of the chart; one alone has the second colour."""
        titles = self.shown.curves
        return [
            ChartCurve(name, title, self.results[name], self.shown.quantity, colour)
            for (name, title), colour in zip(titles.items(), COLOURS[-len(titles) :], strict=True)
        ]


def fetch(requested: DepthSelection) -> DepthView:
    """Return what there is for a selection, or else what was shown last; draw how work goes."""
    if not requested.is_trained and measured.results_of(requested) is None:
        _measure(tuple(requested.curves), f"Measuring {UNTRAINED.seed_count} seeds, layer by layer")
    first = DepthSelection(TRAINED)
    last = replace(st.session_state.get(LAST_SHOWN, first), quantity=requested.quantity)
    for shown in (requested, last, replace(first, quantity=requested.quantity)):
        if results := measured.results_of(shown):
            break
    assert results is not None  # the last one is shipped
    st.session_state[LAST_SHOWN] = shown
    trained = measured.trained(shown.trained) if shown.is_trained else None
    return DepthView(requested, shown, results, trained)


def _measure(names: tuple[str, ...], what: str) -> None:
    _, job = measured.RESULTS.fetch_all(names)
    if job is not None:
        with jobs.dock(measured.RESULTS.name, names):
            measured.RESULTS.watch(job, what, again="Measure")


def draw_chart(view: DepthView) -> None:
    """Draw the curves against depth, and what the seeds show."""
    curves, shown = view.curves, view.shown
    key = ("chart", *view.key, shown.stacked, shown.around, shown.quantity)
    if note := words.stale_text(shown, view.requested):
        st.caption(f":material/hourglass: {note}")
    draw_figure("depth", key, lambda: depth_chart(curves, shown.member, shown.seed),
                words.alt_text(curves))  # fmt: skip
    st.markdown(words.summary(curves))
    if text := words.missing_seeds(curves):
        st.caption(text)


def draw_replay(view: DepthView) -> None:
    """Draw one stack's surface, layer by layer, with its map, and the maps of all layers."""
    shown, replay, surface = view.shown, view.replay, view.surface
    depth = shown.depth
    low, high = [f"{replay.symbol} = {rough(end)}" for end in replay.view.colour_range]
    size = "every surface drawn at the same size (diameter d)"
    note = (
        f"asinh scale, the same for all layers · {percent(replay.view.beyond)} of a layer's points"
        " exceed it · hatched or blank: not known"
    )
    view3d(
        replay.view,
        key=VIEW_KEY,
        headings=(words.heading(shown), f"{replay.symbol} over its chart", ""),
        captions=(
            words.captions(surface, replay.diameters),
            [size if replay.enlarged else "all surfaces drawn to the same scale"],
            ["After each layer"],
        ),
        readouts=([("K", ["sheet_gaussian"]), ("error", ["sheet_error"])], [], []),
        readings=words.readings(surface),
        frame=view.frame,
        frame_labels=[f"layer {layer} of {depth}" for layer in range(1, depth + 1)],
        places=list(range(1, depth + 1)),
        scrub=True,
        legend=Legend(palette.SIGNED_SCALE, low, high, note),
        pick=DEPTH["spot"].linked,
        on_pick=point_to_link(VIEW_KEY, "spot"),
        on_stop=frame_to_link(VIEW_KEY, "after", range(1, UNTRAINED.depth + 1)),
        scene=f"{view.key}",
        stale=words.stale_text(shown, view.requested),
        spare=SPARE,
        wide_pixels=STRIP_PIXELS,
        click_does="a click on a small map goes to that layer",
    )


def draw_side_by_side() -> None:
    """Draw three pictures in a row, from what is shipped, with a sentence each."""
    gates, stacks = measured.shipped_gates(), measured.shipped().results
    rows = {
        "aligned": [ChartCurve("aligned", "aligned gates", gates["aligned"], "centre", COLOURS[1])],
        "random": [ChartCurve("random", "random gates", gates["random"], "centre", COLOURS[1])],
        TRAINED: [
            ChartCurve(name, name, stacks[name], "total", colour)
            for name, colour in zip(("ungated", "gated"), COLOURS, strict=True)
        ],
    }
    for column, (name, curves) in zip(st.columns(3), rows.items(), strict=True):
        with column.container(gap="xsmall"):
            st.markdown(section("depth", f"side_{name}"))
            draw_figure("depth", (f"side_{name}",), partial(depth_chart, curves),
                        words.alt_text(curves))  # fmt: skip
            one = len(curves) == 1
            st.markdown(words.doubling(curves[0]) if one else words.summary(curves))
            st.button("Layer by layer", key=f"depth_open_{name}", icon=":material/layers:",
                      on_click=choose_stacked, args=(name,))  # fmt: skip


def draw_details(view: DepthView) -> None:
    """Draw what belongs to one stack: its training, explanations of its pictures."""
    if view.requested.is_trained:
        _draw_training(view)
    with st.container(horizontal=True):
        explain("depth", words.chart_text(view.curves))
        explain("the replay", words.replay_text(view.surface, view.frame))
    if view.shown.stacked == "stacks":
        link = manifold_link(view.shown, view.frame + 1)
        st.page_link(
            "pages/1_Manifold.py", icon=":material/blur_on:", query_params=link,
            label=f"This stack on *Manifold*, with {layers_text(int(link['layers']))},"
            " without and with its gate",
        )  # fmt: skip


def draw_folds(view: DepthView) -> None:
    """Draw all stacks and the theory, for those who unfold them."""
    with DEPTH["every"].draw(st) as every:
        if every.open:
            _draw_every(view)
    with DEPTH["theory"].draw(st) as theory:
        if theory.open:
            st.markdown(words.theory_text(measured.RESULTS.cached(REGIMES)))
            st.caption(words.spread(view.curves))


def _draw_training(view: DepthView) -> None:
    """How training goes, where the trained stacks come from, and how well they do."""
    if job := measured.training():
        if job.over:
            jobs.draw_end(job, "Training", [])
        jobs.watch(job, lambda items: None, what="Training", share=jobs.share_of)
    request = view.requested.trained
    here = measured.trained_here(request)
    if here is None:
        source = f"Shipped with the app; made by `{COMMAND}`."
        if request != SHIPPED:
            source = f"Stacks from seed {request.seed} are not trained yet: press *Train*."
    elif request == SHIPPED:
        before, after = measured.shipped().results["gated"], here.results["gated"]
        source = words.trained_again_text(before.curves, after.curves)
    else:
        source = "Trained on this server."
    accuracy = ""
    if stacks := view.trained:
        column = stacks.request.depths.index(view.shown.layers)
        shares = [
            f"{percent(float(stacks.accuracy(name)[:, column].mean()))} ({name})"
            for name in view.shown.curves
        ]
        accuracy = (
            f" With {layers_text(view.shown.layers)} {' and '.join(shares)} of new points are right"
            f" (means of {SHIPPED.seed_count} seeds)."
        )
    st.caption(
        f"{source} Task: {SHIPPED.task}, {SHIPPED.points} points, {SHIPPED.steps} steps, residual"
        f" connection. Each depth is trained separately.{accuracy}"
    )


def _draw_every(view: DepthView) -> None:
    """The exponents of all stacks, for the chosen quantity."""
    if view.shown == view.requested:
        _measure(tuple(REGIMES), "Measuring all stacks")
    trained = measured.trained(view.shown.trained) or measured.shipped()
    results = {REGIMES[name].title: x for name, x in measured.RESULTS.cached(REGIMES).items()}
    results |= {f"trained, {name}": result for name, result in trained.results.items()}
    quantity = QUANTITIES[view.shown.quantity]
    st.markdown(f"**{words.title_of(quantity)}** ({quantity.symbol})")
    st.table([words.row(name, x.curves[view.shown.quantity]) for name, x in results.items()])
    st.caption(section("depth", "exponents", small=f"{STRUCTURED_LIMIT:g}"))

"""The page of depth: what is fetched for it, and how it is laid out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import streamlit as st

from gating_core.experiments.depth import (
    QUANTITIES,
    REGIMES,
    DepthResult,
    TrainedDepths,
)
from gating_core.geometry import SurfaceResult
from ui.common.explain import explain
from ui.common.figures import figures
from ui.common.words import layers_text, percent, short
from ui.components.view3d import Legend, view3d
from ui.depth import measured, words
from ui.depth.chart import COLOURS, Drawn, depth_chart
from ui.depth.controls import DEPTH, VIEW_KEY, frame_shown, on_pick, on_stop, picked
from ui.depth.explain import chart_text, replay_text, why_text
from ui.depth.replay import Replay
from ui.depth.request import SHIPPED, UNTRAINED, Request, manifold_link
from ui.drawing import palette

LAST_GOOD = "depth_last_good"
SPARE, STRIP_PIXELS, WORK_PIXELS = 610, 80, 64  # of the window: all but the pictures
CLEAR = 0.5  # of the points: a surface of which less is known is not shown first
COMMAND = "python -m gating_core.experiments.depth"


@dataclass(frozen=True, eq=False)
class Found:
    """What there is to show: what was ``asked`` for, or what was ``shown`` before it.

    The replayed stack is measured where it is first asked for: the chart is there before it.
    """

    asked: Request
    shown: Request
    results: dict[str, DepthResult]
    trained: TrainedDepths | None
    busy: bool  # whether a row above says how work goes

    @cached_property
    def surface(self) -> SurfaceResult:
        """The replayed stack's, after every layer."""
        return measured.replayed(*measured.key_of(self.shown), self.trained)

    @cached_property
    def replay(self) -> Replay:
        """Its picture."""
        sheet = not self.shown.is_trained and REGIMES[self.shown.replayed].arrangement is None
        return measured.view_of(*measured.key_of(self.shown), self.surface, sheet)

    @property
    def drawn(self) -> list[Drawn]:
        """The curves of the chart; one alone has the second colour."""
        names = self.shown.curves
        colours = COLOURS[-len(names) :]
        return [
            Drawn(name, title, self.results[name], self.shown.quantity, colour)
            for (name, title), colour in zip(names.items(), colours, strict=True)
        ]


def fetch(asked: Request) -> Found:
    """Everything for what was asked, or, where that is not there, for the last that was.

    How the work goes is said where this is called.
    """
    busy = _work(asked)
    last = replace(st.session_state.get(LAST_GOOD, Request()), quantity=asked.quantity)
    choices = (asked, last, Request(quantity=asked.quantity))
    shown = next(each for each in choices if _results(each) is not None)  # the last one is shipped
    st.session_state[LAST_GOOD] = shown
    results = _results(shown)
    assert results is not None
    trained = measured.trained(shown.trained) if shown.is_trained else None
    return Found(asked, shown, results, trained, busy)


def _results(request: Request) -> dict[str, DepthResult] | None:
    names = tuple(request.curves)
    if request.is_trained:
        found = measured.trained(request.trained)
        return found.results if found else None
    results = measured.RESULTS.cached(names)
    return results if len(results) == len(names) else None


def _work(asked: Request) -> bool:
    """Measure what is asked for and is not there, and say how it goes; whether it is said."""
    if asked.is_trained or _results(asked) is not None:  # training is told beside its button
        return False
    what = f"Measuring {UNTRAINED.seed_count} seeds, layer by layer"
    return _measure(tuple(asked.curves), what)


def _measure(names: tuple[str, ...], what: str) -> bool:
    _, job = measured.RESULTS.fetch_all(names)
    if job is not None:
        measured.RESULTS.watch(job, what, again="Measure")
    return job is not None


def draw_chart(found: Found) -> None:
    """The curves against depth, and one sentence on what is systematic."""
    drawn, shown = found.drawn, found.shown
    key = ("depth", *measured.key_of(shown), shown.stacked, shown.around, shown.quantity)
    (chart,) = figures(key, lambda: [depth_chart(drawn, shown.member, shown.seed)])
    note = words.stale_text(shown, found.asked)
    if note:
        st.caption(f":material/hourglass: {note}")
    st.plotly_chart(chart, alt=words.alt_text(drawn), key="depth_chart",
                    config={"displayModeBar": False})  # fmt: skip
    st.markdown(words.summary(drawn))
    if text := words.doubts(drawn):
        st.caption(text)


def draw_replay(found: Found) -> None:
    """One stack's surface, layer by layer, with its map, and the maps of all layers."""
    shown, replay, surface = found.shown, found.replay, found.surface
    depth = shown.depth
    first, last = [
        f"{replay.symbol} = {short(float(f'{end:.2g}'))}" for end in replay.view.colour_range
    ]
    view3d(
        replay.view,
        key=VIEW_KEY,
        headings=(words.heading(shown), f"{replay.symbol} over its chart", ""),
        captions=(
            words.captions(surface, replay.diameters),
            [_size_text(replay)],
            ["After each layer"],
        ),
        readouts=([("K", ["sheet_gaussian"]), ("error", ["sheet_error"])], [], []),
        readings=words.readings(surface),
        frame=frame_shown(depth, _clear(surface)),
        frame_labels=[f"layer {layer} of {depth}" for layer in range(1, depth + 1)],
        places=list(range(1, depth + 1)),
        scrub=True,
        legend=Legend(
            palette.SIGNED_SCALE,
            first,
            last,
            f"asinh, all layers alike · {percent(replay.view.beyond)} of a layer beyond it ·"
            " hatched, open: not known",
        ),
        pick=picked(),
        on_pick=on_pick,
        on_stop=on_stop,
        scene=f"{measured.key_of(shown)}",
        stale=words.stale_text(shown, found.asked),
        spare=SPARE + (WORK_PIXELS if found.busy else 0),
        wide_pixels=STRIP_PIXELS,
        click_does="a click on a small map goes to that layer",
    )  # fmt: skip


def _clear(surface: SurfaceResult) -> int:
    """The last layer after which K is known at half of the points or more, from 1; else 1."""
    clear = np.flatnonzero(np.isfinite(surface.known).mean((1, 2)) >= CLEAR)
    return int(clear[-1]) + 1 if clear.size else 1


def _size_text(replay: Replay) -> str:
    if replay.enlarged:
        return "each surface drawn in one size, diameter d"
    return "all surfaces drawn to one scale"


def draw_explanations(found: Found) -> None:
    """What is drawn, and how one could misread it."""
    frame = frame_shown(found.shown.depth, _clear(found.surface))
    with st.container(horizontal=True):
        explain("depth", chart_text(found.drawn))
        explain("the replay", replay_text(found.surface, frame))


def draw_training(found: Found) -> None:
    """How training goes, where the trained stacks come from, and how well they do."""
    if not found.asked.is_trained:
        return
    job = measured.training()
    if job is not None:
        measured.watch_training(job)
    request, depth = found.asked.trained, found.shown.layers
    trained = measured.trained(request)
    if trained is None:
        said = f"Stacks from seed {request.seed} are not trained yet: *Train* does it."
    elif not measured.trained_here(request):
        said = f"Shipped with the app; made by `{COMMAND}`."
    elif request == SHIPPED:
        before, after = measured.shipped().results["gated"], trained.results["gated"]
        said = words.again_text(before.curves, after.curves)
    else:
        said = "Trained on this server."
    accuracy = ""
    if found.trained is not None:
        place = found.trained.request.depths.index(depth)
        both = [
            f"{percent(float(found.trained.accuracy(name)[:, place].mean()))} ({name})"
            for name in found.shown.curves
        ]
        accuracy = f" With {layers_text(depth)} {' and '.join(both)} of new points are right"
        accuracy += f" (means of {SHIPPED.seed_count} seeds)."
    st.caption(
        f"{said} Task: {SHIPPED.task}, {SHIPPED.points} points, {SHIPPED.steps} steps, residual,"
        f" each depth trained for itself.{accuracy}"
    )


def draw_elsewhere(found: Found) -> None:
    """The way to Manifold, with the same random stack up to the shown layer."""
    shown = found.shown
    if shown.stacked == "stacks":
        layer = frame_shown(shown.depth, _clear(found.surface)) + 1
        link = manifold_link(shown, layer)
        st.page_link(
            "pages/1_Manifold.py", icon=":material/blur_on:", query_params=link,
            label=f"This stack on *Manifold*, with {layers_text(int(link['layers']))},"
            " without and with its gate",
        )  # fmt: skip


def draw_every(found: Found) -> None:
    """The exponents of all stacks side by side, for the chosen quantity."""
    fold = DEPTH["every"].draw(st)
    if not fold.open:
        return
    with fold:
        if found.shown == found.asked:
            _measure(tuple(REGIMES), "Measuring all stacks")
        quantity = found.shown.quantity
        rows = [
            words.row(REGIMES[name].title, result.curves[quantity])
            for name, result in measured.RESULTS.cached(REGIMES).items()
        ]
        trained = measured.trained(found.shown.trained) or measured.shipped()
        rows += [
            words.row(f"trained, {name}", result.curves[quantity])
            for name, result in trained.results.items()
        ]
        st.markdown(
            f"**{QUANTITIES[quantity].title.capitalize()}** ({QUANTITIES[quantity].symbol})"
        )
        st.table(rows)
        st.caption(
            "Exponents: mean over seeds of the least-squares slope of logarithms, with its 95 %"
            " interval (Student). Aligned and random gates are fitted where"
            " L·ε·max(u² + v²) ≤ 0.05. The word is said of all layers."
        )


def draw_why(found: Found) -> None:
    """Theory, where growth ends, and what is only our reading."""
    fold = DEPTH["theory"].draw(st)
    if fold.open:
        fold.markdown(why_text(measured.RESULTS.cached(REGIMES)))
        fold.caption(words.spread(found.drawn))

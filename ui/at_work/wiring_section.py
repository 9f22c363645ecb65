"""The tab Wiring: what feeds the MLP of each block, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.at_work import BEFORE, CORNERS, PairedDifference, load_times, loss_difference
from gating_core.language import MODELS, WIRINGS
from ui.at_work import measured, wiring_picture, wiring_words
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.at_work.wiring_picture import label
from ui.at_work.write_picture import losses
from ui.common.lessons import section
from ui.common.parts import chart_columns
from ui.drawing.titled import titled

BASE, FAL, CONTROL = "usual", "fal", "parallel"
MODEL_OF = {config.wiring: name for name, config in MODELS.items() if config.gate is None}


def draw_wiring() -> None:
    """Draw the wirings, and what they differ in; the seeds compared are those that all have."""
    shown = [name for name in WIRINGS if _seeds(name)]
    seeds = sorted(set.intersection(*map(_seeds, shown))) if BASE in shown else []
    if len(shown) < 2 or not seeds:
        st.info(section("at_work", "no_wirings"))
        return
    draw_diagrams()

    def of(part: str) -> dict[str, np.ndarray]:
        return {name: measured.over_seeds(MODEL_OF[name], part, seeds) for name in shown}

    sums, counts = of("strengths.sums"), of("strengths.counts")
    loss = {name: losses(sums[name], counts[name])[:, -1] for name in shown}
    links = {name: part.swapaxes(1, 2) for name, part in of("wiring.links").items()}
    links = {name: part if _linked(name) else part[..., :1] for name, part in links.items()}
    gradients = {name: part.swapaxes(1, 2) for name, part in of("wiring.gradients").items()}
    totals, errors = of("wiring.total"), of("wiring.total_error")
    complete = all(part.all() for part in of("wiring.complete").values())

    def less(name: str, other: str) -> PairedDifference:
        return loss_difference(sums[name][:, -1], sums[other][:, -1], counts[other][0])

    against = {name: less(name, BASE) for name in shown if name != BASE}
    sentences = {
        "loss": wiring_words.loss_text(loss, against, BASE),
        "gain": wiring_words.gain_text(less(FAL, CONTROL), against[CONTROL])
        if {FAL, CONTROL} <= set(shown) else "",
        "blocks": wiring_words.blocks_text(links, gradients, BASE),
        "curvature": wiring_words.curvature_text(totals, errors, complete),
    }  # fmt: skip
    charts = (
        ("wiring_loss", "loss", partial(wiring_picture.loss_chart, loss)),
        ("wiring_links", "blocks", partial(wiring_picture.block_chart, links, "nats",
                                           "%{y:.4f} nats")),
        ("wiring_gradients", "blocks", partial(wiring_picture.block_chart, gradients, "norm",
                                               "%{y:.4f}")),
        ("wiring_curvature", "curvature", partial(wiring_picture.curvature_chart, totals, errors)),
    )  # fmt: skip
    columns = chart_columns("wiring", len(charts))
    for column, (name, sentence, make) in zip(columns, charts, strict=True):
        with column:
            head = section("at_work", f"head_{name}")
            draw_figure((name, *seeds), partial(_titled, make, head), sentences[sentence])
    texts = [*sentences.values(), wiring_words.time_text(load_times())]
    st.markdown(" ".join(filter(None, texts)))
    with st.container(horizontal=True):
        draw_explanation("wiring", "wiring", before=BEFORE, corners=", ".join(CORNERS),
                         margin=f"{wiring_words.MARGIN:g}",
                         texts=gradients[BASE].shape[1])  # fmt: skip
        draw_csv("Wiring", lambda: wiring_words.wiring_csv(measured.table()))


def draw_diagrams() -> None:
    """Draw all wirings of the table side by side."""
    for column, (name, wiring) in zip(st.columns(len(WIRINGS)), WIRINGS.items(), strict=True):
        with column:
            make = partial(wiring_picture.diagram, wiring, MODELS[MODEL_OF[name]].depth)
            description = wiring_words.feeds(name)
            draw_figure(
                (f"diagram_{name}",), partial(_titled, make, f"<b>{label(name)}</b>"), description
            )


def _titled(make: Callable[[], go.Figure], text: str) -> go.Figure:
    return titled(make(), text)


def _seeds(name: str) -> set[int]:
    """The seeds of the measured models of a wiring."""
    return {seed for of, seed in measured.table() if of == MODEL_OF[name]}


def _linked(name: str) -> bool:
    """Whether attention reaches MLPs of later blocks."""
    return WIRINGS[name].reads_own or WIRINGS[name].reads_first

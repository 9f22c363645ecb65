"""The tab Sinks: attention maps without and with a gate, and the first character's share."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ui.at_work import measured, sinks_picture, sinks_words
from ui.at_work.controls import COMMON, SINK_CONTROLS, front, resolved
from ui.at_work.maps_picture import map_chart
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.at_work.request import ALL_HEADS, TOY
from ui.at_work.toy_section import draw_toy
from ui.common.control_table import read
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.language.selection import TextSelection


def draw_sinks() -> None:
    """Draw the maps of the selected model beside those of the one without a gate, or the toy."""
    # One row for both: a control that is drawn elsewhere would be another to Streamlit.
    specimen, *others = SINK_CONTROLS["specimen"], *COMMON.values(), SINK_CONTROLS["seen_head"]
    first, *columns = front([specimen, *others])
    if specimen.draw(first) == TOY:
        draw_toy(columns[0], columns[2])
        return
    for control, column in zip(others, columns, strict=True):
        control.draw(column)
    _draw_models(resolved(read(COMMON, TextSelection), gated=True))


def _draw_models(selection: TextSelection) -> None:
    names = [UNGATED, selection.name]
    titles = [TITLES[name] for name in names]
    readings = {title: measured.reading((name, selection.seed), selection.text, 1.0)
                for name, title in zip(names, titles, strict=True)}  # fmt: skip
    shares, heads, metrics, ratios = (
        {title: measured.over_seeds(name, f"sinks.{key}", measured.seeds(selection.name))
         for name, title in zip(names, titles, strict=True)}
        for key in ("by_text", "by_head", "metric", "value_ratio")
    )  # fmt: skip
    summary = sinks_words.summary(shares, heads, metrics)
    left, right = st.columns([9, 4])
    head = SINK_CONTROLS["seen_head"].value
    with left:
        maps = {title: _shown(x.weights, head) for title, x in readings.items()}
        draw_figure(("maps", selection.model, selection.text, head),
                    lambda: map_chart(maps, selection.text_with_break),
                    sinks_words.in_text(readings))  # fmt: skip
    with right:
        uniform = _uniform(selection)
        draw_figure(("share", selection.name, uniform),
                    lambda: sinks_picture.share_chart(shares, uniform), summary)  # fmt: skip
        draw_figure(("value", selection.name), lambda: sinks_picture.value_chart(ratios), summary)
    st.markdown(f"{summary} {sinks_words.in_text(readings)}")
    without, with_gate = sinks_picture.LARGE_MODEL
    st.caption(section("at_work", "beside", without=without, gated=with_gate))
    with st.container(horizontal=True):
        texts = shares[titles[0]].shape[1]
        draw_explanation("sinks", "sinks", texts=texts)
        draw_csv("Sinks", lambda: sinks_words.shares_csv(measured.table()))


def _shown(weights: np.ndarray, head: str) -> np.ndarray:
    """The maps (L, H, T, T) of all heads, or of one: "layer.head", both counted from 1."""
    if head == ALL_HEADS:
        return weights
    layer, number = (int(part) - 1 for part in head.split("."))
    return weights[layer : layer + 1, number : number + 1]


def _uniform(selection: TextSelection) -> float:
    """The first character's share for a text of this length if all weights were equal."""
    return float((1 / np.arange(2, len(selection.text) + 2)).mean())

"""The tab Sinks: attention maps without and with a gate, and the first character's share."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ui.at_work import measured, sinks_picture, sinks_words
from ui.at_work.controls import read_selection
from ui.at_work.maps_picture import map_chart
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.at_work.request import TITLES, UNGATED, AtWorkSelection


def draw_sinks() -> None:
    """Draw the maps of the selected model beside those of the one without a gate."""
    selection = read_selection(gated=True)
    names = [UNGATED, selection.name]
    titles = [TITLES[name] for name in names]
    readings = {title: measured.reading((name, selection.seed), selection.text)
                for name, title in zip(names, titles, strict=True)}  # fmt: skip
    shares, heads, metrics, ratios = (
        {title: measured.over_seeds(name, f"sinks.{key}")
         for name, title in zip(names, titles, strict=True)}
        for key in ("by_text", "by_head", "metric", "value_ratio")
    )  # fmt: skip
    summary = sinks_words.summary(shares, heads, metrics)
    left, right = st.columns([9, 4])
    with left:
        draw_figure(("maps", selection.model, selection.text),
                    lambda: map_chart({title: x.weights for title, x in readings.items()},
                                      readings[titles[0]].text),
                    sinks_words.in_text(readings))  # fmt: skip
    with right:
        uniform = _uniform(selection)
        draw_figure(("share", selection.name, uniform),
                    lambda: sinks_picture.share_chart(shares, uniform), summary)  # fmt: skip
        draw_figure(("value", selection.name), lambda: sinks_picture.value_chart(ratios), summary)
    st.markdown(f"{summary} {sinks_words.in_text(readings)}")
    with st.container(horizontal=True):
        texts = shares[titles[0]].shape[1]
        draw_explanation("sinks", "sinks", large=sinks_words.beside(), texts=texts)
        draw_csv("Sinks", lambda: sinks_words.shares_csv(measured.table()))


def _uniform(selection: AtWorkSelection) -> float:
    """The first character's share for a text of this length if all weights were equal."""
    return float((1 / np.arange(2, len(selection.text) + 2)).mean())

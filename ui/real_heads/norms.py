"""The tab Norms: what the residual connection and LayerNorm do to the curvature of a sublayer."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.real_heads import NORM_LAYERS, shipped_record
from ui.common import charts as c
from ui.common.formatting import percent, short
from ui.common.lessons import section
from ui.common.page import draw_finding

BARS = ("heads and projection", "+ residual", "+ LayerNorm", "LayerNorm of the state alone")
LEAD = "The curvature of a sublayer, part by part: heads, residual, LayerNorm."
COLOURS = (c.MAGENTA, c.ORANGE, c.BLUE, c.GREY)


def draw() -> None:
    """Draw the tab."""
    totals = shipped_record("norms")["totals"]
    says, text = norm_sentence(totals)
    draw_finding(says, lead=LEAD)
    charts = c.Charts("heads_norms")
    charts.draw("norms", st, norm_chart(totals), text)
    st.markdown(text)
    charts.draw_footer(section("real_heads", "norms"))


def norm_chart(totals: np.ndarray) -> go.Figure:
    """Draw the totals (N, P) of three layers, part by part."""
    layers = [f"layer {number + 1}" for number in NORM_LAYERS]
    traces = [
        c.bars(name, layers, column, colour=colour, hatched=name == BARS[-1])
        for name, column, colour in zip(BARS, totals.T, COLOURS, strict=True)
    ]
    return c.chart(
        "Total curvature of a sublayer", traces, "", "∫|K| dA", height=420, barmode="group"
    )


def norm_sentence(totals: np.ndarray) -> tuple[str, str]:
    """Say what is left of the heads' curvature behind the norm, in the first of the layers."""
    heads, residual, norm, alone = (short(round(float(x), 2)) for x in totals[0])
    share = percent(float(totals[0][3] / totals[0][2]))
    return (
        f"LayerNorm hides the heads: without attention {share} of the curvature is there.",
        f"Total curvature in layer {NORM_LAYERS[0] + 1}: heads and projection {heads}, with the"
        f" residual {residual}, after LayerNorm {norm}. LayerNorm of the state alone, without"
        f" attention, gives {alone}.",
    )

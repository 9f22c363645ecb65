"""The tab Effective rank: head outputs against models without a gate, and within one model.

Shapes: S seeds, L layers, H heads of d channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.measurements.overview import LEAST_SEEDS
from gating_core.lm.measurements.rank import rank_ratio
from gating_core.lm.shipped import MODELS
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import effect, figures
from ui.common.language_models import GATES, HEADS, head_name, head_names, head_of
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing.panels import subplot
from ui.language_models import shared
from ui.language_models.shared import NO_GATE, interval_text, layer_axis

STAGES = (("before gate", c.GREY, "/"), ("after gate", c.MAGENTA, ""), ("after W_O", c.BLUE, "x"))
MOST, LEAST = "largest increase", "smallest increase"  # the heads that a rule chooses
Head = tuple[int, int]  # layer and number, from 0


def draw() -> None:
    """Draw the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = shared.choose_model(row)
    name = row.selectbox(
        "Head",
        (MOST, LEAST, *HEADS),
        key="lm_head",
        width=170,
        **LINK,
        help="The head with the largest or the smallest quotient of effective ranks, after the gate"
        " over before it; or one by layer and number.",
    )
    charts, arrays = c.Charts("rank"), shared.table()[chosen.model]
    outputs, maps = arrays["ranks.outputs"], arrays["ranks.maps"]
    head, channels, texts = (
        choose_head(name, outputs),
        maps.shape[-1],
        len(arrays["strengths.counts"]),
    )
    ungated, gated = chosen.pair("ranks.outputs")
    compared = against_ungated(gated, ungated)
    st.markdown(compared)
    left, right = st.columns([4, 9])
    charts.draw("by_layer", left, layers_chart(ungated, gated), compared)
    inside = within(arrays, gated, ungated, texts)
    charts.draw("heads", right, heads_chart(outputs, arrays["ranks.range"], channels, head), inside)
    config = MODELS[GATES[chosen.title]]
    query = config.gate is not None and config.gate.position == "G1"
    why = reason(arrays, head, config.width, query)
    left, right = st.columns([7, 6])
    charts.draw("singular_values", left, values_chart(maps, head), why)
    right.markdown(why)
    st.markdown(inside)
    charts.draw_footer(section("language_models", "rank", d=channels, texts=texts))


def choose_head(name: str, outputs: np.ndarray) -> Head:
    """Return the head called ``name``: "layer.head", or one by the quotient of ranks (3, L, H)."""
    if name not in (MOST, LEAST):
        return head_of(name)
    lift = outputs[1] / outputs[0]
    layer, number = np.unravel_index(lift.argmax() if name == MOST else lift.argmin(), lift.shape)
    return int(layer), int(number)


def layers_chart(ungated: np.ndarray, gated: np.ndarray) -> go.Figure:
    """Draw mean effective ranks (S, 3, L, H) by layer, before and after W_O, gated and ungated."""
    traces = []
    for name, ranks, style in ((NO_GATE, ungated, c.UNGATED),
                               ("gate", gated, c.GATED)):  # fmt: skip
        for stage, where, dash, symbol in ((1, "", "solid", "circle"),
                                           (2, ", after W_O", "dash", "diamond")):  # fmt: skip
            means = ranks[:, stage].mean(-1)
            traces.append(
                c.line(
                    f"{name}{where}",
                    np.arange(1, means.shape[1] + 1),
                    means.mean(0),
                    shared.half_widths(means),
                    colour=style["colour"],
                    dash=dash,
                    symbol=symbol,
                )
            )
    return c.chart(
        "Effective rank, mean of heads",
        traces,
        "layer",
        "effective rank",
        height=270,
        x_axis=layer_axis(ungated.shape[2], 0.3),
        y_axis={"rangemode": "tozero"},
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "font": {"size": 12}},
        margin={"l": 50, "r": 8, "t": 82, "b": 40},
    )


def heads_chart(outputs: np.ndarray, ends: np.ndarray, channels: int, head: Head) -> go.Figure:
    """Draw effective ranks (3, L, H) with 95 % intervals (2, 3, L, H), a group of bars a head.

    The line is at d, the number of ``channels``; one ``head`` is marked.
    """
    _, layers, heads = outputs.shape
    low, high = ends.reshape(2, len(STAGES), -1)
    traces = []
    for stage, (name, colour, pattern) in enumerate(STAGES):
        flat = outputs[stage].ravel()
        traces.append(c.bars(name, head_names(layers, heads), flat, colour=colour) | {
            "marker": {"color": colour, "pattern": {"shape": pattern, "size": 4}},
            "error_y": {"type": "data", "array": high[stage] - flat,
                        "arrayminus": flat - low[stage], "thickness": 1, "width": 1}})  # fmt: skip
    figure = c.chart(
        "Effective rank of each head, one model",
        traces,
        "head",
        "effective rank",
        height=270,
        bargap=0.25,
        x_axis={"type": "category"},
        y_axis={"range": [0, 1.15 * channels]},
    )
    column = head[0] * heads + head[1]
    figure.add_shape({"type": "rect", "x0": column - 0.5, "x1": column + 0.5, "yref": "paper",
        "y0": 0, "y1": 1, "line": {"width": 0}, "fillcolor": f"{c.FAINT}33", "layer": "below"}
    )  # fmt: skip
    return c.mark_y(figure, channels, f"d = {channels}")


def values_chart(maps: np.ndarray, head: Head) -> go.Figure:
    """Draw the singular values of all maps (L, H, d), a panel a layer; one ``head`` stands out."""
    layers, _, size = maps.shape
    traces = []
    for position in np.ndindex(*maps.shape[:2]):
        style: dict[str, Any] = {"mode": "lines", "width": 1}
        if position == head:
            style = {"colour": c.MAGENTA}
        trace = c.line(
            f"head {head_name(position)}",
            np.arange(1, size + 1),
            maps[position],
            legend=False,
            **style,
        )
        traces.append(trace | subplot(position[0]))
    axes = shared.layer_panels(
        layers,
        {"range": [0, size + 1], "tickvals": [1, size]},
        "index",
        "singular value",
        float(maps.max()),
    )
    return c.chart("Singular values of W_V W_O, by layer", traces, height=220, **axes)


def against_ungated(gated: np.ndarray, ungated: np.ndarray) -> str:
    """Say how ranks (S, 3, L, H) of gated models differ from those of models without a gate.

    A gate has acted on the second and third of the three; without a gate the first two are equal.
    """
    seeds, what = len(gated), "effective rank of head outputs before W_O"
    if seeds < LEAST_SEEDS:
        means = (figures(float(ranks[:, 1].mean())) for ranks in (ungated, gated))
        return f"Mean {what}: {' → '.join(means)} with the gate; too few seeds for a verdict."
    mixed, projected = (rank_ratio(gated[:, stage], ungated[:, stage]) for stage in (1, 2))
    return (
        f"{effect(mixed, 'the gate', f'the {what}', none=1)}: {interval_text(mixed)} times that of"
        " models without a gate, and"
        f" {interval_text(projected)} times after W_O (mean of heads; {seeds} seeds, paired, 95 %"
        " intervals)."
    )


def within(
    arrays: Mapping[str, np.ndarray], gated: np.ndarray, ungated: np.ndarray, texts: int
) -> str:
    """Compare the ranks of one model after its gate with those before it.

    ``gated`` and ``ungated`` (S, 3, L, H): the ranks of all seeds.
    """
    outputs, (low, high) = arrays["ranks.outputs"], arrays["ranks.lift"].reshape(2, -1)
    counts = (
        f"increases in {(low > 1).sum()}, decreases in {(high < 1).sum()} and is"
        f" inconclusive in {((low <= 1) & (high >= 1)).sum()} of {low.size} heads"
    )
    examples = []
    for name in (MOST, LEAST):
        head = choose_head(name, outputs)
        before, after = (figures(float(x[head])) for x in outputs[:2])
        examples.append(f"{name} in {head_name(head)} ({before} → {after})")
    quotient = (gated[:, 1] / gated[:, 0]).mean((1, 2))
    text = f"quotient {quotient[0]:.3f}"
    if len(quotient) > 1:
        text = (
            f"quotient {interval_text(mean_interval(quotient))} over all seeds; before the gate the"
            f" rank is {interval_text(rank_ratio(gated[:, 0], ungated[:, 0]))} times that of models"
            " without a gate"
        )
    channels = arrays["ranks.maps"].shape[-1]
    # To one part in a million: what is shown was rounded to single precision.
    above = int((outputs.max(0) > channels * (1 + 1e-6)).sum())
    bound = f"{above} ranks exceed d" if above else f"No rank exceeds d = {channels}, and none can"
    return (
        f"Within this model, from before to after its gate, the rank {counts} (95 % intervals over"
        f" {texts} texts): {', '.join(examples)}; {text}. {bound}."
    )


def reason(arrays: Mapping[str, np.ndarray], head: Head, width: int, query: bool) -> str:
    """Say in two paragraphs why no head's outputs have a rank above d, with this head's numbers.

    ``query``: the gate reads the query's character, as at G1, and not the key's.
    """
    values: Sequence[float] = arrays["ranks.maps"][head]
    d, name = len(values), head_name(head)
    before, after, projected = (figures(float(x[head])) for x in arrays["ranks.outputs"])
    low, high = (figures(float(x[head])) for x in arrays["ranks.lift"])
    maps = figures(float(arrays["ranks.opened"][head]))
    return (
        f"**Why the rank is at most d.** Without a gate head {name} is one map W_V W_O, {width} ×"
        f" {d} times {d} × {width}. At most {d} singular values are not 0 (here"
        f" {figures(float(values[0]))} to {figures(float(values[-1]))}).\n\n"
        f"The gate stands between them as diag(g) and reads the {'query' if query else 'key'}'s"
        f" character. Outputs are still sums of the {d} rows of W_O: **no gate lifts them above"
        f" d = {d} (proved)**. The gate changes how evenly the rows are used: {before} → {after}"
        f" (× {low} to {high}), {projected} after W_O. It also makes different maps W_V diag(g)"
        f" W_O: effectively {maps}. No gate, or one factor per head, makes a single map."
    )

"""The tab Linear and hybrid: linear attention, hybrids with a window, the delta rule, and costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.conversions import (
    CONVERTED_WINDOWS,
    HeadByKind,
    LinearRequest,
    converted_head,
    converted_losses,
    head_by_kind,
)
from gating_core.lm.efficient.cost import COSTS
from gating_core.lm.efficient.recall import RECALL_PAIRS, RULES, recall_curves
from gating_core.lm.measurements import AttentionTimes, load_times
from gating_core.lm.resampling import PairedDifference, loss_difference
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import figures, plus_minus, short
from ui.common.language_models import head_of, sign
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.drawing import palette
from ui.drawing.chart_map import plain_figure, subplot, subplot_title
from ui.efficient import shared
from ui.efficient.shared import HEAD, Sample
from ui.limits import LEFT_OUT_MEMORY, LEFT_OUT_OVERLAP
from ui.work.cache import cached

MOST_TOKENS = 128  # whose weights are drawn
GAP = 0.012  # between two maps of them, as a share of all
WAYS: dict[str, c.Style] = {
    "softmax": {"colour": c.GREY, "dash": "dot", "symbol": "x"},
    "window": {"colour": c.ORANGE, "dash": "dash", "symbol": "square"},
    "linear": {"colour": c.BLUE},
    "hybrid": {"colour": c.PURPLE, "dash": "dashdot", "symbol": "diamond"},
    "delta rule": {"colour": c.GREEN, "dash": "longdash", "symbol": "triangle-up"},
}
RULE_NAMES: dict[
    str, tuple[str, c.Style]
] = {  # of the recall task: the name in the legend, and the style
    "linear": ("sum", WAYS["linear"]),
    "delta": ("delta", WAYS["delta rule"]),
    "gated_delta": ("gated", WAYS["hybrid"]),
    "best": ("least squares", WAYS["window"]),
    "softmax": ("softmax", WAYS["softmax"]),
}
# By the square root of the weight: most weights are small.
SCALE = [
    [(1 + np.sign(2 * at - 1) * (2 * at - 1) ** 2) / 2, colour]
    for at, colour in palette.SIGNED_SCALE
]
CONVERSIONS = {  # the core's name, and a part of its measurements; {}: a window
    "window {}": ("window_{}", ""), "hybrid {}": ("hybrid_{}", ""),
    "hybrid {}, dropout": ("dropped_{}", ""), "hybrid {}, elu + 1": ("elu_{}", ""),
    "linear": ("linear", ""), "gated delta rule": ("delta", ""),
    "linear + window {}": ("linear", "added_{}."),
}  # fmt: skip
ABLATIONS: dict[str, tuple[str, c.Style]] = {
    "whole": ("as trained", {"colour": c.MAGENTA}),
    "without_window": ("window ablated", {"colour": c.ORANGE, "symbol": "square-open"}),
    "without_linear": ("linear ablated", {"colour": c.BLUE, "symbol": "diamond-open"}),
    "zero_linear": ("linear output zero", {"colour": c.GREEN, "symbol": "x"}),
}
SMALL = 0.005  # nats: a linear branch that is worth less for certain contributes nothing
LONG, CHANNELS = 10**6, 24  # tokens; of a head
BELOW: dict[str, Any] = {"height": 280, "margin": {"l": 52, "r": 6, "t": 68, "b": 36}}


@cached()
def by_hand(sample: Sample, request: LinearRequest) -> HeadByKind:
    """Mix the values of the head in five ways."""
    return head_by_kind(shared.head_sample(sample).beginning(MOST_TOKENS), request)


@cached()
def converted(sample: Sample, window: int) -> HeadByKind:
    """Return the same head of converted models."""
    return converted_head(sample.text, *head_of(sample.head), window)


@cached()
def recalled(channels: int, overlap: float, memory: float, step: float) -> dict[str, np.ndarray]:
    """Return how many pairs each rule recalls: tenths of a second."""
    return recall_curves(channels, overlap, step, memory)


@st.cache_resource(show_spinner=False)
def conversions() -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return losses (S, N) of converted models by name and part, and characters (N,)."""
    return converted_losses()


@cached()
def against(name: str, part: str, other: str) -> PairedDifference:
    """Return the loss per character of a converted model, or part, minus that of the ``other``."""
    losses, counts = conversions()
    sums, base = losses[name][part], losses[other]["whole"]
    seeds = min(len(sums), len(base))
    return loss_difference(sums[:seeds], base[:seeds], counts)


@cached()
def window_effect() -> tuple[str, str]:
    """Say whether a gate reduces the Δ loss of a window, for models trained with it."""
    losses, counts = conversions()
    names = ("window_16", "softmax", "gated_window_16", "gated_softmax")
    seeds = min(len(losses[name]["whole"]) for name in names)
    plain, full, gated, gated_full = (losses[name]["whole"][:seeds] for name in names)
    return shared.effect_text(
        "a trained window",
        "training with a window of 16 keys",
        "G1, per channel",
        (plain, full),
        (gated, gated_full),
        counts,
    )


def draw() -> None:
    """Draw the tab: the Δ loss of converted models by window, and in a fold a head and its cost."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="front-row")
    window = row.radio(
        "Window, keys",
        (4, 8, 16, 32),
        2,
        key="linear_window",
        horizontal=True,
        **LINK,
        help="Models were converted with windows of 4 and 16 keys; the nearest is drawn.",
    )
    near, charts = min(CONVERTED_WINDOWS, key=lambda size: abs(size - window)), c.Charts("linear")
    hybrid = f"hybrid_{near}"
    gain = against(f"window_{near}", "whole", hybrid)
    branch, detail = contribution_text(near, gain, against(hybrid, "without_linear", hybrid))
    draw_finding(branch)
    charts.draw("conversions", st.container(key="first"), conversions_chart(near), branch)
    st.markdown(f"{detail} {margin_text(near)} {window_effect()[1]}")
    with shared.fold("One head over a text, recall and cost", "linear_more") as is_open:
        sample, row = shared.choose_sample(MOST_TOKENS)
        weight = row.slider(
            "Window weight w",
            0.0,
            1.0,
            0.5,
            0.1,
            key="linear_share",
            width=200,
            **LINK,
            help="Hybrid output: w · window + (1 − w) · linear.",
        )
        memory = row.number_input(
            "Decay time, tokens", *LEFT_OUT_MEMORY, 32.0, 1.0, key="linear_memory", **LINK
        )
        step = row.slider("Step size β", 0.0, 1.0, 0.5, 0.1, key="linear_step", **LINK)
        learned = sample.kind == HEAD and row.toggle(
            "Converted model",
            key="linear_learned",
            **LINK,
            help="Off: linear attention by hand, with elu + 1 features and the parameters set here."
            " On: the same head of models converted by training (no gate, seed 0), with learned"
            " features.",
        )
        if is_open:
            request = LinearRequest(window, weight, memory, step)
            head = converted(sample, near) if learned else by_hand(sample, request)
            cosines = ", ".join(map("{} {:.2f}".format, [*WAYS][1:], head.cosine[1:]))
            whose = f"converted models, window {near}" if learned else "not trained for it"
            text = f"Cosine of this head with softmax attention ({whose}): {cosines}."
            charts.draw("maps", st, maps_chart(head, sample.characters), text)
            st.markdown(text)
        draw_recall(charts, request if is_open else None)
    charts.draw_footer(section("efficient", "linear"))


def draw_recall(charts: c.Charts, request: LinearRequest | None) -> None:
    """Draw the controls of the recall task, and with a ``request`` its results and the cost."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="recall-row")
    d = row.radio("Recall: d", (8, 16, 32), 1, key="linear_channels", horizontal=True, **LINK)
    overlap = row.slider(
        "Recall: mean q·k of two keys",
        *LEFT_OUT_OVERLAP,
        0.0,
        0.1,
        key="linear_overlap",
        width=240,
        **LINK,
    )
    if request is None:
        return
    curves = recalled(d, overlap, request.memory, request.step)
    capacities = ", ".join(
        f"{capacity(shares)} ({RULES[rule].title})" for rule, shares in curves.items()
    )
    recall = f"A state of {d} × {d} numbers recalls 90 % of up to this many pairs: {capacities}."
    linear, softmax = (COSTS[kind](LONG, CHANNELS) for kind in ("linear", "full"))
    cost = (
        f"For {LONG:,} tokens, linear attention needs"
        f" {short(linear.scores / softmax.scores)} of the products and"
        f" {short(linear.stored / softmax.stored)} of the memory of softmax attention."
    )
    times = load_times().attention
    if crossing := times.crossing("linear"):
        cost += f" Measured on one core, it is faster from {crossing} tokens on."
    left, right = c.chart_columns("below", 2)
    charts.draw("recall", left, recall_chart(curves, d), recall)
    charts.draw("time", right, time_chart(times), cost)
    st.markdown(f"{recall} {cost}")


def contribution_text(
    window: int, gain: PairedDifference, ablated: PairedDifference
) -> tuple[str, str]:
    """Say what the intervals allow: ``gain`` is window alone minus hybrid."""
    branch = f"linear branch beside a window of {window} keys"
    saved = f"{gain.mean:.3f} nats per character".replace("-", "−")
    says = (
        f"A {branch} saves {saved}."
        if gain.low > SMALL
        else f"A {branch} saves nothing: {saved}."
        if gain.high < SMALL
        else f"Whether a {branch} saves loss is inconclusive: {saved}."
    )
    detail = (
        f"Against the window alone, equally trained, the branch lowers the loss by"
        f" {plus_minus(gain.mean, gain.half_width)} nats per character; its ablation raises it by"
        f" {plus_minus(ablated.mean, ablated.half_width)}"
    )
    detail += " (the branches have co-adapted)." if ablated.low > gain.high else "."
    return says, detail


@cached()
def margin(name: str) -> float:
    """Return by how much the linear branch alone lowers the loss of attention with zero output."""
    losses, counts = conversions()
    control = losses[name]["zero_both"]
    return float(
        (control - losses[name]["without_window"][: len(control)]).mean(0).sum() / counts.sum()
    )


def margin_text(window: int) -> str:
    """Say what the linear branch alone is worth over no attention, by its feature map."""
    learned, elu = (margin(f"{name}_{window}") for name in ("hybrid", "elu"))
    return (
        f"Window {window}, ablated: the linear branch alone lowers the loss by {figures(learned)}"
        f" nats per character with learned softmax features, by {figures(elu)} with elu + 1,"
        " against attention with zero output (seed 0)."
    )


def capacity(recognised: np.ndarray) -> str:
    """Return the most pairs of which 90 % are recalled (n, S), or the range its interval allows."""
    intervals = [mean_interval(row) for row in recognised]
    low, high = (
        int(np.cumprod([mean.mean + side * mean.half_width >= 0.9 for mean in intervals]).sum())
        for side in (-1, 1)
    )
    pairs = (0, *RECALL_PAIRS)
    return f"{pairs[low]}" if low == high else f"{pairs[low]} to {pairs[high]}"


def maps_chart(head: HeadByKind, text: str | None) -> go.Figure:
    """Draw the attention weights of all ways on one scale; rows are queries."""
    titles = [
        "softmax",
        *(f"{way}<br>{cosine:.2f}" for way, cosine in [*zip(WAYS, head.cosine, strict=True)][1:]),
    ]
    n = head.weights.shape[-1]
    names = [f"{i} {sign(letter)}" for i, letter in enumerate(text or " " * n, 1)]
    hidden = np.triu(np.ones((n, n), bool), 1)
    wide, traces, notes = (1 + GAP) / len(WAYS), [], []
    layout: dict[str, Any] = {}
    for index, (way, weights) in enumerate(zip(WAYS, head.weights, strict=True)):
        z, axes = np.where(hidden, np.nan, weights).astype(np.float32), subplot(index)
        said = f"{way}, %{{y}} reads %{{x}}: %{{z:.3f}}<extra></extra>"
        last = {"showscale": index == len(WAYS) - 1, "colorbar": {"thickness": 8}}
        own = {"name": way, "x": names, "y": names, "hovertemplate": said}
        traces.append(axes | c.heatmap(z, -1, 1, SCALE, **own, **last))
        ends = [index * wide, (index + 1) * wide - GAP]
        notes.append(subplot_title(titles[index], sum(ends) / 2, 1.0, 11))
        layout[f"xaxis{axes['xaxis'][1:]}"] = {
            "domain": ends, "anchor": axes["yaxis"], "visible": False,
        }  # fmt: skip
        layout[f"yaxis{axes['yaxis'][1:]}"] = {
            "anchor": axes["xaxis"], "visible": False, "autorange": "reversed",
        }  # fmt: skip
    return plain_figure(traces, layout | {
        "annotations": notes, "height": 220, "margin": {"l": 4, "r": 4, "t": 58, "b": 2},
        "title": c.title("Attention weights; cosine to softmax"),
    })  # fmt: skip


@cached()
def conversions_chart(window: int) -> go.Figure:
    """Draw the losses of converted models above softmax; dotted: the ``window`` alone."""
    traces = []
    for part, (label, style) in ABLATIONS.items():
        rows = {
            title.format(window): against(name.format(window), prefix.format(window) + part,
                                          "softmax")
            for title, (name, prefix) in CONVERSIONS.items()
            if prefix.format(window) + part in conversions()[0][name.format(window)]
        }  # fmt: skip
        x, half = [row.mean for row in rows.values()], [row.half_width for row in rows.values()]
        trace = c.line(label, x, np.zeros(len(x)), half, **style, mode="markers")
        traces.append(trace | {"y": [*rows], "error_x": trace.pop("error_y")})
    figure = c.chart(
        "Δ loss of converted models",
        traces,
        shared.DELTA_LOSS,
        height=shared.HEIGHT,
        x_axis=c.log_axis(0.003, 3) | c.ticks((0.01, 0.1, 1), ("0.01", "0.1", "1")),
        y_axis={"autorange": "reversed", "dtick": 1},
        margin={"l": 150, "r": 6, "t": 84, "b": 36},
    )
    alone = against(f"window_{window}", "whole", "softmax").mean
    figure.update_xaxes(shared.WORDS).update_yaxes(shared.WORDS).update_layout(legend_font_size=14)
    return c.mark_x(figure, max(alone, 1e-9))


def recall_chart(curves: dict[str, np.ndarray], d: int) -> go.Figure:
    """Draw the share of pairs that each rule recalls."""
    lines = []
    for rule, row in curves.items():
        name, style = RULE_NAMES[rule]
        means = [mean_interval(shares) for shares in row]
        lines.append(
            c.line(
                name,
                map(str, RECALL_PAIRS),
                [mean.mean for mean in means],
                [mean.half_width for mean in means],
                **style,
            )
        )
    return c.chart(
        f"Recall from a {d} × {d} state",
        lines,
        "pairs",
        "recalled",
        **BELOW,
        x_axis={"type": "category"},
        y_axis={"range": [0, 1.04]},
    )


def time_chart(times: AttentionTimes) -> go.Figure:
    """Draw the measured time over that of softmax attention, with quartiles of repeats."""
    names = [f"{n // 1024}k" if n >= 1024 else f"{n}" for n in times.lengths]
    lines = []
    for way in ("window", "linear"):
        low, middle, high = times.ratios(way).T
        lines.append(c.line(way, names, middle, [middle - low, high - middle], **WAYS[way]))
    figure = c.chart(
        "Time over softmax, one core",
        lines,
        "tokens",
        "ratio",
        **BELOW,
        x_axis={"type": "category"},
        y_axis=c.log_axis(),
    )
    return c.mark_y(figure, 1.0)

"""Charts and sentences of the tab Linear, built from its numbers.

Maps of a head, the state, recall and costs. Shapes: T characters, d channels, W ways of attention,
S seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gating_core.left_out import COSTS, RULES
from gating_core.left_out_at_work import (
    CHEAPER,
    RECALL_PAIRS,
    AttentionTimes,
    Cheaper,
    RecallCurves,
)
from gating_core.training import mean_interval
from ui.common.words import percent, short
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.left_out.conversions import Losses
from ui.left_out.line_chart import HEIGHT_PIXELS, Line, Style, line_chart
from ui.left_out.request import GAUSSIAN, HEAD, SLOW, LeftOutSelection

COST_LENGTHS = tuple(10**power for power in range(2, 7))  # tokens
# By the square root of the weight: most weights are small.
SCALE = [[(1 + np.sign(2 * at - 1) * (2 * at - 1) ** 2) / 2, colour]
         for at, colour in palette.SIGNED_SCALE]  # fmt: skip
GREY = palette.SIDE_COLOURS["left"]
BLUE, ORANGE, GREEN, PURPLE = palette.CLASS_COLOURS
WAYS = {
    "softmax": Style("softmax", GREY, "dot", "x"),
    "window": Style("window", ORANGE, "dash", "square"),
    "linear": Style("linear", BLUE, "solid", "circle"),
    "hybrid": Style("hybrid", PURPLE, "dashdot", "diamond"),
    "delta": Style("delta rule", GREEN, "longdash", "triangle-up"),
}
RULE_STYLES = {  # of the toy
    "linear": replace(WAYS["linear"], name="sum"),
    "delta": replace(WAYS["delta"], name="delta"),
    "gated_delta": replace(WAYS["hybrid"], name="gated"),
    "best": replace(WAYS["window"], name="best"),
    "softmax": WAYS["softmax"],
}


def map_chart(result: Cheaper, text: str | None) -> go.Figure:
    """Draw the weights of all ways side by side, on one scale from -1 to 1.

    Rows are the tokens that look, columns those that are looked at: characters of ``text``, if any.
    """
    length = result.weights.shape[-1]
    names = [f"{n} {sign(one)}" for n, one in enumerate(text, 1)] if text else [
        f"{n}" for n in range(1, length + 1)
    ]  # fmt: skip
    hidden = np.triu(np.ones((length, length), bool), 1)
    alike = [" ", *(f"{cosine:.2f}" for cosine in result.cosine[1:])]
    titles = [f"{WAYS[name].name}<br>{of}" for name, of in zip(CHEAPER, alike, strict=True)]
    figure = make_subplots(1, len(CHEAPER), horizontal_spacing=0.012, subplot_titles=titles)
    for column, (name, weights) in enumerate(zip(CHEAPER, result.weights, strict=True), 1):
        figure.add_heatmap(
            z=np.where(hidden, np.nan, weights).astype(np.float32), x=names, y=names,
            row=1, col=column, zmin=-1, zmax=1, colorscale=SCALE,
            showscale=column == len(CHEAPER),
            colorbar={"thickness": 8, "len": 0.9, "tickvals": [-1, -0.3, 0, 0.3, 1]},
            hovertemplate=f"{WAYS[name].name}, %{{y}} looks at %{{x}}: %{{z:.3f}}<extra></extra>",
        )  # fmt: skip
    figure.update_annotations(font_size=11).update_xaxes(visible=False)
    figure.update_yaxes(visible=False, autorange="reversed")
    return figure.update_layout(height=HEIGHT_PIXELS, margin={"l": 4, "r": 4, "t": 34, "b": 2})


def state_chart(result: Cheaper, at: int) -> go.Figure:
    """Draw the state (d, d) of the delta rule after character ``at``, on one scale for all."""
    low, high = palette.symmetric_range(float(np.abs(result.states).max()))
    trace = {
        "type": "heatmap", "z": result.states[at], "zmin": low, "zmax": high,
        "colorscale": palette.SIGNED_SCALE, "colorbar": {"thickness": 8, "len": 0.9},
        "hovertemplate": "key channel %{x}, value channel %{y}: %{z:.3g}<extra></extra>",
    }  # fmt: skip
    return go.Figure({"data": [trace], "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 38, "r": 4, "t": 6, "b": 34},
        "xaxis": {"title": {"text": "channel of keys", "standoff": 2}, "constrain": "domain"},
        "yaxis": {"title": {"text": "of values", "standoff": 2}, "scaleanchor": "x",
                  "constrain": "domain"},
    }})  # fmt: skip


def recall_chart(curves: RecallCurves, channels: int) -> go.Figure:
    """Draw the share of pairs that each rule recognises against their number; d is marked."""
    names = [*map(str, RECALL_PAIRS)]
    lines = []
    for rule, of in curves.recognised.items():
        widths = np.array([mean_interval(row).half_width for row in of])
        lines.append(Line(RULE_STYLES[rule], names, of.mean(1), widths))
    figure = line_chart(lines, "pairs", "recognised", rows=3).update_yaxes(range=[0, 1.04])
    if str(channels) in names:
        line = {"width": 1, "dash": "dot", "color": palette.PLANE}
        figure.add_vline(names.index(str(channels)), line=line,
                         annotation={"text": f"d = {channels}", "font": {"size": 10}})  # fmt: skip
    return figure


def cost_chart(channels: int, window: int) -> go.Figure:
    """Draw products (solid) and numbers stored (dotted) for 100 to 10⁶ tokens: arithmetic."""
    lines = []
    for name, (products, stored) in paper_costs(channels, window).items():
        style = replace(WAYS["softmax" if name == "full" else name], dash="solid")
        lines += [Line(style, np.array(COST_LENGTHS), products),
                  Line(style.stored, np.array(COST_LENGTHS), stored)]  # fmt: skip
    return line_chart(lines, "tokens", "products; numbers", log=True, rows=2)


def paper_costs(channels: int, window: int) -> dict[str, np.ndarray]:
    """Return products of d numbers, and numbers stored, (2, n) at `COST_LENGTHS`."""
    sizes = {"full": (), "window": (window,), "linear": (), "hybrid": (window,)}
    costs = {name: [COSTS[name](n, channels, *more) for n in COST_LENGTHS]
             for name, more in sizes.items()}  # fmt: skip
    return {name: np.array([[one.scores for one in of], [one.stored for one in of]], float)
            for name, of in costs.items()}  # fmt: skip


def time_chart(times: AttentionTimes) -> go.Figure:
    """Draw the time of each way over that of softmax attention, with quartiles of repeats."""
    lines = []
    timed = {name: times.ratios(name) for name in ("window", "linear")}
    ratios = np.stack([*timed.values()])
    reach = [np.log10(ratios.min()) - 0.1, np.log10(ratios.max()) + 0.1]
    for name, quartiles in timed.items():
        lines.append(Line(WAYS[name], [*map(_length, times.lengths)], quartiles[:, 1],
                          (quartiles[:, 2] - quartiles[:, 0]) / 2))  # fmt: skip
    figure = line_chart(lines, "tokens", "time / softmax", level=(1.0, ""), rows=2)
    ticks = {"dtick": 1, "exponentformat": "power"}
    return figure.update_yaxes(type="log", range=reach, **ticks).update_xaxes(tickangle=0)


def _length(tokens: int) -> str:
    return f"{tokens // 1024}k" if tokens >= 1024 else f"{tokens}"


def head_text(selection: LeftOutSelection, result: Cheaper, learned: int) -> str:
    """Say how near the outputs of each way are to softmax attention's.

    ``learned``: the window if ``result`` is a head of converted models, else 0.
    """
    parts = [f"{WAYS[way].name} {result.cosine[index]:.2f}"
             for index, way in enumerate(CHEAPER) if index]  # fmt: skip
    if selection.kind == HEAD:
        how = "of converted models" if learned else "not trained on"
        name = f"Head {selection.head}, {how}"
    else:
        name = {SLOW: "Slow tokens", GAUSSIAN: "Tokens with Gaussian scores"}[selection.kind]
    return f"{name}: cosine with softmax attention {', '.join(parts)}."


def state_text(result: Cheaper, at: int) -> str:
    """Say how much the state holds after the token ``at``, and of how many dimensions."""
    squares = result.sizes**2
    totals = squares.sum(1)
    share, first = float((totals[at] / totals.max()) ** 0.5), float(squares[at, 0] / totals[at])
    return (
        f"The state after {at + 1} of {len(totals)} tokens: its size is {percent(share)} of the"
        f" largest. {percent(first)} of its square lies in one direction"
    )


def recall_text(curves: RecallCurves, channels: int) -> str:
    """Say how many pairs each rule recalls: the most of which nine in ten are recognised."""
    seeds = next(iter(curves.recognised.values())).shape[1]
    parts = [f"{capacity(of)} ({RULES[rule].title})" for rule, of in curves.recognised.items()]
    return (
        f"A state of {channels} × {channels} numbers recognises nine in ten pairs up to this many"
        f" pairs: {', '.join(parts)} ({seeds} seeds)."
    )


def capacity(recognised: np.ndarray) -> str:
    """Return the largest number of pairs up to which nine in ten are recognised (n, S).

    Where that changes within the interval, the range of numbers.
    """
    means = recognised.mean(1)
    widths = np.array([mean_interval(row).half_width for row in recognised])
    low, high = (_last(of >= 0.9) for of in (means - widths, means + widths))
    if low == high:
        return f"{low}" if high < RECALL_PAIRS[-1] else f"{low} or more"
    return f"{low} to {high}"


def _last(enough: np.ndarray) -> int:
    """The last number of pairs before the first that is too many; 0 if all are."""
    first = int(np.argmin(enough)) if not enough.all() else len(enough)
    return RECALL_PAIRS[first - 1] if first else 0


def cost_text(channels: int, window: int, times: AttentionTimes | None) -> str:
    """Say what a million tokens cost on paper, and where linear attention was faster here."""
    costs = paper_costs(channels, window)
    share = costs["linear"][:, -1] / costs["full"][:, -1]
    text = (
        f"On paper, linear attention over {COST_LENGTHS[-1]:,} tokens takes {_share(share[0])} of"
        f" the products and {_share(share[1])} of the stored numbers of softmax attention."
    )
    if times is None:
        return text
    crossing = times.crossing("linear")
    where = f"from {crossing:,} tokens on" if crossing else "at none of the lengths timed"
    return f"{text} Measured on one core, it is faster {where}."


def linear_csv(
    losses: Losses, counts: np.ndarray, curves: RecallCurves
) -> Iterator[Sequence[object]]:
    """Yield losses of conversions by seed, and what rules recall."""
    yield "what", "of", "seed", "pairs", "value"
    for name, of in losses.items():
        for part, sums in of.items():
            for seed, row in enumerate(sums):
                yield f"loss, {part}", name, seed, "", float(row.sum() / counts.sum())
    for rule, shares in curves.recognised.items():
        for pairs, row in zip(RECALL_PAIRS, shares, strict=True):
            for seed, value in enumerate(row):
                yield "recognised", RULES[rule].title, seed, pairs, float(value)


def _share(share: float) -> str:
    return percent(share) if share >= 0.01 else short(share)

"""The tab Top-k: the tail mass of the k largest weights, upper bounds of it, and the loss."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.efficient.certificates import CERTIFICATES
from gating_core.lm.efficient.cost import COSTS
from gating_core.lm.efficient.top_k import EPSILON, SIZES, RowCurves, row_at, row_curves
from gating_core.lm.efficient.top_k import EPSILONS as MEASURED_EPSILONS
from gating_core.lm.shipped import SEEDS
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import figures, percent, short
from ui.common.language_models import HEADS, sign
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.efficient import shared
from ui.efficient.shared import HEAD, Sample
from ui.limits import READ_CHARACTERS
from ui.work.cache import cached

SHARES = (0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99)  # %
EPSILONS = {"20 %": 0.2, "10 %": 0.1, "5 %": 0.05, "1 %": 0.01, "0.1 %": 0.001}
BOUNDS: dict[str, c.Style] = {
    "single_gap": {"colour": c.ORANGE, "dash": "dot"},
    "kept_and_next": {"colour": c.BLUE, "dash": "dash"},
    "multi_gap": {"colour": c.PURPLE, "dash": "dashdot"},
    "even_gaps": {"colour": c.GREEN, "dash": "longdash"},
}
LEAST = 1e-4  # of a weight and of a mass that is drawn
FLOOR, DECADES = 2e-4, (0.001, 0.01, 0.1, 1)  # least and labelled: of losses
LONG = 300  # keys: beyond it the axis of k is logarithmic


@cached("Bounding every k; of long rows this takes a second or two …")
def row_of(sample: Sample, epsilon: float) -> RowCurves:
    """Return the last row of scores for every k."""
    return row_curves(shared.scores_of(sample), epsilon)


@cached()
def truncated_row(sample: Sample, k: int) -> tuple[float, float | None, float | None]:
    """Return `row_at` of the last row with its ``k`` largest weights kept."""
    return row_at(shared.scores_of(sample), k)


def draw() -> None:
    """Draw the tab: the Δ loss of whole models over k, and in folds one row of scores."""
    row, gate, compared = shared.front_row()
    k = row.select_slider(
        "Keys kept, k",
        SIZES,
        8,
        key="top_k",
        width=420,
        **LINK,
        help="The k largest weights are kept and renormalised, the others set to 0.",
    )
    what = f"top-{k} attention"
    effect, detail = shared.gate_effect(what, what, compared, "truncation", (SIZES.index(k),))
    charts = c.Charts("top_k")
    draw_finding(effect)
    charts.draw("losses", st.container(key="first"), losses_chart(compared, k), effect)
    st.markdown(detail)

    with shared.fold("One head over a text: sorted weights", "top_head") as is_open:
        sample, row = shared.choose_sample(gate=gate)
        if sample.kind != HEAD:
            share = row.select_slider("Share of keys kept, %", SHARES, 10, key="top_share", **LINK)
            k = max(1, round(share / 100 * sample.n))
        budget = row.select_slider(
            "Tail-mass budget ε",
            [*EPSILONS],
            "5 %",
            key="top_epsilon",
            **LINK,
            help="Certificates give the smallest k that keeps the tail mass τ below this.",
        )
        if is_open:
            draw_weights(charts, sample, k, budget)
    with shared.fold(
        "Certificates: k for a tail-mass budget, without all scores", "top_certificates"
    ) as is_open:
        if is_open:
            draw_certificates(charts, sample, k, budget)
    with shared.fold("The Gaussian approximation in all heads", "top_scores") as is_open:
        if is_open:
            figure, rule = approximation_chart(compared)
            charts.draw("approximation", st, figure, rule)
            st.markdown(rule)
    st.page_link(
        "pages/13_Real_heads.py",
        label="Sinks and top-k on 72 heads of a real model",
        icon=":material/arrow_forward:",
        query_params={"heads_tab": "Sinks and top-k"},
    )
    charts.draw_footer(section("efficient", "top_k"))


def draw_weights(charts: c.Charts, sample: Sample, k: int, budget: str) -> None:
    """Draw the sorted weights of the last query, and say what its tail does."""
    curves = row_of(sample, EPSILONS[budget])
    k = min(k, curves.n)
    mass, moved, bound = truncated_row(sample, k)
    text = f"Last query: k = {k:,} of {curves.n:,} keys leave a tail mass **τ = {figures(mass)}**"
    if moved is not None and bound is not None:
        text += (
            f" and move the output by **{figures(moved)}** (bound τ · diameter {figures(bound)})"
        )
    charts.draw("weights", st, weights_chart(curves, k, sample.characters), f"{text}.")
    st.markdown(
        f"{text}. τ ≤ {budget} needs k = {curves.certified['truth'].k:,}; the Gaussian"
        f" approximation gives {short(curves.rule)} (σ = {short(curves.sigma)}; for exactly"
        f" {curves.n:,} keys {curves.by_quantiles:,})."
    )


def draw_certificates(charts: c.Charts, sample: Sample, k: int, budget: str) -> None:
    """Draw the bounds of the tail mass, what each certifies, and how often."""
    curves = row_of(sample, EPSILONS[budget])
    needed = curves.certified["truth"].k
    second = c.chart_columns("certificates", [3, 4, 3])
    alt = f"For a tail mass of at most {budget} this row needs k = {needed:,}."
    charts.draw("bounds", second[0], bounds_chart(curves, k, EPSILONS[budget]), alt)
    rows = [*curves.certified.values()]
    charts.draw_table(
        "certificates",
        second[1],
        f"Smallest k certified for τ ≤ {budget}",
        {
            "scores known": [row.title for row in rows],
            "k": [f"{row.k:,}" for row in rows],
            "scores read": [f"{row.scored:,}" for row in rows],
            "saved": [percent(1 - row.scored / curves.n) for row in rows],
        },
    )
    rates = {
        gate: fire_rates(gate, EPSILONS[budget]) for gate, _ in shared.gate_styles(sample.with_gate)
    }
    fired = fire_text(rates, budget)
    charts.draw("fire_rates", second[2], fire_chart(rates, budget), fired)
    st.markdown(fired)


def fire_rates(gate: str, epsilon: float) -> np.ndarray:
    """(S, F): the share of rows for which masses, certificates and boxes keep less than half."""
    rates = shared.measured(gate, "certificates.rates")[:, MEASURED_EPSILONS.index(epsilon)]
    return rates.mean((2, 3))


def fire_text(rates: dict[str, np.ndarray], budget: str) -> str:
    """Say how often fewer than half of the keys suffice, and how often that is certified."""
    texts = []
    for gate, shares in rates.items():
        exact, *certified = shares.mean(0)
        best = int(np.argmax(certified))
        texts.append(
            f"{percent(exact)} of rows ({gate}), and “{titles()[1:][best]}” certifies it in"
            f" {percent(certified[best])}"
        )
    never = [
        title
        for title, *shares in zip(titles(), *(rows.T for rows in rates.values()), strict=True)
        if not np.any(shares)
    ]
    text = f"Fewer than half of the keys suffice for τ ≤ {budget} in {'; in '.join(texts)}."
    return f"{text} Never certified by: {', '.join(never)}." if never else text


def titles() -> list[str]:
    """Return the names of exact masses, certificates and boxes."""
    return ["exact", *(certificate.title for certificate in CERTIFICATES.values()), "box bounds"]


def k_axis(curves: RowCurves) -> c.Trace:
    """Return the axis of k."""
    return {"type": "log", "dtick": 1} if curves.n > LONG else {"range": [0.4, curves.n + 0.6]}


def weights_chart(curves: RowCurves, k: int, text: str | None) -> go.Figure:
    """Draw the sorted weights; ``text``: the characters of the keys."""
    traces = []
    for name, colour, chosen in (
        ("kept", c.MAGENTA, curves.ks <= k),
        ("tail", c.FAINT, curves.ks > k),
    ):
        ks, weights = curves.ks[chosen], curves.weights[chosen]
        if curves.n > LONG:
            traces.append(c.line(name, ks, weights, colour=colour, mode="lines"))
            continue
        labels = [
            f"{rank}" + (f", “{sign(text[key])}”" if text else "")
            for rank, key in zip(ks, curves.keys[chosen], strict=True)
        ]
        shown = np.maximum(weights, LEAST * 1.05)
        traces.append(c.bars(name, ks, shown, colour=colour, labels=labels, hatched=name == "tail"))
    low = LEAST if curves.n <= LONG else max(1e-12, float(curves.weights.min()) / 2)
    figure = c.chart(
        "Sorted attention weights, last query",
        traces,
        "rank k",
        "weight",
        x_axis=k_axis(curves),
        y_axis=c.log_axis(low, 1.1),
        bargap=0,
    )
    return c.mark_x(figure, k + 0.5, f"k = {k:,}")


def bounds_chart(curves: RowCurves, k: int, epsilon: float) -> go.Figure:
    """Draw the tail mass over k, and its upper bounds."""
    exact: c.Style = {"colour": c.TEAL, "width": 3}
    lines = [("exact", curves.mass, exact)]
    lines += [
        (curves.certified[name].title, curves.bounds[name], BOUNDS[name]) for name in curves.bounds
    ]
    traces = [
        c.line(name, curves.ks, np.where(y >= LEAST, y, np.nan), **style, mode="lines")
        for name, y, style in lines
    ]
    figure = c.chart(
        "Tail mass τ and its upper bounds",
        traces,
        "k",
        "τ",
        legend=c.LEGEND_INSIDE,
        x_axis=k_axis(curves),
        y_axis=c.log_axis(LEAST, 1.1),
    )
    return c.mark_y(c.mark_x(figure, k + 0.5, f"k = {k:,}"), epsilon, f"ε = {epsilon:g}")


def fire_chart(rates: dict[str, np.ndarray], budget: str) -> go.Figure:
    """Draw the fire rate of each certificate, with intervals over seeds."""
    traces = []
    for (gate, shares), colour in zip(rates.items(), (c.GREY, c.MAGENTA), strict=True):
        means = [mean_interval(column) for column in shares.T]
        trace = c.bars(
            gate,
            [mean.mean for mean in means],
            range(len(means)),
            colour=colour,
            hatched=colour == c.MAGENTA,
        )
        error = {"type": "data", "array": [mean.half_width for mean in means], "thickness": 1.2}
        said = f"%{{y}}: %{{x:.3f}}<extra>{gate}</extra>"
        traces.append(
            trace | {"y": titles(), "orientation": "h", "error_x": error, "hovertemplate": said}
        )
    return c.chart(
        f"Fire rate: k < n/2 certified, ε = {budget}",
        traces,
        "share of rows",
        height=300,
        margin={"l": 150, "r": 8, "t": 68, "b": 40},
        barmode="group",
        x_axis={"range": [0, 1]},
        y_axis={"autorange": "reversed", "tickfont": {"size": 12}},
    )


def losses_chart(with_gate: str, k: int) -> go.Figure:
    """Draw the loss of whole models over the measured k, with names, and at ``k`` with values."""
    lines, lows = [], []
    # Of texts, and the k of a name: the lines descend, that of the gate below.
    places = ("top right", 2), ("bottom left", 4)
    for (gate, style), (place, named) in zip(shared.gate_styles(with_gate), places, strict=True):
        losses = [shared.delta_loss(gate, "truncation", (i,)) for i in range(len(SIZES))]
        words = {
            named if k != named else 4 * k: gate,
            k: f"<b>{figures(losses[SIZES.index(k)].mean, 2)}</b>",
        }
        trace = shared.loss_line(gate, SIZES, losses, **style) | {
            "mode": "lines+markers+text", "textposition": place, "cliponaxis": False,
            "text": [words.get(size, "") for size in SIZES],
            "hovertemplate": f"{gate}, %{{x}}: %{{y:.3g}}<extra></extra>",
        }  # fmt: skip
        trace["marker"]["size"] = 10
        lines.append(trace)
        lows += [(size, gate, loss.low) for size, loss in zip(SIZES, losses, strict=True)]
    n = READ_CHARACTERS + 1
    read = [COSTS["top_k"](n, 1, size).mixed / COSTS["full"](n, 1).mixed for size in SIZES]
    texts = [f"{size}<br>{share:.0%}" for size, share in zip(SIZES, read, strict=True)]
    figure = c.chart(
        "Δ loss of whole models",
        lines,
        "k, share of values read. ▼: interval reaches below",
        f"{shared.DELTA_LOSS}, log scale",
        height=shared.HEIGHT,
        y_axis=c.log_axis(FLOOR, 2) | c.ticks(DECADES, [f"{x:g}" for x in DECADES]),
        x_axis=c.log_axis(0.65, 48) | c.ticks(SIZES, texts),
        showlegend=False,
        margin={"l": 58, "r": 8, "t": 36, "b": 56},  # ticks have two lines
    )
    figure.update_xaxes(title_standoff=16, **shared.WORDS).update_yaxes(shared.WORDS).update_layout(
        font_size=14
    )
    for size, gate, low in lows:
        if low < FLOOR:  # an error bar without an end would look broken
            over = f"{gate}, k = {size}: the interval reaches {max(low, 0):.1g}"
            figure.add_annotation(x=np.log10(size), y=0, yref="paper", yanchor="bottom", text="▼",
                                  showarrow=False, hovertext=over)  # fmt: skip
    gates, setting = (shared.NO_GATE, with_gate), (SIZES.index(k),)
    plain, gated = (shared.delta_loss(gate, "truncation", setting).mean for gate in gates)
    if plain > gated > 0 and shared.gate_change(with_gate, "truncation", setting).high < 0:
        figure.add_shape(x0=k, x1=k, y0=gated, y1=plain, type="line", layer="below",
                         line={"width": 4, "color": c.FAINT})  # fmt: skip
    c.mark_x(figure, k, f"\u00a0<b>k = {k}</b>\u00a0")
    figure.layout.annotations[-1].xanchor = "right"
    return figure


def approximation_chart(with_gate: str) -> tuple[go.Figure, str]:
    """Draw predicted against needed k of all heads; say where the prediction fails."""
    traces, failures = [], []
    for gate, style in shared.gate_styles(with_gate):
        predicted, needed = (
            shared.measured(gate, f"truncation.{name}").ravel() for name in ("rule", "needed")
        )
        heads = [f"head {head}, seed {seed}" for seed in SEEDS for head in HEADS]
        traces.append(c.line(gate, needed, predicted, **style, mode="markers", labels=heads))
        failures.append(failure_text(gate, predicted, needed))
    traces.append(
        c.line("equal", [1, 128], [1, 128], colour=c.FAINT, width=1, mode="lines", legend=False)
    )
    axis = c.log_axis(0.9, 140) | c.ticks((1, 3, 10, 30, 100), ("1", "3", "10", "30", "100"))
    figure = c.chart(
        "Gaussian approximation, all heads",
        traces,
        f"k needed for τ ≤ {percent(EPSILON)}",
        "k predicted",
        x_axis=axis,
        y_axis=axis,
    )
    return figure, (
        f"The Gaussian approximation gives less than half of the keys needed in"
        f" {' and '.join(failures)}."
    )


def failure_text(gate: str, predicted: np.ndarray, needed: np.ndarray) -> str:
    """Say in how many heads less than half of the ``needed`` keys (heads,) are ``predicted``."""
    failed = needed > 2 * predicted
    medians = f"median k needed: {short(float(np.median(needed)))} in all heads"
    if failed.any():
        medians += f", {short(float(np.median(needed[failed])))} in these"
    return f"{int(failed.sum())} of {needed.size} heads ({gate}; {medians})"

"""The tab Delta correction: sliding-window attention plus its residual at every γ-th query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.efficient.delta_correction import (
    GAMMA_STEPS,
    GAMMAS,
    GAPS,
    PAIRS,
    SHORTEST,
    SINKS,
    WINDOW_STEPS,
    WINDOWS,
    Correction,
    CorrectionRequest,
    correct_head,
    retrieve,
)
from gating_core.lm.efficient.samples import ar1_tokens
from gating_core.lm.shipped import SEEDS
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import by_interval, effect, percent, plus_minus, short
from ui.common.language_models import verses
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.efficient import shared
from ui.efficient.shared import AR1, HEAD, Sample
from ui.limits import LEFT_OUT_SINKS
from ui.work.cache import cached

AR1_DRAWS = 5
MOST_TOKENS = 1024  # AR(1) tokens, of which five draws take a second or two
WAYS: dict[str, c.Style] = {
    "full": {"colour": c.GREY},
    "window": {"colour": c.ORANGE, "dash": "dash", "symbol": "x"},
    "corrected": {"colour": c.BLUE, "symbol": "diamond"},
}
STYLES: tuple[c.Style, c.Style] = (
    {"colour": c.TEAL},
    {"colour": c.PURPLE, "symbol": "square"},
)  # AR(1) tokens; the other
SHARE: c.Style = {"dash": "dot", "width": 1.5, "symbol": "line-ew", "legend": False}
GAMMA_LABELS = (*map(str, GAMMAS), "none")
COSINES: dict[str, Any] = {
    "y_axis": {"range": [0, 1.04]},
    "x_axis": {"type": "category"},
}
NOTHING_LEFT = "no query is approximated; the window holds all keys, or the dense tail all queries."
Samples = dict[str, list[Correction]]  # by name: five draws of AR(1) tokens, and the other


@cached("Correcting five draws of AR(1) tokens …")
def of_ar1(n: int, memory: int, draw: int, request: CorrectionRequest) -> list[Correction]:
    """Correct five draws of AR(1) tokens: up to two seconds."""
    draws = (ar1_tokens(n, float(memory), seed=draw + i) for i in range(AR1_DRAWS))
    return [correct_head(tokens, request) for tokens in draws]


@cached()
def of_sample(sample: Sample, request: CorrectionRequest) -> Correction:
    """Correct the head over its text, or tokens."""
    return correct_head(shared.head_sample(sample), request)


@cached()
def retrieved(request: CorrectionRequest) -> np.ndarray:
    """(3, G, S): accuracies of full, window and corrected attention, by gap and seed."""
    return retrieve(request)


def draw() -> None:
    """Draw the tab: the Δ loss of whole models over γ, and in folds samples and retrieval."""
    row, gate, compared = shared.front_row()
    gamma = row.select_slider(
        "Full query every γ",
        GAMMA_STEPS[1:],
        8,
        key="delta_gamma",
        **LINK,
        help="Every γ-th query, the anchor, attends to all keys. Its residual (full minus window)"
        " is added to its own output and to the γ − 1 that follow.",
    )
    window = row.radio("Window, keys", WINDOW_STEPS, 2, key="delta_window", horizontal=True, **LINK)
    # Of whole models, the nearest window and γ were measured.
    near_window = min(WINDOWS, key=lambda size: abs(np.log2(size / window)))
    near_gamma = min(GAMMAS, key=lambda size: abs(np.log2(size / gamma)))
    charts = c.Charts("delta")
    models, heads = models_text(compared, near_window, near_gamma)
    draw_finding(models)
    at = GAMMAS.index(near_gamma)
    figure = c.mark_x(losses_chart(compared, near_window), at, f" <b>γ = {near_gamma}</b>")
    charts.draw("losses", st.container(key="first"), figure, models)
    what = f"a window of {near_window} keys"
    effect = shared.gate_effect(what, what, compared, "correction", (WINDOWS.index(near_window), 0))
    st.markdown(f"{heads} {effect[1]}")

    with shared.fold("One head over a text, and AR(1) tokens", "delta_samples") as is_open:
        sample, row = shared.choose_sample(MOST_TOKENS, gate)
        sinks = row.number_input(
            "Attention sinks, keys",
            *LEFT_OUT_SINKS,
            4,
            key="delta_sinks",
            width=165,
            **LINK,
            help=f"The first keys, which every query of a sample sees; {SINKS} in whole models.",
        )
        request = CorrectionRequest(window, sinks, gamma)
        if is_open:
            draw_samples(charts, sample, request)
    with shared.fold("Retrieval task", "delta_retrieval") as is_open:
        if is_open:
            accuracy = retrieved(request)
            intervals = [mean_interval(100 * rows[-1]) for rows in accuracy]
            found = ", ".join(
                f"{way} {plus_minus(interval.mean, interval.half_width)} %"
                for way, interval in zip(WAYS, intervals, strict=True)
            )
            chance = percent(1 / PAIRS)
            retrieval = f"Retrieval accuracy over {GAPS[-1]} tokens: {found} (chance {chance})."
            charts.draw("retrieval", st, retrieval_chart(accuracy), retrieval)
            st.markdown(retrieval)
    charts.draw_footer(section("efficient", "delta"))


def draw_samples(charts: c.Charts, sample: Sample, request: CorrectionRequest) -> None:
    """Draw the change of the residual and cosines, of AR(1) tokens and of another sample."""
    n, memory, seed = 512, 128, 0
    if sample.kind == AR1:  # beside them: the first head
        n, memory, seed = min(sample.n, MOST_TOKENS), sample.memory, sample.draw
        sample = Sample(HEAD, sample.gate, 0, "2.2", verses()["Genesis 21:31"]["english"])
    if sample.kind == HEAD and len(sample.text) < SHORTEST - 1:
        st.info(f"Delta correction needs a text of at least {SHORTEST - 1} characters.")
        return
    slow, own = of_ar1(n, memory, seed, request), of_sample(sample, request)
    name = f"head {sample.head}" if sample.kind == HEAD else "independent tokens"
    samples = {AR1: slow, name: [own]}
    text = f"{ar1_text(slow)} {own_text(name, own)}"
    alt = "The correction helps where the mean change up to lag γ − 1 is below 1."
    left, right = c.chart_columns("samples", 2)
    charts.draw("change", left, change_chart(samples, request.gamma), alt)
    charts.draw("gamma", right, gamma_chart(samples), text)
    st.markdown(f"{text} {alt}")


def ar1_text(slow: list[Correction]) -> str:
    """Say whether the correction reduces the error on AR(1) tokens."""
    ratios = np.array([result.ratio for result in slow])
    if np.isnan(ratios).any():
        return f"**{AR1}**: {NOTHING_LEFT}"
    ratio = mean_interval(ratios)
    window, corrected = np.mean([result.cosine for result in slow], 0)
    return (
        f"{AR1}: {effect(ratio, 'the correction', 'the error', none=1)}. Cosine with full attention"
        f" {short(window)} → {short(corrected)}, squared error"
        f" {plus_minus(ratio.mean, ratio.half_width)} of the window's ({len(slow)} seeds), with"
        f" {percent(slow[0].share[1])} of the scores instead of {percent(slow[0].share[0])}."
    )


def own_text(name: str, result: Correction) -> str:
    """Say whether the correction reduces the error on the sample called ``name``."""
    title = f"{name[:1].upper()}{name[1:]}"
    if np.isnan(result.ratio):
        return f"**{title}**: {NOTHING_LEFT}"
    return (
        f"{title}: **it {'reduces' if result.ratio < 1 else 'increases'} the error**."
        f" {short(result.cosine[0])} → {short(result.cosine[1])}, squared error"
        f" {short(result.ratio)}."
    )


def models_text(with_gate: str, window: int, gamma: int) -> tuple[str, str]:
    """Say what the correction changes in whole models, and in how many heads it helps."""
    row, column = WINDOWS.index(window), GAMMAS.index(gamma)
    says, effects, heads = "", [], []
    for gate, _ in shared.gate_styles(with_gate):
        effect = shared.between(gate, "correction", (row, 1 + column), (row, 0))
        verb = by_interval(
            effect.low, effect.high, "reduces", "has an inconclusive effect on", "increases"
        )
        change = f"{effect.mean:+.3f}".replace("-", "−")
        says = says or (
            f"Correcting a window of {window} keys {verb} the loss without a gate: {change} nats"
            " per character."
        )
        effects.append(f"{verb} the loss ({gate}: {plus_minus(effect.mean, effect.half_width)})")
        ratios = shared.measured(gate, "correction.ratios")[:, row, column]
        heads.append(f"{int((ratios < 1).sum())} of {ratios.size} heads ({gate})")
    return says, (
        f"With γ = {gamma} it {', and '.join(effects)}, in nats per character ({len(SEEDS)} seeds,"
        f" 95 % interval). It reduces the output error of {' and '.join(heads)}."
    )


def mean_line(name: str, x: Iterable[object], values: np.ndarray, **style: Any) -> c.Trace:
    """Return the mean over seeds of ``values`` (n, S), with its 95 % interval if S > 1."""
    if values.shape[1] == 1:
        return c.line(name, x, values[:, 0], **style)
    means = [mean_interval(row) for row in values]
    return c.line(
        name, x, [mean.mean for mean in means], [mean.half_width for mean in means], **style
    )


def change_chart(samples: Samples, gamma: int) -> go.Figure:
    """Draw the relative squared change of the residual over the lag."""
    lines = []
    for (name, results), style in zip(samples.items(), STYLES, strict=True):
        change = np.stack([result.change for result in results], -1)
        lines.append(mean_line(name, range(1, len(change) + 1), change, **style))
    figure = c.chart(
        "Change of the residual",
        lines,
        "lag, queries",
        "relative squared change",
        y_axis={"rangemode": "tozero"},
    )
    return c.mark_x(c.mark_y(figure, 1.0, "no gain"), gamma, f"γ = {gamma}")


def gamma_chart(samples: Samples) -> go.Figure:
    """Draw cosines with full attention over γ; dotted: the share of scores."""
    steps, lines = [*map(str, GAMMA_STEPS), "none"], []
    for (name, results), style in zip(samples.items(), STYLES, strict=True):
        cosines = np.stack([[*result.by_gamma[0], result.cosine[0]] for result in results], -1)
        shares = [*results[0].by_gamma[1], results[0].share[0]]
        lines += [mean_line(name, steps, cosines, **style),
                  c.line(f"{name}, share of scores", steps, shares, **style | SHARE)]  # fmt: skip
    return c.chart("By γ (dotted: share of scores)", lines, "γ", "cosine", **COSINES)


def losses_chart(with_gate: str, window: int) -> go.Figure:
    """Draw the loss of whole models over γ."""
    row, lines = WINDOWS.index(window), []
    for gate, style in shared.gate_styles(with_gate):
        losses = [
            shared.delta_loss(gate, "correction", (row, i))
            for i in (*range(1, len(GAMMA_LABELS)), 0)
        ]
        lines.append(shared.loss_line(gate, GAMMA_LABELS, losses, **style))
    figure = c.chart(
        f"Δ loss of whole models, window {window}",
        lines,
        "γ",
        shared.DELTA_LOSS,
        height=shared.HEIGHT,
        x_axis={"type": "category"},
    )
    figure.update_xaxes(shared.WORDS).update_yaxes(shared.WORDS)
    return c.mark_y(figure.update_layout(legend_font_size=14), 0.0)


def retrieval_chart(accuracy: np.ndarray) -> go.Figure:
    """Draw accuracies (3, G, S) in the retrieval task over the gap."""
    lines = [
        mean_line(way, map(str, GAPS), rows, **style)
        for (way, style), rows in zip(WAYS.items(), accuracy, strict=True)
    ]
    figure = c.chart("Retrieval accuracy", lines, "gap, tokens", "accuracy", **COSINES)
    return c.mark_y(figure, 1 / PAIRS, "chance")

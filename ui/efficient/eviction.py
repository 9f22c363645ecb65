"""The tab KV-cache eviction: which keys a cache of fixed size keeps, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.efficient.cost import COSTS
from gating_core.lm.efficient.eviction import (
    BUDGETS,
    LONGEST,
    MEASURED_POLICIES,
    POLICIES,
    PREFILL,
    PREFILL_SHARE,
    SHORTEST_CACHE,
    Evicted,
    EvictionRequest,
    evict,
)
from ui.common import charts as c
from ui.common.formatting import by_interval, figures, percent, plus_minus
from ui.common.language_models import head_of, sign
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.efficient import shared
from ui.efficient.shared import HEAD, Sample
from ui.limits import LEFT_OUT_BUDGETS
from ui.work.cache import cached

STEPS = (2, 4, 8, 16, 32, 64)  # budgets of the head's curves, beside the selected one
STYLES: dict[str, c.Style] = {  # by the name on the page, in the order of the core's scores
    "recency": {"colour": c.GREY, "symbol": "x"},
    "accumulated attention": {"colour": c.BLUE},
    "value error": {"colour": c.ORANGE, "symbol": "square"},
    "key error": {"colour": c.GREEN, "symbol": "diamond"},
    "joint error": {"colour": c.MAGENTA, "symbol": "triangle-up"},
    "exact error": {"colour": c.TEAL, "symbol": "star"},
}
SCORE = dict(zip(STYLES, POLICIES, strict=True))
CHANNELS = 24  # of a head
BUDGET = "budget, and share of the cache"  # an axis
KEPT = [[0.0, "rgba(122, 135, 148, 0.15)"], [1.0, c.MAGENTA]]
PLAIN = {"showgrid": False}


@cached("Evicting keys one by one …")
def evicted_keys(sample: Sample, request: EvictionRequest) -> Evicted:
    """Evict keys by every policy: up to a second."""
    budgets = tuple(sorted({*STEPS, request.budget}))
    return evict(shared.head_sample(sample), request, budgets)


def draw() -> None:
    """Draw the tab: the Δ loss of whole models, and in folds one head and all policies."""
    row, gate, compared = shared.front_row()
    budget = row.slider(
        "Budget, keys",
        *LEFT_OUT_BUDGETS,
        16,
        key="evict_budget",
        **LINK,
        help="The number of keys that stay in the cache of each head.",
    )
    name = row.selectbox(
        "Eviction policy",
        [*STYLES],
        1,
        key="evict_by",
        width=240,
        **LINK,
        help="The score by which keys are ranked. *recency*: position. *accumulated attention*: the"
        " sum of the weights (H2O). *value*, *key*, *joint error*: the squared change of the output"
        " to first order if the value, the key, or both are set to 0. *exact error*: the squared"
        " change without this key.",
    )
    window = row.toggle(
        "Recent window",
        True,
        key="evict_window",
        **LINK,
        help="Half of the budget is reserved for the most recent keys.",
    )
    # Of whole models, the nearest policy and budget were measured.
    policy = SCORE[name] if window else f"{SCORE[name]}_unprotected"
    policy = policy if policy in MEASURED_POLICIES else SCORE[name]
    near = min(BUDGETS, key=lambda size: abs(np.log2(size / budget)))
    recent = "without" if policy.endswith("_unprotected") else "with"
    what = f"keeping {near} of {PREFILL} keys"
    how = f"{what} by {name}, {recent} a recent window"
    effect, detail = shared.gate_effect(what, how, compared, "eviction", setting(policy, near))
    draw_finding(effect)
    charts = c.Charts("eviction")
    lines = [(title, title, policy, style) for title, style in shared.gate_styles(compared)]
    figure = c.mark_x(
        losses_chart(f"Δ loss of whole models, {name}", lines), budget, f" <b>{budget} keys</b>"
    )
    charts.draw("gate", st.container(key="first"), figure, effect)
    st.markdown(detail)

    with shared.fold("All policies, without and with a recent window", "evict_all") as is_open:
        if is_open:
            draw_policies(charts, gate, near)
    with shared.fold("One head over a text", "evict_head") as is_open:
        sample, _ = shared.choose_sample(LONGEST, gate)
        if is_open:
            draw_head(charts, sample, EvictionRequest(SCORE[name], budget, window), policy, near)
    charts.draw_footer(
        section("efficient", "eviction", prefill=PREFILL, share=percent(PREFILL_SHARE))
    )


def draw_policies(charts: c.Charts, gate: str, near: int) -> None:
    """Draw the Δ loss of every policy, and say what the recent window changes."""
    lines = [(title, gate, SCORE[title], style) for title, style in STYLES.items()]
    lines[1:1] = [
        ("attention sink + recency", gate, "sink_recency", {"symbol": "x", "dash": "dash"}),
        ("accumulated, no window", gate, "mass_unprotected", {"colour": c.BLUE, "dash": "dot"}),
    ]
    figure = losses_chart(f"Δ loss by policy, {gate}", lines, legend=c.LEGEND_RIGHT)
    charts.draw("policies", st, figure, f"Δ loss by policy and budget, models with {gate}.")
    difference = shared.between(
        gate, "eviction", setting("mass_unprotected", near), setting("mass", near)
    )
    verdict = by_interval(
        difference.low, difference.high, "is lower", "differs inconclusively", "is higher"
    )
    st.markdown(
        f"Without a recent window, the loss by accumulated attention (budget {near}, {gate})"
        f" {verdict}: {plus_minus(difference.mean, difference.half_width)} nats per character."
    )


def draw_head(
    charts: c.Charts, sample: Sample, request: EvictionRequest, policy: str, near: int
) -> None:
    """Draw which keys of one head every policy keeps, and the error of its outputs."""
    if len(shared.head_sample(sample).values) < SHORTEST_CACHE:
        st.info(f"Eviction needs at least {SHORTEST_CACHE} tokens. Type a longer text.")
        return
    evicted, name = evicted_keys(sample, request), [*STYLES][[*POLICIES].index(request.policy)]
    row = 0 if request.protects else 1
    errors = evicted.errors[row, :, [*evicted.budgets].index(request.budget)]
    text = (
        f"This head, {request.budget} of {evicted.prefill} keys by {name}: relative squared error"
        f" of later outputs **{figures(errors[[*STYLES].index(name)])}** (lowest:"
        f" {figures(errors.min())}, {[*STYLES][errors.argmin()]})."
    )
    over, verses = over_verses(sample, policy, near, name)
    greedy = f"Evicting at every step, {percent(evicted.seen_newest)} of queries see their own key"
    if evicted.seen_newest < 1:
        greedy += ": **without a recent window a new key has no score and is evicted first**"
    greedy += f" (relative squared error {figures(evicted.reading_error)})."
    charts.draw("kept", st, kept_chart(evicted, row, sample.characters), text)
    charts.draw("errors", st, errors_chart(evicted, over), f"{text} {verses}")
    st.markdown(f"{text} {verses} {greedy}")


def setting(policy: str, budget: int) -> tuple[int, int]:
    """Return the indices of a measured policy and budget."""
    return [*MEASURED_POLICIES].index(policy), BUDGETS.index(budget)


def budgets_axis(budgets: list[int], length: int) -> c.Trace:
    """Return the axis of budgets, below each the share of the numbers of the full cache."""
    full = COSTS["full"](length, CHANNELS).stored
    shares = [COSTS["evicted"](length, CHANNELS, budget).stored / full for budget in budgets]
    texts = [f"{budget}<br>{share:.0%}" for budget, share in zip(budgets, shares, strict=True)]
    return c.ticks(budgets, texts)


def kept_chart(evicted: Evicted, row: int, text: str | None) -> go.Figure:
    """Draw the keys of the prefill that each policy keeps; ``text``: their characters."""
    signs = [*map(sign, text or "")][: evicted.prefill]
    axis = c.ticks(range(len(signs)), signs) | {"tickangle": 0, "tickfont": {"size": 12}}
    mask = evicted.kept[row].astype(np.uint8)
    kept = c.heatmap(
        mask,
        0,
        1,
        KEPT,
        y=[*STYLES],
        xgap=1,
        ygap=2,
        hovertemplate="%{y}, key %{x}: %{z}<extra></extra>",
    )
    return c.chart(
        "Keys kept after the prefill, by policy",
        [kept],
        height=180,
        x_axis=PLAIN | (axis if signs else {}),
        y_axis=PLAIN | {"autorange": "reversed"},
        margin={"l": 145, "r": 8, "t": 26, "b": 24},
    )


def losses_chart(
    title: str, lines: list[tuple[str, str, str, c.Style]], **layout: Any
) -> go.Figure:
    """Draw losses over budgets; ``lines``: name, gate, measured policy and style of each."""
    traces = []
    for name, gate, policy, style in lines:
        losses = [shared.delta_loss(gate, "eviction", setting(policy, size)) for size in BUDGETS]
        traces.append(shared.loss_line(name, BUDGETS, losses, **style))
    axis = budgets_axis([*BUDGETS], PREFILL)
    margin = {"l": 58, "r": 8, "t": 48, "b": 62}  # ticks have two lines
    figure = c.chart(
        title,
        traces,
        BUDGET,
        shared.DELTA_LOSS,
        height=shared.HEIGHT,
        x_axis=axis,
        margin=margin,
        **layout,
    )
    figure.update_xaxes(title_standoff=16, **shared.WORDS).update_yaxes(shared.WORDS)
    return figure.update_layout(legend_font_size=14)


def over_verses(sample: Sample, policy: str, near: int, name: str) -> tuple[list[c.Trace], str]:
    """Return the errors of this head over all held-out verses, if its gate is as trained."""
    if sample.kind != HEAD or sample.strength != 1:
        return [], ""
    row, column = setting(policy, near)
    index = sample.seed, row, slice(None), *head_of(sample.head)
    errors, half = (
        shared.measured(sample.gate, f"eviction.{part}")[index]
        for part in ("errors", "error_half_widths")
    )
    verses = shared.measured(sample.gate, "eviction.counts").shape[1]
    line = c.line(
        f"{verses} verses",
        BUDGETS,
        errors,
        half,
        colour=c.ACCENT,
        dash="dot",
        symbol="circle-open",
    )
    return [line], (
        f"Over {verses} held-out verses, {near} of {PREFILL} keys by {name} give this head an"
        f" error of {plus_minus(errors[column], half[column])}."
    )


def errors_chart(evicted: Evicted, over: list[c.Trace]) -> go.Figure:
    """Draw the output errors of this head; dashed: without a recent window."""
    some = evicted.budgets < evicted.prefill
    budgets, lines = [*map(int, evicted.budgets[some])], []
    for window, rows in zip((True, False), evicted.errors, strict=True):
        how = {"width": 2} if window else {"width": 1.5, "dash": "dash", "legend": False}
        lines += [
            c.line(name, budgets, row[some], **style | how)
            for (name, style), row in zip(STYLES.items(), rows, strict=True)
        ]
    return c.chart(
        "Output error (dashed: no recent window)",
        lines + over,
        BUDGET,
        "relative squared error",
        height=280,
        legend=c.LEGEND_RIGHT,
        y_axis=c.log_axis(decades=2),
        x_axis=c.log_axis() | budgets_axis(budgets, evicted.length),
    )

"""The tab Eviction: which keys a KV cache of fixed size keeps, and the loss that follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.efficient import COSTS
from gating_core.efficient import POLICIES as SCORES
from gating_core.lm.approximations.eviction import (
    BUDGETS,
    LONGEST,
    POLICIES,
    PREFILL,
    SHORTEST_CACHE,
    Evicted,
    EvictionRequest,
    Searched,
    evict,
    search,
)
from ui.common import charts as c
from ui.common.formatting import by_interval, figures, percent, plus_minus
from ui.common.language_models import head_of
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing import palette
from ui.drawing.characters import sign
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
SCORE = dict(zip(STYLES, SCORES, strict=True))
CHANNELS = 24  # of a head
BUDGET = "budget, and share of the cache"  # an axis
KEPT = [[0.0, "rgba(122, 135, 148, 0.15)"], [1.0, c.MAGENTA]]
SEEN = [[0.0, "rgba(0, 0, 0, 0)"], [0.5, palette.NEUTRAL], [1.0, c.MAGENTA]]
PLAIN = {"showgrid": False}


@cached("Evicting keys one by one …")
def evicted_keys(sample: Sample, request: EvictionRequest) -> Evicted:
    """Evict keys by every policy: up to a second."""
    budgets = tuple(sorted({*STEPS, request.budget}))
    return evict(shared.head_sample(sample), request, budgets)


@cached("Trying every subset of twelve keys …")
def searched(sample: Sample) -> Searched:
    """Return the best subsets of the first keys."""
    return search(shared.head_sample(sample))


def draw() -> None:
    """Draw the tab."""
    sample, row = shared.choose_sample(LONGEST)
    name = row.selectbox(
        "Eviction policy",
        [*STYLES],
        1,
        key="evict_by",
        **LINK,
        help="The score by which keys are ranked. *recency*: position. *accumulated attention*: the"
        " sum of the weights (H2O). *value*, *key*, *joint error*: the squared change of the output"
        " to first order if the value, the key, or both are set to 0. *exact error*: the squared"
        " change without this key.",
    )
    budget = row.slider(
        "Budget, keys",
        *LEFT_OUT_BUDGETS,
        16,
        key="evict_budget",
        **LINK,
        help="The number of keys that stay in the cache of each head.",
    )
    window = row.toggle(
        "Recent window",
        True,
        key="evict_window",
        **LINK,
        help="Half of the budget is reserved for the most recent keys.",
    )
    if len(shared.head_sample(sample).values) < SHORTEST_CACHE:
        st.info(f"Eviction needs at least {SHORTEST_CACHE} tokens. Type a longer text.")
        return
    evicted = evicted_keys(sample, EvictionRequest(SCORE[name], budget, window))
    charts, gate = c.Charts("eviction"), sample.gate

    # Whole models, at the nearest policy and budget that were measured.
    policy = SCORE[name] if window else f"{SCORE[name]}_unprotected"
    policy = policy if policy in POLICIES else SCORE[name]
    near = min(BUDGETS, key=lambda size: abs(np.log2(size / budget)))
    recent = "without" if policy.endswith("_unprotected") else "with"
    what = f"keeping {near} of {PREFILL} keys by {name}, {recent} a recent window,"
    effect = shared.gate_effect(what, sample.with_gate, "eviction", setting(policy, near))
    st.markdown(effect)
    first = c.chart_columns("first", 2)
    lines = [(title, title, policy, style) for title, style in shared.gate_styles(sample.with_gate)]
    figure = losses_chart(f"Δ loss of whole models, {name}", lines)
    charts.draw("gate", first[0], c.mark_x(figure, budget), effect)
    lines = [(title, gate, SCORE[title], style) for title, style in STYLES.items()]
    lines.insert(
        1, ("attention sink + recency", gate, "sink_recency", {"symbol": "x", "dash": "dash"})
    )
    figure = losses_chart(f"Δ loss by policy, {gate}", lines, legend=c.LEGEND_RIGHT)
    charts.draw("policies", first[1], figure, f"Δ loss by policy and budget, models with {gate}.")
    errors = evicted.errors[0 if window else 1, :, [*evicted.budgets].index(budget)]
    text = (
        f"This head, {budget} of {evicted.prefill} keys by {name}: relative squared error of later"
        f" outputs **{figures(errors[[*STYLES].index(name)])}** (lowest: {figures(errors.min())},"
        f" {[*STYLES][errors.argmin()]})."
    )
    charts.draw("kept", st, kept_chart(evicted, window, sample.characters), text)

    st.markdown("##### Output error of this head")
    second = c.chart_columns("errors", 2)
    over, verses = over_verses(sample, policy, near, name)
    charts.draw("errors", second[0], errors_chart(evicted, over), f"{text} {verses}")
    few = searched(sample)
    best = (
        f"The best 4 of the first {len(few.best) + 1} keys, by exhaustive search, have an error of"
        f" {figures(few.best[3])}; the best policy has {figures(few.errors[:, 3].min())}."
    )
    charts.draw("search", second[1], search_chart(few), best)
    st.markdown(f"{text} {verses} {best}")

    st.markdown("##### Eviction at every step, and the recent window")
    third = c.chart_columns("steps", [2, 3])
    greedy = f"Evicting at every step, {percent(evicted.seen_newest)} of queries see their own key"
    if evicted.seen_newest < 1:
        greedy += ": **without a recent window a new key has no score and is evicted first**"
    greedy += f" (relative squared error {figures(evicted.reading_error)})."
    charts.draw("steps", third[0], steps_chart(evicted), greedy)
    difference = shared.between(
        gate, "eviction", setting("mass_unprotected", near), setting("mass", near)
    )
    verdict = by_interval(
        difference.low, difference.high, "is lower", "differs inconclusively", "is higher"
    )
    without = (
        f"Without a recent window, the loss by accumulated attention (budget {near}, {gate})"
        f" {verdict}: {plus_minus(difference.mean, difference.half_width)} nats per character."
    )
    lines = [("no recent window", gate, "mass_unprotected", {"symbol": "x", "dash": "dot"}),
             ("half of the budget", gate, "mass", {"colour": c.MAGENTA})]  # fmt: skip
    figure = losses_chart(f"Δ loss, recent window or not, {gate}", lines)
    charts.draw("window", third[1], figure, without)
    st.markdown(f"{greedy} {without}")
    charts.draw_footer(section("efficient", "eviction", prefill=evicted.prefill))


def setting(policy: str, budget: int) -> tuple[int, int]:
    """Return the indices of a measured policy and budget."""
    return [*POLICIES].index(policy), BUDGETS.index(budget)


def budgets_axis(budgets: list[int], length: int) -> c.Trace:
    """Return the axis of budgets, below each the share of the numbers of the full cache."""
    full = COSTS["full"](length, CHANNELS).stored
    shares = [COSTS["evicted"](length, CHANNELS, budget).stored / full for budget in budgets]
    texts = [f"{budget}<br>{share:.0%}" for budget, share in zip(budgets, shares, strict=True)]
    return c.ticks(budgets, texts)


def kept_chart(evicted: Evicted, window: bool, text: str | None) -> go.Figure:
    """Draw the keys of the prefill that each policy keeps; ``text``: their characters."""
    signs = [*map(sign, text or "")][: evicted.prefill]
    axis = c.ticks(range(len(signs)), signs) | {"tickangle": 0, "tickfont": {"size": 10}}
    mask = evicted.kept[0 if window else 1].astype(np.uint8)
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


def steps_chart(evicted: Evicted) -> go.Figure:
    """Draw the keys that each query sees if keys are evicted at every step."""
    seen = evicted.reading.astype(np.uint8) + np.tri(evicted.length, dtype=np.uint8)
    text = "query %{y}, key %{x}: %{z} (2: seen, 1: evicted)<extra></extra>"
    keys = c.heatmap(seen, 0, 2, SEEN, hovertemplate=text)
    return c.chart(
        "Evicting at every step: keys seen",
        [keys],
        "key",
        "query",
        height=280,
        x_axis=PLAIN,
        y_axis=PLAIN | {"autorange": "reversed"},
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
    return c.chart(title, traces, BUDGET, shared.DELTA_LOSS, height=280, x_axis=axis, **layout)


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


def search_chart(few: Searched) -> go.Figure:
    """Draw the errors of the policies beside those of the best subset."""
    budgets = range(1, len(few.best) + 1)
    lines = [
        c.line(
            "optimal subset", budgets, few.best, colour=c.FAINT, dash="dash", width=4, mode="lines"
        )
    ]
    lines += [
        c.line(name, budgets, row, **style, legend=False)
        for (name, style), row in zip(STYLES.items(), few.errors, strict=True)
    ]
    return c.chart(
        "Exhaustive search, first 12 keys",
        lines,
        "budget",
        "relative squared error",
        height=280,
        x_axis={"dtick": 2},
        y_axis=c.log_axis(decades=2),
    )

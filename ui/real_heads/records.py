"""The tabs Sinks and top-k, and Norms: records of the whole bundled model, no head of it open."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.real_heads import EPSILONS, NORM_LAYERS, SIZES, shipped_record
from ui.common import charts as c
from ui.common.formatting import percent, short
from ui.common.lessons import section
from ui.common.page import draw_finding

COLUMNS = {f"n = {SIZES[0]}": (0, "trained"), f"random weights, n = {SIZES[0]}": (0, "random"),
           f"n = {SIZES[1]}": (1, "trained")}  # fmt: skip
PUBLISHED = {"name": "bert-base, published", "needed": (58.8, 107.8)}
SINK = 0.3  # share of the attention from which a head counts as having a sink
Arrays = dict[str, np.ndarray]
BARS = ("heads and projection", "+ residual", "+ LayerNorm", "LayerNorm of the state alone")
NORMS = "The curvature of a sublayer, part by part: heads, residual, LayerNorm."
COLOURS = (c.MAGENTA, c.ORANGE, c.BLUE, c.GREY)


def draw() -> None:
    """Draw the tab Sinks and top-k."""
    found = {name: shipped_record(f"{SIZES[i]}.{which}") for name, (i, which) in COLUMNS.items()}
    trained, random, longer = found.values()
    says, lead = sink_sentence(trained, random)
    draw_finding(says, lead=lead)
    st.markdown(f"{needed_sentence(trained, random)} {section('real_heads', 'sink')}")
    charts = c.Charts("heads_keys")
    left, right = c.chart_columns("heads_keys", [3, 2])
    charts.draw_table("keys", left, "Means over 72 heads, every token a query", table(found))
    left.caption(published_sentence(trained, longer))
    rule = rule_sentence(trained)
    charts.draw("rule", right, rule_chart(trained, random), rule)
    right.markdown(rule)
    st.page_link(
        "pages/8_Efficient_attention.py",
        label="Top-k on small character models",
        icon=":material/arrow_forward:",
    )
    charts.draw_footer(section("real_heads", "keys"))


def table(found: dict[str, Arrays]) -> dict[str, list[str]]:
    """Return the rows of the table, with the published numbers in the last column."""
    rows: dict[str, list[str]] = {}
    for (_, (i, _)), arrays in zip(COLUMNS.items(), found.values(), strict=True):
        n = SIZES[i]
        for e, epsilon in enumerate(EPSILONS):
            needed = arrays["needed"][e]
            rows.setdefault(f"keys needed, ε = {epsilon:g}", []).append(
                f"{needed.mean():.1f} ({percent(float(needed.mean()) / n)})"
            )
            rows.setdefault(f"Gaussian approximation, ε = {epsilon:g}", []).append(
                f"{arrays['gaussian'][e].mean():.1f}"
            )
            rows.setdefault(f"keys saved, ε = {epsilon:g}", []).append(f"{n / needed.mean():.2f}×")
        rows.setdefault("share of [CLS], of the text’s own tokens", []).append(
            percent(float(arrays["sink"].mean()))
        )
        rows.setdefault("share of [SEP], of the text’s own tokens", []).append(
            percent(float(arrays["last"].mean()))
        )
        rows.setdefault(f"heads with a sink (share > {SINK:g})", []).append(
            f"{int((arrays['sink'] > SINK).sum())} of {arrays['sink'].size}"
        )
        rows.setdefault("length of [CLS]’s value / own tokens’, median head", []).append(
            short(round(float(np.median(arrays["length"])), 3))
        )
        rows.setdefault("entropy / ln n", []).append(
            f"{float(arrays['text_entropy'].mean()) / np.log(n):.2f}"
        )
        rows.setdefault("σ of scores, median head", []).append(
            short(round(float(np.median(arrays["sigma"])), 2))
        )
    columns: dict[str, list[str]] = {"": [*rows]}
    columns |= {name: [row[at] for row in rows.values()] for at, name in enumerate(found)}
    published = dict.fromkeys(rows, "")
    published[f"keys needed, ε = {EPSILONS[0]:g}"] = " / ".join(
        f"{x:g} (n\u00a0=\u00a0{n})" for x, n in zip(PUBLISHED["needed"], SIZES, strict=True)
    )
    return columns | {str(PUBLISHED["name"]): [*published.values()]}


def sink_sentence(trained: Arrays, random: Arrays) -> tuple[str, str]:
    """Say how much [CLS] gets and how long its value is, beside random weights."""
    share, elsewhere = (float(x["sink"].mean()) for x in (trained, random))
    length, other = (float(np.median(x["length"])) for x in (trained, random))
    return f"[CLS] is a sink: it gets {percent(share)} of the attention in a mean head.", (
        f"With random weights it gets {percent(elsewhere)}. Its value is {short(round(length, 3))}"
        f" times as long as those of the text’s own tokens (median head; random"
        f" {short(round(other, 2))})."
    )


def needed_sentence(trained: Arrays, random: Arrays) -> str:
    """Say how many keys a tail mass needs, beside random weights."""
    n, epsilon = SIZES[0], EPSILONS[0]
    here, there = (percent(float(x["needed"][0].mean()) / n) for x in (trained, random))
    return (
        f"A tail mass of at most {epsilon:g} needs {here} of {n} keys in the mean of queries and"
        f" heads; with random weights {there}."
    )


def rule_sentence(trained: Arrays) -> str:
    """Say how good the Gaussian approximation is, head by head."""
    ratio = trained["needed"][0] / trained["gaussian"][0]
    worst = np.unravel_index(int(np.abs(np.log(ratio)).argmax()), ratio.shape)
    return (
        f"Keys needed over the Gaussian approximation: {float(np.median(ratio)):.2f} in the median"
        f" head, {float(ratio[worst]):.1f} in the worst (layer {worst[0] + 1}, head"
        f" {worst[1] + 1}; σ = {short(round(float(trained['sigma'][worst]), 1))})."
    )


def published_sentence(trained: Arrays, longer: Arrays) -> str:
    """Set the published numbers of another model beside those of this one."""
    here = " and ".join(f"{x['needed'][0].mean():.0f}" for x in (trained, longer))
    there = " and ".join(f"{x:g}" for x in PUBLISHED["needed"])
    return (
        f"Published for bert-base-uncased: {there} keys at ε = 0.01 for n = {SIZES[0]} and"
        f" {SIZES[1]}; here {here} in the mean. It is another model, and other texts."
    )


def rule_chart(trained: Arrays, random: Arrays) -> go.Figure:
    """Draw predicted against needed keys of all heads."""
    traces = []
    for name, arrays, style in (
        ("trained", trained, c.GATED),
        ("random weights", random, c.UNGATED),
    ):
        heads = [f"layer {i + 1}, head {j + 1}" for i, j in np.ndindex(arrays["sink"].shape)]
        traces.append(
            c.line(
                name,
                arrays["needed"][0].ravel(),
                arrays["gaussian"][0].ravel(),
                **style,
                mode="markers",
                labels=heads,
            )
        )
    n = SIZES[0]
    traces.append(
        c.line("equal", [1, n], [1, n], colour=c.FAINT, width=1, mode="lines", legend=False)
    )
    return c.chart(
        f"Gaussian approximation, n = {n}",
        traces,
        f"keys needed, ε = {EPSILONS[0]:g}",
        "keys predicted",
        height=340,
    )


# --- Norms ----------------------------------------------------------------------------------------


def draw_norms() -> None:
    """Draw the tab Norms."""
    totals = shipped_record("norms")["totals"]
    says, text = norm_sentence(totals)
    draw_finding(says, lead=NORMS)
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

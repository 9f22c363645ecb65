"""Charts and sentences of the tab Top-k, built from its numbers.

Shapes: P points of curves over k, S seeds, L layers, H heads, B bins, K sizes k, N texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.left_out import CERTIFICATES, COSTS
from gating_core.left_out_at_work import BINS, EPSILON, SIZES, RowAt, RowCurves
from ui.common.language_models import TITLES
from ui.common.words import error_text, figures, percent, short
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.language.selection import HEADS
from ui.left_out.line_chart import Style, gate_lines, gate_styles, level_line, line_chart
from ui.left_out.words import Arrays, Losses, by_seed, gate_text
from ui.limits import READ_CHARACTERS

PIXELS, LOWER_PIXELS = 262, 250
LEAST = 1e-4  # of a weight and of a mass that is drawn
LONG = 300  # keys: beyond it the axis of k is logarithmic
KEPT, LEFT = palette.SIDE_COLOURS["right"], palette.PLANE
TRUTH = Style("the truth", palette.BESIDE, width=3)
STYLES = {
    name: Style(CERTIFICATES[name].title, palette.CLASS_COLOURS[colour], dash, width=2)
    for name, colour, dash in (("one_gap", 1, "dot"), ("kept_and_next", 0, "dash"),
                               ("several_gaps", 3, "dashdot"), ("even_gaps", 2, "longdash"))
}  # fmt: skip
CONTEXT = READ_CHARACTERS + 1  # characters of the losses' texts
LOSSES = (-4, 0.5)  # powers of ten, nats
TICKS = (1, 0.1, 0.01, 0.001, 0.0001)
FAR = 2.0  # times too few keys: then the rule has failed
Differences = Mapping[str, Mapping[int, PairedDifference]]  # by the models' title and k


def weight_chart(row: RowCurves, k: int, text: str | None) -> go.Figure:
    """Draw the weights in order; those beyond ``k`` are left out. ``text``: their characters."""
    names = ["" if text is None else f" of “{sign(text[key])}”, character {key}"
             for key in row.keys]  # fmt: skip
    traces: list[dict[str, Any]] = []
    for name, chosen, colour, pattern in (
        ("kept", row.ks <= k, KEPT, ""), ("left out", row.ks > k, LEFT, "/"),
    ):  # fmt: skip
        shown = np.maximum(row.weights[chosen], LEAST * 1.05)
        common = {
            "x": row.ks[chosen], "name": name,
            "customdata": [f"{weight:.3g}{of}" for weight, of, here in
                           zip(row.weights, names, chosen, strict=True) if here],
            "hovertemplate": f"weight %{{x}} in order: %{{customdata}}<extra>{name}</extra>",
        }  # fmt: skip
        if row.n <= LONG:
            traces.append({
                "type": "bar", "y": shown, **common,
                "marker": {"color": colour, "pattern": {"shape": pattern, "size": 4}},
            })  # fmt: skip
        else:
            traces.append({
                "type": "scatter", "mode": "lines", "y": shown, **common,
                "line": {"color": colour, "dash": "dot" if pattern else "solid", "width": 3},
            })  # fmt: skip
    low = LEAST if row.n <= LONG else max(1e-12, float(row.weights.min()) / 2)
    up = {"type": "log", "range": [np.log10(low), 0.05], "exponentformat": "power", "dtick": 1}
    return _over_k(traces, row, k, "weight", up, PIXELS).update_layout(bargap=0)


def bound_chart(row: RowCurves, k: int, epsilon: float) -> go.Figure:
    """Draw the mass left out over k, and above it the bound of each certificate."""
    curves = [(TRUTH, row.mass), *((STYLES[name], of) for name, of in row.bounds.items())]
    traces = [_curve(row, style, np.where(curve >= LEAST, curve, np.nan), "at most ")
              for style, curve in curves]  # fmt: skip
    up = {"type": "log", "range": [np.log10(LEAST), 0.05], "tickvals": TICKS,
          "ticktext": [f"{tick:g}" for tick in TICKS]}  # fmt: skip
    figure = _over_k(traces, row, k, "mass left out, τ", up, PIXELS)
    figure.update_layout(legend={"orientation": "v", "x": 0.01, "y": 0.01, "yanchor": "bottom",
                                 "font": {"size": 10}, "bgcolor": "rgba(0, 0, 0, 0)"})  # fmt: skip
    return figure.add_shape(level_line(epsilon, f"ε = {epsilon:g}"))


def loss_chart(losses: Mapping[str, Mapping[int, PairedDifference]], k: int | None) -> go.Figure:
    """Draw the losses above those of the same models with all keys, by title and k."""
    figure = line_chart(gate_lines(losses), "k, and the share of values mixed", "nats a character",
                        log=True)  # fmt: skip
    figure.update_layout(height=PIXELS, margin_b=50)
    full = COSTS["full"](CONTEXT, 1).mixed
    texts = [f"{size}<br>{COSTS['top_k'](CONTEXT, 1, size).mixed / full:.0%}" for size in SIZES]
    figure.update_xaxes(tickvals=SIZES, ticktext=texts, dtick=None)
    figure.update_yaxes(range=LOSSES)
    if k is not None:
        _line(figure, np.log10(k), k)
    return figure


def error_chart(row: RowCurves, k: int) -> go.Figure:
    """Draw how far the output moves for every k, and τ times the diameter."""
    assert row.errors is not None
    styles = (
        Style("output", palette.BESIDE),
        Style("τ · diameter", palette.CLASS_COLOURS[1], "dot"),
    )
    traces = [_curve(row, style, curve) for style, curve in zip(styles, row.errors, strict=True)]
    return _over_k(traces, row, k, "|o − ô|", {"rangemode": "tozero"}, LOWER_PIXELS)


def rule_chart(rules: Mapping[str, Sequence[np.ndarray]], names: Sequence[str]) -> go.Figure:
    """Draw predicted and needed k of all heads (S, H), by the models' title."""
    traces: list[dict[str, Any]] = []
    for (title, (predicted, needed)), style in zip(rules.items(), gate_styles(rules), strict=True):
        seeds = len(predicted)
        traces.append({
            "type": "scatter", "mode": "markers", "x": needed.ravel(), "y": predicted.ravel(),
            "name": title, "text": [f"head {name}, seed {seed}" for seed in range(seeds)
                                    for name in names],
            "marker": {"size": 7, "symbol": style.symbol, "color": style.colour}, "opacity": 0.75,
            "hovertemplate": f"{title}, %{{text}}: needs %{{x:.0f}}, rule %{{y:.1f}}"
            "<extra></extra>",
        })  # fmt: skip
    axis = {"type": "log", "range": [-0.05, 2.15], "tickvals": [1, 3, 10, 30, 100]}
    diagonal = {"type": "line", "x0": 1, "y0": 1, "x1": 128, "y1": 128,
                "line": {"width": 1, "dash": "dash", "color": palette.PLANE}}  # fmt: skip
    return _figure(traces, LOWER_PIXELS, ("k that a head needs", axis), ("k by the rule", axis),
                   shapes=[diagonal])  # fmt: skip


def score_chart(row: RowCurves) -> go.Figure:
    """Draw the distributions of scores and of their weight, beside normal distributions."""
    middles, width = (BINS[1:] + BINS[:-1]) / 2, BINS[1] - BINS[0]
    traces: list[dict[str, Any]] = []
    for name, shares, colour, pattern, centre in (
        ("keys", row.counts, palette.SIDE_COLOURS["left"], "", 0.0),
        ("their weight", row.carried, palette.SIDE_COLOURS["right"], "/", row.sigma),
    ):
        traces.append({
            "type": "bar", "x": middles, "y": 100 * shares, "name": name, "opacity": 0.6,
            "marker": {"color": colour, "pattern": {"shape": pattern, "size": 4}},
            "hovertemplate": f"%{{x:.2f}} σ: %{{y:.1f}} % of {name}<extra></extra>",
        })  # fmt: skip
        normal = np.exp(-((middles - centre) ** 2) / 2) * width / np.sqrt(2 * np.pi)
        traces.append({
            "type": "scatter", "mode": "lines", "x": middles, "y": 100 * normal,
            "name": f"{name}, by the rule", "hoverinfo": "skip", "showlegend": False,
            "line": {"color": colour, "dash": "dash", "width": 2},
        })  # fmt: skip
    seen = np.flatnonzero(row.counts + row.carried)
    reach = [min(middles[seen[0]], -3.5), max(middles[seen[-1]], row.sigma + 2.5, 3.5)]
    across = {"range": [max(reach[0], BINS[0]), min(reach[1], BINS[-1])]}
    return _figure(traces, LOWER_PIXELS, ("score minus the row's mean, in σ", across),
                   ("share, %", {}), barmode="overlay", bargap=0)  # fmt: skip


def _curve(row: RowCurves, style: Style, y: np.ndarray, most: str = "") -> dict[str, Any]:
    """A line over k; ``most`` stands before its value under the pointer."""
    return {
        "type": "scatter", "mode": "lines", "x": row.ks, "y": y, "name": style.name,
        "line": {"color": style.colour, "dash": style.dash, "width": style.width},
        "hovertemplate": f"k = %{{x}}: {most}%{{y:.3g}}<extra>{style.name}</extra>",
    }  # fmt: skip


def _over_k(
    traces: list[dict[str, Any]], row: RowCurves, k: int, name: str, up: dict[str, Any],
    height: int,
) -> go.Figure:  # fmt: skip
    """A figure over k, in which the selected ``k`` is marked."""
    across = {"type": "log", "dtick": 1} if row.n > LONG else {"range": [0.4, row.n + 0.6]}
    figure = _figure(traces, height, ("k", across), (name, up), left=54, hovermode="closest")
    return _line(figure, np.log10(k + 0.5) if row.n > LONG else k + 0.5, k)


def _figure(
    traces: list[dict[str, Any]], height: int, x: tuple[str, dict[str, Any]],
    y: tuple[str, dict[str, Any]], left: int = 46, **layout: Any,
) -> go.Figure:  # fmt: skip
    """A figure with its legend above; ``x`` and ``y``: name and properties of each axis."""
    return go.Figure({"data": traces, "layout": {
        "height": height, "margin": {"l": left, "r": 8, "t": 26, "b": 38},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {"title": {"text": x[0], "standoff": 2}, **x[1]},
        "yaxis": {"title": {"text": y[0], "standoff": 4}, **y[1]}, **layout,
    }})  # fmt: skip


def _line(figure: go.Figure, at: float, k: int) -> go.Figure:
    """Draw an upright line; ``at`` as the axis counts, in powers of ten where it is logarithmic."""
    line = {"width": 1.5, "dash": "dot", "color": palette.ACCENT}
    shape = {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}
    note = {"text": f"k = {k:,}", "x": at, "yref": "paper", "y": 0.98, "showarrow": False,
            "xanchor": "left", "font": {"size": 11}}  # fmt: skip
    if figure.layout.xaxis.type == "log":
        shape |= {"x0": 10**at, "x1": 10**at}
    return figure.add_shape(shape).add_annotation(note)


def losses_of(tables: Sequence[Arrays]) -> Losses:
    """Return the losses with top-k, a column for each of `SIZES`, of models of several seeds."""
    sums = by_seed(tables, "truncation.sums")
    return Losses(sums[:, :-1], sums[:, -1], by_seed(tables, "truncation.counts")[0])


def loss_text(losses: Differences, saves: PairedDifference, size: int) -> str:
    """Say whether truncation is cheaper with a gate; ``losses`` by title, the ungated first."""
    ungated, gated = (of[size].mean for of in losses.values())
    return gate_text(saves, f"top-{size} in every head", ungated, gated)


def row_text(row: RowCurves, at: RowAt, k: int) -> str:
    """Say what one row leaves out with ``k`` kept, in three ways, and what that changes."""
    apart = max(at.masses) - min(at.masses)
    mass, variation, divergence = map(figures, at.masses)
    text = (
        f"The last query, k = {k:,} of {row.n:,}: **τ = {mass}** is left out. Total variation is"
        f" {variation}, 1 − e^(−KL) is {divergence}: {_equal(apart)}."
    )
    if at.errors is None:
        return text
    direct, factored, bound = at.errors
    return (
        f"{text} The output moves by **{figures(direct)}**. τ · |μ_tail − μ_head| is"
        f" {figures(factored)}: {_equal(abs(direct - factored))}. The bound τ · diameter is"
        f" {figures(bound)}."
    )


def _equal(apart: float) -> str:
    return f"equal up to {error_text(apart)}" if apart else "equal"


def certificate_text(row: RowCurves, epsilon: float) -> str:
    """Say which k is needed for ``epsilon`` and which the best and the worst certificate know."""
    truth, *others = row.certified.values()
    best, worst = min(others, key=lambda one: one.k), max(others, key=lambda one: one.k)
    return (
        f"For τ ≤ {percent(epsilon)} this row needs k = {truth.k:,}. The best certificate"
        f" ({best.title}) gives {best.k:,}, the worst ({worst.title}) {worst.k:,}. The Gaussian"
        f" rule gives {short(row.rule)} for many keys (σ = {short(row.sigma)}),"
        f" {row.by_quantiles:,} for {row.n:,}."
    )


def certificate_rows(row: RowCurves) -> Iterator[tuple[str, ...]]:
    """Yield the table of certificates: names first."""
    yield "known from", "k for ε", "keys scored", "saved"
    for one in row.certified.values():
        yield one.title, f"{one.k:,}", f"{one.scored:,}", percent(1 - one.scored / row.n)


def cost_text(n: int, k: int) -> str:
    """Say what top-k saves over a text of ``n`` tokens when all scores are computed."""
    full, part = COSTS["full"](n, 1), COSTS["top_k"](n, 1, k)  # shares, whatever the channels
    return (
        f"Cost of top-{k:,} over a text of {n:,} tokens, against full attention:"
        f" {percent(part.scores / full.scores)} of the scores,"
        f" {percent(part.mixed / full.mixed)} of the products with values,"
        f" {percent(part.stored / full.stored)} of the stored numbers. Only an index that orders"
        " keys without their scores saves scores."
    )


def rule_text(rules: Mapping[str, Sequence[np.ndarray]]) -> str:
    """Say in how many heads the rule asks for far too few keys; predicted and needed (S, L H)."""
    parts, alike = [], []
    for title, (predicted, needed) in rules.items():
        logs = np.log(np.stack([predicted.ravel(), needed.ravel()]))
        if np.ptp(logs, 1).all():  # where all are equal there is no correlation
            alike.append(f"{short(float(np.corrcoef(logs)[0, 1]))} ({title})")
        far = needed > FAR * predicted
        median = f", median need {short(float(np.median(needed[far])))} keys" if far.any() else ""
        parts.append(f"in {int(far.sum())} of {far.size} heads ({title}{median})")
    return (
        "The Gaussian rule gives less than half of the keys that τ ≤"
        f" {percent(EPSILON)} needs {', '.join(parts)}."
    ) + (f" The logarithms of rule and need correlate by {', '.join(alike)}." if alike else "")


def why_text(row: RowCurves) -> str:
    """Say where the weight lies, and where the rule expects it."""
    middles = (BINS[1:] + BINS[:-1]) / 2
    centre = float((row.carried * middles).sum() / row.carried.sum())
    return (
        f"The weight of these rows lies {short(centre)} σ above their mean score. If scores were"
        f" normal, it would lie at {short(row.sigma)} σ."
    )


def row_csv(row: RowCurves) -> Iterator[Sequence[object]]:
    """Yield a row for every k of the curves."""
    names = ("moved", "tau times diameter")
    errors = [] if row.errors is None else [*row.errors]
    yield "k", "key", "weight", "mass left out", *row.bounds, *names[: len(errors)]
    columns = (row.ks, row.keys, row.weights, row.mass, *row.bounds.values(), *errors)
    for values in zip(*columns, strict=True):
        yield [value.item() for value in values]


def heads_csv(tables: Mapping[tuple[str, int], Arrays]) -> Iterator[Sequence[object]]:
    """Yield a row for every head of every measured model."""
    yield "model", "seed", "head", "sigma", "k needed", "k needed, upper decile", "k by the rule"
    for (name, seed), of in tables.items():
        columns = [of[f"truncation.{part}"].ravel() for part in
                   ("sigma", "needed", "needed_high", "rule")]  # fmt: skip
        for head, *values in zip(HEADS, *columns, strict=True):
            yield TITLES[name], seed, head, *map(float, values)


def losses_csv(losses: Differences) -> Iterator[Sequence[object]]:
    """Yield a row for every k."""
    yield "models", "k", "nats above full attention", "half-width of its 95 % interval"
    for title, of in losses.items():
        for size, loss in of.items():
            yield title, size, loss.mean, loss.half_width

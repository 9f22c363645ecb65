"""Charts and sentences of the tab Eviction, built from its numbers.

Shapes: T tokens, n keys of a prefill, P policies, b budgets, S seeds, N texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

import gating_core.left_out_at_work as core
from gating_core.at_work import PairedDifference, loss_difference
from gating_core.language import MODELS
from gating_core.left_out import COSTS
from gating_core.left_out import POLICIES as SCORES
from ui.common.words import error_text, figures, percent, plus_minus
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.left_out.line_chart import Line, Style, difference_line, gate_lines, line_chart
from ui.left_out.request import EVICT_BY
from ui.left_out.words import LEAST_SEEDS, Arrays, Losses, by_seed, gate_text

BESIDE = {"orientation": "v", "x": 1.01, "y": 1, "yanchor": "top", "font": {"size": 10}}
STRIP_PIXELS, PIXELS, LOWER_PIXELS = 160, 205, 235
LABELLED = 128  # characters at most, beside which each has its sign
CHANNELS = MODELS["none"].width // MODELS["none"].heads  # of a head

NAMES = {policy: words for words, policy in EVICT_BY.items()}
STYLES = {
    "recency": Style(NAMES["recency"], palette.SIDE_COLOURS["left"], symbol="x"),
    "mass": Style(NAMES["mass"], palette.CLASS_COLOURS[0], symbol="circle"),
    "value": Style(NAMES["value"], palette.CLASS_COLOURS[1], symbol="square"),
    "key": Style(NAMES["key"], palette.CLASS_COLOURS[2], symbol="diamond"),
    "joint": Style(NAMES["joint"], palette.SIDE_COLOURS["right"], symbol="triangle-up"),
    "exact": Style(NAMES["exact"], palette.BESIDE, symbol="star"),
}
SCALE = [[0.0, "rgba(122, 135, 148, 0.15)"], [1.0, palette.SIDE_COLOURS["right"]]]
MAP_SCALE = [
    [0.0, "rgba(0, 0, 0, 0)"],
    [0.5, palette.NEUTRAL],
    [1.0, palette.SIDE_COLOURS["right"]],
]
SEARCHED_BUDGET = 4  # keys, of which the sentence speaks
Differences = Mapping[str, Mapping[int, PairedDifference]]  # by name and budget
ByPolicy = dict[str, dict[int, PairedDifference]]  # and by budget


def strip_chart(result: core.Evicted, protects: bool, text: str | None) -> go.Figure:
    """Draw which keys of the prefill each policy keeps; ``text``: the characters there."""
    kept = result.kept[0 if protects else 1].astype(np.uint8)
    signs = [*map(sign, text or "")][: result.prefill]
    names = [style.name for style in STYLES.values()]
    axis = {"tickvals": [*range(len(signs))], "ticktext": signs, "tickangle": 0, "ticks": "",
            "tickfont": {"size": 10}} if 0 < len(signs) <= LABELLED else {}  # fmt: skip
    return go.Figure({"data": [{
        "type": "heatmap", "z": kept, "y": names, "zmin": 0, "zmax": 1, "colorscale": SCALE,
        "showscale": False, "xgap": 1, "ygap": 2,
        "hovertemplate": "%{y}, key %{x}: %{z}<extra></extra>",
    }], "layout": {
        "height": STRIP_PIXELS, "margin": {"l": 96, "r": 8, "t": 4, "b": 24},
        "xaxis": {"showgrid": False, **axis},
        "yaxis": {"autorange": "reversed", "showgrid": False},
    }})  # fmt: skip


def reading_chart(result: core.Evicted) -> go.Figure:
    """Draw the keys that each query sees while keys are evicted one by one; the others are grey."""
    seen = result.reading.astype(np.uint8) + np.tri(result.length, dtype=np.uint8)
    return go.Figure({"data": [{
        "type": "heatmap", "z": seen, "zmin": 0, "zmax": 2, "colorscale": MAP_SCALE,
        "showscale": False,
        "hovertemplate": "query %{y}, key %{x}: %{z} (2: there, 1: has left)<extra></extra>",
    }], "layout": {
        "height": PIXELS, "margin": {"l": 46, "r": 8, "t": 26, "b": 34},
        "xaxis": {"title": {"text": "key", "standoff": 2}, "showgrid": False},
        "yaxis": {"title": {"text": "query", "standoff": 4}, "autorange": "reversed",
                  "showgrid": False},
    }})  # fmt: skip


def loss_chart(losses: Differences) -> go.Figure:
    """Draw losses above the full cache over budgets, by policy that protects recent keys."""
    figure = _losses([
        difference_line(replace(STYLES[of.score], name=of.title, width=2.0,
                                dash="dash" if of.first else "solid"), losses[name])
        for name, of in core.POLICIES.items() if of.protects
    ])  # fmt: skip
    return figure.update_layout(height=LOWER_PIXELS, legend=BESIDE)


def pair_chart(losses: Differences, budget: int | None = None) -> go.Figure:
    """Draw two losses over budgets by name, to compare: the second may be lower."""
    figure = _losses(gate_lines(losses))
    if budget is not None:
        figure.add_vline(budget, line={"width": 1.5, "dash": "dot", "color": palette.ACCENT})
    return figure


def error_chart(result: core.Evicted, over_texts: Line | None = None) -> go.Figure:
    """Draw errors of a head's later outputs over budgets; with nothing protected dashed.

    ``over_texts``: those of the same head by the selected policy over all measured texts.
    """
    some = result.budgets < result.prefill
    budgets = [*map(int, result.budgets[some])]
    lines = [
        Line(replace(style, dash="solid" if protects else "dash", listed=protects,
                     width=2.0 if protects else 1.5), budgets, errors[some])
        for protects, rows in zip((True, False), result.errors, strict=True)
        for style, errors in zip(STYLES.values(), rows, strict=True)
    ]  # fmt: skip
    if over_texts is not None:
        lines.append(over_texts)
    figure = line_chart(lines, "budget, and the share of numbers stored", "error", log=True)
    _shares(figure, budgets, result.length)
    return figure.update_layout(height=LOWER_PIXELS, legend=BESIDE)


def texts_line(errors: np.ndarray, half_widths: np.ndarray, texts: int) -> Line:
    """The errors (b,) of a head over ``texts``, with their intervals, for `error_chart`."""
    style = Style(f"over {texts} texts", palette.ACCENT, "dot", "circle-open", width=2)
    return Line(style, core.BUDGETS, errors, half_widths)


def search_chart(result: core.Searched) -> go.Figure:
    """Draw errors of each policy for few keys, and of the best subset there is."""
    budgets = np.arange(1, len(result.best) + 1)
    lines = [
        Line(Style("best subset", palette.PLANE, "dash", "line-ew", width=4), budgets, result.best)
    ]
    lines += [Line(replace(style, listed=False), budgets, errors)  # listed in `error_chart`
              for style, errors in zip(STYLES.values(), result.errors, strict=True)]  # fmt: skip
    figure = line_chart(lines, "keys kept of the first 12", "error", log=True)
    return figure.update_xaxes(type="linear", dtick=2).update_layout(height=LOWER_PIXELS)


def _losses(lines: Sequence[Line]) -> go.Figure:
    figure = line_chart(lines, "budget, and the share of numbers stored", "nats a character")
    figure.update_yaxes(rangemode="tozero")
    _shares(figure, [*map(int, np.array(lines[0].x))], core.PREFILL)
    return figure.update_layout(height=PIXELS)


def _shares(figure: go.Figure, budgets: Sequence[int], length: int) -> None:
    """Write below each budget which share of the numbers of ``length`` keys it keeps."""
    full = COSTS["full"](length, CHANNELS).stored
    texts = [f"{budget}<br>{COSTS['evicted'](length, CHANNELS, budget).stored / full:.0%}"
             for budget in budgets]  # fmt: skip
    figure.update_xaxes(tickvals=[*budgets], ticktext=texts, dtick=None)
    figure.update_layout(margin_b=46)


def measured_policy(request: core.EvictionRequest) -> str:
    """Return the measured policy that is nearest to the one selected."""
    unprotected = f"{request.policy}_unprotected"
    return unprotected if not request.protects and unprotected in core.POLICIES else request.policy


def losses_of(tables: Sequence[Arrays], policy: str) -> Losses:
    """Return the losses by a measured policy, a column a budget, of models of several seeds."""
    sums = by_seed(tables, "eviction.sums")[:, [*core.POLICIES].index(policy)]
    return Losses(sums, by_seed(tables, "eviction.full"), by_seed(tables, "eviction.counts")[0])


def protection_saves(tables: Sequence[Arrays], budget: int) -> PairedDifference:
    """Return how much more is lost by mass with nothing protected than with half of the budget."""
    column = core.BUDGETS.index(budget)
    without, half = (losses_of(tables, name) for name in ("mass_unprotected", "mass"))
    return loss_difference(without.sums[:, column], half.sums[:, column], half.counts)


def loss_text(losses: Differences, saves: PairedDifference, policy: str, budget: int) -> str:
    """Say whether a cache is cheaper with a gate; ``losses`` by title, the ungated first."""
    ungated, gated = (of[budget].mean for of in losses.values())
    what = f"a cache of {budget} of {core.PREFILL} keys by {core.POLICIES[policy].title}"
    return gate_text(saves, what, ungated, gated)


def protection_text(saves: PairedDifference, budget: int, title: str) -> str:
    """Say what it costs whole models, called ``title``, to protect nothing."""
    if len(saves.by_seed) < LEAST_SEEDS:
        return ""
    verdict = "costs" if saves.low > 0 else "saves" if saves.high < 0 else "may cost or save"
    return (
        f"After one prefill (budget {budget}, by mass, {title}), protecting nothing {verdict}"
        f" {plus_minus(abs(saves.mean), saves.half_width)} nats a character."
    )


def errors_over_texts(
    table: Arrays, policy: str, head: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return errors of a head's outputs over the measured texts (b,), and their half-widths.

    ``head`` is its layer and its number there, both counted from 0.
    """
    at = ([*core.POLICIES].index(policy), slice(None), *head)
    return table["eviction.errors"][at], table["eviction.error_half_widths"][at]


def over_texts_text(
    errors: np.ndarray, half_widths: np.ndarray, texts: int, policy: str, budget: int
) -> str:
    """Say by how much a head's outputs change, over all measured texts."""
    row, title = core.BUDGETS.index(budget), core.POLICIES[policy].title
    return (
        f"Over {texts} texts of the corpus, {budget} of {core.PREFILL} keys by {title}"
        " change the later outputs of this head by"
        f" {plus_minus(float(errors[row]), float(half_widths[row]))}."
    )


def head_text(result: core.Evicted, request: core.EvictionRequest, index: int) -> str:
    """Say by how much the head's outputs change; ``index`` of the budget among those drawn."""
    errors = dict(zip(SCORES, result.errors[0 if request.protects else 1, :, index], strict=True))
    best = min(errors, key=lambda policy: errors[policy])
    own = f"{NAMES[request.policy]} change later outputs by {figures(errors[request.policy])}"
    rest = "That is least." if best == request.policy else (
        f"Least: {figures(errors[best])}, by {NAMES[best]}."
    )  # fmt: skip
    return (
        f"In this head, {result.budgets[index]} of {result.prefill} keys by {own} (squared,"
        " relative)."
        f" {rest}"
    )


def reading_text(result: core.Evicted) -> str:
    """Say what happens where keys are evicted one by one, and why that needs protection."""
    own = percent(result.seen_newest)
    why = "" if result.seen_newest == 1 else (
        ": **the newest key has been seen by nobody, is worth nothing, and leaves first**"
    )  # fmt: skip
    return (
        f"One by one: {own} of queries see their own key{why}. Outputs change by"
        f" {figures(result.reading_error)}."
    )


def identity_text(check: core.Identity) -> str:
    """Say that the identity for one key holds, as computed here."""
    return (
        f"Without one of {check.keys} keys the last output moves by a / (1 − a) · (o − v). Computed"
        f" anew, the move is the same to {error_text(check.apart)} (largest move"
        f" {figures(check.largest)})."
    )


def search_text(result: core.Searched) -> str:
    """Say how near policies come to the best subset of few keys."""
    column = SEARCHED_BUDGET - 1
    errors = dict(zip(SCORES, result.errors[:, column], strict=True))
    best = min(errors, key=lambda policy: errors[policy])
    return (
        f"The best {SEARCHED_BUDGET} of the first {len(result.best) + 1} keys have an error of"
        f" {figures(result.best[column])}. The best policy, {NAMES[best]}, has"
        f" {figures(errors[best])}."
    )


def cost_text(length: int, budget: int) -> str:
    """Say what a cache saves over a text of ``length`` tokens."""
    full, part = COSTS["full"](length, 1), COSTS["evicted"](length, 1, budget)
    return (
        f"A cache of {budget} keys takes {percent(part.scores / full.scores)} of the scores of"
        f" {length:,} tokens."
    )


def kept_csv(result: core.Evicted) -> Iterator[Sequence[object]]:
    """Yield a row for every policy and key of the prefill."""
    yield "policy", "recent keys protected", "key", "kept"
    for protects, rows in zip((True, False), result.kept, strict=True):
        for policy, row in zip(SCORES, rows, strict=True):
            for key, kept in enumerate(row):
                yield NAMES[policy], protects, key, bool(kept)


def errors_csv(result: core.Evicted, searched: core.Searched) -> Iterator[Sequence[object]]:
    """Yield a row for every error of the head."""
    yield "keys", "policy", "recent keys protected", "budget", "error"
    for protects, rows in zip((True, False), result.errors, strict=True):
        for policy, row in zip(SCORES, rows, strict=True):
            for budget, error in zip(result.budgets, row, strict=True):
                yield result.prefill, NAMES[policy], protects, int(budget), float(error)
    few = len(searched.best) + 1
    for policy, row in [("best subset", searched.best), *zip(SCORES, searched.errors, strict=True)]:
        for column, error in enumerate(row):
            yield few, NAMES.get(policy, policy), False, column + 1, float(error)


def losses_csv(losses: Mapping[str, ByPolicy]) -> Iterator[Sequence[object]]:
    """Yield a row for every policy and budget of whole models, by title."""
    yield "models", "policy", "budget", "nats above a full cache", "half-width of its 95 % interval"
    for title, by_policy in losses.items():
        for policy, of in by_policy.items():
            for budget, loss in of.items():
                yield title, core.POLICIES[policy].title, budget, loss.mean, loss.half_width

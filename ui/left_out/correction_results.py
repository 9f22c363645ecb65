"""Charts and sentences of the tab Correction, built from its numbers.

Outputs in a plane, cosines beside the share of scores, retrieval. Shapes: T queries, n points of a
curve, S seeds, N texts, G distances of anchors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

import gating_core.left_out_at_work as core
from gating_core.at_work import PairedDifference, loss_difference
from gating_core.training import mean_interval
from ui.common.words import percent, plus_minus, short
from ui.drawing import palette
from ui.left_out.line_chart import Line, Style, gate_lines, line_chart
from ui.left_out.words import LEAST_SEEDS, Arrays, Losses, by_seed, gate_verdict, nats, nearest

FULL = Style("full", palette.SIDE_COLOURS["left"], "solid", "circle")
SPARSE = Style("window", palette.CLASS_COLOURS[1], "dash", "x")
CORRECTED = Style("corrected", palette.CLASS_COLOURS[0], "solid", "diamond")
WAYS = (FULL, SPARSE, CORRECTED)
SLOW = Style("slow tokens", palette.BESIDE, "solid", "circle")
PLANE_PIXELS = 195
NONE = "none"  # where nothing is corrected
COLUMNS = (*map(str, core.GAMMAS), NONE)  # of losses: by the γ of their correction
Differences = Mapping[str, Mapping[str, PairedDifference]]  # by the models' title and COLUMNS


def plane_chart(result: core.Correction) -> go.Figure:
    """Draw full, sparse and corrected outputs (3, T, 2), and the way from full's mean to theirs."""
    traces: list[dict[str, Any]] = []
    for points, style in zip(result.points, WAYS, strict=True):
        traces.append({
            "type": "scatter", "mode": "markers", "x": points[:, 0], "y": points[:, 1],
            "name": style.name, "opacity": 0.45,
            "marker": {"size": 5, "symbol": style.symbol, "color": style.colour},
            "hovertemplate": f"{style.name}, query %{{pointNumber}}<extra></extra>",
        })  # fmt: skip
    means = result.points[:, result.first :].mean(1)
    for mean, style in zip(means, WAYS, strict=True):
        traces.append({
            "type": "scatter", "mode": "lines+markers", "x": [means[0, 0], mean[0]],
            "y": [means[0, 1], mean[1]], "showlegend": False,
            "line": {"color": style.colour, "width": 3},
            "marker": {"size": [0, 13], "symbol": style.symbol, "color": style.colour,
                       "line": {"width": 1.5, "color": "white"}},
            "hovertemplate": f"mean of {style.name}<extra></extra>",
        })  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": PLANE_PIXELS, "margin": {"l": 40, "r": 6, "t": 26, "b": 34},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "hovermode": "closest",
        "xaxis": {"title": {"text": "first direction", "standoff": 2}, "zeroline": False},
        "yaxis": {"title": {"text": "second", "standoff": 2}, "zeroline": False,
                  "scaleanchor": "x"},
    }})  # fmt: skip


def change_chart(
    slow: Sequence[core.Correction], head: core.Correction, gamma: int, beside: str
) -> go.Figure:
    """Draw the relative change of the missing part after 1, 2, ... queries; γ is marked."""
    changes = np.stack([of.change for of in slow])
    lines = [
        _over_seeds(SLOW, np.arange(1, changes.shape[1] + 1), changes.T),
        Line(_named(beside), np.arange(1, len(head.change) + 1), head.change),
    ]
    figure = line_chart(lines, "queries later", "change", level=(1.0, "all of it"))
    figure.add_vline(gamma, line={"width": 1, "dash": "dot", "color": palette.PLANE},
                     annotation={"text": f"γ = {gamma}", "font": {"size": 10}})  # fmt: skip
    return figure.update_layout(height=PLANE_PIXELS).update_yaxes(rangemode="tozero")


def gamma_chart(slow: Sequence[core.Correction], head: core.Correction, beside: str) -> go.Figure:
    """Draw cosines with full attention against γ, and the share of scores, which is dotted."""
    names = [*map(str, core.GAMMA_STEPS), NONE]
    cosines = np.stack([[*of.by_gamma[0], of.cosine[0]] for of in slow], -1)
    lines = [
        _over_seeds(SLOW, names, cosines),
        Line(_named(beside), names, np.array([*head.by_gamma[0], head.cosine[0]])),
        *(Line(style.cost, names, np.array([*of.by_gamma[1], of.share[0]]))
          for of, style in ((slow[0], SLOW), (head, _named(beside)))),
    ]  # fmt: skip
    return _shares(line_chart(lines, "γ", "cosine; share of scores"))


def window_chart(slow: Sequence[core.Correction], head: core.Correction, beside: str) -> go.Figure:
    """Draw cosines against the window, sparse (dashed) and corrected, and shares of scores."""
    names = [*map(str, core.WINDOW_STEPS)]
    lines = []
    for style, of in ((SLOW, slow), (_named(beside), [head])):
        sparse, repaired = (np.stack([one.by_window[row] for one in of], -1) for row in (0, 1))
        lines += [_over_seeds(style.without, names, sparse), _over_seeds(style, names, repaired),
                  Line(style.cost, names, of[0].by_window[3])]  # fmt: skip
    return _shares(line_chart(lines, "window", "cosine; share of scores"))


def loss_chart(losses: Mapping[str, Mapping[str, PairedDifference]]) -> go.Figure:
    """Draw losses above full attention by γ for each kind of model, with intervals."""
    return line_chart(gate_lines(losses), "γ", "nats a character", level=(0.0, ""))


def retrieval_chart(accuracy: np.ndarray) -> go.Figure:
    """Draw how often full, sparse and corrected attention find a value, (3, G, S), by distance."""
    names = [*map(str, core.GAPS)]
    lines = [_over_seeds(style, names, of) for style, of in zip(WAYS, accuracy, strict=True)]
    return line_chart(lines, "tokens between", "right", level=(1 / core.PAIRS, "by chance"))


def _named(beside: str) -> Style:
    """The style of the sample that is compared with slow tokens, by its short name."""
    return Style(beside, palette.CLASS_COLOURS[3], "solid", "square")


def _over_seeds(style: Style, x: Sequence[object] | np.ndarray, values: np.ndarray) -> Line:
    """The mean over seeds of values (n, S), with its interval where there are seeds."""
    if values.shape[1] < 2:
        return Line(style, x, values[:, 0])
    widths = [mean_interval(row).half_width for row in values]
    return Line(style, x, values.mean(1), np.array(widths))


def _shares(figure: go.Figure) -> go.Figure:
    return figure.update_yaxes(range=[0, 1.04])


def losses_of(tables: Sequence[Arrays], window: int) -> Losses:
    """Return the losses in a window, a column for each of `COLUMNS`, of models of several seeds."""
    sums = by_seed(tables, "correction.sums")[:, core.WINDOWS.index(window)]
    full, counts = by_seed(tables, "correction.full"), by_seed(tables, "correction.counts")[0]
    return Losses(np.roll(sums, -1, 1), full, counts)  # those without correction last


def worth(losses: Losses, gamma: int) -> PairedDifference:
    """Return the loss with correction minus that without."""
    corrected, without = losses.sums[:, core.GAMMAS.index(gamma)], losses.sums[:, -1]
    return loss_difference(corrected, without, losses.counts)


def slow_text(slow: Sequence[core.Correction]) -> str:
    """Say whether correction helps on slowly varying tokens, over seeds."""
    ratio = mean_interval(np.array([of.ratio for of in slow]))
    if ratio.mean + ratio.half_width < 1:
        verdict = "correction helps"
    elif ratio.mean - ratio.half_width > 1:
        verdict = "correction does harm"
    else:
        verdict = "it is undecided whether correction helps"
    sparse, repaired = np.mean([of.cosine for of in slow], 0)
    return (
        f"**On tokens that vary slowly, {verdict}**: the cosine with full attention goes"
        f" {short(sparse)} → {short(repaired)}. The squared error is"
        f" {plus_minus(ratio.mean, ratio.half_width)} of the window's ({len(slow)} seeds). This"
        f" takes {percent(slow[0].share[1])} of the scores (the window alone:"
        f" {percent(slow[0].share[0])})."
    )


def beside_names(head: str) -> tuple[str, str]:
    """Return the short and the long name of the sample beside slow tokens: a ``head``, if any."""
    if head:
        return "characters", f"characters, in head {head} over this one text"
    return "independent", "independent tokens with normal scores"


def head_text(name: str, head: core.Correction, slow: Sequence[core.Correction], gamma: int) -> str:
    """Say whether correction helps on the sample with the long ``name``, and why."""
    if np.isnan(head.ratio):
        return f"**On {name}, nothing is missing**: the window holds it all."
    verdict = "correction helps" if head.ratio < 1 else "correction does harm"
    lag = min(max(gamma // 2, 1), len(head.change), len(slow[0].change))
    slowly = np.mean([of.change[lag - 1] for of in slow])
    return (
        f"**On {name}, {verdict}**:"
        f" {short(head.cosine[0])} → {short(head.cosine[1])}, squared error {short(head.ratio)}."
        f" What decides is how fast the missing part changes. Its relative"
        f" squared change {_queries(lag)} later is {short(head.change[lag - 1])} (slow tokens:"
        f" {short(slowly)})."
    )


def heads_text(tables: Sequence[Arrays], title: str, window: int, gamma: int) -> str:
    """Say in how many heads of models of several seeds correction helps, the mean over texts."""
    ratios = np.stack([of["correction.ratios"] for of in tables])
    of_heads = ratios[:, core.WINDOWS.index(window), core.GAMMAS.index(gamma)]
    return (
        f"Over all verses, correction helps in {int((of_heads < 1).sum())} of {of_heads.size} heads"
        f" ({title}, {len(tables)} seeds)."
    )


def loss_text(
    losses: Differences,
    worths: Mapping[str, PairedDifference],
    window: int,
    gamma: int,
) -> str:
    """Say what window and correction cost language models, by title; the ungated first."""
    parts = []
    for title, of in losses.items():
        change = worths[title]
        parts.append(
            f"{title} {nats(of[NONE])}, corrected {nats(of[str(gamma)])}"
            f" ({_verdict(change, 'better', 'worse')}: {nats(change)})"
        )
    return (
        f"Loss of whole models above full attention, in nats (window {window}, {core.SINKS} sinks,"
        f" γ {gamma}): {'; '.join(parts)}."
    )


def gate_text(saves: PairedDifference) -> str:
    """Say whether a gate makes leaving out cheaper."""
    verdict, seeds = gate_verdict(saves, "the window"), len(saves.by_seed)
    if seeds < LEAST_SEEDS:
        return f"{verdict}."
    return (
        f"{verdict}: {nats(saves)} nats against no gate ({seeds} seeds; interval over seeds and"
        " texts)."
    )


def retrieval_text(accuracy: np.ndarray) -> str:
    """Say how often the value is right over the largest distance; accuracy (3, G, S)."""
    full, sparse, repaired = (mean_interval(of[-1]) for of in accuracy)
    share = plus_minus(100 * repaired.mean, 100 * repaired.half_width)
    return (
        f"Retrieval over {core.GAPS[-1]} tokens: full attention finds {percent(full.mean)} of"
        f" values, the window {percent(sparse.mean)}, corrected {share}\u00a0%"
        f" ({len(core.RETRIEVAL_SEEDS)} seeds; by chance {percent(1 / core.PAIRS)})."
    )


def shift_text(name: str, result: core.Correction) -> str:
    """Say how far the mean output is from full attention's."""
    return (
        f"{name}: the mean output of the window lies {short(result.shift[0])} spreads from that of"
        " full"
        f" attention, the corrected one {short(result.shift[1])}. The plane holds"
        f" {percent(result.explained)} of the variance"
    )


def correction_csv(
    request: core.CorrectionRequest,
    slow: Sequence[core.Correction],
    head: core.Correction,
    losses: Differences,
    beside: str,
) -> Iterator[Sequence[object]]:
    """Yield a row for every point of the curves; ``beside``: the short name of the ``head``."""
    yield "of", "seed", "window", "sinks", "gamma", "what", "value", "half width"
    specimens = [*(("slow tokens", seed, of) for seed, of in enumerate(slow)),
                 (beside, "", head)]  # fmt: skip
    for name, seed, of in specimens:
        start = name, seed
        for column, gamma in enumerate(core.GAMMA_STEPS):
            for row, what in enumerate(("cosine", "share of scores")):
                value = float(of.by_gamma[row, column])
                yield *start, request.window, request.sinks, gamma, what, value, ""
        for column, window in enumerate(core.WINDOW_STEPS):
            for row, what in enumerate(("cosine", "share of scores")):
                without, corrected = map(float, of.by_window[2 * row : 2 * row + 2, column])
                yield *start, window, request.sinks, NONE, what, without, ""
                yield *start, window, request.sinks, request.gamma, what, corrected, ""
        for lag, change in enumerate(of.change, 1):
            what = f"change after {lag}"
            yield *start, request.window, request.sinks, NONE, what, float(change), ""
    for title, by_gamma in losses.items():
        window = nearest(core.WINDOWS, request.window)
        for gamma_name, one in by_gamma.items():
            yield (title, "", window, core.SINKS, gamma_name, "loss above full, nats", one.mean,
                   one.half_width)  # fmt: skip


def _verdict(difference: PairedDifference, lower: str, higher: str) -> str:
    if len(difference.by_seed) < LEAST_SEEDS:
        return "too few seeds"
    return higher if difference.low > 0 else lower if difference.high < 0 else "undecided"


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count} queries"

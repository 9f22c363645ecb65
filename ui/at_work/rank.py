"""The tab Rank: what a head can do at most, how much of it is used, and what a gate changes.

Shapes: S seeds, L layers, H heads of d channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.at_work import rank_ratio
from gating_core.language import MODELS
from gating_core.training import mean_interval
from ui.at_work import measured, parts
from ui.at_work.confidence import LEAST_SEEDS
from ui.at_work.controls import LEAST, MODEL, MOST, RANKED_HEAD, read_selection
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.common.words import figures, plus_minus
from ui.drawing import palette
from ui.drawing.panels import subplot
from ui.language.selection import head_name, head_names, head_of

BARS_PIXELS = 190
VALUES_PIXELS = 165
STAGES = (  # name, colour, pattern
    ("before gate", parts.GREY, "/"),
    ("after gate", parts.MAGENTA, ""),
    ("after W_O", palette.CLASS_COLOURS[0], "x"),
)
RAISES, LOWERS, UNDECIDED = "raises", "lowers", "inconclusive"
Head = tuple[int, int]  # layer and number, from 0


def draw_rank() -> None:
    """Draw effective ranks by head, singular values, and why no rank lies above d."""
    selection = read_selection(MODEL, RANKED_HEAD)
    model, config = selection.model, MODELS[selection.name]
    arrays = measured.table()[model]
    outputs, maps = arrays["ranks.outputs"], arrays["ranks.maps"]
    head = chosen(RANKED_HEAD.value, outputs)
    texts = len(arrays["strengths.counts"])
    seeds = measured.seeds(selection.name)
    gated, ungated = (measured.over_seeds(name, "ranks.outputs", seeds)
                      for name in (selection.name, UNGATED))  # fmt: skip
    lifted = summary(arrays, gated, ungated, texts)
    why = reason(arrays, head, config.width,
                 config.gate is not None and config.gate.position == "G1")  # fmt: skip
    parts.draw_titled(("ranks", model, head),
                lambda: rank_chart(outputs, arrays["ranks.range"], maps.shape[-1], head),
                section("at_work", "head_ranks"), lifted)  # fmt: skip
    left, right = st.columns([7, 6])
    with left:
        parts.draw_titled(("singular", model, head), lambda: values_chart(maps, head),
                    section("at_work", "head_singular"), why)  # fmt: skip
    right.markdown(why)
    st.markdown(lifted)
    with st.container(horizontal=True):
        parts.draw_explanation("ranks", "ranks", d=maps.shape[-1], texts=texts)
        parts.draw_csv("Ranks", lambda: ranks_csv(measured.table()))


def chosen(name: str, outputs: np.ndarray) -> Head:
    """Return the head called ``name``: "layer.head", or one by the quotient of ranks (3, L, H)."""
    if name not in (MOST, LEAST):
        return head_of(name)
    lift = outputs[1] / outputs[0]
    layer, number = np.unravel_index(lift.argmax() if name == MOST else lift.argmin(), lift.shape)
    return int(layer), int(number)


# --- Charts ---------------------------------------------------------------------------------------


def rank_chart(outputs: np.ndarray, ends: np.ndarray, channels: int, head: Head) -> go.Figure:
    """Draw effective ranks (3, L, H) with 95 % intervals (2, 3, L, H), a group of bars a head.

    The line is at d, the number of ``channels``; one ``head`` is marked.
    """
    _, layers, heads = outputs.shape
    low, high = ends.reshape(2, len(STAGES), -1)
    traces = []
    for stage, (name, colour, pattern) in enumerate(STAGES):
        flat = outputs[stage].ravel()
        traces.append({
            "type": "bar", "x": head_names(layers, heads), "y": flat, "name": name,
            "marker": {"color": colour, "pattern": {"shape": pattern, "size": 4}},
            "error_y": {"type": "data", "symmetric": False, "array": high[stage] - flat,
                        "arrayminus": flat - low[stage], "thickness": 1, "width": 1},
            "hovertemplate": f"head %{{x}}, {name}: %{{y:.2f}}<extra></extra>",
        })  # fmt: skip
    column = head[0] * heads + head[1]
    shapes = [
        parts.level(channels, line={"dash": "dash", "width": 1.5, "color": palette.ACCENT},
              label={"text": f"d = {channels}", "textposition": "end", "yanchor": "bottom"}),
        {"type": "rect", "x0": column - 0.5, "x1": column + 0.5, "yref": "paper", "y0": 0, "y1": 1,
         "line": {"width": 0}, "fillcolor": f"{palette.PLANE}33", "layer": "below"},
    ]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": BARS_PIXELS, "margin": {"l": 48, "r": 8, "t": 26, "b": 36}, "shapes": shapes,
        "bargap": 0.25, "legend": parts.LEGEND,
        "xaxis": {"type": "category", "title": {"text": "head", "standoff": 2}},
        "yaxis": {"range": [0, 1.15 * channels],
                  "title": {"text": "effective rank", "standoff": 4}},
    }})  # fmt: skip


def values_chart(maps: np.ndarray, head: Head) -> go.Figure:
    """Draw the singular values of all maps (L, H, d), a panel a layer; one ``head`` stands out."""
    layers, _, size = maps.shape
    across = {"range": [0, size + 1], "tickvals": [1, size]}
    layout = parts.panels_by_layer(layers, across, float(maps.max()), "singular value", 1)
    layout["xaxis"]["title"] = {"text": "number", "standoff": 2}
    traces = []
    for each in np.ndindex(*maps.shape[:2]):
        mode, line = "lines", {"width": 1, "color": parts.GREY}
        if each == head:
            mode, line = "lines+markers", {"width": 2.5, "color": parts.MAGENTA}
        traces.append({
            "type": "scatter", "mode": mode, "x": np.arange(1, size + 1), "y": maps[each],
            **subplot(each[0]), "line": line, "marker": {"size": 4},
            "hovertemplate": f"head {head_name(each)}, singular value %{{x}}:"
            " %{y:.3g}<extra></extra>",
        })  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": VALUES_PIXELS, "margin": {"l": 52, "r": 8, "t": 22, "b": 38},
        "showlegend": False, **layout,
    }})  # fmt: skip


# --- Sentences ------------------------------------------------------------------------------------


def word(low: float, high: float) -> str:
    """Say what a gate does to a rank, from the interval of a quotient."""
    return RAISES if low > 1 else LOWERS if high < 1 else UNDECIDED


def against_ungated(gated: np.ndarray, ungated: np.ndarray) -> str:
    """Say how the ranks (S, 3, L, H) of gated models differ from those of models without a gate.

    A gate has acted on the second and third of the three; without a gate the first two are equal.
    """
    seeds, before = len(gated), "effective rank of head outputs before W_O"
    if seeds < LEAST_SEEDS:
        means = (figures(float(ranks[:, 1].mean())) for ranks in (ungated, gated))
        return f"Mean {before}: {' → '.join(means)} with the gate; too few seeds for a verdict."
    (mixed, projected) = (rank_ratio(gated[:, stage], ungated[:, stage]) for stage in (1, 2))
    verdict = {
        RAISES: f"The gate increases the {before}",
        LOWERS: f"The gate reduces the {before}",
        UNDECIDED: f"It is inconclusive how the gate changes the {before}",
    }[word(mixed.mean - mixed.half_width, mixed.mean + mixed.half_width)]
    return (
        f"**{verdict}**: {plus_minus(mixed.mean, mixed.half_width)} times that of models without a"
        f" gate, and {plus_minus(projected.mean, projected.half_width)} times after W_O (mean of"
        f" heads; {seeds} seeds, paired, 95 % intervals)."
    )


def summary(arrays: parts.Arrays, gated: np.ndarray, ungated: np.ndarray, texts: int) -> str:
    """Compare gated with ungated models, then the gated model after its gate with before.

    ``gated`` and ``ungated`` (S, 3, L, H): the ranks of all seeds.
    """
    outputs, ends = arrays["ranks.outputs"], arrays["ranks.lift"].reshape(2, -1)
    words = [word(*pair) for pair in ends.T]
    counts = [f"{verb} it in {words.count(verb)}" for verb in (RAISES, LOWERS) if verb in words]
    if UNDECIDED in words:
        counts.append(f"is inconclusive in {words.count(UNDECIDED)}")
    lift = (gated[:, 1] / gated[:, 0]).mean((1, 2), dtype=float)
    inside = f"after / before {lift[0]:.3f}"
    if len(lift) > 1:
        after, before = mean_interval(lift), rank_ratio(gated[:, 0], ungated[:, 0])
        inside = (
            f"after / before {plus_minus(after.mean, after.half_width)} over all seeds, where"
            f" before it is {plus_minus(before.mean, before.half_width)} times that of models"
            " without a gate"
        )
    channels = arrays["ranks.maps"].shape[-1]
    # To one part in a million: what is shown was rounded to single precision.
    above = int((outputs.max(0) > channels * (1 + 1e-6)).sum())
    none = f"No rank lies above d = {channels}, and none can"
    if above:
        none = f"{above} ranks lie above d"
    return (
        f"{against_ungated(gated, ungated)} Within this model the gate {', '.join(counts)} of"
        f" {len(words)} heads (95 % intervals over {texts} texts): {_example(outputs, MOST)},"
        f" {_example(outputs, LEAST)}; {inside}. {none}."
    )


def _example(outputs: np.ndarray, name: str) -> str:
    head = chosen(name, outputs)
    before, after = (figures(float(x[head])) for x in outputs[:2])
    return f"{name} is {head_name(head)} ({before} → {after})"


def reason(arrays: parts.Arrays, head: Head, width: int, between: bool) -> str:
    """Say in two paragraphs why no head's outputs have a rank above d, with this head's numbers.

    ``between``: the gate stands after attention and not on the values.
    """
    values = arrays["ranks.maps"][head]
    d, name = len(values), head_name(head)
    before, after, projected = (figures(float(x[head])) for x in arrays["ranks.outputs"])
    low, high = (figures(float(x[head])) for x in arrays["ranks.lift"])
    opened = float(arrays["ranks.opened"][head])
    read = "the query's character" if between else "the key's character"
    return (
        f"**Why.** Without a gate head {name} is one map W_V W_O, {width} × {d} times {d} × {width}"
        f". At most {d} singular values are not 0 (here {figures(float(values[0]))} to"
        f" {figures(float(values[-1]))}).\n\n"
        f"The gate stands between them as diag(g) and reads {read}. Outputs are still sums of the"
        f" {d} rows of W_O: **no gate lifts them above d = {d} (proved)**. The gate changes how"
        f" evenly the rows are used: {before} → {after} (× {low} to {high}), {projected} after W_O."
        f" It also makes different maps W_V diag(g) W_O: effectively {figures(opened)}. No gate, or"
        " one factor per head, makes a single map."
    )


def ranks_csv(models: parts.Models) -> Iterator[Sequence[object]]:
    """Yield a row for every head of every model."""
    stages = [name for name, *_ in STAGES]
    intervals = [f"{name}, {end}" for name in stages for end in ("low", "high")]
    yield ("model", "seed", "layer", "head", *stages, *intervals, "after / before, low",
           "after / before, high", "different maps", "singular values of W_V W_O")  # fmt: skip
    for (name, seed), arrays in models.items():
        for layer, number in np.ndindex(*arrays["ranks.opened"].shape):
            at = ..., layer, number
            numbers = [*arrays["ranks.outputs"][at], *arrays["ranks.range"][at].T.ravel(),
                       *arrays["ranks.lift"][at], arrays["ranks.opened"][at]]  # fmt: skip
            values = " ".join(f"{value:.6g}" for value in arrays["ranks.maps"][layer, number])
            yield (TITLES.get(name, name), seed, layer + 1, number + 1, *map(float, numbers),
                   values)  # fmt: skip

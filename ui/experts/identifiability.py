"""The tab Identifiability: directions of W_V and W_O along which no output changes, by gate.

Shapes: P parameters of W_V and W_O, T distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.experts as core
from gating_core.attention import AttentionConfig
from gating_core.experts import Moves, NonIdentifiable
from ui.common import charts as c
from ui.common.formatting import percent, short, tick_text
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.experts import shared
from ui.experts.shared import EXPERT, NO_GATE, RANDOM, GateSetting, Model, setting_text
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

MIXING, SCALING = "mix two experts", "scale one expert"
FARTHEST = 2.0  # of moves: t from -FARTHEST to FARTHEST
STEPS = 41  # of a move, from one end to the other
STILL = 1e-12  # relative: outputs that change less do not change, up to rounding
SMALLEST = 1e-17  # drawn: nothing that is computed in double precision is smaller and not 0
Counts = Mapping[GateSetting, NonIdentifiable]


@cached("Counting non-identifiable directions …", on=NUMBERS_CACHE)
def by_gate(config: AttentionConfig, seed: int) -> Counts:
    """Count directions of models with random weights for every gate position."""
    counts: Counts = pool.POOL.call(core.non_identifiable_by_gate, config, seed)
    return counts


@cached(on=NUMBERS_CACHE)
def directions_of(model: Model) -> NonIdentifiable:
    """Count directions of one model."""
    return core.non_identifiable_directions(shared.attention_of(model))


@cached(on=NUMBERS_CACHE)
def moves_of(model: Model, head: int, first: int, second: int, mixes: bool) -> Moves:
    """Move two experts of one head into each other, or scale the first."""
    size = model.model_dim // model.heads
    generator = core.mixing(size, first, second) if mixes else core.scaling(size, first)
    distances = np.round(np.linspace(-FARTHEST, FARTHEST, STEPS), 6)
    return core.measure_moves(shared.attention_of(model), head, generator, distances)


def counts_of(model: Model) -> Counts:
    """Count for every gate position: trained without gate and with this one, else random."""
    first = replace(model, position="G1", granularity="elementwise")  # the same for all positions
    counts = by_gate(first.config, model.seed)
    if model.task == RANDOM:
        return counts
    return {**counts, **{each.setting: directions_of(each) for each in model.pair.values()}}


def draw() -> None:
    """Draw the tab."""
    model, _ = shared.choose_model()
    model = shared.with_weights(model, *model.pair.values())
    expert = shared.followed_expert(model)
    counts = counts_of(model)
    left, right = c.chart_columns("first", [6, 5])
    row = right.container(horizontal=True, vertical_alignment="bottom")
    direction = row.radio(
        "Direction",
        (MIXING, SCALING),
        key="direction",
        horizontal=True,
        **LINK,
        help="*mix two experts* rotates two channels of a head into each other: W_V e^(tA) and"
        " e^(−tA) W_O. *scale one expert* makes its W_V larger and its W_O smaller by the same"
        " factor. Moved is the expert that you follow in *Decomposition*, else 1.1.",
    )
    distance = round(
        row.slider(
            "Distance t",
            -FARTHEST,
            FARTHEST,
            1.0,
            0.1,
            key="distance",
            width=160,
            **LINK,
            help="The move is finite: at t = 1.57 the two mixed experts have changed places.",
        ),
        1,
    )
    match = EXPERT.fullmatch(expert or "1.1")
    assert match is not None
    head, first = (int(number) - 1 for number in match.groups())
    size = model.model_dim // model.heads
    mixes = direction == MIXING and size > 1
    if direction == MIXING and not mixes:
        right.caption(
            ":material/info: A head of one channel has no second expert to mix with."
            " Shown: scale one expert."
        )
    moved = head, first, (first + 1) % size
    moves = {name: moves_of(each, *moved, mixes) for name, each in model.pair.items()}
    charts = c.Charts("identifiability")

    says, theory = finding(model, counts)
    draw_finding(says)
    charts.draw("counts_by_gate", left, count_chart(counts, model.setting), counts_alt(counts))
    move = move_text(moved, mixes, moves, distance)
    charts.draw("move", right, move_chart(moves, distance), move)
    right.markdown(move)
    shown = counts[model.setting]
    st.markdown(theory)
    own = ""
    if model.task != RANDOM:
        gated = setting_text([*model.pair.values()][1].setting)
        own = f"The rows *{NO_GATE}* and *{gated}* are trained; the others have random weights. "
    st.caption(own + section("experts", "not_said"))
    charts.tables["counts"] = count_columns(counts)
    charts.tables["moves"] = move_columns(moves)
    smallest, null = map(short, shown.ends)
    charts.draw_footer(
        section(
            "experts",
            "identifiability",
            count=shown.count,
            parameters=len(shown.singular_values),
            theory=shown.theory,
            smallest=smallest,
            null=null,
            dim=model.model_dim,
            heads=model.heads,
            size=size,
            distance=short(distance),
        )
    )


# --- Sentences ----------------------------------------------------------------------------------


def finding(model: Model, counts: Counts) -> tuple[str, str]:
    """Say whether the gate changes the number of non-identifiable directions, and why."""
    shown, plain = counts[model.setting], counts[None]
    for name, directions in (("this gate", shown), ("no gate", plain)):
        if not directions.clear:
            smallest, null = map(short, directions.ends)
            return (
                "The number of non-identifiable directions is inconclusive: with"
                f" {name} the singular values have no clear gap ({smallest} above, {null} below).",
                "",
            )
    change = shown.count - plain.count
    verdict = "reduces" if change < 0 else "increases" if change > 0 else "does not change"
    strength = "" if model.strength == 1 else f" at λ = {model.strength:g}"
    by = f" by {abs(change)}" if change else ""
    text = (
        f"{setting_text(model.setting)}{strength} {verdict} the non-identifiable directions of the"
        f" weights{by}."
    )
    if model.setting is None:
        text = f"Without a gate, {plain.count} directions of the weights are non-identifiable."
    smallest, null = map(short, shown.ends)
    return text, (
        f"{shown.count} of {len(shown.singular_values)} directions of $W_V$ and $W_O$ are"
        f" non-identifiable, without a gate {plain.count}: along them no output changes."
        f" {theory_text(model, shown)}"
        f" {comparison_text(counts)} Of the singular values of the Jacobian, relative to the"
        f" largest, {shown.count} are at most {null}, the others at least {smallest}."
    )


def theory_text(model: Model, directions: NonIdentifiable) -> str:
    """Say where theory's number comes from."""
    dim, heads = model.model_dim, model.heads
    size = dim // heads
    per_channel = (
        model.granularity == "elementwise" and model.position in ("G1", "G2") and model.strength > 0
    )
    base = dim if per_channel else heads * size**2
    rule = f"one scale per channel, D = {dim}"
    if not per_channel:
        rule = f"an invertible matrix per head, H d² = {heads}·{size}² = {base}"
    assert directions.theory is not None  # one layer, no normalisation
    more = directions.theory - base
    if not more:
        return f"Theory: {rule}."
    spanned = min(dim, 3 * model.value_count)
    exchange = ""
    if more > dim * (dim - spanned):
        exchange = ", and with few tokens one head can take over parts of another's output"
    return (
        f"Theory: {rule}, and {more} more, because the {model.value_count} tokens, affine maps of a"
        f" point of the plane, span only {spanned} of {dim} dimensions{exchange}."
    )


def comparison_text(counts: Counts) -> str:
    """Say where theory and count agree, and which gates have fewer directions than no gate."""
    plain = counts[None].count
    names = {setting_text(setting): directions for setting, directions in counts.items()}
    differ = [name for name, x in names.items() if not (x.clear and x.count == x.theory)]
    fewer = [f"*{name}* ({x.count})" for name, x in names.items() if x.clear and x.count < plain]
    text = f"Theory and count agree for all {len(counts)} settings."
    if differ:
        text = f"Theory and count differ, or the gap is not clear, for {', '.join(differ)}."
    if not fewer:
        return f"{text} No gate leaves fewer than no gate."
    return f"{text} Fewer than without a gate only with {', '.join(fewer)}."


def move_text(
    moved: tuple[int, int, int], mixes: bool, moves: Mapping[str, Moves], distance: float
) -> str:
    """Say what the move to the chosen distance changes."""
    head, first, second = (number + 1 for number in moved)
    what = f"Scaling expert {head}.{first}"
    if mixes:
        what = f"Mixing experts {head}.{first} and {head}.{second}"
    plain = next(iter(moves.values()))
    at = int(np.abs(plain.distances - distance).argmin())

    def change(share: float) -> str:
        return "do not change" if share < STILL else f"change by {percent(float(share))}"

    outputs = [f"with {name} the outputs **{change(x.outputs[at])}**" for name, x in moves.items()]
    return (
        f"{what} by t = {short(distance)} moves the head's weights by"
        f" {percent(float(plain.weights[at]))} of their size; its experts"
        f" {change(plain.experts[at])}; {'; '.join(outputs)}."
    )


def counts_alt(counts: Counts) -> str:
    """Return the finding of the bars."""
    return "Non-identifiable directions by gate position: " + "; ".join(
        f"{setting_text(setting)} {x.count} (theory {x.theory})" for setting, x in counts.items()
    )


# --- Tables and charts --------------------------------------------------------------------------


def count_columns(counts: Counts) -> dict[str, list[Any]]:
    """Return the counts by gate position as columns of a table."""
    return {
        "gate": [*map(setting_text, counts)],
        "counted": [x.count for x in counts.values()],
        "theory": [x.theory for x in counts.values()],
        "smallest singular value above the gap": [x.ends[0] for x in counts.values()],
        "largest below": [x.ends[1] for x in counts.values()],
        "clear gap": [x.clear for x in counts.values()],
    }


def move_columns(moves: Mapping[str, Moves]) -> dict[str, list[Any]]:
    """Return what moves change as columns of a table."""
    rows = [
        (name, *map(float, row))
        for name, x in moves.items()
        for row in zip(x.distances, x.weights, x.experts, x.outputs, strict=True)
    ]
    names = ("model", "t", "weights", "experts", "outputs")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def count_chart(counts: Counts, shown: GateSetting) -> go.Figure:
    """Draw the number of non-identifiable directions by gate position, and that of theory."""
    names = [
        f"<b>{setting_text(setting)} ▸</b>" if setting == shown else setting_text(setting)
        for setting in counts
    ]
    numbers = [x.count for x in counts.values()]
    few = [number == min(numbers) < max(numbers) for number in numbers]
    bars = c.bars("counted", numbers, numbers, colour=c.GREY) | {
        "y": names, "orientation": "h",
        "text": [f"  {number}" for number in numbers], "textposition": "outside",
        "cliponaxis": False, "textfont": {"size": 12},
        "marker": {"color": [c.MAGENTA if less else c.GREY for less in few]},
        "customdata": [[*map(short, x.ends)] for x in counts.values()],
        "hovertemplate": "%{y}: %{x} directions<br>singular values: smallest above the gap"
        " %{customdata[0]}, largest below %{customdata[1]}<extra></extra>",
    }  # fmt: skip
    theory = {
        "type": "scatter",
        "mode": "markers",
        "y": names,
        "name": "theory",
        "hoverinfo": "skip",
        "x": [x.theory for x in counts.values()],
        "marker": {"symbol": "line-ns", "size": 17, "line": {"width": 3, "color": c.TEAL}},
    }
    return c.chart(
        "Non-identifiable directions by gate",
        [bars, theory],
        "directions of W<sub>V</sub> and W<sub>O</sub>",
        height=385,
        margin={"l": 112, "r": 24, "t": 52, "b": 40},
        bargap=0.3,
        y_axis={"autorange": "reversed", "ticks": ""},
        x_axis={"range": [0, 1.1 * max(numbers) or 1]},
    )


def powers(high: float) -> dict[str, Any]:
    """Return a logarithmic axis with a tick at every fourth power of ten."""
    ticks = [10.0**power for power in range(-16, 1, 4)]
    return c.log_axis(SMALLEST, high) | c.ticks(ticks, [*map(tick_text, ticks)])


def move_chart(moves: Mapping[str, Moves], distance: float) -> go.Figure:
    """Draw what a move along a direction changes, without and with the gate."""
    plain = next(iter(moves.values()))

    def line(name: str, sizes: np.ndarray, **style: Any) -> c.Trace:
        # At 0 nothing has changed, and a logarithmic axis has no place for that.
        drawn = np.where(plain.distances == 0, np.nan, np.maximum(sizes, SMALLEST))
        return c.line(name, plain.distances, drawn, width=2, **style)

    lines = [line("the head's weights", plain.weights, colour=c.BLUE, dash="dot", mode="lines"),
             line("its experts", plain.experts, colour=c.ORANGE, dash="dash",
                  mode="lines")]  # fmt: skip
    for (name, x), style in zip(
        moves.items(), ({"colour": c.GREY}, {"colour": c.MAGENTA, "symbol": "square"}), strict=True
    ):
        trace = line(f"outputs, {name}", x.outputs, **style)
        trace["marker"]["size"] = 4
        lines.append(trace)
    figure = c.chart(
        "Change along the direction",
        lines,
        "distance t",
        "relative change",
        height=310,
        x_axis={"range": [-FARTHEST * 1.03, FARTHEST * 1.03]},
        y_axis=powers(10.0),
        margin={"l": 58, "r": 8, "t": 70, "b": 40},
    )
    return c.mark_x(figure, distance)

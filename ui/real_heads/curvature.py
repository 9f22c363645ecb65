"""The tab Curvature: the curved surface of a head beside that of its random twin, and all heads."""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.checkpoints import head_map, principal_plane
from gating_core.export import Surface
from gating_core.geometry import MeasuredSurface, SurfaceResult, square_grid
from gating_core.real_heads import (
    BUNDLED_PLANES,
    EPSILONS,
    FINE_SIZE,
    TEXTS,
    TWIN_SEEDS,
    WithTwin,
    beside_twin,
    entropy_share,
    shipped_charts,
    shipped_layers,
    shipped_measures,
    shipped_reading,
    twin_ratio,
)
from ui.common import charts as c
from ui.common.formatting import by_interval, percent
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding, front_columns
from ui.common.take_along import OfferedSurface, offer_notebook, offered
from ui.components.heads import Head
from ui.components.pair import Pair
from ui.drawing.colours import exported
from ui.real_heads.own import COMMAND
from ui.real_heads.shared import (
    Arrays,
    choose_head,
    choose_text,
    draw_surfaces,
    effects_text,
    head_text,
    pair_of,
    ratio_text,
)
from ui.work import pool
from ui.work.cache import CACHE, cached

CHART = "chart_heads_ratios"
CHART_PIXELS = 370  # of a chart that ends above the fold of a screen of 1280 × 720 pixels
SHARES = (0.1, 0.3, 1, 3)  # labelled in percent: of the twin's total
SCORE_TWINS = {"sharp": "random queries and keys", "offset": "the same with own offsets"}


@cached("Measuring curvature …", on=CACHE)
def measured(title: str, special: bool, shown: Head, seed: int) -> WithTwin:
    """Measure a head and its twin, a second at most."""
    return pool.POOL.call(measure_here, title, special, shown, seed)


def measure_here(title: str, special: bool, shown: Head, seed: int) -> WithTwin:
    """Measure them in this process."""
    return beside_twin(shipped_reading(title, special, shown[0]), shown[1], seed)


@cached()
def picture(title: str, special: bool, shown: Head, seed: int) -> Pair:
    """Return both surfaces as they are drawn."""
    result = measured(title, special, shown, seed)
    return pair_of(
        {head_name(shown): result.own, f"A random twin, 1 of {len(TWIN_SEEDS)}": result.twin}
    )


def draw() -> None:
    """Draw the tab."""
    first, *numbers, last = front_columns((3, 1.2, 1.2, 4), "bottom")
    title, special = choose_text(first, last)
    found = shipped_measures(title, special)
    shown = choose_head(numbers, found["total"].shape, "curvature")
    seed = typical_seed(found, shown)
    draw_finding(answer(found), lead=share_sentence(found))
    left, right = st.container(key="first").columns([8, 5])
    with left:
        result = measured(title, special, shown, seed)
        draw_surfaces(picture(title, special, shown, seed), result, f"{title} {special} {shown}")
    charts, figure = c.Charts("heads"), ratio_chart(found, shown)
    charts.figures["ratios"] = figure
    right.plotly_chart(figure, key=CHART, alt=share_sentence(found), on_select=select_head,
                       config={"displayModeBar": False}, selection_mode="points")  # fmt: skip
    right.markdown(section("real_heads", "own_short", command=COMMAND))
    offer_head(title, special, shown, found)
    charts.tables["heads"] = table_of(found)
    with st.expander("More on random heads", key="heads_twins", on_change="rerun", **LINK) as more:
        if more.open:
            charts.draw_table("states", st, "Twin over head, mean over layers", table_of_states())
            st.markdown(
                f"{twins_sentence(found)} {interval_sentence(found)} {entropy_sentence(found)}"
            )
    charts.draw_footer(section("real_heads", "curvature"))


def select_head() -> None:
    """Show the head whose mark was clicked."""
    points = st.session_state[CHART].selection.points
    if points and "customdata" in points[0]:
        layer, head = points[0]["customdata"][:2]
        st.query_params["heads_head"] = head_text((int(layer) - 1, int(head) - 1))


def head_name(head: Head) -> str:
    """Name a head, counted from 1."""
    return f"Layer {head[0] + 1}, head {head[1] + 1}"


def over_seeds(found: Arrays, twin: str) -> np.ndarray:
    """Return the geometric mean over seeds of the totals of a twin: (L, H)."""
    return np.exp(np.log(found[twin].astype(float)).mean(0))


def typical_seed(found: Arrays, head: Head) -> int:
    """Return the seed of the twin whose total is nearest to the geometric mean of all seeds."""
    logs = np.log(found["sharp"][(..., *head)].astype(float))
    return TWIN_SEEDS[int(np.abs(logs - logs.mean()).argmin())]


# --- Charts and tables ----------------------------------------------------------------------------


def ratio_chart(found: Arrays, shown: Head) -> go.Figure:
    """Draw each head's curvature over that of its twins, by layer, and the mean; ring one head."""
    ratios, mean = found["total"] / over_seeds(found, "sharp"), twin_ratio(found, "sharp")
    layers = len(ratios)
    rows, columns = (index.ravel() + 1 for index in np.indices(ratios.shape))
    x = np.clip(ratios.ravel(), 1e-6, None)
    heads = c.line("a head", x, rows, colour=c.GREY, mode="markers") | {
        # A click brings no row of a packed array.
        "customdata": np.stack([rows, columns, 100 * x], -1).tolist(),
        "hovertemplate": "layer %{customdata[0]}, head %{customdata[1]}: %{customdata[2]:.0f} % of"
        " its twins’ mean<extra></extra>",
    }
    heads["marker"] |= {"size": 10, "opacity": 0.75}
    traces, notes, ends = [heads], [], [x.min(), x.max(), 1.0]
    if mean is not None:
        value, low, high = (1 / y for y in (mean.mean.value, mean.mean.high, mean.mean.low))
        reach = {"type": "data", "array": [high - value], "arrayminus": [value - low]}
        whole = c.line("mean, 95 %", [value], [layers + 1.2], colour=c.GREY, mode="markers")
        whole["marker"] |= {"size": 14, "symbol": "diamond"}
        traces.append(whole | {"error_x": reach | {"thickness": 2, "width": 6, "color": c.GREY}})
        ends += [low, high]
        about = f"mean {percent(value)} ({100 * low:.0f} to {percent(high)})"
        notes = [{"x": math.log10(low), "y": layers + 1.2, "text": about, "xanchor": "right",
                  "xshift": -8, "showarrow": False, "font": {"size": 14}}]  # fmt: skip
    figure = c.chart(
        "Heads’ total |K|, % of twins’ mean",
        traces,
        "click a dot to see that head",
        height=CHART_PIXELS,
        margin={"l": 56, "r": 8, "t": 52, "b": 44},
        x_axis=c.log_axis()
        | c.ticks(SHARES, [f"{100 * x:g}" for x in SHARES])
        | {
            "tickangle": 0,
            "range": [np.log10(np.nanmin(ends)) - 0.12, np.log10(np.nanmax(ends)) + 0.12],
        },
        y_axis={"range": [layers + 1.8, 0.3], "zeroline": False, "showgrid": False}
        | c.ticks(range(1, layers + 1), [f"layer {row}" for row in range(1, layers + 1)]),
        showlegend=False,
        annotations=notes,
    )
    figure.add_scatter(
        x=[float(ratios[shown])], y=[shown[0] + 1], mode="markers", hoverinfo="skip",
        marker={"size": 20, "symbol": "circle-open", "color": c.ACCENT, "line": {"width": 3}},
    )  # fmt: skip
    less, more = int((x < 1).sum()), int((x > 1).sum())
    for text, anchor, side in ((f"{less} less curved", "right", -8), (f"{more} more", "left", 8)):
        figure.add_annotation(x=0, y=1, yref="paper", text=text, xanchor=anchor, xshift=side,
                              yanchor="bottom", showarrow=False, font={"size": 14})  # fmt: skip
    return figure.add_vline(1, line={"width": 2, "color": c.FAINT})


@cache
def states_of_page() -> dict[tuple[str, bool, str], Arrays]:
    """Return the bundled measures of all texts, with and without special tokens, and planes."""
    return {
        (title, special, kind): shipped_measures(title, special, kind)
        for title in TEXTS
        for special in (False, True)
        for kind in BUNDLED_PLANES
    }


def table_of_states() -> dict[str, list[str]]:
    """Return a table of the ratios of twins on all texts and planes, and R² of the entropy."""
    rows = []
    for (title, special, kind), found in states_of_page().items():
        ratios = [twin_ratio(found, name) for name in SCORE_TWINS]
        rows.append(
            (
                title,
                "with" if special else "without",
                kind,
                *(ratio_text(x.mean) if x else "–" for x in ratios),
                f"{entropy_share(found):.2f}",
            )
        )
    names = ("text", "[CLS], [SEP]", "plane", *SCORE_TWINS.values(), "R² of entropy")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def table_of(found: Arrays) -> dict[str, list[float]]:
    """Return the numbers of every head as the columns of a table."""
    layer, head = np.indices(found["total"].shape) + 1
    seeds = f"geometric mean of {len(found['sharp'])} seeds"
    columns = {
        "layer": layer,
        "head": head,
        "∫|K| dA (estimate)": found["total"],
        "estimated error of ∫|K| dA": found["error"],
        f"∫|K| dA of the twin with random queries and keys, {seeds}": over_seeds(found, "sharp"),
        f"∫|K| dA of that with the head's offsets, {seeds}": over_seeds(found, "offset"),
        "entropy, nats, mean over the chart": found["entropy"],
        "sink share, mean over the text's own tokens": found["sink"],
        f"mean number of keys needed, ε = {EPSILONS[0]:g}": found["needed"][0],
    }
    return {name: column.ravel().tolist() for name, column in columns.items()}


# --- Sentences ------------------------------------------------------------------------------------


def answer(found: Arrays) -> str:
    """Answer the page's question: how many heads curve, and more or less than random ones."""
    ratio, curved = twin_ratio(found, "sharp"), found["proved"] > 0
    if ratio is None:
        return "No head is known to curve."
    than = by_interval(
        ratio.mean.low - 1,
        ratio.mean.high - 1,
        ", significantly more than random heads",
        ". So do random heads: no significant difference",
        ", but significantly less than random heads",
    )
    count = f"all {curved.size}" if curved.all() else f"{curved.sum()} of {curved.size}"
    return f"Yes, {count} heads curve{than}."


def share_sentence(found: Arrays) -> str:
    """Say what share of its twins' total curvature a head has, with an interval."""
    twins = twin_ratio(found, "sharp")
    if twins is None:
        return ""
    ratio = twins.mean
    interval = "" if np.isnan(ratio.low) else (
        f" (95\u00a0% interval over {len(twins.layers)} layers: {100 / ratio.high:.0f} to"
        f" {percent(1 / ratio.low)})")  # fmt: skip
    return (
        f"A head of all-MiniLM-L6-v2 has **{percent(1 / ratio.value)}**{interval} of the"
        f" total curvature of its {len(TWIN_SEEDS)} twins: random queries and keys, equal entropy."
    )


def twins_sentence(found: Arrays) -> str:
    """Say by how much twins of the scores curve more than the heads, by its interval."""
    sharp, offset = (twin_ratio(found, name) for name in SCORE_TWINS)
    return "" if sharp is None or offset is None else effects_text(sharp.mean, offset.mean)


def interval_sentence(found: Arrays) -> str:
    """Say what the numbers of `twins_sentence` are, and how seeds differ."""
    sharp, offset = (twin_ratio(found, name) for name in SCORE_TWINS)
    if sharp is None or offset is None:
        return ""
    seeds, layers = len(found["sharp"]), int((~np.isnan(sharp.layers)).sum())
    interval = "one layer gives no interval"
    if layers > 1:
        interval = f"in brackets the 95\u00a0% t interval over the means of {layers} layers"
    by_seed, kept = (f"{x.seeds.min():.2f}× to {x.seeds.max():.2f}×" for x in (sharp, offset))
    return (
        f"Twin over head on the principal plane, geometric mean of {sharp.heads} heads and {seeds}"
        f" seeds, {interval}; single seeds give {by_seed} and {kept}. {sharp.larger} heads curve"
        " more than their twins with random queries and keys."
    )


def entropy_sentence(found: Arrays) -> str:
    """Say how much of the totals of heads their entropy explains."""
    share = entropy_share(found)
    if np.isnan(share):
        return ""
    says = "mostly" if share >= 0.5 else "partly" if share >= 0.2 else "hardly"
    return (
        f"The head’s mean entropy explains {percent(share)} of the variance of log ∫|K| dA over"
        f" {found['total'].size} heads (R²): a total says {says} how sharp a head is."
    )


# --- To take along --------------------------------------------------------------------------------


def offer_head(title: str, special: bool, shown: Head, found: Arrays) -> None:
    """Offer a notebook that measures a head on the principal plane, and its surface."""
    layer, head = shown
    total, fine = float(found["total"][shown]), float(found["fine"][shown])
    missed = abs(total - fine) + float(found["fine_error"][shown])  # by 31 x 31 points
    name = f"head_{head_text(shown)}"
    offer_notebook(
        f"Head {head_text(shown)} of all-MiniLM-L6-v2 reading {title}",
        name,
        (
            "from gating_core.checkpoints import head_map, principal_plane\n"
            "from gating_core.real_heads import keys_of, shipped_layers, shipped_text",
            f"text, layer = shipped_text({title!r}), shipped_layers()[{layer}]\n"
            f"states, keys = text.states[{layer}], keys_of(text.tokens, {special})\n"
            f"surface = head_map(layer, states, {head}, principal_plane(states), keys=keys)",
        ),
        shipped_layers()[layer].channels,
        (total, max(missed, float(found["error"][shown]))),
    )
    offered().surfaces["Its outputs, in three principal components"] = OfferedSurface(
        name, partial(exported_head, title, special, shown)
    )


def exported_head(title: str, special: bool, shown: Head, line: str) -> Surface:
    """Return the sheet of a head as the tab Heads draws it, with K of all its channels."""
    surface, weights, bend = pool.POOL.call(measure_head, title, special, shown)
    points = weights @ shipped_charts(title, special).values[shown]
    return exported(surface, line, points, names=("u", "v"), more={"|H|": bend})


def measure_head(
    title: str, special: bool, shown: Head
) -> tuple[SurfaceResult, np.ndarray, np.ndarray]:
    """Measure a head on the principal plane; return its weights (R, C, n) and |H| (R, C), too."""
    reading, grid = shipped_reading(title, special, shown[0]), square_grid(FINE_SIZE)
    plane = principal_plane(reading.states)
    heads_map = head_map(reading.layer, reading.states, shown[1], plane, keys=reading.keys)
    weights = heads_map.weights(grid.points).numpy().reshape(FINE_SIZE, FINE_SIZE, -1)
    found = MeasuredSurface(heads_map, grid)
    return found.surface, weights, found.mean_norm[0]

"""The tab Heads: the wall of windows, and the head that is opened."""

from __future__ import annotations

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
    FIRST_THREE,
    SIZES,
    TEXTS,
    THREE_TOKENS,
    TOKENS,
    HeadChart,
    entropy_share,
    keys_of,
    open_head,
    shipped_charts,
    shipped_layers,
    shipped_measures,
    shipped_reading,
    shipped_record,
    shipped_text,
    twin_ratio,
)
from ui.common import charts as c
from ui.common.formatting import percent, short
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding, front_columns
from ui.common.take_along import OfferedSurface, offer_notebook, offered
from ui.components.heads import Frames, Head, Wall
from ui.drawing.colours import exported
from ui.drawing.palette import SEQUENTIAL_SCALE, SIGNED_SCALE, colour_at
from ui.real_heads.shared import (
    Arrays,
    Three,
    answer,
    choose_chart,
    draw_wall,
    drawn_words,
    entropy_sentence,
    interval_sentence,
    linked_head,
    named,
    ratio_text,
    twins_sentence,
    with_unread,
)
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

NEEDED = 0  # of `EPSILONS`
LEAD = (
    "Each window is a head of **all-MiniLM-L6-v2** that reads one text: the plane its query moves"
    " on, divided among the tokens it attends to **most**."
)
SCORE_TWINS = {"sharp": "random queries and keys", "offset": "the same with own offsets"}


@cached()
def wall_of(title: str, special: bool) -> Wall:
    """Return what is drawn of the bundled model on one of its texts."""
    text, charts = shipped_text(title), shipped_charts(title, special)
    words, glued = drawn_words(text.tokens.words)
    words = with_unread(words, glued, text.tokens.special, TEXTS[title])
    return Wall(
        charts.scores,
        charts.values,
        charts.states,
        [str(n + 1) for n in range(charts.scores.shape[0])],
        words,
        glued,
        text.tokens.special,
        charts.ranks,
        keys_of(text.tokens, special),
    )


@cached("Measuring curvature …", on=NUMBERS_CACHE)
def open_shipped(
    title: str, special: bool, opened: Head, kind: str, three: Three
) -> tuple[HeadChart, Arrays]:
    """Return a head on a plane through three tokens: a second at most."""
    return pool.POOL.call(open_here, title, special, opened, kind, three, seconds=pool.LONG_VIEW)


def open_here(
    title: str, special: bool, opened: Head, kind: str, three: Three
) -> tuple[HeadChart, Arrays]:
    """Measure it in this process."""
    layer, head = opened
    return open_head(shipped_reading(title, special, layer), head, kind, three)


def draw() -> None:
    """Draw the tab."""
    opened = linked_head("heads", shipped_measures(next(iter(TEXTS)), False)["total"].shape)
    widths = (2, 2, 2, 3, 2) if opened else (2, 2, 3)
    first, second, *planes, last = front_columns(widths, "bottom")
    title = first.selectbox("Text", [*TEXTS], key="heads_text", **LINK)
    shown = second.selectbox(
        "Colour frames by",
        [AGAINST[0], NO_FRAMES, *[name for name in FRAMES if name != AGAINST[0]]],
        key="heads_frame",
        **LINK,
        help=section("real_heads", "frames"),
    )
    special = last.toggle(
        "With [CLS], [SEP]", key="heads_special", **LINK, help=section("real_heads", "special")
    )
    wall = wall_of(title, special)
    chart = opened and choose_chart(
        planes, "heads", opened, wall, FIRST_THREE, partial(open_shipped, title, special)
    )
    found = shipped_measures(title, special)
    if opened and chart is None:
        offer_head(title, special, opened, found)
        name = f"head_{opened[0] + 1}.{opened[1] + 1}"
        offered().surfaces["Its outputs, in three principal components"] = OfferedSurface(
            name, partial(exported_head, title, special, opened)
        )
    charts = c.Charts("heads")
    charts.tables["heads"] = table_of(found)
    frames, hint = frames_of(shown, found)
    said, plane = found, "the principal plane"
    if chart and chart.three == FIRST_THREE:  # of other tokens only the open head is measured
        said = shipped_measures(title, special, THREE_TOKENS)
        plane = f"the plane of {named(wall.words, FIRST_THREE)}"
    draw_finding(answer(said), lead=LEAD)
    place, *beside = st.container(key="first").columns([1] if opened else [12, 5])
    with place:
        draw_wall(wall, found, frames, hint or section("real_heads", "hint"), opened, chart)
    for column in beside:
        twin = "offset" if shown == AGAINST[1] else "sharp"
        charts.draw("ratios", column, ratio_chart(said, twin), twins_sentence(said))
        column.caption(twins_sentence(said))
    with st.expander("More on random heads", key="heads_twins", on_change="rerun", **LINK) as more:
        if more.open:
            charts.draw_table("states", st, "Twin over head, mean over layers", table_of_states())
            st.markdown(f"{interval_sentence(said, plane)} {entropy_sentence(said)}")
    charts.draw_footer(section("real_heads", "heads"))


def ratio_chart(found: Arrays, twin: str) -> go.Figure:
    """Draw the curvature of a ``twin`` over that of each head, by layer, and the mean."""
    ratios, mean = over_seeds(found, twin) / found["total"], twin_ratio(found, twin)
    layers = len(ratios)
    rows = np.broadcast_to(np.arange(1, layers + 1)[:, None], ratios.shape)
    traces = []
    for name, colour, symbol, side in (
        ("less", c.PURPLE, "triangle-left", ratios < 1),
        ("more", c.GREEN, "triangle-right", ratios >= 1),
    ):
        traces.append(
            c.line(name, ratios[side], rows[side], colour=colour, symbol=symbol, mode="markers")
        )
    if mean is not None:
        reach = {"array": [mean.mean.high - mean.mean.value], "thickness": 2, "width": 5}
        reach |= {"type": "data", "arrayminus": [mean.mean.value - mean.mean.low]}
        whole = c.line("mean, 95 %", [mean.mean.value], [layers + 1.2], mode="markers")
        whole["marker"] |= {"size": 11, "symbol": "diamond"}
        traces.append(whole | {"error_x": reach | {"color": c.GREY}})
    names = [*(f"layer {row}" for row in range(1, layers + 1)), "mean"]
    figure = c.chart(
        "Curvature of random heads",
        traces,
        "ratio to the head’s own ∫|K| dA",
        height=395,
        margin={"l": 52, "r": 8, "t": 52, "b": 40},
        x_axis=c.log_axis() | c.ticks((0.25, 1, 4, 16), ("¼", "1", "4", "16")),
        y_axis={"range": [layers + 1.8, 0.4], "zeroline": False, "showgrid": False}
        | c.ticks([*range(1, layers + 1), layers + 1.2], names),
    )
    return figure.add_vline(1, line={"width": 1.5, "dash": "dash", "color": c.FAINT})


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
        f"mean number of keys needed, ε = {EPSILONS[NEEDED]:g}": found["needed"][NEEDED],
    }
    return {name: column.ravel().tolist() for name, column in columns.items()}


def over_seeds(found: Arrays, twin: str) -> np.ndarray:
    """Return the geometric mean over seeds of the totals of a twin: (L, H)."""
    return np.exp(np.log(found[twin].astype(float)).mean(0))


def offer_head(title: str, special: bool, opened: Head, found: Arrays) -> None:
    """Offer a notebook that measures a head on the principal plane."""
    layer, head = opened
    total, fine = float(found["total"][opened]), float(found["fine"][opened])
    missed = abs(total - fine) + float(found["fine_error"][opened])  # by 31 x 31 points
    offer_notebook(
        f"Head {layer + 1}.{head + 1} of all-MiniLM-L6-v2 reading {title}",
        f"head_{layer + 1}.{head + 1}",
        (
            "from gating_core.checkpoints import head_map, principal_plane\n"
            "from gating_core.real_heads import keys_of, shipped_layers, shipped_text",
            f"text, layer = shipped_text({title!r}), shipped_layers()[{layer}]\n"
            f"states, keys = text.states[{layer}], keys_of(text.tokens, {special})\n"
            f"surface = head_map(layer, states, {head}, principal_plane(states), keys=keys)",
        ),
        shipped_layers()[layer].channels,
        (total, max(missed, float(found["error"][opened]))),
    )


def exported_head(title: str, special: bool, opened: Head, line: str) -> Surface:
    """Return the sheet of a head as it is drawn, with K of all its channels."""
    surface, weights, bend = pool.POOL.call(measure_head, title, special, opened)
    points = weights @ shipped_charts(title, special).values[opened]
    return exported(surface, line, points, names=("u", "v"), more={"|H|": bend})


def measure_head(
    title: str, special: bool, opened: Head
) -> tuple[SurfaceResult, np.ndarray, np.ndarray]:
    """Measure a head on the principal plane; return its weights (R, C, n) and |H| (R, C), too."""
    layer, head = opened
    reading, grid = shipped_reading(title, special, layer), square_grid(FINE_SIZE)
    plane = principal_plane(reading.states)
    heads_map = head_map(reading.layer, reading.states, head, plane, keys=reading.keys)
    weights = heads_map.weights(grid.points).numpy().reshape(FINE_SIZE, FINE_SIZE, -1)
    found = MeasuredSurface(heads_map, grid)
    return found.surface, weights, found.mean_norm[0]


def frames_of(shown: str, found: Arrays) -> tuple[Frames | None, str]:
    """Return the frames for the quantity ``shown``, and a sentence about it."""
    if shown == NO_FRAMES:
        return None, ""
    values, texts, about = FRAMES[shown](found)
    if shown in AGAINST:
        shares, scale = np.sign(values) * ranks(np.abs(values)), SIGNED_SCALE
        shares, says = (1 + shares) / 2, "violet below 1, green above"
    else:
        shares, scale, says = ranks(values), SEQUENTIAL_SCALE, "blue is low, yellow high, by rank"
    colours = [colour_at(scale, float(x)) for x in shares.flat]
    return Frames(shown, colours, texts), f"{about}: {says}."


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the share of ``values`` that are smaller or the same: one outlier dims no others."""
    return np.searchsorted(np.sort(values, None), values, side="right") / values.size


def _entropy(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    texts = [short(round(float(x), 2)) for x in found["entropy"].flat]
    return found["entropy"], texts, "Entropy of the attention in nats, mean over the chart"


def _sink(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    mean, random = (percent(float(x["sink"].mean())) for x in (found, random_record()))
    texts = [percent(float(x)) for x in found["sink"].flat]
    return (
        found["sink"],
        texts,
        (
            "Share of the attention that the text’s own tokens give to [CLS]:"
            f" {mean} in the mean of heads, in a model with random weights {random}"
        ),
    )


def _needed(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    needed, random = found["needed"][NEEDED], random_record()["needed"][NEEDED]
    texts, here = [f"{x:.0f}" for x in needed.flat], percent(float(needed.mean()) / TOKENS)
    return (
        needed,
        texts,
        (
            f"Keys needed for a tail mass of at most {EPSILONS[NEEDED]:g}:"
            f" {here} of {TOKENS} in the mean of queries and heads, in a model with random weights"
            f" {percent(random.mean() / SIZES[0])} of {SIZES[0]}"
        ),
    )


def _against(found: Arrays, twin: str, about: str) -> tuple[np.ndarray, list[str], str]:
    ratio = over_seeds(found, twin) / found["total"]
    texts = [f"{x:.{0 if x >= 100 else 1 if x >= 1 else 2}f}×" for x in ratio.flat]
    return np.log2(ratio), texts, about


def _against_twin(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    about = "Frame: curvature of a random head over this head’s"
    return _against(found, "sharp", about)


def _against_offsets(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    about = "Frame: curvature of a random head with own offsets over this head’s"
    return _against(found, "offset", about)


def random_record() -> Arrays:
    """Return what the tokens of a text attend to in a model with random weights."""
    return shipped_record(f"{SIZES[0]}.random")


NO_FRAMES = "none"
AGAINST = ("total against twin", "total against twin, own offsets")
FRAMES = {
    "entropy": _entropy,
    "sink share": _sink,
    "keys needed": _needed,
    AGAINST[0]: _against_twin,
    AGAINST[1]: _against_offsets,
}

"""The tab Heads: the wall of windows, and the head that is opened."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from gating_core.checkpoints import head_map, principal_plane
from gating_core.export import Surface
from gating_core.geometry import SurfaceResult, mean_curvature, measure_surface, square_grid
from gating_core.real_heads import (
    EPSILONS,
    FINE_SIZE,
    GRID_SIZE,
    SIZES,
    TEXTS,
    TOKENS,
    HeadChart,
    keys_of,
    open_head,
    shipped_charts,
    shipped_layers,
    shipped_measures,
    shipped_reading,
    shipped_record,
    shipped_text,
)
from ui.common.charts import Charts
from ui.common.formatting import percent, short
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.take_along import OfferedSurface, offer_notebook, offered
from ui.components.heads import Frames, Head, Wall
from ui.drawing.exported import exported
from ui.drawing.palette import SEQUENTIAL_SCALE, SIGNED_SCALE, colour_at
from ui.real_heads.shared import (
    FIRST_THREE,
    Arrays,
    Three,
    choose_chart,
    dealt_sentence,
    draw_wall,
    drawn_words,
    linked_head,
    ratio_text,
    sharp_sentence,
    times_text,
)
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

NEEDED = 0  # of `EPSILONS`
CASES = (("With [CLS] and [SEP] among the keys", "with them"),
         ("Without [CLS] and [SEP] among the keys", "without them"))  # fmt: skip


@cached()
def wall_of(title: str, special: bool) -> Wall:
    """Return what is drawn of the bundled model on one of its texts."""
    text, charts = shipped_text(title), shipped_charts(title, special)
    words, glued = drawn_words(text.tokens.words)
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
    return pool.POOL.call(open_here, title, special, opened, kind, three, rank=pool.Rank.BRIEF)


def open_here(
    title: str, special: bool, opened: Head, kind: str, three: Three
) -> tuple[HeadChart, Arrays]:
    """Measure it in this process."""
    layer, head = opened
    return open_head(shipped_reading(title, special, layer), head, kind, three)


def draw() -> None:
    """Draw the tab."""
    headline = st.empty()
    opened = linked_head("heads", shipped_measures(next(iter(TEXTS)), False)["total"].shape)
    widths = (2, 2, 2, 3, 2) if opened else (2, 2, 3)
    first, second, *planes, last = front_columns(widths, "bottom")
    title = first.selectbox("Text", [*TEXTS], key="heads_text", **LINK)
    shown = second.selectbox(
        "Colour frames by",
        [NO_FRAMES, *FRAMES],
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
    charts = Charts("heads")
    charts.tables["heads"] = table_of(found)
    charts.offer()
    frames, hint = frames_of(shown, found)
    ratio = ratio_text(shipped_measures(title, not special))
    keys, others = CASES if special else CASES[::-1]
    headline.markdown(sharp_sentence(found, keys[0], f"; {others[1]} {ratio}"))
    with st.container(key="first"):
        draw_wall(wall, found, frames, hint or section("real_heads", "hint"), opened, chart)
    st.markdown(f"{dealt_sentence(found)} {section('real_heads', 'sharp')} {grid_sentence(found)}")


def table_of(found: Arrays) -> dict[str, list[float]]:
    """Return the numbers of every head as the columns of a table."""
    layer, head = np.indices(found["total"].shape) + 1
    columns = {
        "layer": layer,
        "head": head,
        "∫|K| dA": found["total"],
        "error of ∫|K| dA": found["error"],
        "entropy, nats": found["entropy"],
        "sink share": found["sink"],
        f"keys needed, ε = {EPSILONS[NEEDED]:g}": found["needed"][NEEDED],
    }
    return {name: column.ravel().tolist() for name, column in columns.items()}


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
    (bend,) = mean_curvature(heads_map, grid)
    return measure_surface(heads_map, grid), weights, bend


def grid_sentence(found: Arrays) -> str:
    """Say by how much totals on a finer grid differ."""
    missed = np.abs(found["fine"] - found["total"])
    within = int((missed <= found["error"] + found["fine_error"]).sum())
    share = missed / found["fine"]
    return (
        f"Totals are of {GRID_SIZE} × {GRID_SIZE} points; those of {FINE_SIZE} × {FINE_SIZE} differ"
        f" by {np.median(share):.2%} in the median head and {share.max():.2%} at most,"
        f" {'all' if within == missed.size else f'{within} of {missed.size}'} within both errors."
    ).replace("%", "\u00a0%")


def frames_of(shown: str, found: Arrays) -> tuple[Frames | None, str]:
    """Return the frames for the quantity ``shown``, and a sentence about it."""
    if shown == NO_FRAMES:
        return None, ""
    values, texts, about = FRAMES[shown](found)
    if shown == AGAINST_TWIN:
        largest = float(np.abs(values).max())
        colours = [colour_at(SIGNED_SCALE, 0.5 + x / (2 * largest)) for x in values.flat]
        return Frames(shown, colours, texts), f"{about}: purple less, orange more."
    low, high = float(values.min()), float(values.max())
    colours = [colour_at(SEQUENTIAL_SCALE, (x - low) / (high - low)) for x in values.flat]
    return Frames(shown, colours, texts), f"{about}. Blue is low, yellow high."


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
            f"Share of the attention that the text’s tokens give to [CLS]: {mean} in the mean, in a"
            f" model with random weights {random}"
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
            f" {here} of {TOKENS} in the mean, in a model with random weights"
            f" {percent(random.mean() / SIZES[0])} of {SIZES[0]}"
        ),
    )


def _against_twin(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    ratio = found["total"] / found["sharp"].mean(0)
    texts = [times_text(float(x)) for x in ratio.flat]
    return (
        np.log2(ratio),
        texts,
        ("∫|K| dA over that of an equally sharp head with random queries and keys"),
    )


def random_record() -> Arrays:
    """Return what the tokens of a text attend to in a model with random weights."""
    return shipped_record(f"{SIZES[0]}.random")


NO_FRAMES, AGAINST_TWIN = "none", "total against twin"
FRAMES = {
    "entropy": _entropy,
    "sink share": _sink,
    "keys needed": _needed,
    AGAINST_TWIN: _against_twin,
}

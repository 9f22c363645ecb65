"""Four keys to drag, their surface, K at a point, the proof, five keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

import ui.components.keys as component
from gating_core.export import Surface
from gating_core.geometry import SurfaceResult, square_grid
from gating_core.theory import KeysAtPoint, key_fields, keys_at, measure_keys, random_keys
from ui.common.bar import PAGES
from ui.common.charts import Charts
from ui.common.formatting import percent, plus_minus, short
from ui.common.lessons import section
from ui.common.links import (
    GRID_SIZE,
    LINK,
    link_value,
    parse_numbers,
    parse_plane,
    put_in_link,
)
from ui.common.take_along import OfferedSurface, offer_notebook, offered
from ui.components.keys import EXTENT, LARGEST_BIAS, LARGEST_VALUE, FourKeys, Rows
from ui.drawing.chart_map import chart_map
from ui.drawing.colours import exported, scale_of
from ui.work import pool
from ui.work.cache import cached

# --- The picture and its link ---------------------------------------------------------------------


FOURTH = {"key": "key", "no fourth key": "none", "sink logit": "sink"}  # words of the link to modes
FIRST = FourKeys(
    keys=((0.0, 3.0), (-2.75, -2.0), (2.75, -2.0), (0.0, -0.25)),
    biases=(0.0, 0.0, 0.0, 0.6),
    values=((0.943, 0.0, -0.333), (-0.471, 0.816, -0.333), (-0.471, -0.816, -0.333),
            (0.0, 0.0, 1.0)),
)  # fmt: skip
VIEW_KEY = "keys_view"
ABSENT = {"at": "no point", "cut": "no plane"}  # without one in the link


def draw() -> tuple[str, FourKeys]:
    """Draw the switch and the picture; return the mode, one of `component.MODES`, and the model."""
    fourth = st.radio(
        "Fourth slot",
        [*FOURTH],
        key="fourth",
        horizontal=True,
        **LINK,
        help=section("keys", "help_fourth"),
    )
    mode, model = FOURTH[fourth], linked_model()
    draw_keys(VIEW_KEY, mode, model)
    st.page_link(
        PAGES["Curved or bent?"].path,
        label="Why is a saddle not enough? A plane cuts a closed ring only round a hill, K > 0",
        icon=":material/arrow_forward:",
        query_params={"bent_tab": "Islands", "island_surface": "saddle"},
    )
    if mode != "none":  # or it is flat, the triangle of its values
        offered().name = f"four_keys_{fourth}"
        offered().surfaces["The surface of outputs"] = OfferedSurface(
            f"four_keys_{fourth}", partial(_exported, with_mode(mode, model))
        )
    return mode, model


def _exported(model: FourKeys, line: str) -> Surface:
    surface, more = measured(model)
    return exported(surface, line, more=more)


@cached("Measuring curvature …")
def measured(model: FourKeys) -> tuple[SurfaceResult, dict[str, np.ndarray]]:
    """Measure the surface of four keys, its |H| and its attention weights, for its files."""
    about = model.keys, model.biases, model.values, square_grid(GRID_SIZE)
    return pool.POOL.call(measure_keys, *about), pool.POOL.call(key_fields, *about)


def draw_keys(key: str, mode: str, model: FourKeys, first: FourKeys = FIRST, **more: Any) -> None:
    """Draw the picture, whose link says what is not of ``first``; ``more`` is for the component."""
    on_move = partial(_to_link, first=first)
    component.keys(key=key, mode=mode, model=model, first=first, on_move=on_move, **more)


def linked_model(first: FourKeys = FIRST) -> FourKeys:
    """Return the model of the link; what the link does not say is that of ``first``."""
    return FourKeys(**{
        name: link_value(name, parse, getattr(first, name), ABSENT.get(name, "the first ones"))
        for name, parse in PARSERS.items()
    })  # fmt: skip


def model_of(texts: Mapping[str, str]) -> FourKeys:
    """Return the model of parameters that a link might have; all of them can be used."""
    given = {name: parse(texts[name]) for name, parse in PARSERS.items() if name in texts}
    assert all(given.values())
    return replace(FIRST, **given)


def _parse(text: str, first: Rows, largest: float) -> Rows | None:
    """Return the numbers of "0,3;-2.75,-2" in rows; ``None`` if ``first`` has another form."""
    table = tuple(parse_numbers(row) or () for row in text.split(";", len(first)))
    if [*map(len, table)] != [*map(len, first)]:
        return None
    return table if all(abs(x) <= largest for row in table for x in row) else None


def _parse_row(text: str, first: tuple[float, ...], largest: float) -> tuple[float, ...] | None:
    table = _parse(text, (first,), largest)
    return table[0] if table else None


PARSERS: dict[str, Callable[[str], Any]] = {
    "keys": partial(_parse, first=FIRST.keys, largest=EXTENT),
    "biases": partial(_parse_row, first=FIRST.biases, largest=LARGEST_BIAS),
    "values": partial(_parse, first=FIRST.values, largest=LARGEST_VALUE),
    "at": partial(_parse_row, first=(0.0, 0.0), largest=1.0),
    "cut": parse_plane,
}


def _to_link(model: FourKeys, first: FourKeys) -> None:
    """Put a model into the link, without what is that of ``first``; a callback."""
    for name in PARSERS:
        own = getattr(model, name)
        rows = own if own and isinstance(own[0], tuple) else (own,)
        same = own is None or own == getattr(first, name)
        put_in_link(**{name: "" if same else ";".join(",".join(map(repr, x)) for x in rows)})


def with_mode(mode: str, model: FourKeys) -> FourKeys:
    """Return the slots that a mode uses: three, or four with the sink's at the origin."""
    if mode == "none":
        return replace(model, keys=model.keys[:3], biases=model.biases[:3], values=model.values[:3])
    if mode == "sink":
        return replace(
            model, keys=(*model.keys[:3], (0.0, 0.0)), values=(*model.values[:3], (0.0, 0.0, 0.0))
        )
    return model


# --- The closed form of K at a point, beside K by jets --------------------------------------------


MIDDLE = (0.0, 0.0)  # of the chart


@cached()
def numbers(model: FourKeys) -> KeysAtPoint:
    """Evaluate the closed form and the jets at the marked point, or in the middle of the chart."""
    return keys_at(model.keys, model.biases, model.values, model.at or MIDDLE)


def draw_point(mode: str, model: FourKeys) -> None:
    """Draw the formula, its numbers, and the comparison with jets."""
    if mode == "none":
        st.subheader("Why three values are flat", anchor=False)
        st.markdown(section("keys", "three"))
        return
    st.subheader("The closed form, with the numbers of a point", anchor=False)
    st.latex(section("keys", "closed_form"))
    used = with_mode(mode, model)
    result = numbers(used)
    u, v = model.at or MIDDLE
    where = f"At ({short(u)}, {short(v)})" + ("" if model.at else ", the middle of the chart")
    st.markdown(
        section(
            "keys",
            "numbers",
            where=where,
            weights=", ".join(map(short, result.weights)),
            w=", ".join(map(short, result.barycentric)),
            m=", ".join(map(short, result.m)),
            determinant=short(result.determinant),
            quadratic=short(result.quadratic),
        )
    )
    st.markdown(f"**{comparison(result)}**")
    offer_notebook(
        "The surface of four keys",
        f"four_keys_{mode}",
        (
            "from gating_core.theory import KeySurface",
            f"keys, biases = {used.keys}, {used.biases}\nvalues = {used.values}\n"
            "surface = KeySurface(keys, biases, values)",
        ),
        len(model.values[0]),
        (result.closed, result.closed_error),
        (u, v),
    )


def comparison(result: KeysAtPoint) -> str:
    """Compare K by the closed form with K by jets, each with its bound."""
    if result.sign is None:
        return "The keys or the values lie on one line: there is no surface, and K has no value."
    closed = plus_minus(result.closed, result.closed_error)
    jet = plus_minus(result.jet, result.jet_error)
    agrees = abs(result.closed - result.jet) <= result.closed_error + result.jet_error
    verdict = "They agree within their bounds." if agrees else "They **disagree**: one is wrong."
    return f"K by the closed form: {closed}. K by jets: {jet}. {verdict}"


# --- The proof in three steps ---------------------------------------------------------------------


PICTURES = Path(__file__).resolve().parents[2] / "assets" / "keys"
STEPS = {  # the picture of a step, which is also its section, and what the picture shows
    "orbit": "a dome within a tetrahedron, and an arrow along it from one point to another",
    "tangent": "a line that touches a curve on one side, and one that crosses it, before and after"
    " a projective map",
    "arrangements": "a key inside the triangle of three others: plus; four keys in convex position:"
    " minus",
}


def draw_proof(mode: str) -> None:
    """Draw the three steps side by side, and the consequences below."""
    heading = "Why four keys decide the sign: the proof in three steps"
    if mode == "none":  # the picture above has three keys
        heading = "With a fourth key, the four decide the sign: the proof in three steps"
    st.subheader(heading, anchor=False)
    for column, (name, alt) in zip(st.columns(3, gap="medium"), STEPS.items(), strict=True):
        column.image(str(PICTURES / f"{name}.svg"), width=240, alt=f"Picture: {alt}")
        column.markdown(section("keys", name))
    st.subheader("What this means", anchor=False)
    st.markdown(section("keys", "meaning"))


# --- Five keys: where the theorem ends ------------------------------------------------------------


COUNTS = (4, 8)  # keys
SEEDS = (0, 9999)
FIVE_GRID = 61  # points along a side
MAP: dict[str, Any] = {
    "height": 320,
    "margin": {"l": 36, "r": 8, "t": 8, "b": 36},
    "showlegend": False,
    "hovermode": "closest",
    "dragmode": False,
}


@cached("Measuring curvature …")
def measured_random(count: int, seed: int) -> SurfaceResult:
    """Measure random attention over ``count`` slots: a quarter of a second."""
    return pool.POOL.call(measure_random, count, seed)


def measure_random(count: int, seed: int) -> SurfaceResult:
    """Measure it here."""
    layer = random_keys(count, seed)
    return measure_keys(layer.keys, layer.biases, layer.values, square_grid(FIVE_GRID))


def draw_five() -> None:
    """Draw the controls, the map of K and its sentence, where it is opened."""
    fold = st.expander(
        "Five keys: where the theorem ends", key="five_keys", on_change="rerun", **LINK
    )
    if not fold.open:
        return
    with fold:
        charts = Charts("keys")
        left, right = st.columns([2, 3], gap="large")
        first, second = left.columns(2)
        count = first.number_input("Keys n", *COUNTS, 5, 1, key="key_count", **LINK)
        seed = second.number_input("Seed of the keys", *SEEDS, 3, 1, key="key_seed", **LINK)
        surface = measured_random(count, seed)
        text = signs_text(count, surface)
        left.markdown(f"**{text}**")
        left.markdown(section("keys", "five"))
        scale = scale_of("curvature", [surface.known[0]])
        figure = chart_map(
            surface.known[0], surface.axis, scale, "K", ("u", "v"), {"thickness": 8, "len": 0.9,
            "tickvals": [0, 0.5, 1], "ticktext": ["K < 0", "0", "K > 0"]}, MAP,
            signed=surface.signed[0], error=surface.known_error[0],
            hatched=True,
        )  # fmt: skip
        charts.draw("signs", right, figure, text)
        charts.draw_footer(section("keys", "five_data", size=FIVE_GRID))


def signs_text(count: int, surface: SurfaceResult) -> str:
    """The shares of the area with each sign, and what that says of the theorem."""
    positive, negative = float(surface.shares.positive[0]), float(surface.shares.negative[0])
    shares = f"K > 0 on {percent(positive)} of the area, K < 0 on {percent(negative)}"
    if positive and negative:
        return f"{count} keys: {shares}. Both signs on one chart."
    return f"{count} keys: {shares}. One sign at the sampled points."

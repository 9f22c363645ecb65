"""The picture of the page: four keys to drag, the surface they give, and their link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

import ui.components.keys as component
from gating_core.export import Surface
from gating_core.geometry import SurfaceResult, square_grid
from gating_core.theory import key_fields, measure_keys
from ui.common.bar import PAGES
from ui.common.lessons import section
from ui.common.links import GRID_SIZE, LINK, link_value, parse_numbers, parse_plane
from ui.common.take_along import OfferedSurface, offered
from ui.components.keys import EXTENT, LARGEST_BIAS, LARGEST_VALUE, FourKeys, Rows
from ui.drawing.colours import exported
from ui.work import pool
from ui.work.cache import cached

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
    rows = {
        name: link_value(name, PARSERS[name], table, ABSENT.get(name, "the first ones"))
        for name, table in _tables(first).items()
    }
    return _from_tables(rows)


def model_of(texts: Mapping[str, str]) -> FourKeys:
    """Return the model of parameters that a link might have; all of them can be used."""
    given = {name: parse(texts[name]) for name, parse in PARSERS.items() if name in texts}
    assert all(given.values())
    return _from_tables(_tables(FIRST) | given)


def _parse(text: str, first: Rows, largest: float) -> Rows | None:
    """Return the numbers of "0,3;-2.75,-2" in rows; ``None`` if ``first`` has another form."""
    table = tuple(parse_numbers(row) or () for row in text.split(";", len(first)))
    if [*map(len, table)] != [*map(len, first)]:
        return None
    return table if all(abs(x) <= largest for row in table for x in row) else None


def _parse_cut(text: str) -> Rows | None:
    plane = parse_plane(text)
    return (plane,) if plane else None


PARSERS: dict[str, Callable[[str], Rows | None]] = {
    "keys": partial(_parse, first=FIRST.keys, largest=EXTENT),
    "biases": partial(_parse, first=(FIRST.biases,), largest=LARGEST_BIAS),
    "values": partial(_parse, first=FIRST.values, largest=LARGEST_VALUE),
    "at": partial(_parse, first=((0.0, 0.0),), largest=1.0),
    "cut": _parse_cut,
}


def _tables(model: FourKeys) -> dict[str, Rows]:
    """Return ``model`` as parameters of the link; no rows for a point or a plane not there."""
    return {
        "keys": model.keys,
        "biases": (model.biases,),
        "values": model.values,
        "at": (model.at,) if model.at else (),
        "cut": (model.cut,) if model.cut else (),
    }


def _from_tables(tables: Mapping[str, Any]) -> FourKeys:
    (biases,) = tables["biases"]
    at, cut = (next(iter(tables[name]), None) for name in ("at", "cut"))
    return FourKeys(tables["keys"], biases, tables["values"], at, cut)


def _to_link(model: FourKeys, first: FourKeys) -> None:
    """Put a model into the link, without what is that of ``first``; a callback."""
    before = _tables(first)
    for name, table in _tables(model).items():
        if table == before[name] or not table:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = ";".join(",".join(f"{x!r}" for x in row) for row in table)


def with_mode(mode: str, model: FourKeys) -> FourKeys:
    """Return the slots that a mode uses: three, or four with the sink's at the origin."""
    if mode == "none":
        return replace(model, keys=model.keys[:3], biases=model.biases[:3], values=model.values[:3])
    if mode == "sink":
        return replace(
            model, keys=(*model.keys[:3], (0.0, 0.0)), values=(*model.values[:3], (0.0, 0.0, 0.0))
        )
    return model

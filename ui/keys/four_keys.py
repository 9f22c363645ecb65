"""The picture of the page: four keys to drag, the surface they give, and their link."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

import ui.components.keys as component
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_numbers
from ui.components.keys import EXTENT, LARGEST_BIAS, LARGEST_VALUE, FourKeys, Rows

FOURTH = {"key": "key", "no fourth key": "none", "sink logit": "sink"}  # words of the link to modes
FIRST = FourKeys(
    keys=((0.0, 3.0), (-2.75, -2.0), (2.75, -2.0), (0.0, -0.25)),
    biases=(0.0, 0.0, 0.0, 0.6),
    values=((0.943, 0.0, -0.333), (-0.471, 0.816, -0.333), (-0.471, -0.816, -0.333),
            (0.0, 0.0, 1.0)),
)  # fmt: skip
VIEW_KEY = "keys_view"


def draw() -> tuple[str, FourKeys]:
    """Draw the switch and the picture; return the mode, one of `component.MODES`, and the model."""
    fourth = st.radio("Fourth slot", [*FOURTH], key="fourth", horizontal=True, **LINK,
                      help=section("keys", "help_fourth"))  # fmt: skip
    mode, model = FOURTH[fourth], linked_model()
    component.keys(key=VIEW_KEY, mode=mode, model=model, first=FIRST, on_move=_to_link)
    return mode, model


def linked_model() -> FourKeys:
    """Return the model of the link; what the link does not say is that of `FIRST`."""
    keys, (biases,), values = (
        link_value(name, partial(_parse, first=first, largest=largest), first, "the first ones")
        for name, first, largest in (
            ("keys", FIRST.keys, EXTENT), ("biases", (FIRST.biases,), LARGEST_BIAS),
            ("values", FIRST.values, LARGEST_VALUE),
        )
    )  # fmt: skip
    at = link_value("at", partial(_parse, first=((0.0, 0.0),), largest=1.0), None, "no point")
    return FourKeys(keys, biases, values, at[0] if at else None)


def _parse(text: str, first: Rows, largest: float) -> Rows | None:
    """Return the numbers of "0,3;-2.75,-2" in rows; ``None`` if ``first`` has another form."""
    table = tuple(parse_numbers(row) or () for row in text.split(";", len(first)))
    if [*map(len, table)] != [*map(len, first)]:
        return None
    return table if all(abs(x) <= largest for row in table for x in row) else None


def _to_link(model: FourKeys) -> None:
    """Put a model into the link, without what is that of `FIRST`; a callback."""
    tables = {"keys": model.keys, "biases": (model.biases,), "values": model.values,
              "at": (model.at,) if model.at else ()}  # fmt: skip
    first = {"keys": FIRST.keys, "biases": (FIRST.biases,), "values": FIRST.values, "at": ()}
    for name, table in tables.items():
        if table == first[name]:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = ";".join(",".join(f"{x!r}" for x in row) for row in table)


def with_mode(mode: str, model: FourKeys) -> FourKeys:
    """Return the slots that a mode uses: three, or four with the sink's at the origin."""
    if mode == "none":
        return replace(model, keys=model.keys[:3], biases=model.biases[:3], values=model.values[:3])
    if mode == "sink":
        return replace(model, keys=(*model.keys[:3], (0.0, 0.0)),
                       values=(*model.values[:3], (0.0, 0.0, 0.0)))  # fmt: skip
    return model

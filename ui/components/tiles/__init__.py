"""Tiles to choose from: each a picture, a name, which is a button, and one line of text.

Each tile is a container whose key begins with ``tile_``; a click anywhere on it chooses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

STYLE = Path(__file__).with_name("tiles.css")
PICTURE_WIDTH = 72  # pixels


@dataclass(frozen=True)
class Tile:
    """A ``name`` over a ``line``; above a ``picture``, SVG or file, or a ``formula`` in TeX.

    Before the first of a group, its ``heading``.
    """

    name: str
    line: str
    picture: str = ""
    formula: str = ""
    heading: str = ""


def draw_tiles(
    tiles: Mapping[str, Tile],
    chosen: str,
    key: str,
    on_choose: Callable[[str], None],
    width: int | Literal["content"] = PICTURE_WIDTH,
) -> None:
    """Draw ``tiles`` in rows; choosing one calls ``on_choose`` with its word.

    Pictures are ``width`` pixels wide. For files pass "content": Streamlit would scale a file down
    in every run, and it would look blurred.
    """
    with st.container(key=f"tiles_{key}", horizontal=True, gap="small"):
        for word, tile in tiles.items():
            if tile.heading:
                st.markdown(f"**{tile.heading}**")
            with st.container(key=f"tile_{key}_{word}", border=True, gap=None):
                if tile.picture:
                    st.image(tile.picture, width=width, alt=f"Picture: {tile.name}")
                if tile.formula:
                    st.markdown(f"${tile.formula}$")
                st.button(
                    tile.name,
                    key=f"choose_{key}_{word}",
                    on_click=on_choose,
                    args=(word,),
                    type="primary" if word == chosen else "tertiary",
                    width="stretch",
                )
                if tile.line:
                    st.caption(tile.line)

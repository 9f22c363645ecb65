"""A menu of tiles that stands in the link alone: data sets, or kinds of attention.

A menu of Streamlit's writes what it shows into the link; this one shows names and writes words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from gating_core.tasks import TASK_NAME, make_task
from ui.common.controls import Choice, Where
from ui.common.link_check import forget
from ui.components.tiles import Tile, draw_tiles
from ui.decision_boundary.names import DATA, Named
from ui.drawing import palette

POINTS = 260  # of a picture
SIZE, DOT = 100, 2.6  # of a picture and of a point, in units of the picture
CHOSEN = "boundary_tile_chosen"


@dataclass(frozen=True, kw_only=True)
class Tiles(Choice):
    """One of a few words, each a tile with its name in ``names``."""

    names: Mapping[str, Named]

    @property
    def value(self) -> Any:
        return self.clean(self.linked)

    def set(self, value: Any) -> None:
        st.query_params.pop(self.key, None)
        if value != self.default:
            st.query_params[self.key] = self.raw(value)

    def draw(self, where: Where, **more: Any) -> Any:
        st.session_state.pop(CHOSEN, None)
        with where.container():
            self._menu()
        return self.value

    @st.fragment
    def _menu(self) -> None:
        """Draw a button with what is chosen, which opens the tiles and runs nothing else."""
        name = self.names[self.raw(self.value)].name
        with st.container(key=f"menu_{self.key}", gap="xxsmall"):
            st.markdown(f":small[{self.label}]", help=self.help)
            if st.button(name, key=f"{self.key}_menu", width="stretch",
                         icon=":material/expand_more:", icon_position="right"):  # fmt: skip
                st.dialog(self.label, width="large")(self._tiles)()

    def _tiles(self) -> None:
        if st.session_state.pop(CHOSEN, False):
            st.rerun()  # which closes them
        tiles = {
            word: Tile(x.name, x.line, "" if x.formula else data_picture(word), x.formula)
            for word, x in self.names.items()
        }
        draw_tiles(tiles, self.raw(self.value), self.key, self._choose)

    def _choose(self, word: str) -> None:
        self.set(word)
        forget()
        st.session_state[CHOSEN] = True


@st.cache_data(max_entries=len(DATA), show_spinner=False)
def data_picture(name: str) -> str:
    """Return an SVG of a data set's points in their classes' colours; a frame for own points."""
    if name == TASK_NAME:
        inside = (
            f'<rect x="8" y="8" width="84" height="84" rx="8" fill="none" stroke-width="3"'
            f' stroke="{palette.PLANE}" stroke-dasharray="9 7"/>'
            f'<path d="M50 32V68M32 50H68" stroke="{palette.PLANE}" stroke-width="6"/>'
        )
    else:
        task = make_task(name, points=POINTS, test_points=POINTS)
        where = np.clip((task.train_points[0] * (1, -1) + 1) / 2, 0, 1) * (SIZE - 2 * DOT) + DOT
        inside = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" fill="{palette.CLASS_COLOURS[label]}"/>'
            for (x, y), label in zip(where, task.train_labels[0], strict=True)
        )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}">'
    return f"{head}{inside}</svg>"

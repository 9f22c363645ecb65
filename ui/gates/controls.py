"""The controls of the page of gates: all in the link."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gating_core.theory import FIRST_FORMULA, FIRST_RADIUS, GALLERY, GRAMMAR
from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Control, Fold, Number, Where
from ui.common.link_check import forget
from ui.common.link_controls import GridPoint
from ui.components.tiles import Tile, draw_tiles
from ui.gates.picture import SHOWN
from ui.gates.request import OWN, RADII, SPHERE, STEPS, STRENGTHS, GateRequest
from ui.gates.shipped import picture_file, shipped
from ui.gates.words import tile_line
from ui.limits import FORMULA_CHARACTERS

VIEW_KEY = "gates_view"
FULL = STRENGTHS[-1]
LETTERS = re.compile(r"[A-Za-z0-9 .+*/^()×·−÷-]+")  # of the grammar: what is made of others is none
TILE_WIDTH = 104  # pixels of a picture


@dataclass(frozen=True, kw_only=True)
class Cases(Choice):
    """One of the gallery's cases, in the link alone: a click on a tile opens it."""

    @property
    def value(self) -> Any:
        return self.clean(self.linked)

    def draw(self, where: Where, **more: Any) -> Any:
        tiles = {
            name: Tile(name, tile_line(numbers), picture=str(picture_file(name)))
            for name, numbers in shipped().items()
        }
        with where.container():
            draw_tiles(tiles, self.value, self.key, self._choose, TILE_WIDTH)
        return self.value

    def _choose(self, word: str) -> None:
        st.query_params.pop(self.key, None)
        if word != self.default:
            st.query_params[self.key] = word
        forget()


@dataclass(frozen=True, kw_only=True)
class FormulaText(Control):
    """A formula as text: what it means is said by the page, letters alone are checked here."""

    @property
    def wanted(self) -> str:
        return f"at most {FORMULA_CHARACTERS} letters of a formula of u and v"

    def parse(self, text: str) -> str | None:
        fits = len(text) <= FORMULA_CHARACTERS and LETTERS.fullmatch(text)
        return text if fits else None

    def clean(self, raw: Any) -> str:
        return self.default if not raw else str(raw)

    def widget(self, where: Where, **more: Any) -> Any:
        return where.text_input(self.label, self.default, max_chars=FORMULA_CHARACTERS, **more)


GATES: Controls = table(
    Cases("case", "Gate", words=tuple(GALLERY), default=SPHERE),
    Number("radius", "Radius r", within=RADII, default=FIRST_RADIUS, step=0.05,
        help="The gate r/|y| puts the sheet on a sphere of radius r: K = 1/r². With r of at most 1"
        " its values are those of a sigmoid."),
    FormulaText("formula", "Your gate g(u, v)", default=FIRST_FORMULA, help=f"Made of {GRAMMAR}."),
    Choice("tint", "Colour", words=tuple(SHOWN), default="K"),
    Fold("why", "Why? The law and where it comes from", default=False),
    Number("level", within=(0.0, FULL), default=FULL, step=1 / STEPS),
    GridPoint("mark"),
)  # fmt: skip


def front_controls(where: Where) -> tuple[GateRequest, str]:
    """What the chosen case needs, and the colour."""
    case = GATES["case"].value
    left, right = where.columns([3, 1], vertical_alignment="bottom")
    radius, formula = FIRST_RADIUS, FIRST_FORMULA
    if case == SPHERE:
        radius = GATES["radius"].draw(left)
    elif case == OWN:
        formula = GATES["formula"].draw(left)
    else:
        left.markdown(f"**{GALLERY[case].title}**  \n:small[{_formulas(case)}]")
    return GateRequest(case, radius, formula), GATES["tint"].draw(right)


def _formulas(case: str) -> str:
    texts = [f"${formula.latex()}$" for formula in GALLERY[case].formulas]
    return ("$g =$ " if len(texts) == 1 else "$g_1, g_2, g_3 =$ ") + ", ".join(texts)


def frame_shown() -> int:
    """The place in `STRENGTHS` that is nearest to what the link says; the last, if nothing."""
    level = GATES["level"].linked
    wanted = FULL if level is None else level
    return min(range(len(STRENGTHS)), key=lambda place: abs(STRENGTHS[place] - wanted))


def marked() -> tuple[int, int] | None:
    """The marked grid point, from the link."""
    return GATES["mark"].linked


def on_pick() -> None:
    """A click in the view: keep the point in the link."""
    point = (st.session_state.get(VIEW_KEY) or {}).get("pick")
    if point:
        st.query_params["mark"] = f"{int(point['row'])}.{int(point['column'])}"


def on_stop() -> None:
    """The slider was let go, or playing ended: keep the strength in the link."""
    stop = (st.session_state.get(VIEW_KEY) or {}).get("stop")
    if stop:
        strength = STRENGTHS[min(max(int(stop["frame"]), 0), len(STRENGTHS) - 1)]
        st.query_params["level"] = f"{strength:g}"
        forget()

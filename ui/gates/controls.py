"""The controls of the page of gates: all in the link."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gating_core.theory import (
    COUNTEREXAMPLES,
    FIRST_FORMULA,
    FIRST_RADIUS,
    GALLERY,
    GRAMMAR,
    LONGEST_FORMULA,
    SHAPES,
)
from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Control, Fold, Number, Where
from ui.common.link_check import forget
from ui.common.link_controls import GridPoint
from ui.components.tiles import Tile, draw_tiles
from ui.components.view3d import clicked, stopped
from ui.gates.layers import FIRST_SEED, SOURCES, LayerRequest
from ui.gates.picture import SHOWN
from ui.gates.request import OWN, RADII, SPHERE, STEPS, STRENGTHS, GateRequest
from ui.gates.shapes import SIZES, UNITS, ShapeRequest
from ui.gates.shipped import picture_file, shipped
from ui.gates.words import tile_line
from ui.limits import GATED_CHANNELS

VIEW_KEY = "gates_view"
FULL = STRENGTHS[-1]
LETTERS = re.compile(r"[A-Za-z0-9 .+*/^()×·−÷-]+")  # of the grammar: what is made of others is none
SEEDS = (0, 9999)
EXPONENTS, OFFSETS = (-3.0, 3.0), (-4.0, 4.0)  # of gates: beyond, all of K is in a corner
SLICES = tuple(name for name, each in COUNTEREXAMPLES.items() if each.point == "slice")


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
            draw_tiles(tiles, self.value, self.key, self._choose, width="content")
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
        return f"at most {LONGEST_FORMULA} letters of a formula of u and v"

    def parse(self, text: str) -> str | None:
        fits = len(text) <= LONGEST_FORMULA and LETTERS.fullmatch(text)
        return text if fits else None

    def clean(self, raw: Any) -> str:
        return self.default if not raw else str(raw)

    def widget(self, where: Where, **more: Any) -> Any:
        return where.text_input(self.label, self.default, max_chars=LONGEST_FORMULA, **more)


GATES: Controls = table(
    Cases("case", "Gate", words=tuple(GALLERY), default=SPHERE),
    Number("radius", "Radius r", within=RADII, default=FIRST_RADIUS, step=0.05,
        help="The gate r/|y| puts the sheet on a sphere of radius r: K = 1/r². With r of at most 1"
        " its values are those of a sigmoid."),
    FormulaText("formula", "Your gate g(u, v)", default=FIRST_FORMULA, help=f"Made of {GRAMMAR}."),
    Choice("tint", "Colour", words=tuple(SHOWN), default="K"),
    Fold("why", "Why? The law and where it comes from", default=False),
    Fold("maps", "K and |H| side by side, and the gate of every channel"),
    Fold("real", "The law for a real gated layer: K = 0 on a conic of attention weights"),
    Choice("layer_from", "Layer", default=SOURCES[0], words=SOURCES, field="source",
        help="Random weights, or trained here on a circle, which takes a second."),
    Number("layer_seed", "Layer's seed", default=FIRST_SEED,
        field="seed", within=SEEDS, step=1, shape="box",
        help=f"Seed {FIRST_SEED} is the first of the random layers whose conic crosses the"
        " triangle; most have K of one sign. Trained: the first of sixteen seeds."),
    Number("layer_dim", "Channels D", default=LayerRequest.width,
        field="width", within=GATED_CHANNELS, step=1, shape="box"),
    Choice("hand", "Its gate", default=False,
        words={"its own": False, "set by hand": True}, field="by_hand",
        help="By hand: of all gate weights that have these exponents, the smallest."),
    Number("exp_p", "p, of α₁", default=LayerRequest.p, field="p", within=EXPONENTS, step=0.1),
    Number("exp_q", "q, of α₂", default=LayerRequest.q, field="q", within=EXPONENTS, step=0.1),
    Number("exp_c", "Offset log c", default=LayerRequest.log_scale,
        field="log_scale", within=OFFSETS, step=0.1,
        help="The gate's bias: it changes K, but neither its sign nor the conic."),
    Fold("premises", "The theorem, and what it does not say"),
    Choice("slice_by", "Counterexample of a curved slice", words=SLICES, default=SLICES[0]),
    Number("premise_seed", "Seed of all models", within=SEEDS, default=0, step=1, shape="box",
        help="Seed 0 is the first there is: none was looked for. Try others."),
    Fold("shaping", "Design a gate for a shape"),
    Choice("target", "Shape", default=ShapeRequest.shape,
        words=tuple(SHAPES), field="shape", shape="selectbox"),
    Number("target_size", "Its size", default=ShapeRequest.size,
        field="size", within=SIZES, step=0.05,
        help="Of a sphere its radius; the sheet is 1 from the origin."),
    Choice("fit_units", "Units of the network", default=ShapeRequest.units,
        words={str(n): n for n in UNITS}, field="units",
        help="tanh units between the state (u, v, 1) and the sigmoid."),
    Number("fit_seed", "The network's first weights", default=ShapeRequest.seed,
        field="seed", within=SEEDS, step=1,
        shape="box"),
    Number("level", within=(0.0, FULL), default=FULL, step=1 / STEPS),
    GridPoint("mark"),
)  # fmt: skip


def front_controls(where: Where) -> tuple[GateRequest, str]:
    """What the chosen case needs, and the colour."""
    case = GATES["case"].value
    row = where.container(key="gates_front")
    left, right = row.columns([3, 1], vertical_alignment="bottom")
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
    if point := clicked(VIEW_KEY):
        st.query_params["mark"] = point


def on_stop() -> None:
    """The slider was let go, or playing ended: keep the strength in the link."""
    place = stopped(VIEW_KEY, len(STRENGTHS))
    if place is not None:
        st.query_params["level"] = f"{STRENGTHS[place]:g}"
        forget()


def layer_controls(where: Where) -> LayerRequest:
    """Which real layer is held against its conic; the gate's exponents once set by hand."""
    keys = ["layer_from", "layer_seed", "layer_dim", "hand"]
    row = where.container(horizontal=True, vertical_alignment="bottom")
    given = {GATES[key].feeds: GATES[key].draw(row) for key in keys}
    if given["by_hand"]:
        columns = where.columns(3)
        for column, key in zip(columns, ("exp_p", "exp_q", "exp_c"), strict=True):
            given[GATES[key].feeds] = GATES[key].draw(column)
    return LayerRequest(**given).plain


def premise_controls(where: Where) -> tuple[str, int]:
    """Which counterexample of a curved slice is shown, and the seed of all models."""
    left, right, _ = where.columns([5, 3, 3], vertical_alignment="bottom")
    return GATES["slice_by"].draw(left), GATES["premise_seed"].draw(right)


def shape_controls(where: Where) -> ShapeRequest:
    """Which shape a gate is designed for, and the network that learns it."""
    columns = where.columns([3, 3, 3, 2], vertical_alignment="bottom")
    keys = ("target", "target_size", "fit_units", "fit_seed")
    return ShapeRequest(**{
        GATES[key].feeds: GATES[key].draw(column)
        for column, key in zip(columns, keys, strict=True)
    })  # fmt: skip

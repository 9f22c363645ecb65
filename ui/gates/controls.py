"""The controls of the page of gates: all in the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gating_core.theory as theory
from ui.common.control_table import Controls, draw_columns, read, table
from ui.common.controls import Choice, Control, Fold, Number, Where
from ui.common.lessons import section
from ui.common.link_controls import GridPoint, LinkedChoice
from ui.components.tiles import Tile, draw_tiles
from ui.foreign import as_words
from ui.gates.folded import FIRST_SEED, LAYER_SOURCES, SIZES, UNITS, LayerRequest, ShapeRequest
from ui.gates.picture import SHOWN
from ui.gates.request import OWN, RADII, SPHERE, STEPS, STRENGTHS, GateRequest
from ui.gates.shipped import picture_file, shipped
from ui.gates.words import tile_line
from ui.limits import FORMULA_CHARACTERS, GATED_CHANNELS

FULL = STRENGTHS[-1]
SEED_RANGE = (0, 9999)
EXPONENTS, OFFSETS = (-3.0, 3.0), (-4.0, 4.0)  # of gates: beyond, all of K is in a corner
SLICES = tuple(name for name, each in theory.COUNTEREXAMPLES.items() if each.point == "slice")


@dataclass(frozen=True, kw_only=True)
class Cases(LinkedChoice):
    """One of the gallery's cases, in the link alone: a click on a tile opens it."""

    def draw(self, where: Where, own: Tile | None = None, **more: Any) -> Any:
        """Draw the tiles; ``own`` is that of another formula than the shipped one."""
        tiles = {
            name: Tile(name, tile_line(numbers), picture=str(picture_file(name)))
            for name, numbers in shipped().items()
        } | ({OWN: own} if own else {})
        with where.container():
            draw_tiles(tiles, self.value, self.key, self.choose, width="content")
        return self.value


@dataclass(frozen=True, kw_only=True)
class FormulaText(Control):
    """A formula as text, which stays in its field while the page says what is wrong with it.

    The field takes more than a formula may have: a browser refuses the rest without a word.
    """

    @property
    def expected(self) -> str:
        return f"a formula of at most {theory.LONGEST_FORMULA} characters"

    def parse(self, text: str) -> str | None:
        return text if 0 < len(text) <= FORMULA_CHARACTERS else None

    def clean(self, raw: Any) -> str:
        return self.default if not raw else str(raw)

    def widget(self, where: Where, **more: Any) -> Any:
        return where.text_input(self.label, self.default, max_chars=FORMULA_CHARACTERS, **more)


PAGE = table(
    Cases("case", "Gate", words=tuple(theory.GALLERY), default=SPHERE),
    Number("radius", "Radius r", within=RADII, default=theory.FIRST_RADIUS, step=0.05,
        help=section("gates", "help_radius")),
    FormulaText("formula", "Your gate g(u, v)", default=theory.FIRST_FORMULA,
        help=f"A formula may contain {as_words(theory.GRAMMAR)}."),
    Choice("tint", "Colour", words=tuple(SHOWN), default="K"),
    Fold("why", "Why? The law and where it comes from"),
    Fold("maps", "K and |H| side by side, and the gate of every channel"),
    Fold("real", "The law for a real gated layer: K = 0 on a conic of attention weights"),
    Fold("premises", "The theorem, and what it does not say"),
    Choice("slice_by", "Counterexample of a curved slice", words=SLICES, default=SLICES[0]),
    Number("premise_seed", "Seed of all models", within=SEED_RANGE, default=0, step=1, shape="box",
        help=section("gates", "help_premise_seed")),
    Fold("shaping", "Design a gate for a shape"),
    Number("level", within=(0.0, FULL), default=FULL, step=1 / STEPS),
    GridPoint("mark"),
)  # fmt: skip
LAYER = table(
    Choice("layer_from", "Layer", words=LAYER_SOURCES, field="source",
        help=section("gates", "help_layer")),
    Number("layer_seed", "Layer's seed", field="seed", within=SEED_RANGE, step=1, shape="box",
        help=section("gates", "help_seed", first=FIRST_SEED)),
    Number("layer_dim", "Channels D", field="width", within=GATED_CHANNELS, step=1, shape="box"),
    Choice("hand", "Its gate", words={"its own": False, "set by hand": True}, field="by_hand",
        help=section("gates", "help_hand")),
    Number("exp_p", "p, of α₁", field="p", within=EXPONENTS, step=0.1),
    Number("exp_q", "q, of α₂", field="q", within=EXPONENTS, step=0.1),
    Number("exp_c", "Offset log c", field="log_scale", within=OFFSETS, step=0.1,
        help=section("gates", "help_offset")),
    of=LayerRequest(),
)  # fmt: skip
SHAPE = table(
    Choice("target", "Shape", words=tuple(theory.SHAPES), field="shape", shape="selectbox"),
    Number("target_size", "Its size", field="size", within=SIZES, step=0.05,
        help=section("gates", "help_size")),
    Choice("fit_units", "Units of the network", words={str(n): n for n in UNITS}, field="units",
        help=section("gates", "help_units")),
    Number("fit_seed", "The network's first weights", field="seed", within=SEED_RANGE, step=1,
        shape="box"),
    of=ShapeRequest(),
)  # fmt: skip
GATES: Controls = PAGE | LAYER | SHAPE


def front_controls(where: Where) -> tuple[GateRequest, str]:
    """Draw what the chosen case needs, and the colour."""
    case = GATES["case"].value
    row = where.container(key="gates_front")
    left, right = row.columns([3, 1], vertical_alignment="bottom")
    radius, formula = theory.FIRST_RADIUS, theory.FIRST_FORMULA
    if case == SPHERE:
        radius = GATES["radius"].draw(left)
    elif case == OWN:
        formula = GATES["formula"].draw(left)
    else:
        left.markdown(f"**{theory.GALLERY[case].title}**  \n:small[{_formulas(case)}]")
    return GateRequest(case, radius, formula), GATES["tint"].draw(right)


def _formulas(case: str) -> str:
    texts = [f"${formula.latex()}$" for formula in theory.GALLERY[case].formulas]
    return ("$g =$ " if len(texts) == 1 else "$g_1, g_2, g_3 =$ ") + ", ".join(texts)


def marked() -> tuple[int, int] | None:
    """Return the marked grid point of the link."""
    return GATES["mark"].linked


def layer_controls(where: Where) -> LayerRequest:
    """Draw which real layer is measured; the gate's exponents if set by hand."""
    row = where.container(horizontal=True, vertical_alignment="bottom")
    for key in ("layer_from", "layer_seed", "layer_dim", "hand"):
        LAYER[key].draw(row)
    if LAYER["hand"].value:
        draw_columns(LAYER, where.columns(3), (["exp_p"], ["exp_q"], ["exp_c"]))
    request = read(LAYER, LayerRequest)
    return request if request.by_hand else request.as_trained


def premise_controls(where: Where) -> tuple[str, int]:
    """Draw which counterexample of a curved slice is shown, and the seed of all models."""
    left, right, _ = where.columns([5, 3, 3], vertical_alignment="bottom")
    return GATES["slice_by"].draw(left), GATES["premise_seed"].draw(right)


def shape_controls(where: Where) -> ShapeRequest:
    """Draw which shape a gate is designed for, and the network that learns it."""
    columns = where.columns([3, 3, 3, 2], vertical_alignment="bottom")
    draw_columns(SHAPE, columns, [[key] for key in SHAPE])
    return read(SHAPE, ShapeRequest)

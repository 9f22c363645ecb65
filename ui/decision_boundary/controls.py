"""Decision boundary's controls: five in front, the rest under *More*, all in the link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import streamlit as st

from gating_core.attention import MECHANISMS, NORMS
from gating_core.experiments.comparison import LIMITS, VARIANTS, Setting, TooLarge
from gating_core.tasks import TASK_NAME, TASKS, OwnData, make_task
from gating_core.training import GOOD_START, OPTIMISERS
from ui import limits
from ui.common.control_table import Controls, draw_columns, read, table
from ui.common.controls import Choice, Choices, Flag, Fold, Number, Where
from ui.common.front import front_columns
from ui.common.link_check import change_link, forget
from ui.common.link_controls import LinkedChoice
from ui.common.possible import SOURCES_HELP
from ui.common.words import percent
from ui.components.tiles import STYLE, Tile, draw_tiles
from ui.decision_boundary.names import DATA, KINDS, Named, page_text
from ui.decision_boundary.own_links import DRAWING, TABLE
from ui.decision_boundary.picture import PAINTS
from ui.decision_boundary.request import (
    FIRST,
    OWN_SHARE,
    WHO,
    BoundaryRequest,
    BoundaryView,
    TooLong,
    resolve,
    setting,
)
from ui.decision_boundary.training import STOPPED
from ui.drawing import palette

REWOUND, REWINDS = "boundary_rewound", "boundary_rewinds"
VIEW_KEY = "boundary_view"
MOVED = "boundary_moved"
LAST_SETTING = "boundary_setting"
SEEDS = LIMITS["seed"]
BATCHES = {str(size): size for size in limits.BOUNDARY_BATCHES}
RATES = {f"{rate:g}": rate for rate in (0.001, 0.003, 0.01, 0.02, 0.05, 0.1)}
AUTOMATIC = percent(FIRST.train_share)
CHOSEN = "boundary_tile_chosen"
POINTS = 260  # of a tile's picture
SIZE, DOT = 100, 2.6  # of that picture and of a point, in units of the picture


@dataclass(frozen=True, kw_only=True)
class Tiles(LinkedChoice):
    """One of a few words, each a tile with its name in ``names``."""

    names: Mapping[str, Named]

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
        draw_tiles(tiles, self.raw(self.value), self.key, self.choose)

    def choose(self, word: str) -> None:
        super().choose(word)
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


def _other_optimiser() -> None:
    """Each optimiser begins at a rate that suits it."""
    forget()
    RUN["rate"].set(GOOD_START[RUN["optimiser"].value][0])


RUN = table(
    Tiles("data", "Data", field="task", words=(*TASKS, TASK_NAME), names=DATA),
    Tiles("left", "Left", words=tuple(VARIANTS), names=KINDS),
    Tiles("right", "Right", words=tuple(VARIANTS), names=KINDS),
    Choices("also", "Also train, for the table", words=tuple(VARIANTS),
        most=limits.VARIANTS_BESIDE, shown_instead="none"),
    Number("steps", "Steps", within=limits.BOUNDARY_STEPS, step=50),
    Number("points", "Points, training and test", within=limits.BOUNDARY_POINTS, step=4),
    Number("share", f"Training share (0: automatic, {AUTOMATIC})", field="train_share",
        within=(0.0, 0.9), step=0.05, shown_instead="automatic",
        help=page_text("share_help", share=AUTOMATIC, own=percent(OWN_SHARE))),
    Number("noise", "Noise of the points", within=(0.0, 0.5), step=0.02),
    Number("flip", "Wrong training labels", field="label_noise", within=(0.0, 0.5), step=0.02),
    Number("balance", "Share of class 0 (0: automatic)", within=(0.0, 0.9), step=0.1,
        shown_instead="automatic"),
    Choice("from", "Keys and values from", field="source", words=tuple(MECHANISMS),
        width="stretch", help=SOURCES_HELP),
    Number("width", "Dimension D", field="model_dim", within=limits.BOUNDARY_CHANNELS),
    Number("slots", "Values n", field="value_count", within=limits.BOUNDARY_VALUES),
    Number("attention_heads", "Heads", field="heads", within=limits.BOUNDARY_HEADS),
    Number("stack", "Layers", field="depth", within=limits.BOUNDARY_LAYERS),
    Choice("rms", "Normalisation", field="norm", words=NORMS, width="stretch"),
    Flag("skip", "Residual connection", field="residual"),
    Flag("out", "Output projection", field="output_projection"),
    Choice("optimiser", "Optimiser", words=tuple(OPTIMISERS), width="stretch",
        on_move=_other_optimiser,
        help=page_text("optimiser_help", momentum=f"{GOOD_START['sgd'][1]:g}")),
    Choice("rate", "Learning rate", field="learning_rate", words=RATES, shape="slider"),
    Choice("batch", "Batch", field="batch_size", words=BATCHES, shape="slider"),
    Number("decay", "Weight decay", field="weight_decay", within=(0.0, 1.0), step=0.02,
        help=page_text("decay_help")),
    Number("soft", "Keep attention soft", field="entropy_bonus", within=(0.0, 0.3), step=0.01,
        help=page_text("soft_help")),
    Number("seeds", "Seeds", field="seed_count", within=limits.BOUNDARY_SEEDS),
    Number("first", "First seed", field="seed", within=SEEDS, step=1, shape="box"),
    of=BoundaryRequest(),
)  # fmt: skip
VIEW = table(
    Choice("who", "Seed that is shown", field="which", words=(*WHO, "picked"), shape="selectbox",
        help=page_text("who_help")),
    Choice("paint", "Colour by", words=PAINTS, width="stretch"),
    Flag("discrete", "Discrete: show the likeliest class"),
    Flag("test_points", "Test points", field="tested"),
    of=BoundaryView(),
)  # fmt: skip
PICKED = Number("picked_seed", within=(SEEDS[0], SEEDS[1] + limits.BOUNDARY_SEEDS[1]),
    shown_instead="the typical one")  # fmt: skip
FOLDS = (
    Fold("setup", "More: data, model, training, picture"),
    Fold("own", "Your own data: draw, upload, paste"),
    Fold("looking", "Inside: all attention weights and gates"),
    Fold("calibration", "How sure, and how often right: the reliability diagram"),
)
DECISION_BOUNDARY: Controls = RUN | VIEW | table(PICKED, DRAWING, TABLE, *FOLDS)
CHOICES = (*RUN, *VIEW, "picked_seed")  # of the link: what the picture depends on
FRONT = (["data"], ["left"], ["right"], ["steps"], ["who"])
FRONT_WIDTHS = (1.1, 1.1, 1.1, 0.8, 0.9)
MORE = {
    "Data": ["points", "share", "noise", "flip", "balance"],
    "Model": ["from", "width", "slots", "attention_heads", "stack", "rms", "skip", "out", "also"],
    "Training": ["optimiser", "rate", "batch", "decay", "soft", "seeds", "first"],
    "Picture": ["paint", "discrete", "test_points"],
}


def front_controls() -> None:
    """Draw the five that are always seen."""
    st.html(STYLE)
    draw_columns(DECISION_BOUNDARY, front_columns(FRONT_WIDTHS, "bottom"), FRONT)


def draw_fold(name: str, keys: Iterable[str], draw: Callable[[], None]) -> None:
    """Draw a fold, and what is in it once unfolded, or one of ``keys`` is in the link or set.

    A closed fold would make every first visit load the files of all its controls.
    """
    fold = DECISION_BOUNDARY[name].draw(st)
    if fold.open or any(key in st.session_state or key in st.query_params for key in keys):
        with fold:
            draw()


def more_controls() -> None:
    """Draw the rest, in its fold."""
    draw_fold("setup", chain(*MORE.values()), _more_columns)


def _more_columns() -> None:
    columns = st.columns(4)
    for column, title in zip(columns, MORE, strict=True):
        column.markdown(f"**{title}**")
    draw_columns(DECISION_BOUNDARY, columns, MORE.values())


def read_view() -> BoundaryView:
    """Return the view settings, once their controls are drawn."""
    return read(VIEW, BoundaryView)


def read_setting(own: OwnData | None, lost: bool = False) -> Setting:
    """Return the setting that the controls ask for, and draw the notes on it.

    Where it cannot be trained at all, it is the last one that could. ``lost`` says that the link is
    about a table that did not fit into it.
    """
    request, notes = resolve(read(RUN, BoundaryRequest), own, lost)
    for _, note in notes:
        st.caption(f":material/info: {note}")
    try:
        st.session_state[LAST_SETTING] = setting(request, own)
    except ValueError as error:
        why = f"This cannot be trained: {error}."
        if isinstance(error, TooLarge | TooLong):
            why = page_text("too_large" if isinstance(error, TooLarge) else "too_long")
        st.error(f"{why} Shown: the last run that could be trained.")
    return st.session_state.get(LAST_SETTING, FIRST)


def train_on(steps: int) -> None:
    """Ask for more steps of the same run."""
    RUN["steps"].set(min(RUN["steps"].value + steps, limits.BOUNDARY_STEPS[1]))


def on_stop(setting: Setting) -> None:
    """Note that the visitor stopped at another frame of the run of this ``setting``."""
    stop = (st.session_state.get(VIEW_KEY) or {}).get("stop")
    if stop is not None:
        st.session_state[STOPPED] = setting, int(stop["frame"])
        st.session_state[MOVED] = True


def rewind() -> None:
    """Go back to step 0: the initial weights."""
    st.session_state[REWOUND] = True
    st.session_state[REWINDS] = st.session_state.get(REWINDS, 0) + 1


def new_seeds() -> None:
    """Ask for the next seeds, none of them among these."""
    first = RUN["first"].value + RUN["seeds"].value
    first = first if first <= SEEDS[1] else SEEDS[0]
    RUN["first"].set(first)
    change_link({"first": RUN["first"].texts(first)})  # its control may not have been drawn yet

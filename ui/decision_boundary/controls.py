"""The controls of Decision boundary: the row above the picture, and the fold *More*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.attention import MECHANISMS, NORMS, SINKS
from gating_core.experiments.comparison import LIMITS, NO_PRICE, PRICES, VARIANTS, Setting, TooLarge
from gating_core.tasks import TASK_NAME, OwnData, make_task
from gating_core.training import GOOD_START, OPTIMISERS
from ui import limits
from ui.common.formatting import SOURCES_HELP, percent
from ui.common.links import LINK, change_link, link_value, put_in_link
from ui.common.page import front_columns
from ui.components.tiles import STYLE, Tile, draw_tiles
from ui.decision_boundary.model import (
    DATA,
    FIRST,
    KINDS,
    OWN_SHARE,
    PAINTS,
    PICKED,
    WHO,
    BoundaryView,
    Named,
    TooLong,
    resolve,
    text,
)
from ui.drawing import palette
from ui.foreign import error_words

LAST_SETTING, TILE_CHOSEN = "boundary_setting", "boundary_tile_chosen"
SEEDS = LIMITS["seed"]
# Fewer teach neither model: on the spiral the gate is right on 71 ± 3 % at 2,000.
STEPS = {"spiral": 4000, "checkerboard": 4000}
PRICED_STEPS = 1200  # a price has its whole weight from step 375 on
MORE_STEPS = 400
RATES = {f"{rate:g}": rate for rate in (0.001, 0.003, 0.01, 0.02, 0.05, 0.1)}
WEIGHTS = {f"{weight:g}": weight for weight in (0.01, 0.03, 0.1, 0.3, 1.0)}
FOLDED = ("steps", "points", "share", "noise", "flip", "balance", "from", "width", "slots",
          "attention_heads", "sink_logit", "stack", "rms", "skip", "out", "also", "optimiser",
          "rate", "batch", "decay", "soft", "price", "price_weight", "seeds", "first", "paint",
          "discrete", "test_points")  # fmt: skip
TILE_POINTS = 260  # of a tile's picture
SIZE, DOT = 100, 2.6  # of that picture and of a point, in units of the picture


def draw_front() -> tuple[dict[str, Any], str]:
    """Draw the controls above the pictures; return fields of a setting, and the seed shown."""
    st.html(STYLE)
    data, own, left, right, on, who = front_columns((1, 0.8, 1.1, 1.1, 0.9, 0.8), "bottom", 0)
    task = _choose_tile(data, "data", "Data", DATA, FIRST.task)
    own.button("Own points", key="own_points", width="stretch",
               type="primary" if task == TASK_NAME else "secondary", help=text("draw"),
               on_click=choose_data, args=(TASK_NAME,))  # fmt: skip
    pair = (
        _choose_tile(left, "left", "Left", KINDS, FIRST.variants[0]),
        _choose_tile(right, "right", "Right", KINDS, FIRST.variants[1]),
    )
    steps = STEPS.get(task, FIRST.steps)
    on.button(f"+{MORE_STEPS} steps", key="train_on",
              width="stretch", on_click=train_on, args=(steps,))  # fmt: skip
    which = who.selectbox("Seed shown", (*WHO, PICKED), key="who", help=text("who_help"), **LINK)
    return {"task": task, "variants": pair, "steps": steps}, which


def draw_more(steps: int) -> tuple[dict[str, Any], BoundaryView]:
    """Draw the fold *More*; return fields of a setting, with ``also``, and of the view.

    ``steps`` suit the data. A closed fold that nobody has used stays empty: a first visit would
    load the files of all its controls.
    """
    fold = st.expander(
        "More: data, model, training, price on curvature, picture", key="setup", on_change="rerun",
        **LINK)  # fmt: skip
    used = any(key in st.session_state or key in st.query_params for key in FOLDED)
    if not (fold.open or used):
        return {}, BoundaryView()
    data, model, training, picture = fold.columns(4)
    for column, title in zip((data, model, training, picture),
                             ("Data", "Model", "Training", "Picture"), strict=True):  # fmt: skip
        column.markdown(f"**{title}**")
    fields = {
        "points": data.slider("Points, training and test", *limits.BOUNDARY_POINTS, FIRST.points, 4,
                              key="points", **LINK),
        "train_share": data.slider(
            f"Train fraction (0: automatic, {percent(FIRST.train_share)})", 0.0, 0.9, 0.0, 0.05,
            key="share", **LINK,
            help=text("share_help", share=percent(FIRST.train_share), own=percent(OWN_SHARE))),
        "noise": data.slider("Noise of the points", 0.0, 0.5, FIRST.noise, 0.02, key="noise",
                             help="Of the coordinates, in half sides of the square.", **LINK),
        "label_noise": data.slider("Label noise", 0.0, 0.5, FIRST.label_noise, 0.02, key="flip",
                                   help="Share of the training labels that are wrong.", **LINK),
        "balance": data.slider("Share of class 0 (0: automatic)", 0.0, 0.9, 0.0, 0.1, key="balance",
                               **LINK),
        "source": model.radio("Keys and values from", [*MECHANISMS], key="from", horizontal=True,
                              help=SOURCES_HELP, **LINK),
        "model_dim": model.slider("Dimension D", *limits.BOUNDARY_CHANNELS, FIRST.model_dim,
                                  key="width", **LINK),
        "value_count": model.slider("Values n", *limits.BOUNDARY_VALUES, FIRST.value_count,
                                    key="slots", help="Slots or tokens.", **LINK),
        "heads": model.slider("Heads", *limits.BOUNDARY_HEADS, FIRST.heads, key="attention_heads",
                              **LINK),
        "sink": model.radio("Sink logit", SINKS, key="sink_logit", horizontal=True,
                            help=text("sink_help"), **LINK),
        "depth": model.slider("Layers", *limits.BOUNDARY_LAYERS, FIRST.depth, key="stack", **LINK),
        "norm": model.radio("Normalisation (RMSNorm)", NORMS, key="rms", horizontal=True, **LINK),
        "residual": model.toggle("Residual connection", key="skip", **LINK),
        "output_projection": model.toggle("Output projection", key="out", **LINK),
        "also": tuple(model.multiselect(
            "Also train, for the table", [*VARIANTS], key="also", placeholder="no other model",
            max_selections=limits.VARIANTS_BESIDE, **LINK)),
        "price": training.radio("Price on", (NO_PRICE, *PRICES), key="price", horizontal=True,
                                help=text("price_help"), on_change=_suit_price, **LINK),
        "price_weight": WEIGHTS[training.select_slider(
            "Weight of the price", [*WEIGHTS], "0.3", key="price_weight", **LINK)],
        "steps": training.slider("Steps to train", *limits.BOUNDARY_STEPS, steps, 50, key="steps",
                                 **LINK),
        "optimiser": training.radio(
            "Optimiser", [*OPTIMISERS], key="optimiser", horizontal=True, on_change=_suit_rate,
            help=text("optimiser_help", momentum=f"{GOOD_START['sgd'][1]:g}"), **LINK),
        "learning_rate": RATES[training.select_slider(
            "Learning rate", [*RATES], f"{FIRST.learning_rate:g}", key="rate", **LINK)],
        "batch_size": int(training.select_slider(
            "Batch size", [*map(str, limits.BOUNDARY_BATCHES)], str(FIRST.batch_size), key="batch",
            **LINK)),
        "weight_decay": training.slider("Weight decay", 0.0, 1.0, FIRST.weight_decay, 0.02,
                                        key="decay", help=text("decay_help"), **LINK),
        "entropy_bonus": training.slider("Entropy regularisation", 0.0, 0.3, FIRST.entropy_bonus,
                                         0.01, key="soft", help=text("soft_help"), **LINK),
        "seed_count": training.slider("Seeds", *limits.BOUNDARY_SEEDS, FIRST.seed_count,
                                      key="seeds", **LINK),
        "seed": training.number_input("First seed", *SEEDS, FIRST.seed, 1, key="first", **LINK),
    }  # fmt: skip
    if fields["price"] == NO_PRICE:  # one run, whatever the weight of no price
        fields["price_weight"] = FIRST.price_weight
    view = BoundaryView(
        picture.radio("Colour by", PAINTS, key="paint", horizontal=True, **LINK),
        picture.toggle("Predicted class only", key="discrete", **LINK),
        picture.toggle("Test points", True, key="test_points", **LINK),
    )
    return fields, view


def find_setting(
    front: Mapping[str, Any], more: Mapping[str, Any], own: OwnData | None, lost: bool
) -> Setting:
    """Return the setting nearest to the fields of both, and draw the notes on it.

    Where it cannot be trained at all, it is the last one that could.
    """
    fields = {**front, **more}
    fields["variants"] += fields.pop("also", ())
    try:
        st.session_state[LAST_SETTING], notes = resolve(fields, own, lost)
        for note in notes:
            st.caption(f":material/info: {note}")
    except ValueError as error:
        why = f"This cannot be trained: {error_words(error)}."
        if isinstance(error, TooLarge | TooLong):
            why = text("too_large" if isinstance(error, TooLarge) else "too_long")
        st.error(f"{why} Shown: the last run that could be trained.")
    return st.session_state.get(LAST_SETTING, FIRST)


# --- What visitors do -----------------------------------------------------------------------------


def _suit_rate() -> None:
    """Each optimiser begins at a learning rate that suits it."""
    st.session_state["rate"] = f"{GOOD_START[st.session_state['optimiser']][0]:g}"


def _suit_price() -> None:
    """A price needs more steps than a first run has."""
    if st.session_state["price"] != NO_PRICE:
        st.session_state["steps"] = max(st.session_state["steps"], PRICED_STEPS)


def choose_data(name: str) -> None:
    """Ask for other data, and for the steps that teach them unless others were asked for."""
    before = st.query_params.get("data", FIRST.task)
    put_in_link(data="" if name == FIRST.task else name)
    if st.session_state.get("steps") == STEPS.get(before, FIRST.steps):
        st.session_state["steps"] = STEPS.get(name, FIRST.steps)


def train_on(steps: int) -> None:
    """Ask for more than the ``steps`` of the same run; for callbacks only."""
    count = st.session_state.get("steps", steps) + MORE_STEPS
    _ask("steps", min(count, limits.BOUNDARY_STEPS[1]))


def new_seeds() -> None:
    """Ask for the next seeds, none of them among these; for callbacks only."""
    first = st.session_state.get("first", FIRST.seed)
    first += st.session_state.get("seeds", FIRST.seed_count)
    _ask("first", first if first <= SEEDS[1] else SEEDS[0])


def _ask(key: str, number: int) -> None:
    if key in st.session_state:
        st.session_state[key] = number
    else:  # its control is not drawn yet
        change_link({key: [str(number)]})


# --- Tiles ----------------------------------------------------------------------------------------


def _choose_tile(
    where: DeltaGenerator, key: str, label: str, names: Mapping[str, Named], default: str
) -> str:
    """Draw a button with the chosen one of ``names``, which opens tiles; return that one."""
    word = link_value(key, lambda given: given if given in names else None, default, default)
    st.session_state.pop(TILE_CHOSEN, None)
    with where:
        _draw_menu(key, label, names, word, default)
    return word


@st.fragment
def _draw_menu(key: str, label: str, names: Mapping[str, Named], word: str, default: str) -> None:
    def draw() -> None:
        if st.session_state.pop(TILE_CHOSEN, False):
            st.rerun()  # which closes them
        tiles = {
            name: Tile(x.name, x.line, "" if x.formula else data_picture(name), x.formula)
            for name, x in names.items()
        }
        draw_tiles(tiles, word, key, choose)

    def choose(name: str) -> None:
        if key == "data":
            choose_data(name)
        else:
            put_in_link(**{key: "" if name == default else name})
        st.session_state[TILE_CHOSEN] = True

    with st.container(key=f"menu_{key}", gap="xxsmall"):
        st.markdown(f":small[{label}]")
        if st.button(
            names[word].name,
            key=f"{key}_menu",
            width="stretch",
            icon=":material/expand_more:",
            icon_position="right",
        ):
            st.dialog(label, width="large")(draw)()


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
        task = make_task(name, points=TILE_POINTS, test_points=TILE_POINTS)
        where = np.clip((task.train_points[0] * (1, -1) + 1) / 2, 0, 1) * (SIZE - 2 * DOT) + DOT
        inside = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" fill="{palette.CLASS_COLOURS[label]}"/>'
            for (x, y), label in zip(where, task.train_labels[0], strict=True)
        )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}">'
    return f"{head}{inside}</svg>"

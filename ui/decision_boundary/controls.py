"""The run that Decision boundary is asked for: its controls, its names, the nearest that can train.

`resolve` gets fields of `Setting` as controls and links give them, changes what cannot be trained,
and notes each change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.attention import MECHANISMS, NORMS, SINKS
from gating_core.experiments.comparison import (
    FIRST_COMPARISON,
    LIMITS,
    MATCHED,
    NO_PRICE,
    PRICE_FULL,
    PRICES,
    SINK,
    VARIANTS,
    Setting,
    TooLarge,
    impossible_variants,
)
from gating_core.tasks import TASK_NAME, TASKS, TRAIN_SHARE_RANGE, OwnData
from gating_core.training import GOOD_START, OPTIMISERS
from ui import limits
from ui.common.formatting import SOURCES_HELP, fitting_heads, percent
from ui.common.lessons import section
from ui.common.links import LINK, change_link, link_value, put_in_link
from ui.common.page import front_columns
from ui.foreign import error_words

LAST_SETTING = "boundary_setting"
FIRST = FIRST_COMPARISON
OWN_SHARE = 0.75  # the train fraction of own points
LEAST_BALANCE = 0.1
# Fewer teach neither model: on the spiral the gate is right on 71 ± 3 % at 2,000.
STEPS = {"spiral": 4000, "checkerboard": 4000}
PRICED_STEPS = 1200  # a price has its whole weight from step 375 on
MORE_STEPS = 400
RATES = {f"{rate:g}": rate for rate in (0.001, 0.003, 0.01, 0.02, 0.05, 0.1)}
WEIGHTS = {f"{weight:g}": weight for weight in (0.01, 0.03, 0.1, 0.3, 1.0)}
TYPICAL, PICKED = "typical", "picked"
WHO = {  # the variant and the choice that the seed shown is of
    TYPICAL: None,
    "best left": ("left", "best"),
    "best right": ("right", "best"),
    "worst left": ("left", "worst"),
    "worst right": ("right", "worst"),
}
PAINTS = ("class", "curvature")
FOLDED = ("steps", "points", "share", "noise", "flip", "balance", "from", "width", "slots",
          "attention_heads", "sink_logit", "stack", "rms", "skip", "out", "also", "optimiser",
          "rate", "batch", "decay", "soft", "price", "price_weight", "seeds", "first", "paint",
          "discrete", "test_points")  # fmt: skip
CELL_END = re.compile(r"(?<=\s)\|(?=\s)")  # not those of an absolute value

text = partial(section, "decision_boundary")


@dataclass(frozen=True)
class Named:
    """A ``name`` as within a sentence, one ``line`` that says what it is, perhaps a ``formula``."""

    name: str
    line: str
    formula: str = ""  # in TeX


def _table(name: str) -> dict[str, Named]:
    """Return a table of the lesson by its first column."""
    rows = [CELL_END.split(row.strip("|")) for row in text(name).splitlines()]
    return {word.strip(): Named(*map(str.strip, cells)) for word, *cells in rows}


DATA = _table("data")
_gates = {word: gate.record for word, gate in VARIANTS.items() if gate is not None}
_kinds = {word: Named(x.title, x.line, x.formula) for word, x in _gates.items()} | _table("kinds")
KINDS = {word: _kinds[word] for word in VARIANTS}  # those without a row as their gates say
TITLES = {word: kind.name for word, kind in KINDS.items()}


@dataclass(frozen=True)
class BoundaryView:
    """The options of the pictures of a run; none of them trains anything."""

    paint: str = PAINTS[0]
    discrete: bool = False  # the predicted class alone
    tested: bool = True  # the test points, too


# --- The nearest run that can be trained ----------------------------------------------------------


class TooLong(ValueError):
    """A training that would take longer than a page lets anyone wait."""


def resolve(
    given: Mapping[str, Any], own: OwnData | None = None, lost: bool = False
) -> tuple[Setting, list[str]]:
    """Return the nearest setting to the fields ``given`` that can be trained, and notes.

    Fields that are not given are those of the first run. 0 as ``train_share`` or ``balance`` means
    automatic. ``lost`` says that the link is about a table that did not fit into it; ``own`` is
    then another one, or ``None``. ``ValueError`` if nothing near can be trained, `TooLong` if it
    would take more than `limits.TRAINING_NUMBERS`.
    """
    first = {each.name: getattr(FIRST, each.name) for each in fields(FIRST)}
    asked = first | {"train_share": 0.0, "balance": 0.0} | dict(given) | {"own": None}
    notes, is_own = [], asked["task"] == TASK_NAME and own is not None
    if asked["task"] == TASK_NAME and (own is None or lost):
        shown = "the points that were drawn" if own else DATA[FIRST.task].name
        notes.append(f"{text('lost_table' if lost else 'no_own_points')} Shown: {shown}.")
    if asked["task"] == TASK_NAME:
        asked |= {"own": own} if is_own else {"task": FIRST.task}
    asked["variants"], more = _possible_variants(asked["variants"], asked["source"])
    asked["heads"], note = fitting_heads(asked["heads"], asked["model_dim"])
    notes += [*more, *filter(None, [note])]
    share, least = round(asked["train_share"], 2), TRAIN_SHARE_RANGE[0]
    asked["train_share"] = share or (OWN_SHARE if is_own else FIRST.train_share)
    if (asked["balance"] or 0) < LEAST_BALANCE:
        asked["balance"] = None
    softmax, uneven = MECHANISMS[asked["source"]].has_softmax, asked["balance"] is not None
    for impossible, instead, note in (
        (asked["sink"] != "none" and not softmax, {"sink": "none"}, text("no_sink")),
        (asked["train_share"] < least, {"train_share": least},
         text("least_share", share=f"{least:.0%}")),
        (uneven and (is_own or TASKS[asked["task"]].class_count != 2), {"balance": None},
         text("no_balance", data=DATA[asked["task"]].name)),
        (is_own and (asked["noise"] or asked["label_noise"]), {"noise": 0.0, "label_noise": 0.0},
         text("no_noise")),
    ):  # fmt: skip
        if impossible:
            asked |= instead
            notes.append(note)
    setting = Setting(**asked | {"momentum": GOOD_START[asked["optimiser"]][1]})
    if setting.training_numbers > limits.TRAINING_NUMBERS:
        raise TooLong(f"training would take {setting.training_numbers / 1e6:,.0f} million numbers")
    return setting, notes + _remarks(setting)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _possible_variants(asked: tuple[str, ...], source: str) -> tuple[tuple[str, ...], list[str]]:
    """Return two different variants that the mechanism can have, then others of ``asked``."""
    impossible, pair, notes = impossible_variants(source), [*asked[:2]], []
    for side, instead in enumerate(FIRST.variants):
        if pair[side] in impossible:
            needs = "needs_softmax" if pair[side] == SINK else "needs_tokens"
            notes.append(text(needs, variant=_capital(TITLES[pair[side]]), instead=TITLES[instead]))
            pair[side] = instead
    if pair[0] == pair[1]:
        pair[1] = next(name for name in FIRST.variants if name != pair[0])
        notes.append(text("same", variant=TITLES[pair[1]]))
    notes += [
        text("not_trained", variant=_capital(TITLES[name]), source=source)
        for name in asked[2:]
        if name in impossible
    ]
    others = (name for name in asked[2:] if name not in impossible)
    return (*dict.fromkeys((*pair, *others)),), notes


def _remarks(setting: Setting) -> list[str]:
    """Return notes on what can be trained but may surprise."""
    alike = [
        TITLES[name]
        for name in setting.variants
        if (gate := VARIANTS[name]) is not None
        and (gate.record.constant or (gate.granularity == "headwise" and setting.heads == 1))
    ]
    wider = MATCHED in setting.compared and setting.configs[MATCHED].model_dim != setting.model_dim
    priced, steps = setting.price != NO_PRICE, setting.steps
    remarks = {
        text("undone", names=_capital(" and ".join(alike))): alike
        and setting.norm == "post"
        and not setting.residual,
        text("matched"): wider,
        text("sink_twice"): SINK in setting.variants and setting.sink == "learned",
        text("soft", bonus=f"{setting.entropy_bonus:g}"): setting.entropy_bonus,
        text("price_later", steps=steps, full=PRICE_FULL): priced and steps <= PRICE_FULL,
    }
    return [note for note, there in remarks.items() if there]


# --- Controls -------------------------------------------------------------------------------------


def draw_front() -> tuple[dict[str, Any], str]:
    """Draw the controls above the pictures; return fields of a setting, and the seed shown."""
    data, own, left, right, who = front_columns((1, 0.8, 1.1, 1.1, 0.8), "bottom", 0)
    task = _choose(data, "data", "Data", DATA, FIRST.task)
    own.button("Own points", key="own_points", width="stretch",
               type="primary" if task == TASK_NAME else "secondary", help=text("draw"),
               on_click=choose_data, args=(TASK_NAME,))  # fmt: skip
    pair = (
        _choose(left, "left", "Left", KINDS, FIRST.variants[0]),
        _choose(right, "right", "Right", KINDS, FIRST.variants[1]),
    )
    steps = STEPS.get(task, FIRST.steps)
    which = who.selectbox("Seed shown", (*WHO, PICKED), key="who", help=text("who_help"), **LINK)
    return {"task": task, "variants": pair, "steps": steps}, which


def _choose(
    where: DeltaGenerator, key: str, label: str, names: Mapping[str, Named], first: str
) -> str:
    """Draw a choice among ``names``, whose words stand in the link; return one of them."""

    def change() -> None:
        word = st.session_state[f"{key}_menu"]
        if key == "data":
            choose_data(word)
        else:
            put_in_link(**{key: "" if word == first else word})

    word = link_value(key, lambda given: given if given in names else None, first, first)
    st.session_state[f"{key}_menu"] = word
    lines = (
        f"- *{x.name}*: {x.line}{f', ${x.formula}$' * bool(x.formula)}" for x in names.values()
    )
    where.selectbox(label, [*names], key=f"{key}_menu", format_func=lambda name: names[name].name,
                    on_change=change, help="\n".join(lines))  # fmt: skip
    return word


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
        "seed": training.number_input("First seed", *LIMITS["seed"], FIRST.seed, 1, key="first",
                                      **LINK),
    }  # fmt: skip
    if fields["price"] == NO_PRICE:  # one run, whatever the weight of no price
        fields["price_weight"] = FIRST.price_weight
    return fields, BoundaryView(
        picture.radio("Colour by", PAINTS, key="paint", horizontal=True, **LINK),
        picture.toggle("Predicted class only", key="discrete", **LINK),
        picture.toggle("Test points", True, key="test_points", **LINK),
    )


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


def _suit_rate() -> None:  # each optimiser begins at a learning rate that suits it
    st.session_state["rate"] = f"{GOOD_START[st.session_state['optimiser']][0]:g}"


def _suit_price() -> None:  # a price needs more steps than a first run has
    if st.session_state["price"] != NO_PRICE:
        st.session_state["steps"] = max(st.session_state["steps"], PRICED_STEPS)


def choose_data(name: str) -> None:
    """Ask for other data, and for the steps that teach them unless others were asked for."""
    before = st.query_params.get("data", FIRST.task)
    put_in_link(data="" if name == FIRST.task else name)
    if st.session_state.get("steps") == STEPS.get(before, FIRST.steps):
        st.session_state["steps"] = STEPS.get(name, FIRST.steps)


def ask(key: str, first: int, more: int, most: int, beyond: int) -> None:
    """Ask for ``more`` of a control, ``beyond`` past its ``most``; for callbacks only."""
    number = st.session_state.get(key, first) + more
    number = number if number <= most else beyond
    if key in st.session_state:
        st.session_state[key] = number
    else:  # its control is not drawn yet
        change_link({key: [str(number)]})

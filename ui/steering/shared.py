"""Shared by the tabs of Steering: the model, the layer, the features of a dictionary, colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.lm.shipped import MODELS, SEEDS
from gating_core.lm.steering.live import STRONGEST_PUSH, DirectionRequest, model_and_dictionaries
from gating_core.lm.steering.streams import KINDS, RELEASED_AFTER, SIZE
from ui.common.charts import BLUE, ORANGE
from ui.common.language_models import UNGATED
from ui.common.links import LINK
from ui.foreign import printable

# The steering vector is applied to these.
MODES = {f"the first {RELEASED_AFTER} tokens": "released", "all tokens": "held"}
DICTIONARIES = dict(zip(("means of 16", "characters", "plain top-k"), KINDS, strict=True))
DEPTH = MODELS[UNGATED].depth
LANGUAGES = (("English", BLUE, "triangle-down"), ("Spanish", ORANGE, "triangle-up"))
STYLE = Path(__file__).with_name("steering.css")
Model = tuple[str, int]  # gate and seed


def control_row(key: str) -> DeltaGenerator:
    """Return a row for controls."""
    return st.container(horizontal=True, vertical_alignment="bottom", key=key)


def choose_seed() -> int:
    """Draw the control of the seed of the models."""
    return st.selectbox(
        "Model seed",
        SEEDS,
        key="steering_seed",
        width=115,
        **LINK,
        help="Of the initial weights and of the order of the training texts.",
    )


def choose_strength(row: DeltaGenerator) -> float:
    """Draw the control of the strength of the steering vector."""
    return row.slider(
        "Strength (below 0: to English)",
        -STRONGEST_PUSH,
        STRONGEST_PUSH,
        6.0,
        0.5,
        key="steering_strength",
        width=260,
        **LINK,
        help="In lengths of the difference of means. A chosen feature or a random direction is"
        " added if above 0, subtracted if below.",
    )


def choose_layer(row: DeltaGenerator) -> int:
    """Draw the control of the layer; return its index."""
    return (
        row.radio(
            "After layer",
            range(1, DEPTH + 1),
            key="steering_layer",
            horizontal=True,
            **LINK,
            help="The residual stream after this layer.",
        )
        - 1
    )


def choose_feature(model: Model, layer: int) -> DirectionRequest:
    """Draw the controls of a feature; say if this model has no such dictionary."""
    title = st.selectbox(
        "Dictionary",
        [*DICTIONARIES],
        key="steering_dictionary",
        width=150,
        **LINK,
        help="What the sparse autoencoder reads. *means of 16*: means of the residual"
        " stream over 16 characters. *characters*: single positions. Both are Matryoshka (nested)"
        " autoencoders. *plain top-k*: single positions, not nested, seed 0 only.",
    )
    feature = st.number_input("Feature", 1, SIZE, 2, key="steering_feature", width=120, **LINK)
    kind, kinds = DICTIONARIES[title], model_and_dictionaries(*model)[1].kinds
    if kind not in kinds:
        kind = next(iter(kinds))
        shown = next(name for name in DICTIONARIES if DICTIONARIES[name] == kind)
        st.caption(f":material/info: Seed {model[1]} has no dictionary “{title}”. Shown: {shown}.")
    return DirectionRequest(*model, layer, "feature", kind, feature - 1)


def coloured(text: str, shades: Sequence[str], marked: int | None = None, bold: str = "") -> str:
    """Return ``text`` as HTML, each character of its class in ``shades``, after a ``bold`` start.

    A line stands before the character ``marked``.
    """
    parts = [f"<b>{escape(printable(bold))}</b>"] if bold else []
    for name, run in groupby(enumerate(zip(text, shades, strict=True)), lambda item: item[1][1]):
        letters = ""
        for index, (letter, _) in run:
            mark = '<i class="gc-mark"></i>' if index == marked else ""
            letters += mark + escape(printable(letter))
        parts.append(f'<span class="{name}">{letters}</span>')
    return f'<p class="gc-text">{"".join(parts)}</p>'


def draw_text(where: DeltaGenerator, title: str, text: str) -> None:
    """Draw HTML, in which `coloured` has escaped every character, below a ``title`` of ours."""
    where.html(f'<p class="gc-head">{title}</p>{text}')


def signed(number: float, digits: int = 2) -> str:
    """Format a number with its sign."""
    return f"{number:+.{digits}f}".replace("-", "−")

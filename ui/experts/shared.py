"""Shared by the tabs of Mixture of experts: the model and its weights, styles of gates."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import gating_core.experts as core
from gating_core.attention import (
    GATE_NAMES,
    Attention,
    AttentionConfig,
    GateConfig,
    build_attention,
)
from gating_core.tasks import TASKS
from gating_core.training import TrainingDiverged
from ui.common import charts as c
from ui.common.formatting import fitting_heads
from ui.common.links import LINK, link_value, parse_number
from ui.limits import EXPERTS_CHANNELS, EXPERTS_HEADS, EXPERTS_TOKENS
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

NO_GATE, RANDOM = "no gate", "random"
PLACES = {
    "G1": "on the attention output",
    "G2": "on the values",
    "G3": "on the keys",
    "G4": "on the queries",
    "G5": "after the output projection W_O",
}
POSITIONS = (NO_GATE, *PLACES)
GRANULARITIES = {"channel": "elementwise", "head": "headwise"}
PER = {name: word for word, name in GRANULARITIES.items()}
SEEDS = (0, 9999)
FIRST_SEEDS = (0, 9000)  # the first of several
EXPERT = re.compile(r"([1-9])\.([1-9])")  # head and channel of an expert, counted from 1
GateSetting = tuple[str, str] | None  # position and granularity; None without a gate
STYLES: tuple[c.Style, ...] = (  # of gates in their order
    c.GATED,
    {"colour": c.ORANGE, "dash": "dash", "symbol": "square"},
    {"colour": c.GREEN, "dash": "dashdot", "symbol": "diamond"},
    {"colour": c.BLUE, "dash": "longdash", "symbol": "triangle-up"},
    {"colour": c.PURPLE, "dash": "longdashdot", "symbol": "triangle-down"},
)


@dataclass(frozen=True)
class Model:
    """A model of one layer of attention over tokens, with an output projection."""

    model_dim: int = 4  # D
    heads: int = 2  # H
    value_count: int = 3  # n tokens
    position: str = "G1"  # of POSITIONS
    granularity: str = "elementwise"
    kind: str = "sigmoid"
    task: str = RANDOM  # that the weights have learned, a key of TASKS
    seed: int = 19  # an entry whose terms have both signs
    strength: float = 1.0  # λ of the gate

    @property
    def config(self) -> AttentionConfig:
        """The model's configuration."""
        gate = None
        if self.position != NO_GATE:
            gate = GateConfig(self.kind, self.granularity, self.position, self.strength)
        return AttentionConfig(
            source="tokens",
            model_dim=self.model_dim,
            heads=self.heads,
            value_count=self.value_count,
            output_projection=True,
            gate=gate,
        )

    @property
    def setting(self) -> GateSetting:
        """Position and granularity of the gate, if there is one."""
        return None if self.position == NO_GATE else (self.position, self.granularity)

    @property
    def pair(self) -> dict[str, Model]:
        """The model without a gate, and the gated one: itself, or one with G1 per channel."""
        gated = self
        if self.position == NO_GATE:
            gated = replace(self, position="G1", granularity="elementwise")
        return {NO_GATE: replace(self, position=NO_GATE), f"gate {gated.position}": gated}


def setting_text(setting: GateSetting) -> str:
    """Name a gate's position and granularity."""
    return NO_GATE if setting is None else f"{setting[0]}, per {PER[setting[1]]}"


def choose_model() -> tuple[Model, DeltaGenerator]:
    """Draw the controls of the model; return it, and the place for a control of the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="control-row")
    position = row.radio(
        "Gate",
        POSITIONS,
        1,
        key="gate_at",
        horizontal=True,
        **LINK,
        help=" ".join(f"{name}: {place}." for name, place in PLACES.items()),
    )
    per = row.radio(
        "One gate per",
        [*GRANULARITIES],
        key="gate_per",
        horizontal=True,
        **LINK,
        help="One factor per channel, or one for all channels of a head. At G5, *head* is one"
        " factor for all channels of the output.",
    )
    more = row.popover("Model", icon=":material/tune:", key="experts_model")
    kind = more.selectbox("Gate kind", GATE_NAMES, key="gate_kind", **LINK)
    task = more.selectbox(
        "Weights",
        (RANDOM, *TASKS),
        key="weights",
        **LINK,
        help="*random*: at initialisation. A task: trained on this task of *Decision boundary* with"
        " its default data and training configuration (400 steps, two seconds).",
    )
    dim = more.number_input("Channels D", *EXPERTS_CHANNELS, 4, key="channels", **LINK)
    wish = more.number_input("Heads H", *EXPERTS_HEADS, 2, key="head_count", **LINK)
    tokens = more.number_input("Tokens n", *EXPERTS_TOKENS, 3, key="tokens", **LINK)
    seed = more.number_input(
        "Seed",
        *SEEDS,
        19,
        key="model_seed",
        **LINK,
        help="Of the initialisation. Models that differ in their gate alone share all other"
        " weights.",
    )
    heads, note = fitting_heads(wish, dim)
    if note:
        st.caption(f":material/info: {note}")
    strength = link_value("gate_lambda", parse_strength, 1.0, "1")
    return Model(dim, heads, tokens, position, GRANULARITIES[per], kind, task, seed, strength), more


def parse_strength(text: str) -> float | None:
    """Return the gate interpolation λ in thousandths: a weaker gate would be lost in rounding."""
    number = parse_number(text)
    return round(number, 3) if number is not None and 0 <= number <= 1 else None


def followed_expert(model: Model) -> str:
    """Return the expert of the link as "head.channel", or nothing."""

    def parse(text: str) -> str | None:
        match = EXPERT.fullmatch(text)
        if match is None:
            return None
        head, channel = map(int, match.groups())
        return text if head <= model.heads and channel <= model.model_dim // model.heads else None

    return link_value("expert", parse, "")


# --- Weights ------------------------------------------------------------------------------------


def with_weights(model: Model, *others: Model) -> Model:
    """Return the model, with random weights if its training or that of ``others`` diverges."""
    if all(each.task == RANDOM or trained(each) for each in (model, *others)):
        return model
    st.warning("This training diverged. Shown: random weights.", icon=":material/warning:")
    return replace(model, task=RANDOM)


def trained(model: Model) -> dict[str, np.ndarray]:
    """Return the trained weights, empty if the training diverged; the gate is trained at λ = 1."""
    return trained_state(replace(model, strength=1.0).config, model.task, model.seed)


@cached("Training this model …", on=NUMBERS_CACHE)
def trained_state(config: AttentionConfig, task: str, seed: int) -> dict[str, np.ndarray]:
    """Train a model; return its weights, empty if its training diverged."""
    try:
        state: dict[str, np.ndarray] = pool.POOL.call(core.trained_state, config, task, seed)
    except TrainingDiverged:
        return {}
    return state


def attention_of(model: Model) -> Attention:
    """Return the model with its weights."""
    if model.task == RANDOM:
        return build_attention(model.config, (model.seed,))
    return core.with_state(model.config, model.seed, trained(model))


# --- Charts -------------------------------------------------------------------------------------


def thin_lines(x: np.ndarray, rows: np.ndarray, style: c.Style) -> c.Trace:
    """Return every row of ``rows`` (R, L) as a thin line, gaps of NaN between them."""
    many = np.tile(np.append(x, np.nan), len(rows))
    y = np.concatenate([np.append(row, np.nan) for row in rows])
    line = c.line("repeats", many, y, colour=style["colour"], width=1, mode="lines", legend=False)
    return line | {"opacity": 0.3, "hoverinfo": "skip", "hovertemplate": None}

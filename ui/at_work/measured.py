"""What the page At work shows of shipped models: measured before, or read at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from gating_core.at_work import Reading, load_measured, read_text
from gating_core.language import LanguageModel, load_model
from ui.at_work.request import Model
from ui.limits import LOADED_MODELS
from ui.work.cache import cached


@st.cache_resource(show_spinner=False)
def table() -> dict[Model, dict[str, Any]]:
    """Return the shipped measurements: arrays by model and name."""
    return load_measured()


def models() -> list[Model]:
    """Return name and seed of the models that are shipped and measured."""
    return list(table())


def over_seeds(name: str, measurement: str) -> np.ndarray:
    """Return a measurement of every seed of the models called ``name``, (S, ...)."""
    return np.stack([arrays[measurement] for (of, _), arrays in table().items() if of == name])


@st.cache_resource(max_entries=LOADED_MODELS, show_spinner=False)
def loaded(model: Model) -> LanguageModel:
    """Load a shipped model."""
    return load_model(*model)[0]


@cached()
def reading(model: Model, text: str) -> Reading:
    """Read a text, in this process: it takes some ten milliseconds."""
    return read_text(loaded(model), text)

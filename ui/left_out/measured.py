"""The data of the page Left out: shipped measurements, and results computed from a specimen."""

from __future__ import annotations

from typing import Any

import streamlit as st

from gating_core.language import shipped
from gating_core.left_out import HeadSample, gaussian_scores, normal_tokens, slow_tokens
from gating_core.left_out_at_work import head_specimen, load_measured
from ui.common.language_models import TITLES, UNGATED
from ui.language.loaded import loaded
from ui.language.selection import Model
from ui.left_out.request import GAUSSIAN, HEAD, SLOW, LeftOutSelection
from ui.work.cache import cached

MOST_NORMAL = 512  # tokens, where Gaussian scores need values


@st.cache_resource(show_spinner=False)
def table() -> dict[Model, dict[str, Any]]:
    """Return the shipped measurements: arrays by model and name."""
    return load_measured()


@st.cache_resource(show_spinner=False)
def models() -> list[Model]:
    """Return the models whose heads can be looked at."""
    return [model for model in shipped() if model[0] in TITLES]


def tables(gated: str) -> dict[str, list[dict[str, Any]]]:
    """Return the measurements of models without a gate and of those called ``gated``, by title.

    In lists by seed, of the seeds of which both are measured; nothing where there are none.
    """
    seeds = [seed for name, seed in table() if name == gated and (UNGATED, seed) in table()]
    return {TITLES[name]: [table()[name, seed] for seed in seeds]
            for name in (UNGATED, gated)} if seeds else {}  # fmt: skip


def only_shown(selection: LeftOutSelection) -> LeftOutSelection:
    """Return ``selection`` with defaults in the fields that its specimen does not depend on."""
    used = {
        HEAD: ("head", "typed", "verse", "language"),
        GAUSSIAN: ("keys", "sigma", "draw"),
        SLOW: ("tokens", "memory", "draw"),
    }[selection.kind]
    # Losses of whole models stand beside every specimen.
    chosen = {name: getattr(selection, name) for name in ("kind", "name", *used)}
    if selection.kind == HEAD:
        chosen |= {"seed": selection.seed, "strength": selection.dialled}
    return LeftOutSelection(**chosen)


def row_source(selection: LeftOutSelection) -> Any:
    """Return a specimen, or scores alone."""
    if selection.kind == GAUSSIAN:
        return gaussian_scores(selection.keys, selection.sigma, selection.draw)
    return specimen(selection)


@cached()
def specimen(selection: LeftOutSelection) -> HeadSample:
    """Return queries, keys and values of the selected head, or of tokens.

    For Gaussian scores, which have no values, of tokens whose scores are such.
    """
    if selection.kind == GAUSSIAN:
        return normal_tokens(min(selection.keys, MOST_NORMAL), selection.sigma, selection.draw)
    if selection.kind == SLOW:
        return slow_tokens(selection.tokens, float(selection.memory), seed=selection.draw)
    model = loaded(selection.model)
    return head_specimen(model, selection.text, *selection.layer_and_head, selection.dialled)

"""What the page Steering shows: shipped, written by a worker, or measured by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from gating_core.steering import (
    DictionaryCard,
    DirectionRequest,
    Opening,
    Passage,
    SteerRequest,
    WrittenAlong,
    effect_on_next,
    letter_shares,
    load_opening,
    passages,
    specimen,
    write_judged,
    written_along,
)
from ui.steering.request import Model
from ui.work import pool, writing
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.job import Job

WRITING = "steering"


@st.cache_resource(show_spinner=False)
def opening() -> Opening:
    """Load the text that the page opens with."""
    return load_opening()


def written(request: SteerRequest) -> Job:
    """Return the job that writes: a new one, unless this text is written or was stopped."""
    shipped = opening()
    steps = shipped.steps if request == shipped.request else ()
    return writing.written(WRITING, write_judged, request, steps)


@dataclass(frozen=True, eq=False)
class Fired:
    """What is known of the features of a dictionary of one layer; arrays of M features."""

    fires: np.ndarray  # (2, M): in English and in Spanish
    difference: np.ndarray  # of means, Spanish less English
    auc: np.ndarray  # of telling Spanish from English, 0.5 to 1
    cosine: np.ndarray  # with the difference of means
    letters: np.ndarray  # share of the strongest places that end in the same letters
    card: DictionaryCard


def fired(model: Model, kind: str, layer: int) -> Fired:
    """Return what is shipped of a dictionary of ``layer``, the first being 1."""
    dictionaries = specimen(*model)[1]
    trained, place = dictionaries.kinds[kind], layer - 1
    statistics = trained.statistics
    gap = dictionaries.gap[place].numpy()
    auc = statistics.auc[place].astype(float)
    return Fired(
        statistics.fires[place].astype(float),
        statistics.difference[place].astype(float),
        np.maximum(auc, 1 - auc),
        trained.dictionary.directions[place].numpy() @ gap / np.linalg.norm(gap),
        letter_shares(*model, kind, place),
        trained.cards[place],
    )


def dictionaries(model: Model, layer: int) -> dict[str, Fired]:
    """Return what is shipped of all kinds of dictionaries of ``layer`` that the model has."""
    return {kind: fired(model, kind, layer) for kind in specimen(*model)[1].kinds}


@cached("Reading the verses …", on=NUMBERS_CACHE)
def strongest(request: DirectionRequest) -> list[Passage]:
    """Return the passages where a feature is strongest."""
    result: list[Passage] = pool.POOL.call(passages, request)
    return result


@cached("Taking the stream apart …", on=NUMBERS_CACHE)
def along(request: DirectionRequest) -> WrittenAlong:
    """Return what each part writes along a direction."""
    result: WrittenAlong = pool.POOL.call(written_along, request)
    return result


@cached("Pushing …", on=NUMBERS_CACHE)
def effect(request: DirectionRequest, push: float) -> np.ndarray:
    """Return how much likelier each character is next when pushed."""
    result: np.ndarray = pool.POOL.call(effect_on_next, request, push)
    return result

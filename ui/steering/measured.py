"""The data of the page Steering: shipped, or computed by a worker process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

import gating_core.steering as core
from ui.steering.request import Model
from ui.work import cached_jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.job import Job

WRITING = "steering"


@st.cache_resource(show_spinner=False)
def opening() -> core.Opening:
    """Load the text that the page opens with."""
    return core.load_opening()


def written(request: core.SteerRequest) -> Job:
    """Return the job that writes the text; start it unless it is running, done or was cancelled."""
    shipped = opening()
    steps = shipped.steps if request == shipped.request else ()
    return cached_jobs.written(WRITING, core.write_judged, request, steps)


def endings(request: core.SteerRequest, steps: Sequence[core.Step]) -> list[core.Ending] | None:
    """Return the judgement of both texts, once they are whole."""
    if len(steps) < core.WRITTEN:
        return None
    if request == opening().request:
        return opening().endings
    return _endings(request.direction.name, request.direction.model_seed, core.written_texts(steps))


@cached(on=NUMBERS_CACHE)
def _endings(name: str, model_seed: int, texts: tuple[str, str]) -> list[core.Ending]:
    return pool.POOL.call(core.endings, name, model_seed, texts)


@dataclass(frozen=True, eq=False)
class Fired:
    """Statistics of the features of a dictionary of one layer; arrays (M,)."""

    fires: np.ndarray  # (2, M): in English and in Spanish
    difference: np.ndarray  # of means, Spanish less English
    auc: np.ndarray  # of telling Spanish from English, 0.5 to 1
    cosine: np.ndarray  # with the difference of means
    letters: np.ndarray  # share of the strongest positions that end in the same letters
    card: core.DictionaryCard


def fired(model: Model, kind: str, layer: int) -> Fired:
    """Return what is shipped of a dictionary of ``layer``, the first being 1."""
    dictionaries = core.specimen(*model)[1]
    trained, index = dictionaries.kinds[kind], layer - 1
    statistics = trained.statistics
    gap = dictionaries.gap[index].numpy()
    auc = statistics.auc[index].astype(float)
    return Fired(
        statistics.fires[index].astype(float),
        statistics.difference[index].astype(float),
        np.maximum(auc, 1 - auc),
        trained.dictionary.directions[index].numpy() @ gap / np.linalg.norm(gap),
        core.letter_shares(*model, kind, index),
        trained.cards[index],
    )


def dictionaries(model: Model, layer: int) -> dict[str, Fired]:
    """Return what is shipped of all kinds of dictionaries of ``layer`` that the model has."""
    return {kind: fired(model, kind, layer) for kind in core.specimen(*model)[1].kinds}


@cached("Reading the verses …", on=NUMBERS_CACHE)
def strongest(request: core.DirectionRequest) -> list[core.Passage]:
    """Return the passages where a feature is strongest."""
    return pool.POOL.call(core.passages, request)


@cached("Taking the stream apart …", on=NUMBERS_CACHE)
def along(request: core.DirectionRequest) -> core.WrittenAlong:
    """Return what each part writes along a direction."""
    return pool.POOL.call(core.written_along, request)


@cached("Pushing …", on=NUMBERS_CACHE)
def effect(request: core.DirectionRequest, push: float) -> np.ndarray:
    """Return how much likelier each character is next when pushed."""
    return pool.POOL.call(core.effect_on_next, request, push)

"""The data of the Experts page: entries and directions of one model, and what is learned from data.

Cached for all visitors; what takes longer is shipped, or made in jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

import gating_core.experts as experts
from gating_core.attention import Attention, AttentionConfig, build_attention
from gating_core.experts import CurvesRequest, Learned, LearningCurves, SampleRequest
from gating_core.training import TrainingDiverged
from ui.experts.request import FARTHEST, NO_GATE, RANDOM, ExpertsSelection, GateSetting
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.shared import split_over_workers

STEPS = 41  # of a move, from one end to the other
Counts = dict[GateSetting, experts.Undecidable]


def trained(selection: ExpertsSelection) -> bool:
    """Whether the selected model exists: its training, if it needs one, has not diverged."""
    return selection.task == RANDOM or bool(_learned_state(selection))


def _learned_state(selection: ExpertsSelection) -> dict[str, np.ndarray]:
    """The weights as they are trained: with the gate at full strength."""
    return _state(replace(selection, strength=1.0).config, selection.task, selection.seed)


@cached("Training this model …", on=NUMBERS_CACHE)
def _state(config: AttentionConfig, task: str, seed: int) -> dict[str, np.ndarray]:
    """Return a trained model's weights; none if its training diverged."""
    try:
        state: dict[str, np.ndarray] = pool.POOL.call(experts.trained_state, config, task, seed)
    except TrainingDiverged:
        return {}
    return state


def model_of(selection: ExpertsSelection) -> Attention:
    """Return the selected model."""
    if selection.task == RANDOM:
        return build_attention(selection.config, (selection.seed,))
    return experts.with_state(selection.config, selection.seed, _learned_state(selection))


def decomposed(selection: ExpertsSelection) -> experts.EntryTree:
    """Decompose the selected entry."""
    return experts.entry_tree(model_of(selection), selection.point, selection.channel - 1)


def numbers(selection: ExpertsSelection) -> dict[str, Any]:
    """Return the numbers from which the browser computes entries of a model."""
    maps = experts.entry_maps(model_of(selection))
    gate = None
    if selection.gate_setting is not None:
        assert maps.gate_logits is not None
        gate = {
            "place": selection.position, "kind": selection.kind,
            "title": f"gate {selection.position}", "logits": maps.gate_logits.tolist(),
        }  # fmt: skip
    names = ("values", "queries", "keys", "tokens", "projection")
    lists: dict[str, Any] = {name: getattr(maps, name).tolist() for name in names}
    return {
        **lists, "valueMap": maps.value_map.tolist(), "gate": gate,
        "channel": selection.channel - 1,
    }  # fmt: skip


def counts(selection: ExpertsSelection) -> Counts:
    """Count undecidable directions for every gate position.

    A trained model counts at its own gate position; at all others weights are random.
    """
    by_setting = _counts(selection.compared.config, selection.seed)
    if selection.task == RANDOM:
        return by_setting
    return {**by_setting, selection.gate_setting: _count(_as_moved(selection))}


@cached(on=NUMBERS_CACHE)
def _count(selection: ExpertsSelection) -> experts.Undecidable:
    return experts.undecidable_directions(model_of(selection))


@cached("Counting what no data can decide …", on=NUMBERS_CACHE)
def _counts(config: AttentionConfig, seed: int) -> Counts:
    counted: Counts = pool.POOL.call(experts.undecidable_by_gate, config, seed)
    return counted


def moved_models(selection: ExpertsSelection) -> dict[str, ExpertsSelection]:
    """Return the model without a gate and the gated one, by name."""
    gated = selection.compared
    return {"no gate": replace(selection, position=NO_GATE), f"gate {gated.position}": gated}


def moves(selection: ExpertsSelection) -> dict[str, experts.Moves]:
    """Move both of `moved_models`."""
    models = moved_models(selection)
    return {name: _moves(_as_moved(model)) for name, model in models.items()}


def _as_moved(selection: ExpertsSelection) -> ExpertsSelection:
    """The selection with defaults for fields that change neither weights nor moves; a cache key."""
    first = ExpertsSelection()
    return replace(selection, channel=first.channel, point=first.point, distance=first.distance)


@cached(on=NUMBERS_CACHE)
def _moves(selection: ExpertsSelection) -> experts.Moves:
    size = selection.model_dim // selection.heads
    head, first, second = selection.moved
    mixing = experts.mixing(size, first, second)
    generator = mixing if selection.mixes else experts.scaling(size, first)
    distances = np.round(np.linspace(-FARTHEST, FARTHEST, STEPS), 6)
    return experts.measure_moves(model_of(selection), head, generator, distances)


# --- The sections on data -------------------------------------------------------------------------

Key = tuple[SampleRequest, str]  # with the gate
# What comes with the app: the errors by gate, and the learning curves.
shipped_samples = st.cache_resource(show_spinner=False)(experts.load_samples)
shipped_curves = st.cache_resource(show_spinner=False)(experts.load_curves)


def _learn(key: Key) -> Iterator[Any]:
    request, gate = key
    for item in split_over_workers(experts.learn, request.seeds, request, gate):
        yield experts.gathered(item) if isinstance(item, tuple) else item


def _train(request: CurvesRequest) -> Iterator[Any]:
    for item in split_over_workers(experts.accuracies_at, experts.COUNTS, request):
        yield experts.curves_of(request, item) if isinstance(item, tuple) else item


LEARNED: CachedJobs[Key, Learned] = CachedJobs("experts_learning", _learn, NUMBERS_CACHE)
CURVES: CachedJobs[CurvesRequest, LearningCurves] = CachedJobs(
    "experts_curves", _train, NUMBERS_CACHE, expected=(TrainingDiverged,)
)


def learned(
    request: SampleRequest, gates: tuple[str, ...]
) -> tuple[dict[str, Learned], Job | None]:
    """Return the results so far by gate, and the job that makes the others, if any."""
    if request == SampleRequest():
        return {gate: shipped_samples()[gate] for gate in gates}, None
    results, job = LEARNED.fetch_all(tuple((request, gate) for gate in gates))
    return {gate: results[request, gate] for gate in gates if (request, gate) in results}, job


def curves(request: CurvesRequest) -> tuple[LearningCurves | None, Job | None]:
    """Return the learning curves, or the job that makes them."""
    if request == CurvesRequest():
        return shipped_curves(), None
    return CURVES.fetch(request)

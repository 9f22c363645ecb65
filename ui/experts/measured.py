"""The data of the Experts page on one model: its entry tree, and its undecidable directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gating_core.attention import Attention, AttentionConfig, build_attention
from gating_core.experts import (
    EntryTree,
    Moves,
    Undecidable,
    entry_maps,
    entry_tree,
    measure_moves,
    mixing,
    scaling,
    trained_state,
    undecidable_by_gate,
    undecidable_directions,
    with_state,
)
from gating_core.training import TrainingDiverged
from ui.experts.request import FARTHEST, NO_GATE, RANDOM, ExpertsSelection
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

STEPS = 41  # of a move, from one end to the other


def trained(selection: ExpertsSelection) -> bool:
    """Whether the selected model exists: its training, if it needs one, has not diverged."""
    return selection.task == RANDOM or bool(
        _state(_full(selection), selection.task, selection.seed)
    )


def _full(selection: ExpertsSelection) -> AttentionConfig:
    """The configuration with the gate at full strength, as it is trained."""
    return replace(selection, strength=1.0).config


@cached("Training this model …", on=NUMBERS_CACHE)
def _state(config: AttentionConfig, task: str, seed: int) -> dict[str, np.ndarray]:
    """Return a trained model's weights; none if its training diverged."""
    try:
        state: dict[str, np.ndarray] = pool.POOL.call(trained_state, config, task, seed)
    except TrainingDiverged:
        return {}
    return state


def model_of(selection: ExpertsSelection) -> Attention:
    """Return the selected model."""
    if selection.task == RANDOM:
        return build_attention(selection.config, (selection.seed,))
    state = _state(_full(selection), selection.task, selection.seed)
    return with_state(selection.config, selection.seed, state)


def decomposed(selection: ExpertsSelection) -> EntryTree:
    """Decompose the selected entry."""
    return entry_tree(model_of(selection), selection.point, selection.channel - 1)


def numbers(selection: ExpertsSelection) -> dict[str, Any]:
    """Return the numbers from which the browser computes entries of a model."""
    maps = entry_maps(model_of(selection))
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


def counts(selection: ExpertsSelection) -> dict[tuple[str, str] | None, Undecidable]:
    """Count undecidable directions for every gate position.

    A trained model counts at its own gate position; at all others weights are random.
    """
    by_setting = _counts(selection.compared.config, selection.seed)
    if selection.task == RANDOM:
        return by_setting
    return {**by_setting, selection.gate_setting: _count(_as_moved(selection))}


@cached(on=NUMBERS_CACHE)
def _count(selection: ExpertsSelection) -> Undecidable:
    return undecidable_directions(model_of(selection))


@cached("Counting what no data can decide …", on=NUMBERS_CACHE)
def _counts(config: AttentionConfig, seed: int) -> dict[tuple[str, str] | None, Undecidable]:
    counted: dict[tuple[str, str] | None, Undecidable] = pool.POOL.call(
        undecidable_by_gate, config, seed
    )
    return counted


def moved_models(selection: ExpertsSelection) -> dict[str, ExpertsSelection]:
    """Return the model without a gate and the gated one, by name."""
    gated = selection.compared
    return {"no gate": replace(selection, position=NO_GATE), f"gate {gated.position}": gated}


def moves(selection: ExpertsSelection) -> dict[str, Moves]:
    """Move both of `moved_models`."""
    models = moved_models(selection)
    return {name: _moves(_as_moved(model)) for name, model in models.items()}


def _as_moved(selection: ExpertsSelection) -> ExpertsSelection:
    """The selection with defaults for fields that change neither weights nor moves; a cache key."""
    first = ExpertsSelection()
    return replace(selection, channel=first.channel, point=first.point, distance=first.distance)


@cached(on=NUMBERS_CACHE)
def _moves(selection: ExpertsSelection) -> Moves:
    size = selection.model_dim // selection.heads
    head, first, second = selection.moved
    generator = mixing(size, first, second) if selection.mixes else scaling(size, first)
    distances = np.round(np.linspace(-FARTHEST, FARTHEST, STEPS), 6)
    return measure_moves(model_of(selection), head, generator, distances)

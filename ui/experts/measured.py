"""What the Experts page shows of a model: taken apart, and its undecidable directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gating_core.attention import AttentionConfig, build_attention
from gating_core.experts import (
    EntryTree,
    Moves,
    Undecidable,
    entry_maps,
    entry_tree,
    measure_moves,
    mixing,
    scaling,
    undecidable_by_place,
)
from ui.experts.request import FARTHEST, NO_GATE, ExpertsSelection
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

STEPS = 41  # of a move, from one end to the other


def taken_apart(selection: ExpertsSelection) -> EntryTree:
    """Take the selected entry apart."""
    model = build_attention(selection.config, (selection.seed,))
    return entry_tree(model, selection.point, selection.channel - 1)


@cached()
def numbers(config: AttentionConfig, seed: int) -> dict[str, Any]:
    """Return what the browser computes entries of a model with."""
    maps = entry_maps(build_attention(config, (seed,)))
    gate = None
    if config.gate is not None:
        assert maps.gate_logits is not None
        gate = {
            "place": config.gate.position, "kind": config.gate.kind,
            "title": f"gate {config.gate.position}", "logits": maps.gate_logits.tolist(),
        }  # fmt: skip
    names = ("values", "queries", "keys", "tokens", "projection")
    lists: dict[str, Any] = {name: np.asarray(getattr(maps, name)).tolist() for name in names}
    return {**lists, "valueMap": maps.value_map.tolist(), "gate": gate}


@cached("Counting what no data can decide …", on=NUMBERS_CACHE)
def counts(config: AttentionConfig, seed: int) -> dict[tuple[str, str] | None, Undecidable]:
    """Count a model's undecidable directions for every place of its gate."""
    found: dict[tuple[str, str] | None, Undecidable] = pool.POOL.call(
        undecidable_by_place, config, seed
    )
    return found


def moves(selection: ExpertsSelection) -> dict[str, Moves]:
    """Move the model without a gate and the gated one, by name."""
    size = selection.model_dim // selection.heads
    head, first, second = selection.moved
    generator = mixing(size, first, second) if selection.mixes else scaling(size, first)
    gated = selection.compared
    configs = {
        "no gate": selection.with_gate(NO_GATE, gated.granularity),
        f"gate {gated.position}": gated.config,
    }
    return {
        name: _moves(config, selection.seed, head, tuple(map(tuple, generator.tolist())))
        for name, config in configs.items()
    }


@cached(on=NUMBERS_CACHE)
def _moves(
    config: AttentionConfig, seed: int, head: int, generator: tuple[tuple[float, ...], ...]
) -> Moves:
    distances = np.round(np.linspace(-FARTHEST, FARTHEST, STEPS), 6)
    return measure_moves(build_attention(config, (seed,)), head, np.array(generator), distances)

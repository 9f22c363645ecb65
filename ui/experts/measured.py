"""What the Experts page shows of a model: taken apart, and its undecidable directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gating_core.attention import AttentionConfig, build_attention
from gating_core.experts import EntryTree, entry_maps, entry_tree
from ui.experts.request import ExpertsSelection
from ui.work.cache import cached


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

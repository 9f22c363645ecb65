"""A tree of one output entry: heads, experts, tokens; computed and redrawn in the browser.

Its numbers are sent once for a model. The browser computes every entry from them, at the input that
a pad beside it shows and at the strength of its own slider.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gating_core.attention import GATE_KINDS, GATE_NAMES
from ui.components import wire
from ui.components.source import declare

SIGMA = "".join(f'  "{name}": z => {GATE_KINDS[name].javascript},\n' for name in GATE_NAMES)
_component = declare("tree", f"const SIGMA = {{\n{SIGMA}}};\n")


def tree(
    *,
    key: str,
    label: str,
    hint: str,
    name: str,
    numbers: Mapping[str, Any],
    strength: float,
    point: tuple[float, float],
    pad: str,
    expert: str,
    spare: int,
    on_strength: Callable[[float], None],
    on_expert: Callable[[str], None],
) -> None:
    """Draw the tree of the entry called ``name``.

    Args:
        key: Of the component.
        label: Read aloud in place of the picture.
        hint: Shown while no expert is followed.
        name: Of the entry.
        numbers: What entry.js computes with: affine maps of the input as nested lists, three of
            each, and the gate's place, kind, title and logits, or none.
        strength: λ of the gate.
        point: The input, until the pad with the key ``pad`` has drawn its first handle.
        pad: See above.
        expert: The followed one as "head.channel", both from 1; empty for none.
        spare: Pixels of the window's height that all but the tree takes.
        on_strength: Called with the strength at which the slider was let go.
        on_expert: Called with the expert that was clicked, or with "" if it was followed already.
    """
    sizes = [len(head) for head in numbers["queries"][0]]
    names = {"", *(f"{h + 1}.{c + 1}" for h, size in enumerate(sizes) for c in range(size))}

    def receive_strength() -> None:
        moved = wire.receive(key, "moved", lambda message: is_share(message["strength"]))
        if moved:
            on_strength(float(moved["strength"]))

    def receive_expert() -> None:
        picked = wire.receive(key, "picked", lambda message: message["expert"] in names)
        if picked:
            on_expert(picked["expert"])

    _component(
        key=key,
        data={
            **numbers,
            "label": label,
            "hint": hint,
            "name": name,
            "strength": strength,
            "point": list(point),
            "pad": pad,
            "expert": expert if expert in names else "",
            "spare": spare,
            "heard": wire.heard(key),
        },
        on_moved_change=receive_strength,
        on_picked_change=receive_expert,
    )


def is_share(value: Any) -> bool:
    """Return whether this is a number from 0 to 1 that the slider could have sent."""
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value <= 1

"""A tree of one output entry: heads, experts, tokens; computed and redrawn in the browser.

Its numbers are sent once for a model. The browser computes every entry from them, at the input that
the visitor drags and at the strength of its slider.
"""

from __future__ import annotations

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
    expert: str,
    spare: int,
    on_leave: Callable[[tuple[float, float], float, str], None],
) -> None:
    """Draw the tree of the entry called ``name``, and its input in the square [-1, 1]^2.

    Args:
        key: Of the component.
        label: Read aloud in place of the picture.
        hint: Shown while no expert is followed.
        name: Of the entry.
        numbers: What entry.js computes with: affine maps of the input as nested lists, three of
            each, and the gate's place, kind, title and logits, or none.
        strength: λ of the gate.
        point: The input.
        expert: The followed one as "head.channel", both from 1; empty for none.
        spare: Pixels of the window's height that all but the tree takes.
        on_leave: Called with input, strength and followed expert when the visitor lets go.
    """
    sizes = [len(head) for head in numbers["queries"][0]]
    names = {"", *(f"{h + 1}.{c + 1}" for h, size in enumerate(sizes) for c in range(size))}

    def hear(left: Any) -> None:
        x, y = map(float, left["point"])
        on_leave((x, y), float(left["strength"]), left["expert"])

    _component(
        key=key,
        data={
            **numbers,
            "label": label,
            "hint": hint,
            "name": name,
            "strength": strength,
            "point": list(point),
            "expert": expert if expert in names else "",
            "spare": spare,
            "heard": wire.heard(key),
        },
        on_left_change=wire.listener(key, "left", lambda left: is_sound(left, names), hear),
    )


def is_sound(message: Any, names: set[str]) -> bool:
    """Return whether our own script could have sent this message; see `wire.receive`."""
    point, strength = message["point"], message["strength"]
    return (
        message["expert"] in names
        and isinstance(point, list)
        and len(point) == 2
        and all(type(x) in (int, float) and abs(x) <= 1 for x in point)
        and type(strength) in (int, float)
        and 0 <= strength <= 1
    )

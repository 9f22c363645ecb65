"""Page Up and Page Down press the buttons of the previous and the next step."""

from __future__ import annotations

from ui.components.source import declare

_component = declare("turn")


def hear_turns() -> None:
    """Let both keys press what stands in the containers ``turn-previous`` and ``turn-next``."""
    _component(key="turn", data=b"")

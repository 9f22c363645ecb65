"""The steps of the browser's history: one for each change of a control."""

from __future__ import annotations

from ui.components.source import declare

_component = declare("history")


def keep_steps() -> None:
    """Let the browser's *Back* undo one change of a control, not all of them."""
    _component(key="history", data=b"")

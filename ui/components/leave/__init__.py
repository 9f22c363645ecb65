"""Leads the browser to another address of this server, which Streamlit alone cannot do."""

from __future__ import annotations

from ui.components.source import declare

_component = declare("leave")


def leave_for(path: str) -> None:
    """Post to ``path``, an absolute path of this server, in this tab, once."""
    _component(key="leave", data={"path": path})

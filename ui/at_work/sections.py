"""The sections of the page At work by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable

from ui.at_work.request import SINKS
from ui.at_work.sinks_section import draw_sinks

SECTIONS: dict[str, Callable[[], None]] = {
    SINKS: draw_sinks,
}

"""The sections of the page At work by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui.at_work import measured
from ui.at_work.confidence import draw_confidence
from ui.at_work.controls import CONFIDENCE, RANK, SINKS, SPARSE, WIRING, WRITE
from ui.at_work.gates import draw_gates
from ui.at_work.rank import draw_rank
from ui.at_work.sinks import draw_sinks
from ui.at_work.wiring import draw_wiring
from ui.at_work.write import draw_write
from ui.common.language_models import UNGATED
from ui.common.lessons import section


def _of_models(draw: Callable[[], None]) -> Callable[[], None]:
    """A section about models with and without a gate, if any are shipped and measured."""

    def draw_them() -> None:
        if any(name != UNGATED for name, _ in measured.models()):
            draw()
        else:
            st.info(section("at_work", "no_models"))

    return draw_them


SECTIONS: dict[str, Callable[[], None]] = {
    SINKS: _of_models(draw_sinks),
    RANK: _of_models(draw_rank),
    SPARSE: _of_models(draw_gates),
    CONFIDENCE: _of_models(draw_confidence),
    WIRING: draw_wiring,
    WRITE: _of_models(draw_write),
}

"""The controls of the tab Correction."""

from __future__ import annotations

from gating_core.left_out_at_work import GAMMA_STEPS, WINDOW_STEPS, CorrectionRequest
from ui.common.control_table import table
from ui.common.controls import Choice, Number
from ui.common.lessons import section
from ui.limits import LEFT_OUT_SINKS

CORRECTION_CONTROLS = table(
    Choice("correct_window", "Window, keys", field="window",
        words={str(size): size for size in WINDOW_STEPS},
        shape="slider"),
    Number("correct_sinks", "Sinks, keys", field="sinks", within=LEFT_OUT_SINKS, step=1,
        shape="box", help=section("left_out", "correct_sinks")),
    Choice("correct_every", "Every γ-th query in full", field="gamma",
        words={str(gamma): gamma for gamma in GAMMA_STEPS[1:]},
        shape="slider", help=section("left_out", "correct_every")),
    of=CorrectionRequest(),
)  # fmt: skip

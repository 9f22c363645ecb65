"""The controls of the tab Linear."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.left_out_at_work import LinearRequest
from ui.common.control_table import table
from ui.common.controls import Choice, Fold, Number
from ui.common.lessons import section
from ui.limits import LEFT_OUT_MEMORY, LEFT_OUT_OVERLAP, READ_CHARACTERS

BY_HAND, LEARNED = "by hand", "learned"


@dataclass(frozen=True)
class LinearSelection:
    """The selections of the tab besides the parameters of cheaper attention."""

    features: str = BY_HAND
    at: int = 64  # the character after which the state is shown
    channels: int = 16  # d, of the toy's state
    overlap: float = 0.0  # of the toy's keys


HEAD_CONTROLS = table(
    Choice("linear_window", "Window, keys", field="window",
        words={str(size): size for size in (4, 8, 16, 32)}),
    Number("linear_share", "Window's share w", field="share", within=(0.0, 1.0), step=0.1,
        help=section("left_out", "linear_share")),
    of=LinearRequest(),
) | table(
    Number("linear_at", "State after", field="at", within=(1, READ_CHARACTERS), step=1,
        help=section("left_out", "linear_at")),
    Choice("linear_features", "w, decay, step", field="features", words=(BY_HAND, LEARNED),
        shape="selectbox", help=section("left_out", "linear_features")),
    of=LinearSelection(),
)  # fmt: skip
MORE = Fold("linear_more", "More: decay and step of the delta rule, the toy")
MORE_CONTROLS = table(
    Number("linear_memory", "Decay over", field="memory", within=LEFT_OUT_MEMORY, step=1.0,
        shape="box", help=section("left_out", "linear_memory")),
    Number("linear_step", "Step b", field="step", within=(0.0, 1.0), step=0.1,
        help=section("left_out", "linear_step")),
    of=LinearRequest(),
) | table(
    Choice("linear_channels", "Toy: d", field="channels",
        words={str(size): size for size in (8, 16, 32)}),
    Number("linear_overlap", "Toy: keys alike", field="overlap", within=LEFT_OUT_OVERLAP,
        step=0.1, help=section("left_out", "linear_overlap")),
    of=LinearSelection(),
)  # fmt: skip
LINEAR_CONTROLS = HEAD_CONTROLS | {MORE.key: MORE} | MORE_CONTROLS

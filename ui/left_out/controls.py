"""The controls of the page Left out, all of them in its link."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.left_out import LONGEST_ROW, LONGEST_TEXT
from gating_core.left_out_at_work import (
    GAMMA_STEPS,
    WINDOW_STEPS,
    CorrectionRequest,
    EvictionRequest,
    LinearRequest,
)
from ui import limits
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Flag, Fold, Number, Tabs
from ui.common.lessons import section
from ui.language.controls import model_controls, nearest_shipped, text_controls, text_front
from ui.language.selection import HEADS
from ui.left_out import measured, request

# As in ui/left_out/sections.py.
TABS = (request.TOP_K, request.EVICTION, request.CORRECTION, request.LINEAR)
LONGEST = limits.READ_CHARACTERS + 1  # keys of a head, the line break before the text included

FIRST = request.LeftOutSelection()
SPECIMEN: Controls = table(
    Choice("left_from", "Look at", field="kind", shape="selectbox",
        words=(request.HEAD, request.GAUSSIAN, request.SLOW),
        help=section("left_out", "left_from")),
    of=FIRST,
) | model_controls("left_gate", "left_seed", FIRST) | table(
    Choice("left_head", "Head", field="head", words=tuple(HEADS), shape="selectbox",
        help=section("left_out", "left_head")),
    of=FIRST,
) | text_controls("left_text", "left_verse", "left_tongue", FIRST) | table(
    Number("left_dial", "Gate strength λ", field="strength", within=(0.0, 1.0), step=0.1,
        help=section("left_out", "left_dial")),
    Number("left_keys", "Keys n", field="keys", within=(limits.LEFT_OUT_KEYS, LONGEST_ROW),
        shape="box"),
    Number("left_sigma", "σ of the scores", field="sigma", within=(0.0, 10.0), step=0.5,
        shape="box"),
    Number("left_tokens", "Tokens n", field="tokens", within=(limits.LEFT_OUT_KEYS, LONGEST_TEXT),
        shape="box"),
    Number("left_memory", "Correlated over", field="memory", within=(0, LONGEST_TEXT),
        shape="box", help=section("left_out", "left_memory")),
    Number("left_draw", "Seed of the draw", field="draw", within=limits.LEFT_OUT_SEEDS, step=1,
        shape="box"),
    of=FIRST,
)  # fmt: skip
WIDTHS = {  # of the first row, by kind
    request.HEAD: {"left_from": 2.4, "left_gate": 2.4, "left_seed": 1.1, "left_head": 1.3,
                   "left_text": 4.4, "left_verse": 2.4, "left_tongue": 3.1},
    request.GAUSSIAN: {"left_from": 2.4, "left_keys": 2.4, "left_sigma": 2, "left_draw": 2},
    request.SLOW: {"left_from": 2.4, "left_tokens": 2.4, "left_memory": 2.4, "left_draw": 2},
}  # fmt: skip
SYNTHETIC_ROOM = 8  # beside the few controls of a synthetic specimen
TOP_K_CONTROLS = table(
    Number("top_keys", "Keys kept k", field="k", within=(1, LONGEST), step=1,
        help=section("left_out", "top_keys")),
    Choice("top_share", "Share of keys kept", field="share", words=request.SHARES, shape="slider",
        help=section("left_out", "top_keys")),
    Choice("top_epsilon", "Mass that may be left out, ε", field="epsilon", words=request.EPSILONS,
        shape="slider",
        help=section("left_out", "top_epsilon")),
    of=request.TopKSelection(),
)  # fmt: skip
EVICTION_CONTROLS = table(
    Choice("evict_by", "Keys leave by", field="policy", words=request.EVICT_BY, shape="selectbox",
        help=section("left_out", "evict_by")),
    Number("evict_budget", "Budget, keys", field="budget", within=limits.LEFT_OUT_BUDGETS, step=1,
        help=section("left_out", "evict_budget")),
    Flag("evict_protect", "Protect recent keys", field="protects",
        help=section("left_out", "evict_protect")),
    of=EvictionRequest(),
)  # fmt: skip
CORRECTION_CONTROLS = table(
    Choice("correct_window", "Window, keys", field="window",
        words={str(size): size for size in WINDOW_STEPS},
        shape="slider"),
    Number("correct_sinks", "Sinks, keys", field="sinks", within=limits.LEFT_OUT_SINKS, step=1,
        shape="box", help=section("left_out", "correct_sinks")),
    Choice("correct_every", "Every γ-th query in full", field="gamma",
        words={str(gamma): gamma for gamma in GAMMA_STEPS[1:]},
        shape="slider", help=section("left_out", "correct_every")),
    of=CorrectionRequest(),
)  # fmt: skip
HEAD_CONTROLS = table(
    Choice("linear_window", "Window, keys", field="window",
        words={str(size): size for size in (4, 8, 16, 32)}),
    Number("linear_share", "Window's share w", field="share", within=(0.0, 1.0), step=0.1,
        help=section("left_out", "linear_share")),
    of=LinearRequest(),
) | table(
    Number("linear_at", "State after", field="at", within=(1, limits.READ_CHARACTERS), step=1,
        help=section("left_out", "linear_at")),
    Choice("linear_features", "w, decay, step", field="features",
        words=(request.BY_HAND, request.LEARNED),
        shape="selectbox", help=section("left_out", "linear_features")),
    of=request.LinearSelection(),
)  # fmt: skip
MORE = Fold("linear_more", "More: decay and step of the delta rule, the toy")
MORE_CONTROLS = table(
    Number("linear_memory", "Decay over", field="memory", within=limits.LEFT_OUT_MEMORY, step=1.0,
        shape="box", help=section("left_out", "linear_memory")),
    Number("linear_step", "Step b", field="step", within=(0.0, 1.0), step=0.1,
        help=section("left_out", "linear_step")),
    of=LinearRequest(),
) | table(
    Choice("linear_channels", "Toy: d", field="channels",
        words={str(size): size for size in (8, 16, 32)}),
    Number("linear_overlap", "Toy: keys alike", field="overlap", within=limits.LEFT_OUT_OVERLAP,
        step=0.1, help=section("left_out", "linear_overlap")),
    of=request.LinearSelection(),
)  # fmt: skip
LINEAR_CONTROLS = HEAD_CONTROLS | {MORE.key: MORE} | MORE_CONTROLS
PAGE = table(Tabs("tab_left_out", words=TABS, default=TABS[0]))
LEFT_OUT: Controls = (
    PAGE | SPECIMEN | TOP_K_CONTROLS | EVICTION_CONTROLS | CORRECTION_CONTROLS | LINEAR_CONTROLS
)  # fmt: skip


def draw_specimen(
    widths: Sequence[float], most: int = 0
) -> tuple[request.LeftOutSelection, list[DeltaGenerator]]:
    """Draw the row that chooses the specimen, and read it; return the columns of the next row.

    These have ``widths``. The first of them holds the gate's strength and is for nothing else.
    The tab reads values of ``most`` tokens at most, and a caption says so where there are more;
    0: it needs no values.
    """
    control = SPECIMEN["left_from"]
    kind = control.value if control.key in st.session_state else control.linked or request.HEAD
    controls = [SPECIMEN[key] for key in WIDTHS[kind]]
    room = 0 if kind == request.HEAD else SYNTHETIC_ROOM
    first, columns = text_front(controls, WIDTHS[kind], room, [widths])
    for item, column in zip(controls, first, strict=False):
        item.draw(column)
    if kind == request.HEAD:
        SPECIMEN["left_dial"].draw(columns[0])
    selection = read_specimen(kind)
    if kind == request.GAUSSIAN and most:
        n = min(selection.keys, measured.MOST_NORMAL, most)
        st.caption(f":material/info: {section('left_out', 'no_values', n=n)}")
    elif kind == request.SLOW and selection.tokens > most > 0:
        st.caption(f":material/info: {section('left_out', 'read_first', most=most)}")
    if selection.dialled != 1:
        st.caption(f":material/info: {section('left_out', 'full_strength')}")
    return selection, columns


def read_specimen(kind: str) -> request.LeftOutSelection:
    """Return the nearest specimen of a ``kind`` that can be shown; draw what was changed."""
    selection = read(SPECIMEN, request.LeftOutSelection, kind=kind)
    return measured.only_shown(nearest_shipped(selection, measured.models()))

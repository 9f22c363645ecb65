"""Shared by tabs: text and words, the head shown, surfaces, and effects of twins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.real_heads import TEXTS, DrawnSurface, Ratio, WithTwin
from ui.common.formatting import by_interval, final_total_text, headline_text, rough, verdict_text
from ui.common.lessons import section
from ui.common.links import LINK, link_value
from ui.components.heads import Head
from ui.components.pair import Pair, Side, draw_pair
from ui.drawing.colours import scale_of
from ui.drawing.first_view import NO_SEGMENTS, SADDLE_RISE, both_bends, level, scale_share

Arrays = dict[str, np.ndarray]
# What begins a word, in the text itself, in GPT-2's names and in SentencePiece's; what goes on with
# one, in BERT's names.
WORD_STARTS, PIECE = (" ", "Ġ", "▁"), "##"
CLOSING = set(".,;:!?'’”)]-")
DENSITY = "K × area"  # its mean of absolute values over a surface is the total
EYE = 0.0, SADDLE_RISE  # each surface is turned until it shows both bends there
ASPECT = 1.3  # of a picture, which each surface fills
# The largest total of all heads that curve less than their twins, as most do: its bends are plain.
FIRST_HEAD: Head = (3, 1)


def drawn_words(tokens: Sequence[str]) -> tuple[list[str], list[bool]]:
    """Return the words of tokens, and which of them follow without a space."""
    starts = any(token.startswith(WORD_STARTS) for token in tokens)
    words, glued = [], []
    for number, token in enumerate(tokens):
        first = token.startswith(WORD_STARTS)
        word = token[1:] if first else token.removeprefix(PIECE)
        word = word.replace("Ċ", "¶").replace("\n", "¶") or "␣"
        joined = token.startswith(PIECE) or (starts and not first)
        words.append(word)
        glued.append(number > 0 and (joined or word in CLOSING))
    return words, glued


# --- Controls -------------------------------------------------------------------------------------


def choose_text(first: DeltaGenerator, last: DeltaGenerator) -> tuple[str, bool]:
    """Draw the controls of what the model reads: a text, and whether special tokens are keys."""
    title = first.selectbox("Text", [*TEXTS], key="heads_text", **LINK)
    special = last.toggle(
        "With [CLS], [SEP]", key="heads_special", **LINK, help=section("real_heads", "special")
    )
    return title, special


def choose_head(places: Sequence[DeltaGenerator], size: tuple[int, ...], prefix: str) -> Head:
    """Draw the numbers of the head that the link shows, of ``size`` (L, H), in two places."""

    def put() -> None:
        layer, head = (st.session_state[f"{prefix}_{name}"] for name in ("layer", "head"))
        st.query_params["heads_head"] = head_text((layer - 1, head - 1))

    shown = linked_head((size[0], size[1])) or FIRST_HEAD
    for place, name, most, number in zip(places, ("layer", "head"), size, shown, strict=True):
        st.session_state[f"{prefix}_{name}"] = number + 1
        place.number_input(name.title(), 1, most, key=f"{prefix}_{name}", width=120, on_change=put)
    return shown


def linked_head(size: tuple[int, int]) -> Head | None:
    """Return the head of the link; ``size``: (L, H)."""
    return link_value("heads_head", partial(parse_head, size=size), None, "the one shown first")


def parse_head(text: str, size: tuple[int, int]) -> Head | None:
    """Return the head of "layer.head", counted from 1; ``None`` if there is none."""
    layer, _, head = text.partition(".")
    if not all(x.isascii() and x.isdigit() and len(x) < 5 for x in (layer, head)):
        return None
    found = int(layer) - 1, int(head) - 1
    return found if 0 <= found[0] < size[0] and 0 <= found[1] < size[1] else None


def head_text(head: Head) -> str:
    """Return what `parse_head` reads."""
    return f"{head[0] + 1}.{head[1] + 1}"


# --- Surfaces -------------------------------------------------------------------------------------


def pair_of(surfaces: Mapping[str, DrawnSurface | None]) -> Pair:
    """Return surfaces by name, each to its own scale, in one colour scale of K times area."""
    found = {name: surface for name, surface in surfaces.items() if surface is not None}
    scale = scale_of("curvature", [x.known for x in found.values()], each=True)
    sides = []
    for name, surface in found.items():
        middle, turn, _ = level(surface.drawn, surface.drawn)
        curved = np.abs(np.nan_to_num(surface.known))
        turn = turn @ both_bends((surface.drawn - middle) @ turn, EYE, curved)
        drawn = (surface.drawn - middle) @ turn
        high = np.ptp(drawn @ [-math.sin(EYE[1]), 0, math.cos(EYE[1])])
        size = max(np.ptp(drawn[..., 1]) / ASPECT, high, np.finfo(np.float32).tiny)
        sides.append(
            Side(
                name=name,
                short="",
                values=(drawn / size)[None],
                shares=scale_share(surface.known, scale)[None],
                signed=surface.signed[None],
                gaussian=surface.known[None],
                error=surface.error[None],
                flat=[surface.verdict.proof is not None],
                corners=None,
                lines=NO_SEGMENTS,
            )
        )
    low, high = ("", "") if scale.collapsed else map(rough, scale.ends)
    low = low and f"{DENSITY} = {low}"
    return Pair(tuple(sides), [""], [0.0], EYE, scale.colours, (low, high), symbol=DENSITY)


def draw_surfaces(
    pair: Pair, result: WithTwin, scene: str, finding: tuple[str, str] | None = None
) -> None:
    """Draw the ``pair`` of a ``result``; a ``finding`` of its own brings errors and maps of K."""
    sides = [x for x in (result.own, result.twin) if x is not None]
    exact = [f"total |K| = {total_text(x)}" for x in sides]
    totals, told = exact, [verdict_text(x.verdict) for x in sides]
    if not finding:  # how curvature is known is read on hover
        known = [headline_text(x.total, x.verdict.without_curvature) for x in sides]
        totals = [f"total |K| = {x}" for x in known]
        exact = [f"{x}; {y}" for x, y in zip(exact, told, strict=True)]
        told = [""] * len(sides)
    draw_pair(
        pair,
        key="own_surfaces" if finding else "heads_surfaces",
        scene=scene,
        frame=0,
        point=None,
        verdicts=[[x] for x in zip(totals, told, strict=True)],
        findings=[finding] if finding else (),
        quantity=DENSITY,
        names=("u", "v"),
        note="",
        maps=finding is not None,
        exact=[] if finding else [[x] for x in exact],
        on_leave=lambda *_: None,
    )


def total_text(surface: DrawnSurface) -> str:
    """Format the total of a surface with its error."""
    return final_total_text(surface.total, surface.verdict.without_curvature)


# --- Effects of twins -----------------------------------------------------------------------------


def ratio_text(ratio: Ratio) -> str:
    """Format a ratio with its interval, if it has one: 1.61× (0.93× to 2.80×)."""
    value, low, high = (f"{x:.{2 if x < 10 else 1 if x < 100 else 0}f}×"
                        for x in (ratio.value, ratio.low, ratio.high))  # fmt: skip
    return value if math.isnan(ratio.low) else f"{value} ({low} to {high})"


# What random queries and keys do to ∫|K| dA: an interval that reduces, is inconclusive, increases,
# and without one.
AT_EQUAL_ENTROPY = (
    "Random queries and keys at equal entropy reduce total curvature ∫|K|\u00a0dA: {}.",
    "The effect of random queries and keys at equal entropy on total curvature ∫|K|\u00a0dA is"
    " inconclusive: {}.",
    "Random queries and keys at equal entropy increase total curvature ∫|K|\u00a0dA: {}.",
    "Random queries and keys at equal entropy have {} the total curvature ∫|K|\u00a0dA.",
)
OFFSETS_KEPT = (
    "With own offsets kept they reduce it: {}.",
    "With own offsets kept it is inconclusive: {}.",
    "With own offsets kept they increase it: {}.",
    "With own offsets kept they have {}.",
)


def effects_text(sharp: Ratio, offset: Ratio) -> str:
    """Say what random queries and keys do to ∫|K| dA, and what they do where offsets are kept."""
    sentences = []
    for ratio, (reduces, inconclusive, increases, unknown) in (
        (sharp, AT_EQUAL_ENTROPY),
        (offset, OFFSETS_KEPT),
    ):
        does = by_interval(ratio.low - 1, ratio.high - 1, reduces, inconclusive, increases)
        sentences.append((unknown if math.isnan(ratio.low) else does).format(ratio_text(ratio)))
    return " ".join(sentences)

"""Shared by the tabs with a wall: the wall, and the head that is opened on one of its planes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.real_heads import (
    GRID_SIZE,
    PLANES,
    PRINCIPAL,
    THREE_TOKENS,
    TWINS,
    HeadChart,
)
from ui.common.formatting import percent, plus_minus, short
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_numbers
from ui.components.heads import Chart, Frames, Head, Numbers, Point, Wall, heads
from ui.foreign import error_words, printable

Arrays = dict[str, np.ndarray]
Three = tuple[int, int, int]
# Returns the opened head on a plane through three tokens; ``ValueError`` where there is none.
Measure = Callable[[Head, str, Three], tuple[HeadChart, Arrays]]

FIRST_THREE = (14, 36, 45)  # tokens of the first text with a word of their own
# What begins a word, in the text itself, in GPT-2's names and in SentencePiece's; what goes on with
# one, in BERT's names.
WORD_STARTS, PIECE = (" ", "Ġ", "▁"), "##"
CLOSING = set(".,;:!?’'”)]-")
TWIN_NAMES = dict(
    zip(
        TWINS,
        ("Random queries and keys, as sharp", "Values dealt to other tokens", "Text shuffled"),
        strict=True,
    )
)
ABOUT = dict(zip(PLANES, ("principal", "three", "weights"), strict=True))  # sections


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


# --- The wall and the open head -------------------------------------------------------------------


def linked_head(prefix: str, size: tuple[int, int]) -> Head | None:
    """Return the head that the link opens; ``prefix``: of its parameters, ``size``: (L, H)."""
    return link_value(f"{prefix}_head", partial(parse_head, size=size), None, "the wall")


def draw_wall(
    wall: Wall,
    found: Arrays,
    frames: Frames | None,
    hint: str,
    opened: Head | None,
    chart: Chart | None,
    prefix: str = "heads",
) -> None:
    """Draw the wall, or its head that is ``opened``, on the plane of its ``chart`` if there is one.

    ``prefix``: of its parameters in the link.
    """
    at = link_value(f"{prefix}_at", parse_point, None, "the first place") if opened else None
    heads(
        wall,
        key=f"{prefix}_wall",
        numbers=[numbers_of(found, head) for head in np.ndindex(*wall.scores.shape[:2])],
        hint=hint,
        about=section("real_heads", "chart_principal"),
        frames=frames,
        opened=opened,
        chart=chart,
        at=at,
        on_open=partial(_to_link, prefix),
    )


def choose_chart(
    places: Sequence[DeltaGenerator],
    prefix: str,
    opened: Head,
    wall: Wall,
    first: Three,
    measure: Measure,
) -> Chart | None:
    """Draw the controls of the plane of the ``opened`` head in two places, and return its chart.

    ``None`` on the principal plane, where the wall has it, and where tokens span no plane: that is
    said. ``first``: the tokens that are chosen at first.
    """
    kind = places[0].selectbox(
        "Plane of the query",
        PLANES,
        key=f"{prefix}_plane",
        **LINK,
        help=section("real_heads", "planes"),
    )
    if kind == PRINCIPAL:
        return None
    chosen: tuple[int, ...] = link_value(
        f"{prefix}_three", partial(parse_tokens, keys=wall.keys), first, _token_text(first)
    )
    st.session_state[f"{prefix}_tokens"] = [*chosen]
    places[1].multiselect(
        "Its three tokens",
        wall.keys,
        key=f"{prefix}_tokens",
        max_selections=3,
        format_func=lambda token: f"{printable(wall.words[token])} {token + 1}",
        on_change=_tokens_to_link,
        args=(prefix,),
    )
    if len(chosen) < 3:
        st.info("Choose three tokens; until then the chart is that of the principal plane.")
        return None
    three = chosen[0], chosen[1], chosen[2]
    try:
        drawn, found = measure(opened, kind, three)
    except ValueError as error:
        st.info(
            f"{named(wall.words, three)}: {error_words(error)}. Until then the chart is that"
            " of the principal plane."
        )
        return None
    about = section("real_heads", f"chart_{ABOUT[kind]}", tokens=named(wall.words, three))
    return Chart(
        opened,
        drawn.tokens,
        drawn.scores,
        drawn.values,
        drawn.states,
        drawn.norm,
        drawn.prescribed,
        three if kind == THREE_TOKENS else (),
        numbers_of(found, (0, 0), drawn.flat),
        about,
    )


def named(words: Sequence[str], three: Three) -> str:
    """Name three tokens."""
    a, b, c = (f"“{printable(words[token])}”" for token in three)
    return f"{a}, {b} and {c}"


def numbers_of(found: Arrays, head: Head, flat: bool = False) -> Numbers:
    """Return a finding about one head, its total and span beside those of its twins, and the rest.

    ``flat``: K = 0 is proved, for outputs are averages of three values.
    """
    one = {name: array[(..., *head)] for name, array in found.items()}
    total, error, span, proved = (float(one[x]) for x in ("total", "error", "span", "proved"))
    rows = [("This head", plus_minus(total, error), percent(span))]
    for name, title in TWIN_NAMES.items():
        if name in one:
            rows.append((title, _range_text(one[name]), percent(float(one[f"{name}_span"].mean()))))
    points = f"at {_all(proved)} {GRID_SIZE**2:,} points" if proved else "at no point"
    rest = [f"K ≠ 0 is established {points} ({GRID_SIZE} × {GRID_SIZE})."]
    if "shuffled" not in one:
        rest.append("States are given, so the text cannot be shuffled.")
    if flat:
        finding = "Flat: K = 0 is proved, as outputs are averages of three values."
    elif "sharp" in one:
        ratio = times_text(float(one["sharp"].mean()) / total if total else math.nan)
        finding = f"An equally sharp head with random queries and keys curves {ratio} as much."
    else:
        finding = "Only the gate can curve it here."
    return Numbers(finding, rows, " ".join(rest))


def _range_text(totals: np.ndarray) -> str:
    mean = short(float(totals.mean()))
    if totals.size == 1:
        return mean
    return f"{mean} ({short(float(totals.min()))} to {short(float(totals.max()))})"


def _all(share: float) -> str:
    return "all" if share == 1 else f"{percent(share)} of"


def times_text(ratio: float) -> str:
    """Format a ratio: 0.26×, 3.9×, 3044×."""
    if math.isnan(ratio):
        return "–"
    return f"{ratio:.{0 if ratio >= 100 else 1 if ratio >= 1 else 2}f}×"


def sharp_sentence(found: Arrays, keys: str = "", others: str = "") -> str:
    """Compare totals of all heads with those of their twins.

    ``keys`` says first what is attended to, ``others`` what the first ratio is with other keys.
    """
    more = float((found["total"] > found["sharp"].mean(0)).mean())
    start = f"{keys}, an" if keys else "An"
    return (
        f"**{start} equally sharp head with random queries and keys curves {ratio_text(found)} as"
        f" much** (median of {found['total'].size} heads; the trained one curves more in"
        f" {percent(more)} of them){others}."
    )


def dealt_sentence(found: Arrays) -> str:
    """Compare totals of all heads with those where values, or the text, are shuffled."""
    dealt = f"With its values dealt to other tokens a head curves {ratio_text(found, 'dealt')}"
    if "shuffled" in found:
        return f"{dealt}, on the text shuffled {ratio_text(found, 'shuffled')} as much."
    return f"{dealt} as much."


def ratio_text(found: Arrays, twin: str = "sharp") -> str:
    """Say by how much a ``twin`` of a head curves more than the head, in the median of heads."""
    return times_text(float(np.median(found[twin].mean(0) / found["total"])))


# --- The link -------------------------------------------------------------------------------------


def parse_head(text: str, size: tuple[int, int]) -> Head | None:
    """Return the head of "layer.head", counted from 1; ``None`` if there is none."""
    layer, _, head = text.partition(".")
    if not all(x.isascii() and x.isdigit() and len(x) < 5 for x in (layer, head)):
        return None
    found = int(layer) - 1, int(head) - 1
    return found if 0 <= found[0] < size[0] and 0 <= found[1] < size[1] else None


def parse_point(text: str) -> Point | None:
    """Return the point of "u,v" in the chart."""
    numbers = parse_numbers(text)
    if numbers is None or len(numbers) != 2 or max(map(abs, numbers)) > 1:
        return None
    return numbers[0], numbers[1]


def parse_tokens(text: str, keys: Sequence[int]) -> tuple[int, ...] | None:
    """Return up to three tokens, counted from 1 in the link; ``None`` unless they differ."""
    numbers = parse_numbers(text) if text else ()
    if numbers is None or len(numbers) > 3 or len({*numbers}) < len(numbers):
        return None
    tokens = tuple(int(x) - 1 for x in numbers if x == int(x))
    return tokens if len(tokens) == len(numbers) and all(x in keys for x in tokens) else None


def _token_text(tokens: Sequence[int]) -> str:
    return ",".join(str(token + 1) for token in tokens)


def _tokens_to_link(prefix: str) -> None:
    st.query_params[f"{prefix}_three"] = _token_text(st.session_state[f"{prefix}_tokens"])


def _to_link(prefix: str, head: Head | None, at: Point | None) -> None:
    """Put the open head and its mark into the link; a callback."""
    for name, text in (
        ("head", head and f"{head[0] + 1}.{head[1] + 1}"),
        ("at", at and ",".join(f"{x:g}" for x in at)),
    ):
        if text:
            st.query_params[f"{prefix}_{name}"] = text
        else:
            st.query_params.pop(f"{prefix}_{name}", None)

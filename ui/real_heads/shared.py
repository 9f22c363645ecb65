"""Shared by the tabs with a wall: the wall, and the head that is opened on one of its planes."""

from __future__ import annotations

import math
import re
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
    Ratio,
    entropy_share,
    geometric_mean,
    twin_ratio,
)
from ui.common.formatting import by_interval, percent, plus_minus, short
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_numbers, put_in_link
from ui.components.heads import Chart, Frames, Head, Numbers, Point, Wall, heads
from ui.foreign import error_words, printable

Arrays = dict[str, np.ndarray]
Three = tuple[int, int, int]
# Returns the opened head on a plane through three tokens; ``ValueError`` where there is none.
Measure = Callable[[Head, str, Three], tuple[HeadChart, Arrays]]

# What begins a word, in the text itself, in GPT-2's names and in SentencePiece's; what goes on with
# one, in BERT's names.
WORD_STARTS, PIECE = (" ", "Ġ", "▁"), "##"
CLOSING = set(".,;:!?’'”)]-")
TWIN_NAMES = dict(
    zip(
        TWINS,
        (
            "Random queries and keys",
            "The same, its own offsets",
            "Values dealt to other tokens",
            "Text shuffled",
        ),
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


def with_unread(
    words: Sequence[str], glued: Sequence[bool], special: Sequence[bool], text: str
) -> list[str]:
    """Return ``words``; in brackets behind the last of the ``text``, the unread rest of a word."""
    last = max(number for number, extra in enumerate(special) if not extra)
    first = max(number for number in range(last + 1) if not glued[number])
    piece = re.escape("".join(words[first : last + 1]))
    whole = re.search(rf"\b{piece}\b", text, re.I)
    rest = None if whole else re.search(rf"\b{piece}(\w+)", text, re.I)
    return [
        f"{word}({rest[1]})" if rest and number == last else word
        for number, word in enumerate(words)
    ]


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
    rest = [
        f"K ≠ 0 is established {points} ({GRID_SIZE} × {GRID_SIZE}). Twins: mean of"
        f" {len(one['dealt'])} seeds (least to largest); brackets above: 95\u00a0% t interval."
    ]
    if "shuffled" not in one:
        rest.append("States are given, so the text cannot be shuffled.")
    if flat:
        finding = "Flat: K = 0 is proved, as outputs are averages of three values."
    elif "sharp" not in one:
        finding = "Only the gate can curve it here."
    elif total > error and min(one["sharp"].min(), one["offset"].min()) > 0:
        sharp, offset = (geometric_mean(one[name] / total) for name in ("sharp", "offset"))
        finding = effects_text(sharp, offset)
    else:
        finding = "The head is not known to curve."
    return Numbers(finding, rows, " ".join(rest))


def _range_text(totals: np.ndarray) -> str:
    mean = short(float(totals.mean()))
    if totals.size == 1:
        return mean
    return f"{mean} ({short(float(totals.min()))} to {short(float(totals.max()))})"


def _all(share: float) -> str:
    return "all" if share == 1 else f"{percent(share)} of"


def ratio_text(ratio: Ratio) -> str:
    """Format a ratio with its interval, if it has one: 1.61× (0.93× to 2.80×)."""
    value, low, high = (f"{x:.{2 if x < 10 else 1 if x < 100 else 0}f}×"
                        for x in (ratio.value, ratio.low, ratio.high))  # fmt: skip
    return value if math.isnan(ratio.low) else f"{value} ({low} to {high})"


def answer(found: Arrays) -> str:
    """Answer the page's question: how many heads curve, and more or less than random ones."""
    ratio, curved = twin_ratio(found, "sharp"), found["proved"] > 0
    if ratio is None:
        return "No head is known to curve."
    than = by_interval(
        ratio.mean.low - 1,
        ratio.mean.high - 1,
        ", and more than random heads of equal entropy",
        "; whether more or less than random heads of equal entropy is inconclusive",
        ", but less than random heads of equal entropy",
    )
    count = f"all {curved.size}" if curved.all() else f"{curved.sum()} of {curved.size}"
    return f"Yes, {count} curve without a gate{than}."


def twins_sentence(found: Arrays) -> str:
    """Say by how much twins of the scores curve more than the heads, by its interval."""
    sharp, offset = (twin_ratio(found, name) for name in ("sharp", "offset"))
    return "" if sharp is None or offset is None else effects_text(sharp.mean, offset.mean)


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


def interval_sentence(found: Arrays, plane: str = "the principal plane") -> str:
    """Say what the numbers of `twins_sentence` are, on which ``plane``, and how seeds differ."""
    sharp, offset = (twin_ratio(found, name) for name in ("sharp", "offset"))
    if sharp is None or offset is None:
        return ""
    seeds, layers = len(found["sharp"]), int((~np.isnan(sharp.layers)).sum())
    interval = "one layer gives no interval"
    if layers > 1:
        interval = f"in brackets the 95\u00a0% t interval over the means of {layers} layers"
    by_seed, kept = (f"{x.seeds.min():.2f}× to {x.seeds.max():.2f}×" for x in (sharp, offset))
    return (
        f"Twin over head on {plane}, geometric mean of {sharp.heads} heads and {seeds} seeds,"
        f" {interval}; single seeds give {by_seed} and {kept}. {sharp.larger} heads curve more"
        " than their twins with random queries and keys."
    )


def entropy_sentence(found: Arrays) -> str:
    """Say how much of the totals of heads their entropy explains."""
    share = entropy_share(found)
    if math.isnan(share):
        return ""
    says = "mostly" if share >= 0.5 else "partly" if share >= 0.2 else "hardly"
    return (
        f"The head’s mean entropy explains {percent(share)} of the variance of log ∫|K| dA over"
        f" {found['total'].size} heads (R²): a total says {says} how sharp a head is."
    )


# --- The link -------------------------------------------------------------------------------------


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
    texts = {"head": head_text(head) if head else "", "at": ",".join(f"{x:g}" for x in at or ())}
    put_in_link(**{f"{prefix}_{name}": text for name, text in texts.items()})

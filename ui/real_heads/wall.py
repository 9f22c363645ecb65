"""The tab Heads: the wall of windows, and the head that is opened on one of its planes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.real_heads import (
    EPSILONS,
    FIRST_THREE,
    GRID_SIZE,
    PLANES,
    PRINCIPAL,
    SIZES,
    TEXTS,
    THREE_TOKENS,
    TOKENS,
    TWINS,
    HeadChart,
    geometric_mean,
    keys_of,
    open_head,
    shipped_charts,
    shipped_measures,
    shipped_reading,
    shipped_record,
    shipped_text,
)
from ui.common import charts as c
from ui.common.formatting import percent, plus_minus, short
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_numbers, put_in_link
from ui.common.page import draw_finding, front_columns
from ui.components.heads import Chart, Frames, Head, Numbers, Point, Wall, heads
from ui.drawing.palette import SEQUENTIAL_SCALE, colour_at
from ui.foreign import error_words, printable
from ui.real_heads.shared import (
    Arrays,
    choose_text,
    drawn_words,
    effects_text,
    head_text,
    linked_head,
)
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

Three = tuple[int, int, int]
NEEDED = 0  # of `EPSILONS`
FINDING = "Each head divides its plane among the tokens that it attends to most."
LEAD = (
    "Each window is a head of **all-MiniLM-L6-v2** that reads one text: the plane its query moves"
    " on; a colour is the token with the largest attention weight."
)
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


@cached()
def wall_of(title: str, special: bool) -> Wall:
    """Return what is drawn of the bundled model on one of its texts."""
    text, charts = shipped_text(title), shipped_charts(title, special)
    words, glued = drawn_words(text.tokens.words)
    words = with_unread(words, glued, text.tokens.special, TEXTS[title])
    return Wall(
        charts.scores,
        charts.values,
        charts.states,
        [str(n + 1) for n in range(charts.scores.shape[0])],
        words,
        glued,
        text.tokens.special,
        charts.ranks,
        keys_of(text.tokens, special),
    )


@cached("Measuring curvature …", on=NUMBERS_CACHE)
def open_shipped(
    title: str, special: bool, opened: Head, kind: str, three: Three
) -> tuple[HeadChart, Arrays]:
    """Return a head on a plane through three tokens: a second at most."""
    return pool.POOL.call(open_here, title, special, opened, kind, three, seconds=pool.LONG_VIEW)


def open_here(
    title: str, special: bool, opened: Head, kind: str, three: Three
) -> tuple[HeadChart, Arrays]:
    """Measure it in this process."""
    layer, head = opened
    return open_head(shipped_reading(title, special, layer), head, kind, three)


def draw() -> None:
    """Draw the tab."""
    found = shipped_measures(next(iter(TEXTS)), False)
    opened = linked_head((found["total"].shape[0], found["total"].shape[1]))
    first, second, *planes, last = front_columns((2, 2, 2, 3, 2) if opened else (2, 2, 3), "bottom")
    title, special = choose_text(first, last)
    shown = second.selectbox(
        "Colour frames by",
        (NO_FRAMES, *FRAMES),
        key="heads_frame",
        **LINK,
        help=section("real_heads", "frames"),
    )
    found, wall = shipped_measures(title, special), wall_of(title, special)
    chart = opened and choose_chart(planes, opened, wall, title, special)
    frames, hint = frames_of(shown, found)
    draw_finding(FINDING, lead=LEAD)
    at = link_value("heads_at", parse_point, None, "the first place") if opened else None
    with st.container(key="first"):
        heads(
            wall,
            key="heads_wall",
            numbers=[numbers_of(found, head) for head in np.ndindex(*wall.scores.shape[:2])],
            hint=hint or section("real_heads", "hint"),
            about=section("real_heads", "chart_principal"),
            frames=frames,
            opened=opened,
            chart=chart,
            at=at,
            on_open=put_head,
        )
    c.Charts("heads_wall").draw_footer(section("real_heads", "heads"))


def choose_chart(
    places: Sequence[DeltaGenerator], opened: Head, wall: Wall, title: str, special: bool
) -> Chart | None:
    """Draw the controls of the plane of the ``opened`` head in two places, and return its chart.

    ``None`` on the principal plane, where the wall has it, and where tokens span no plane: that is
    said.
    """
    kind = places[0].selectbox(
        "Plane of the query",
        PLANES,
        key="heads_plane",
        **LINK,
        help=section("real_heads", "planes"),
    )
    if kind == PRINCIPAL:
        return None
    chosen: tuple[int, ...] = link_value(
        "heads_three", partial(parse_tokens, keys=wall.keys), FIRST_THREE, _token_text(FIRST_THREE)
    )
    st.session_state["heads_tokens"] = [*chosen]
    places[1].multiselect(
        "Its three tokens",
        wall.keys,
        key="heads_tokens",
        max_selections=3,
        format_func=lambda token: f"{printable(wall.words[token])} {token + 1}",
        on_change=_tokens_to_link,
    )
    if len(chosen) < 3:
        st.info("Choose three tokens; until then the chart is that of the principal plane.")
        return None
    three = chosen[0], chosen[1], chosen[2]
    try:
        drawn, found = open_shipped(title, special, opened, kind, three)
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


def frames_of(shown: str, found: Arrays) -> tuple[Frames | None, str]:
    """Return the frames for the quantity ``shown``, and a sentence about it."""
    if shown == NO_FRAMES:
        return None, ""
    values, texts, about = FRAMES[shown](found)
    colours = [colour_at(SEQUENTIAL_SCALE, float(x)) for x in ranks(values).flat]
    return Frames(shown, colours, texts), f"{about}: blue is low, yellow high, by rank."


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the share of ``values`` that are smaller or the same: one outlier dims no others."""
    return np.searchsorted(np.sort(values, None), values, side="right") / values.size


def _entropy(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    texts = [short(round(float(x), 2)) for x in found["entropy"].flat]
    return found["entropy"], texts, "Entropy of the attention in nats, mean over the chart"


def _sink(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    mean, random = (percent(float(x["sink"].mean())) for x in (found, random_record()))
    texts = [percent(float(x)) for x in found["sink"].flat]
    return (
        found["sink"],
        texts,
        (
            "Share of the attention that the text’s own tokens give to [CLS]:"
            f" {mean} in the mean of heads, in a model with random weights {random}"
        ),
    )


def _needed(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    needed, random = found["needed"][NEEDED], random_record()["needed"][NEEDED]
    texts, here = [f"{x:.0f}" for x in needed.flat], percent(float(needed.mean()) / TOKENS)
    return (
        needed,
        texts,
        (
            f"Keys needed for a tail mass of at most {EPSILONS[NEEDED]:g}:"
            f" {here} of {TOKENS} in the mean of queries and heads, in a model with random weights"
            f" {percent(random.mean() / SIZES[0])} of {SIZES[0]}"
        ),
    )


def random_record() -> Arrays:
    """Return what the tokens of a text attend to in a model with random weights."""
    return shipped_record(f"{SIZES[0]}.random")


NO_FRAMES = "none"
FRAMES = {
    "entropy": _entropy,
    "sink share": _sink,
    "keys needed": _needed,
}


# --- The link -------------------------------------------------------------------------------------


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


def _tokens_to_link() -> None:
    st.query_params["heads_three"] = _token_text(st.session_state["heads_tokens"])


def put_head(head: Head | None, at: Point | None) -> None:
    """Put the open head and its mark into the link."""
    put_in_link(
        heads_head=head_text(head) if head else "", heads_at=",".join(f"{x:g}" for x in at or ())
    )

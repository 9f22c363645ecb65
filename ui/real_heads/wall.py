"""The tab Heads: the wall of windows, and the head that is opened."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from gating_core.real_heads import (
    EPSILONS,
    GRID_SIZE,
    SIZES,
    TEXTS,
    TOKENS,
    keys_of,
    shipped_charts,
    shipped_measures,
    shipped_record,
    shipped_text,
)
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_numbers
from ui.common.words import percent, short
from ui.components.heads import Frames, Head, Point, Wall, heads
from ui.drawing.palette import SEQUENTIAL_SCALE, SIGNED_SCALE, colour_at
from ui.real_heads.words import drawn_words, head_line, sharp_sentence, times_text
from ui.work.cache import cached

Arrays = dict[str, np.ndarray]
NEEDED = 0  # of `EPSILONS`


@cached()
def wall_of(title: str, special: bool) -> Wall:
    """Return what is drawn of the bundled model on one of its texts."""
    text, charts = shipped_text(title), shipped_charts(title, special)
    words, glued = drawn_words(text.tokens.words)
    keys = keys_of(text.tokens, special)
    return Wall(charts.scores, charts.values, charts.states,
                [str(n + 1) for n in range(charts.scores.shape[0])], words, glued,
                text.tokens.special, charts.ranks, (keys[0], keys[-1] + 1))  # fmt: skip


def draw() -> None:
    """Draw the tab."""
    first, second, third = front_columns((2, 2, 3), "bottom")
    title = first.selectbox("Text", [*TEXTS], key="heads_text", **LINK)
    shown = second.selectbox("Colour frames by", [NO_FRAMES, *FRAMES], key="heads_frame", **LINK,
                             help=section("real_heads", "frames"))  # fmt: skip
    special = third.toggle("With [CLS], [SEP]", key="heads_special", **LINK,
                           help=section("real_heads", "special"))  # fmt: skip
    wall = wall_of(title, special)
    found = shipped_measures(title, special)
    frames, hint = frames_of(shown, found)
    draw_wall(wall, found, frames, hint or section("real_heads", "hint"))
    st.markdown(
        f"{sharp_sentence(found['total'], found['sharp'])} {section('real_heads', 'sharp')}"
    )


def draw_wall(
    wall: Wall, found: Arrays, frames: Frames | None, hint: str, prefix: str = "heads"
) -> Head | None:
    """Draw the wall with the head of the link opened, and return that head.

    ``prefix``: of its parameters in the link.
    """
    size = wall.scores.shape[:2]
    opened = link_value(f"{prefix}_head", partial(parse_head, size=size), None, "the wall")
    at = link_value(f"{prefix}_at", parse_point, None, "the first place") if opened else None
    heads(wall, key=f"{prefix}_wall", lines=lines_of(found), hint=hint, frames=frames,
          opened=opened, at=at, on_open=partial(_to_link, prefix))  # fmt: skip
    return opened


def lines_of(found: Arrays) -> list[tuple[str, str]]:
    """Return the line of every head, row-wise."""
    twins = found["sharp"]
    return [
        head_line(float(found["total"][head]), float(found["error"][head]),
                  float(found["span"][head]), float(found["proved"][head]), GRID_SIZE**2,
                  twins[(slice(None), *head)].tolist())
        for head in np.ndindex(*found["total"].shape)
    ]  # fmt: skip


def frames_of(shown: str, found: Arrays) -> tuple[Frames | None, str]:
    """Return the frames for the quantity ``shown``, and a sentence about it."""
    if shown == NO_FRAMES:
        return None, ""
    values, texts, about = FRAMES[shown](found)
    if shown == AGAINST_TWIN:
        largest = float(np.abs(values).max())
        colours = [colour_at(SIGNED_SCALE, 0.5 + x / (2 * largest)) for x in values.flat]
        return Frames(shown, colours, texts), f"{about}: purple less, orange more."
    low, high = float(values.min()), float(values.max())
    colours = [colour_at(SEQUENTIAL_SCALE, (x - low) / (high - low)) for x in values.flat]
    return Frames(shown, colours, texts), f"{about}. Blue is low, yellow high."


def _entropy(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    texts = [short(round(float(x), 2)) for x in found["entropy"].flat]
    return found["entropy"], texts, "Entropy of the attention in nats, mean over the chart"


def _sink(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    mean, random = (percent(float(x["sink"].mean())) for x in (found, random_record()))
    texts = [percent(float(x)) for x in found["sink"].flat]
    return found["sink"], texts, (
        f"Share of the attention that the text’s tokens give to [CLS]: {mean} in the mean, in a"
        f" model with random weights {random}"
    )  # fmt: skip


def _needed(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    needed, random = found["needed"][NEEDED], random_record()["needed"][NEEDED]
    texts, here = [f"{x:.0f}" for x in needed.flat], percent(float(needed.mean()) / TOKENS)
    return needed, texts, (
        f"Keys needed for a tail mass of at most {EPSILONS[NEEDED]:g}:"
        f" {here} of {TOKENS} in the mean, in a model with random weights"
        f" {percent(random.mean() / SIZES[0])} of {SIZES[0]}"
    )  # fmt: skip


def _against_twin(found: Arrays) -> tuple[np.ndarray, list[str], str]:
    ratio = found["total"] / found["sharp"].mean(0)
    texts = [times_text(float(x)) for x in ratio.flat]
    return np.log2(ratio), texts, (
        "∫|K| dA over that of an equally sharp head with random queries and keys"
    )  # fmt: skip


def random_record() -> Arrays:
    """Return what the tokens of a text attend to in a model with random weights."""
    return shipped_record(f"{SIZES[0]}.random")


NO_FRAMES, AGAINST_TWIN = "none", "total against twin"
FRAMES = {"entropy": _entropy, "sink share": _sink, "keys needed": _needed,
          AGAINST_TWIN: _against_twin}  # fmt: skip


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

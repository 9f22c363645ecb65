"""The bundled extract of all-MiniLM-L6-v2 (see its ``NOTICE``), and what was measured of it.

Queries, keys and values of all layers, the states of three texts that layers read, and the charts
of all heads. What was measured of heads, of their twins, and of keys, gates and norms of the whole
model is kept as data; commit `1f4177a5` has the code that made all of these files.
Shapes: L layers, H heads, T tokens, D width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from gating_core.assets import ASSETS
from gating_core.checkpoints import Layer, Tokens, open_checkpoint, read_layer
from gating_core.real_heads.measured import (
    FIRST_THREE,
    PRINCIPAL,
    THREE_TOKENS,
    Arrays,
    Reading,
    keys_of,
)
from gating_core.records import load_record, tensors_of

FOLDER = ASSETS / "models" / "minilm"
TEXTS_FILE, CHARTS, HEADS, MEASURED = (
    f"{name}.safetensors" for name in ("texts", "charts", "heads", "measured")
)
TEXTS = {  # in the public domain
    "Moby-Dick": (
        "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money"
        " in my purse, and nothing particular to interest me on shore, I thought I would sail about"
        " a little and see the watery part of the world. It is a way I have of driving off the"
        " spleen and regulating the circulation. Whenever I find myself growing grim about the"
        " mouth; whenever it is a damp, drizzly November in my soul; whenever I find myself"
        " involuntarily pausing before coffin warehouses, and bringing up the rear of every funeral"
        " I meet; and especially whenever my hypos get such an upper hand of me, that it requires a"
        " strong moral principle to prevent me from deliberately stepping into the street, and"
        " methodically knocking people's hats off, then, I account it high time to get to sea as"
        " soon as I can. This is my substitute for pistol and ball. With a philosophical flourish"
        " Cato throws himself upon his sword; I quietly take to the ship. There is nothing"
        " surprising in this. If they but knew it, almost all men in their degree, some time or"
        " other, cherish very nearly the same feelings towards the ocean with me."
    ),
    "A Tale of Two Cities": (
        "It was the best of times, it was the worst of times, it was the age of wisdom, it was the"
        " age of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was"
        " the season of Light, it was the season of Darkness, it was the spring of hope, it was the"
        " winter of despair, we had everything before us, we had nothing before us, we were all"
        " going direct to Heaven, we were all going direct the other way. In short, the period was"
        " so far like the present period, that some of its noisiest authorities insisted on its"
        " being received, for good or for evil, in the superlative degree of comparison only."
    ),
    "Alice in Wonderland": (
        "Alice was beginning to get very tired of sitting by her sister on the bank, and of having"
        " nothing to do: once or twice she had peeped into the book her sister was reading, but it"
        " had no pictures or conversations in it, and what is the use of a book, thought Alice,"
        " without pictures or conversations? So she was considering in her own mind, as well as she"
        " could, for the hot day made her feel very sleepy and stupid, whether the pleasure of"
        " making a daisy-chain would be worth the trouble of getting up and picking the daisies,"
        " when suddenly a White Rabbit with pink eyes ran close by her."
    ),
}
TOKENS = 64  # of each, [CLS] and [SEP] among them
SIZES = (128, 256)  # tokens of the longer texts on which keys are counted
MODES = {False: "words", True: "all"}  # whether special tokens are among the keys
BUNDLED_PLANES = {PRINCIPAL: None, THREE_TOKENS: FIRST_THREE}  # and the tokens that span them
EPSILONS = (0.01, 0.05)  # budgets of the tail mass
FINE_SIZE = 61  # points along each side of the grid that shows how much `GRID_SIZE` misses
NORM_LAYERS = (0, 2, 5)
STRENGTHS = (0.0, 0.5, 1.0)  # λ of drawn gates
SPREADS = (1.0, 3.0)  # standard deviations of a drawn gate's logits
# Of `heads.safetensors`, by text, mode and plane.
HeadRecord = dict[str, dict[str, dict[str, dict[str, np.ndarray]]]]


@dataclass(frozen=True, eq=False)
class HeadCharts:
    """All heads on the principal planes of a text, as they are drawn."""

    scores: np.ndarray  # (L, H, 3, n): at the origin of the chart, and the slopes along u and v
    values: np.ndarray  # (L, H, n, 3): in the principal components of the head's outputs
    states: np.ndarray  # (L, T, 2): the tokens' own states in the chart
    ranks: np.ndarray  # (T,): of a token by the area on which it gets most of the attention


@dataclass(frozen=True, eq=False)
class ShippedText:
    """A text as the bundled model reads it."""

    title: str
    tokens: Tokens
    states: tuple[Tensor, ...]  # of each layer the (T, D) that its attention reads
    shuffled: tuple[Tensor, ...]  # the same of the tokens in their `shuffled_order`


@cache
def shipped_layers() -> tuple[Layer, ...]:
    """Return the layers of the extract; ``ValueError`` if it cannot be read."""
    checkpoint = open_checkpoint(FOLDER)
    return tuple(read_layer(checkpoint, number) for number in range(checkpoint.layers))


@cache
def shipped_text(title: str) -> ShippedText:
    """Return one of `TEXTS`; ``ValueError`` if the file lacks it."""
    with tensors_of(FOLDER / TEXTS_FILE, f"lacks the text {title!r}") as (tensors, about):
        each = about["tokens"][title]
        tokens = Tokens(tuple(each["ids"]), tuple(each["words"]), tuple(each["special"]))
        states, other = (
            torch.from_numpy(tensors[name]).double() for name in (title, f"{title}.shuffled")
        )
    return ShippedText(title, tokens, tuple(states), tuple(other))


def shipped_reading(title: str, special: bool, layer: int) -> Reading:
    """Return a layer, from 0, that reads one of `TEXTS`; ``special`` as in `shipped_charts`."""
    text = shipped_text(title)
    return Reading(
        shipped_layers()[layer],
        text.tokens,
        text.states[layer],
        keys_of(text.tokens, special),
        text.shuffled[layer],
    )


@cache
def shipped_charts(title: str, special: bool) -> HeadCharts:
    """Return what is drawn of all heads; ``special`` tokens may be among the keys or not."""
    with tensors_of(FOLDER / CHARTS, f"lacks the charts of {title!r}") as (tensors, _):
        scores, values = (tensors[f"{title}.{MODES[special]}.{x}"] for x in ("scores", "values"))
        return HeadCharts(scores, values, tensors[f"{title}.states"], tensors[f"{title}.ranks"])


@cache
def shipped_measures(title: str, special: bool, kind: str = PRINCIPAL) -> Arrays:
    """Return what was measured of all heads on one of `BUNDLED_PLANES`: arrays as of `open_head`.

    They are (L, H), those of twins (S, L, H) with one for each of `TWIN_SEEDS`. On the principal
    plane also totals and errors on a grid of `FINE_SIZE`, ``fine`` and ``fine_error``, and of the
    attention on the text what `shipped_record` says of "128.trained".
    """
    heads = _head_record()[title][MODES[special]][kind]
    if kind != PRINCIPAL:
        return heads
    with tensors_of(FOLDER / MEASURED, f"lacks the keys of {title!r}") as (tensors, _):
        return heads | _below(tensors, f"{title}.keys.")


@cache
def _head_record() -> HeadRecord:
    return load_record(HeadRecord, FOLDER / HEADS, "holds no measures of heads")


@cache
def shipped_record(name: str) -> Arrays:
    """Return what was measured on the whole checkpoint, by the ``name`` of a record.

    - "128.trained", "256.trained" and the same of "random" weights: what the tokens of a text
      attend to, (L, H) each. ``sink`` and ``last`` are the mean shares of the attention that the
      text's own tokens, those that are not special, give to the first and to the last token;
      ``length`` is the length of the first token's value over the median of the text's own
      tokens'; ``text_entropy`` and ``sigma`` (of scores) are means over queries. Every token is a
      query of the rest: ``needed`` and ``gaussian`` (E, L, H) count keys for each of `EPSILONS`,
      exactly and by the Gaussian approximation, the mean over queries; ``fires`` (C, E, L, H) is
      the share of queries for which a certificate keeps at most half of the keys.
    - "gates": totals of every third head with a drawn gate. ``query`` (2, P, 3, N): on query
      planes, per channel and per head, `SPREADS`, `STRENGTHS`, N heads. ``weight`` (3, N): on
      attention-weight charts, per channel, λ 0, .25 and 1; ``flat`` (3, N) is the share of
      points at which |K| is within its bound.
    - "norms": ``totals`` (N, 4) of whole sublayers of `NORM_LAYERS`: heads and projection, with
      the residual, with the norm after it, and the norm alone.
    - "extract": ``totals`` (2, L, H) of all heads of checkpoint and extract.
    """
    with tensors_of(FOLDER / MEASURED, f"lacks {name!r}") as (tensors, _):
        found = _below(tensors, f"{name}.")
        if not found:
            raise KeyError(name)
        return found


def _below(tensors: Arrays, start: str) -> Arrays:
    return {
        name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)
    }

"""Read a text with a model, and write on, character by character; a seed determines the text.

Shapes: L layers, H heads, T characters with the line break before the text, V characters of the
alphabet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from gating_core.characters import BREAK, CHARACTERS, encode
from gating_core.checks import check_integer, check_number
from gating_core.lm.efficient.samples import HeadSample
from gating_core.lm.model import Hooks, KeyValueCache, LanguageModel
from gating_core.lm.shipped import load_model
from gating_core.randomness import generator

HOTTEST = 5.0  # the largest temperature


@dataclass(frozen=True, eq=False)
class Reading:
    """Arrays that pages show of a model that reads a text; float32 throughout."""

    weights: np.ndarray  # (L, H, T, T)
    opened: np.ndarray | None  # (L, H, T): the mean gate of a head's channels; None: no gate
    logits: np.ndarray  # (V,): of the character after the text


@torch.no_grad()
def read_text(model: LanguageModel, text: str, strength: float = 1.0) -> Reading:
    """Read ``text``; ``strength`` (0 to 1) scales the gates.

    ``ValueError`` for unknown characters, and for more of them than the context holds.
    """
    logits, blocks = model.record(encode(text)[None], strength=strength)
    gates = [
        block.gate[0].unflatten(-1, (model.config.heads, -1)).transpose(0, 1).numpy()
        for block in blocks
        if block.gate is not None
    ]
    weights = np.stack([block.weights[0].numpy() for block in blocks])
    return Reading(weights, np.stack(gates).mean(-1) if gates else None, logits[0, -1].numpy())


@torch.no_grad()
def read_head(
    model: LanguageModel, text: str, layer: int, head: int, strength: float = 1.0
) -> HeadSample:
    """Queries, keys and values (T, d) of a head that reads ``text``, in float64.

    Values are those that are mixed, after a gate at G2; ``strength`` (0 to 1) scales all gates,
    those of earlier layers too. ``ValueError`` for a layer or head that does not exist, and as in
    `LanguageModel.forward`.
    """
    check_integer("layer", layer, 0, model.config.depth - 1)
    check_integer("head", head, 0, model.config.heads - 1)
    record = model.record(encode(text)[None], strength=strength)[1][layer]
    return HeadSample(*(x[0, head].double() for x in (record.queries, record.keys, record.values)))


@torch.no_grad()
def next_probabilities(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """(..., V): the softmax of logits / temperature; at 0 the largest logit has 1.

    ``ValueError`` for a temperature that is not from 0 to 5.
    """
    check_number("temperature", temperature, 0.0, HOTTEST)
    if temperature == 0:
        return functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits)
    return (logits / temperature).softmax(-1)


@torch.no_grad()
def draw_next(
    model: LanguageModel,
    unread: torch.Tensor,
    cache: KeyValueCache,
    draw: torch.Generator,
    temperature: float,
    strength: float = 1.0,
    hooks: Hooks | None = None,
    forbidden: Collection[int] = (),
) -> torch.Tensor:
    """(B, 1) int64: read ``unread`` (B, T), and draw the next character of each text.

    ``cache`` holds what was read before, and is extended. Characters ``forbidden`` are never drawn.
    """
    logits = model(unread, strength=strength, cache=cache, hooks=hooks)[:, -1]
    logits[:, list(forbidden)] = -torch.inf
    probabilities = next_probabilities(logits, temperature)
    return torch.multinomial(probabilities, 1, generator=draw)


@torch.no_grad()
def generate(
    model: LanguageModel, text: str, seed: int, temperature: float = 1.0, strength: float = 1.0
) -> Iterator[str]:
    """Yield characters that continue ``text``, until a line break or the end of the context.

    Each character is read once: keys and values of earlier ones are cached. The characters depend
    on the arguments alone. ``strength`` (0 to 1) scales the gates. ``ValueError`` for unknown
    characters, for more than the context holds, and for arguments out of range.
    """
    check_integer("seed", seed, 0, 2**31 - 1)
    check_number("strength", strength, 0.0, 1.0)
    draw, cache = generator(seed, "writing"), KeyValueCache()
    unread = encode(text)[None]
    while cache.length + unread.shape[-1] <= model.config.context:
        unread = draw_next(model, unread, cache, draw, temperature, strength)
        character = CHARACTERS[int(unread)]
        if character == BREAK:
            return
        yield character


# --- For a page -----------------------------------------------------------------------------------


def probabilities_after(reading: Reading, temperature: float) -> np.ndarray:
    """(V,) the probabilities of the character that follows the text."""
    return next_probabilities(torch.from_numpy(reading.logits), temperature).numpy()


@dataclass(frozen=True)
class WriteRequest:
    """The text to write: by which model, after which beginning, and with which settings."""

    name: str  # of the model
    model_seed: int
    text: str  # the beginning
    temperature: float
    strength: float  # λ of the gates
    seed: int  # of the characters that are drawn


def write_on(request: WriteRequest) -> Iterator[str]:
    """Yield the characters that a bundled model writes after the beginning, one by one."""
    model, _ = load_model(request.name, request.model_seed)
    return generate(model, request.text, request.seed, request.temperature, request.strength)

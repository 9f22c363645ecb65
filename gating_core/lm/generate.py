"""Write with a model, character by character; a seed determines the text."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import torch
from torch.nn import functional

from gating_core.characters import BREAK, CHARACTERS, encode
from gating_core.checks import check_integer, check_number
from gating_core.lm.attention import Hooks, KeyValueCache
from gating_core.lm.model import LanguageModel
from gating_core.randomness import generator

HOTTEST = 5.0  # the largest temperature


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

"""A text as a model reads it, and the same tokens in random order."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.randomness import generator


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it: ``ids``, ``words``, and which are ``special``, such as [CLS].

    Words are the tokeniser's own names ("##ing" goes on with one).
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    special: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.ids)


def shuffled_order(tokens: Tokens, seed: int = 0) -> tuple[int, ...]:
    """Return for each place of a shuffled text the token that stands there, from 0.

    The same tokens in random order; special ones stay where they are.
    """
    places = [i for i, special in enumerate(tokens.special) if not special]
    draw = torch.randperm(len(places), generator=generator(seed, "shuffled text")).tolist()
    order = list(range(len(tokens)))
    for place, other in zip(places, draw, strict=True):
        order[place] = places[other]
    return tuple(order)

"""How far gates are open: over all characters, and for each character of the alphabet.

Shapes: B texts of T characters at most, G gates of a layer (one a channel or one a head), V
characters that there are. ``counted`` (B, T) is false behind the end of a text.
"""

from __future__ import annotations

import torch
from torch.nn import functional

SHUT = 0.1  # a gate below this is called shut


def histogram(gates: torch.Tensor, counted: torch.Tensor, bins: int = 20) -> torch.Tensor:
    """(G, bins) int64: how many values of each gate (B, T, G) fall into equal bins from 0 to 1.

    A bin includes its lower edge, the last its upper edge too. For gates between 0 and 1.
    """
    values = gates[counted]
    bin_of = (values * bins).long().clamp(0, bins - 1)
    return functional.one_hot(bin_of, bins).sum(0)


def shut_shares(gates: torch.Tensor, counted: torch.Tensor, below: float = SHUT) -> torch.Tensor:
    """(G,): the share of characters at which each gate (B, T, G) is below ``below``."""
    return (gates[counted] < below).double().mean(0)


def means_by_character(
    gates: torch.Tensor, counted: torch.Tensor, numbers: torch.Tensor, characters: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """(V, G) and (V,): the mean of each gate at each character, and the character's count.

    ``numbers`` (B, T) are the characters that were read. NaN for a character that was not.
    """
    values, characters_read = gates[counted].double(), numbers[counted]
    sums = torch.zeros(characters, gates.shape[-1], dtype=torch.float64)
    sums.index_add_(0, characters_read, values)
    counts = characters_read.bincount(minlength=characters)
    return sums / counts[:, None], counts

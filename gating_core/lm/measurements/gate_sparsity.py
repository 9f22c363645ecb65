"""Gate sparsity: openings over all characters, and for each character of the alphabet.

Shapes: B texts of T characters at most, G gates of a layer (one a channel or one a head), L layers,
H heads, V characters that there are. ``counted`` (B, T) is false behind the end of a text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from gating_core.characters import CHARACTERS
from gating_core.lm.losses import Arrays, batches
from gating_core.lm.model import LanguageModel

SHUT = 0.1  # a gate below this is called shut


def gates(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Statistics of gate values; no arrays for a model without gates.

    ``histogram`` (L, H, bins): values from 0 to 1 of all channels of a head. ``shut`` (L, H): the
    share of values below `SHUT`. ``by_character`` (V, L, H): the mean at each character, NaN where
    it was never read; ``counts`` (V,): how often each was read.
    """
    if model.config.gate is None:
        return {}
    heads = model.config.heads
    numbers, by_layer = [], [list[torch.Tensor]() for _ in range(model.config.depth)]
    for batch in batches(model, texts):
        numbers.append(batch.rows.read[batch.rows.counted])
        for values, record in zip(by_layer, batch.layers, strict=True):
            assert record.gate is not None
            values.append(record.gate[batch.rows.counted])
    read = torch.cat(numbers)
    every = torch.ones_like(read, dtype=torch.bool)
    bins, shut, means = [], [], []
    for values in by_layer:
        layer = torch.cat(values)  # of all characters as of one text
        bins.append(histogram(layer, every).unflatten(0, (heads, -1)).sum(1))
        shut.append(shut_shares(layer, every).unflatten(0, (heads, -1)).mean(1))
        by_head = layer.unflatten(-1, (heads, -1)).mean(-1)
        mean, counts = means_by_character(by_head, every, read, len(CHARACTERS))
        means.append(mean)
    return {
        "histogram": torch.stack(bins).numpy().astype(np.int32),
        "shut": torch.stack(shut).float().numpy(),
        "by_character": torch.stack(means, 1).float().numpy(),
        "counts": counts.float().numpy(),
    }


def histogram(gates: torch.Tensor, counted: torch.Tensor, bins: int = 20) -> torch.Tensor:
    """(G, bins) int64: how many values of each gate (..., G) fall into equal bins from 0 to 1.

    A bin includes its lower edge, the last its upper edge too. For gates between 0 and 1.
    """
    values = gates[counted]
    bin_of = (values * bins).long().clamp(0, bins - 1)
    return functional.one_hot(bin_of, bins).sum(0)


def shut_shares(gates: torch.Tensor, counted: torch.Tensor, below: float = SHUT) -> torch.Tensor:
    """(G,): the share of characters at which each gate (..., G) is below ``below``."""
    return (gates[counted] < below).double().mean(0)


def means_by_character(
    gates: torch.Tensor, counted: torch.Tensor, numbers: torch.Tensor, characters: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """(V, G) and (V,): the mean of each gate at each character, and the character's count.

    ``numbers`` (...) are the characters that were read. NaN for a character that was not.
    """
    values, characters_read = gates[counted].double(), numbers[counted]
    sums = torch.zeros(characters, gates.shape[-1], dtype=torch.float64)
    sums.index_add_(0, characters_read, values)
    counts = characters_read.bincount(minlength=characters)
    return sums / counts[:, None], counts

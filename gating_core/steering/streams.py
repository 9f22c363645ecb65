"""The residual stream of a model over texts, character by character and as trailing means.

Shapes: L layers, N characters of all texts, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from gating_core.language import BlockRecord, LanguageModel, rows_of

MEAN_OVER = 16  # characters
SKIPPED = 8  # characters at the beginning of a text, that hardly show the language
TEXTS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Streams:
    """Residual streams after each layer, with the text and the character of each."""

    states: torch.Tensor  # (L, N, D)
    texts: torch.Tensor  # (N,) int64: which text
    positions: torch.Tensor  # (N,) int64: which character of it; the line break before it is 0


@torch.no_grad()
def streams(model: LanguageModel, texts: Sequence[str], skipped: int = SKIPPED) -> Streams:
    """Read ``texts`` and return the stream after each character but the first ``skipped``."""
    states, owners, positions = [], [], []
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        rows = rows_of(texts[start : start + TEXTS_AT_ONCE], model.config.context)
        records: list[BlockRecord] = []
        model(rows.read, records=records)
        use = rows.counted.clone()
        use[:, :skipped] = False
        text, position = use.nonzero(as_tuple=True)
        states.append(torch.stack([record.stream[use] for record in records]))
        owners.append(text + start)
        positions.append(position)
    return Streams(torch.cat(states, 1), torch.cat(owners), torch.cat(positions))


def trailing_means(residual: Streams, over: int = MEAN_OVER) -> Streams:
    """The means of the stream over ``over`` characters of a text, each at the last of them."""
    sums = torch.nn.functional.pad(residual.states.double().cumsum(1), (0, 0, 1, 0))
    means = (sums[:, over:] - sums[:, :-over]) / over
    last = torch.arange(over - 1, len(residual.texts))
    within_text = residual.texts[last] == residual.texts[last - over + 1]
    last = last[within_text]
    return Streams(
        means[:, within_text].to(residual.states.dtype),
        residual.texts[last],
        residual.positions[last],
    )

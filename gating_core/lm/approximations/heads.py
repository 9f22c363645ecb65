"""One head of a language model over a text, and how its outputs differ from full attention.

Shapes: T tokens, d channels.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from gating_core.characters import encode
from gating_core.checks import check_integer
from gating_core.efficient import HeadSample
from gating_core.lm.model import LanguageModel

FIRST = 32  # the first query that counts: before it there are few keys to leave out


@torch.no_grad()
def read_head(
    model: LanguageModel, text: str, layer: int, head: int, strength: float = 1.0
) -> HeadSample:
    """Queries, keys and values (T, d) of a head that reads ``text``, in float64.

    T includes the line break before the text. Values are those that are mixed, after a gate at G2;
    ``strength`` (0 to 1) scales all gates, those of earlier layers too. ``ValueError`` for a layer
    or head that does not exist, and as in `LanguageModel.forward`.
    """
    check_integer("layer", layer, 0, model.config.depth - 1)
    check_integer("head", head, 0, model.config.heads - 1)
    record = model.record(encode(text)[None], strength=strength)[1][layer]
    parts = (x[0, head].double() for x in (record.queries, record.keys, record.values))
    return HeadSample(*parts)


def late_cosine(outputs: torch.Tensor, full: torch.Tensor, tail: int = 0) -> torch.Tensor:
    """(...): the mean cosine of ``outputs`` (..., T, d) with those of full attention (T, d).

    Over the queries from `FIRST` on, in a short text from its middle on, without the last ``tail``;
    NaN if there are none.
    """
    length = full.shape[-2]
    late = slice(first_late(length), length - tail)
    return functional.cosine_similarity(outputs, full, dim=-1)[..., late].mean(-1)


def first_late(length: int) -> int:
    """The first query of `late_cosine` in a text of ``length`` tokens."""
    return min(FIRST, length // 2)

"""One head of a language model over one text, as a `HeadSample` like the synthetic ones."""

from __future__ import annotations

import torch

from gating_core.checks import check_integer
from gating_core.language import BlockRecord, LanguageModel, encode
from gating_core.left_out import HeadSample


@torch.no_grad()
def head_specimen(
    model: LanguageModel, text: str, layer: int, head: int, strength: float = 1.0
) -> HeadSample:
    """Queries, keys and values (T, d) of a head that reads ``text``, in float64.

    T includes the line break before the text. Values are those that are mixed, after a gate at G2;
    ``strength`` (0 to 1) scales all gates, those of earlier layers too. ``ValueError`` for a layer
    or head that does not exist, and as in `LanguageModel.forward`.
    """
    check_integer("layer", layer, 0, model.config.depth - 1)
    check_integer("head", head, 0, model.config.heads - 1)
    records: list[BlockRecord] = []
    model(encode(text)[None], strength=strength, records=records)
    record = records[layer].attention
    parts = (x[0, head].double() for x in (record.queries, record.keys, record.values))
    return HeadSample(*parts)

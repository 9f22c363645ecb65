"""Window, sinks and delta correction in language models: losses, and outputs by head.

Shapes: N texts, B texts of a batch, L layers, H heads, W windows, G distances γ of anchors.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from gating_core.at_work.batches import Arrays, batches
from gating_core.language import LanguageModel
from gating_core.left_out import (
    anchors,
    causal,
    change_by_lag,
    corrected,
    error_ratio,
    mixed,
    window_mask,
)
from gating_core.left_out_at_work.kinds import windowed
from gating_core.left_out_at_work.losses import FIRST, late_losses

WINDOWS = (8, 16, 32)  # keys
SINKS = 4
GAMMAS = (4, 8, 16, 32)  # one query in as many is computed in full
LAGS = 31


def correction(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Measure losses and outputs in a window, without and with correction.

    ``sums`` (W, 1 + G, N): the loss of each text from its 33rd character on, in nats, without
    correction and with each γ; ``full`` and ``counts`` (N,). ``cosines`` (W, 1 + G, L, H): the mean
    cosine of outputs with those of full attention, from the 33rd query on, for the states of the
    full model. ``ratios`` (W, G, L, H) and ``changes`` (W, lags, L, H): the means over texts of
    `error_ratio` and of `change_by_lag` there.
    """
    full, counts = late_losses(model, texts)
    sums = torch.stack([torch.stack([
        late_losses(windowed(model, window, SINKS, gamma), texts)[0] for gamma in (None, *GAMMAS)
    ]) for window in WINDOWS])  # fmt: skip
    parts: dict[str, list[torch.Tensor]] = {"cosines": [], "ratios": [], "changes": []}
    for batch in batches(model, texts):
        layers = [_outputs(causal(x.scores), x.values) for x in batch.layers]
        for name, columns in parts.items():
            columns.append(torch.stack([layer[name] for layer in layers], -3))
    means = {name: torch.cat(columns, -2).nanmean(-2).numpy() for name, columns in parts.items()}
    return {"sums": sums.float().numpy(), "full": full.float().numpy(),
            "counts": counts.float().numpy(), **means}  # fmt: skip


def _outputs(scores: torch.Tensor, values: torch.Tensor) -> dict[str, torch.Tensor]:
    """(..., B, H) of one layer: cosines, ratios and changes as `correction` describes them."""
    full = mixed(scores, values)
    length = full.shape[-2]
    cosines, ratios, changes = [], [], []
    for window in WINDOWS:
        sparse = mixed(scores, values, window_mask(length, window, SINKS))
        repaired = [corrected(sparse, full[..., anchors(length, gamma), :], gamma)
                    for gamma in GAMMAS]  # fmt: skip
        similarities = [
            functional.cosine_similarity(outputs[..., FIRST:, :], full[..., FIRST:, :], dim=-1)
            for outputs in (sparse, *repaired)
        ]
        cosines.append(torch.stack(similarities).mean(-1))
        missing = (full - sparse)[..., FIRST:, :]
        ratios.append(torch.stack([error_ratio(missing, gamma) for gamma in GAMMAS]))
        changes.append(change_by_lag(missing, LAGS).movedim(-1, 0))
    return {"cosines": torch.stack(cosines), "ratios": torch.stack(ratios),
            "changes": torch.stack(changes)}  # fmt: skip

"""The effective rank of heads: of their outputs before and after the gate, and after W_O.

Shapes: L layers, H heads of d channels, D width, N characters of all texts, R singular values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gating_core.lm.losses import Arrays, batches
from gating_core.lm.model import LanguageModel
from gating_core.training import MeanInterval, mean_interval


def ranks(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """``outputs`` (3, L, H): effective ranks of the outputs of heads over all of ``texts``.

    Of the mixed values of all characters before the gate, after it, and after W_O, not centred.
    """
    stages_by_layer = [(list[torch.Tensor](), list[torch.Tensor]()) for _ in model.layers]
    for batch in batches(model, texts):
        counted = batch.rows.counted
        for (before, after), record in zip(stages_by_layer, batch.layers, strict=True):
            before.append(record.ungated.transpose(1, 2)[counted])
            after.append(record.mixed.transpose(1, 2)[counted])
    ranks = []
    for layer, parts in enumerate(stages_by_layer):
        stages = [torch.cat(part).double().transpose(0, 1) for part in parts]
        stages.append(stages[1] @ _narrowed_projection(model, layer))
        ranks.append(torch.stack([effective_rank(output_singular_values(x)) for x in stages]))
    return {"outputs": torch.stack(ranks, 1).float().numpy()}


def _narrowed_projection(model: LanguageModel, layer: int) -> torch.Tensor:
    """(H, d, d): outputs times this have the nonzero singular values of outputs times W_O.

    W_O (d, D) of a head is this times d orthonormal rows (a QR decomposition).
    """
    projection = model.layers[layer].attention.project.weight.detach().double()
    by_head = projection.unflatten(1, (model.config.heads, -1)).transpose(0, 1)  # (H, D, d)
    return torch.linalg.qr(by_head).R.mT


def effective_rank(singular_values: torch.Tensor) -> torch.Tensor:
    """(...): the exponential of the entropy of the singular values (..., R), divided by their sum.

    Between 1 and R; NaN where all are zero. Roy and Vetterli, *The effective rank*, EUSIPCO 2007.
    """
    shares = singular_values / singular_values.sum(-1, keepdim=True)
    return torch.special.entr(shares).sum(-1).exp()


def rank_ratio(ranks: np.ndarray, others: np.ndarray) -> MeanInterval:
    """The mean effective rank over heads, divided by that of other models of the same seeds.

    Heads of two models do not correspond, so means over heads are compared, paired by seed.

    Args:
        ranks: Effective ranks (S, L, H), S > 1.
        others: Those of the other models, with the same seeds and texts.

    Returns:
        The mean over seeds with its 95 % interval (Student t).
    """
    return mean_interval(ranks.mean((1, 2), dtype=float) / others.mean((1, 2), dtype=float))


def output_singular_values(outputs: torch.Tensor) -> torch.Tensor:
    """(..., R) float64: the singular values of outputs (..., N, C) over N characters.

    A head's outputs have rank d at most, before and after any gate and the projection: a gate
    changes how even the singular values are, not how many there are.
    """
    return torch.linalg.svdvals(outputs.double())

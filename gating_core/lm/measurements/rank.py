"""The effective rank of heads: of their maps, of outputs before and after the gate, of gated maps.

Shapes: L layers, H heads of d channels, D width, N characters of all texts, R resamples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gating_core.lm.losses import Arrays, batches
from gating_core.lm.measurements.resampling import ends, text_draws
from gating_core.lm.model import LanguageModel
from gating_core.training import MeanInterval, mean_interval


def ranks(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Singular values of each head's map, and effective ranks of its outputs over ``texts``.

    ``maps`` (L, H, d): the singular values of W_V W_O. ``outputs`` (3, L, H): the effective rank of
    the mixed values of all characters before the gate, after it, and after W_O; ``range``
    (2, 3, L, H): its 95 % interval over texts. ``lift`` (2, L, H): the interval of the quotient of
    the second and the first. ``opened`` (L, H): the effective rank of all characters' maps
    W_V diag(g) W_O, as vectors; 1 without a gate. Outputs are not centred.
    """
    config = model.config
    maps = torch.stack([map_singular_values(model, layer) for layer in range(config.depth)])
    stages_by_layer: list[list[list[torch.Tensor]]] = [[[], [], []] for _ in range(config.depth)]
    lengths: list[int] = []
    for batch in batches(model, texts):
        counted = batch.rows.counted
        lengths += counted.sum(-1).tolist()
        for (before, after, gates), record in zip(stages_by_layer, batch.layers, strict=True):
            before.append(record.ungated.transpose(1, 2)[counted])
            after.append(record.mixed.transpose(1, 2)[counted])
            if record.gate is not None:
                gates.append(record.gate[counted])
    draws = torch.from_numpy(text_draws(len(texts))).double()
    ranks, resampled = [], []
    opened = torch.ones(config.depth, config.heads, dtype=torch.float64)
    for layer, (before, after, gates) in enumerate(stages_by_layer):
        stages = [torch.cat(part).double().transpose(0, 1) for part in (before, after)]
        stages.append(stages[1] @ _narrowed_projection(model, layer))
        ranks.append(torch.stack([effective_rank(output_singular_values(x)) for x in stages]))
        resampled.append(torch.stack([_resampled_ranks(x, lengths, draws) for x in stages]))
        if gates:
            opened[layer] = effective_rank(
                gated_map_singular_values(model, layer, torch.cat(gates))
            )
    every = torch.stack(resampled, 2)  # (3, R, L, H)
    return {
        "maps": maps.float().numpy(),
        "outputs": torch.stack(ranks, 1).float().numpy(),
        "range": ends(every.transpose(0, 1).numpy()).astype(np.float32),
        "lift": ends((every[1] / every[0]).numpy()).astype(np.float32),
        "opened": opened.float().numpy(),
    }


def _narrowed_projection(model: LanguageModel, layer: int) -> torch.Tensor:
    """(H, d, d): outputs times this have the nonzero singular values of outputs times W_O.

    W_O (d, D) of a head is this times d orthonormal rows (a QR decomposition).
    """
    projection = model.layers[layer].attention.project.weight.detach().double()
    by_head = projection.unflatten(1, (model.config.heads, -1)).transpose(0, 1)  # (H, D, d)
    return torch.linalg.qr(by_head).R.mT


def _resampled_ranks(
    outputs: torch.Tensor, lengths: Sequence[int], draws: torch.Tensor
) -> torch.Tensor:
    """(R, H): effective ranks of ``outputs`` (H, N, d) in resamples of texts of ``lengths``."""
    products = torch.stack([part.mT @ part for part in outputs.split(lengths, 1)])
    squares = torch.linalg.eigvalsh(torch.einsum("rn,nhij->rhij", draws, products))
    return effective_rank(squares.clamp(min=0).sqrt())


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


def value_output_maps(model: LanguageModel, layer: int) -> torch.Tensor:
    """(H, D, D) float64: W_V W_O of each head of a layer, from a state (row) to an output."""
    values, outputs = _value_and_output(model, layer)
    return values @ outputs


def map_singular_values(model: LanguageModel, layer: int) -> torch.Tensor:
    """(H, d) float64: the d largest singular values of W_V W_O; its rank is d at most."""
    d = model.config.width // model.config.heads
    return torch.linalg.svdvals(value_output_maps(model, layer))[..., :d]


def output_singular_values(outputs: torch.Tensor) -> torch.Tensor:
    """(..., R) float64: the singular values of outputs (..., N, C) over N characters.

    A head's outputs have rank d at most, before and after any gate and the projection: a gate
    changes how even the singular values are, not how many there are.
    """
    return torch.linalg.svdvals(outputs.double())


def gated_map_singular_values(
    model: LanguageModel, layer: int, gates: torch.Tensor
) -> torch.Tensor:
    """(H, d) float64: the singular values of the maps W_V diag(g) W_O of N characters, as vectors.

    ``gates`` (N, D or H) are those of N characters, each of which has a map of its own. Without a
    gate, and with one gate for a whole head, all singular values but one are zero. So a gate for
    each channel raises this rank: without one, W_V W_O is one low-rank map (Qiu et al., arXiv
    2505.06708).
    """
    values, outputs = _value_and_output(model, layer)
    heads, _, d = values.shape
    by_head = gates.double().unflatten(-1, (heads, -1)).expand(-1, -1, d).transpose(0, 1)
    # <E_c, E_e> of the rank-one maps E_c, the outer product of column c of W_V and row c of W_O.
    products = (values.mT @ values) * (outputs @ outputs.mT)
    values_of_products, directions = torch.linalg.eigh(products)
    root = directions * values_of_products.clamp(min=0).sqrt()[:, None]
    return torch.linalg.svdvals(by_head @ root)


def _value_and_output(model: LanguageModel, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
    """W_V (H, D, d) and W_O (H, d, D) of each head of a layer, in float64."""
    attention, heads = model.layers[layer].attention, model.config.heads
    values = attention.qkv.weight.detach().double().chunk(3)[2]
    outputs = attention.project.weight.detach().double()
    return values.unflatten(0, (heads, -1)).mT, outputs.mT.unflatten(0, (heads, -1))

"""Effective ranks of a head: of its maps, of its outputs over texts, and with a gate.

Shapes: D width, H heads of d channels, N characters of all texts together.
"""

from __future__ import annotations

import torch

from gating_core.language import LanguageModel


def effective_rank(singular_values: torch.Tensor) -> torch.Tensor:
    """(...): the exponential of the entropy of the singular values (..., R), divided by their sum.

    Between 1 and R; NaN where all are zero. Roy and Vetterli, *The effective rank*, EUSIPCO 2007.
    """
    shares = singular_values / singular_values.sum(-1, keepdim=True)
    return torch.special.entr(shares).sum(-1).exp()


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

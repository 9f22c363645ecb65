"""The rank of what a head computes: of its maps, of its outputs over texts, and with a gate.

Shapes: D width, H heads of d channels, N characters of all texts together.
"""

from __future__ import annotations

import torch

from gating_core.language import LanguageModel


def effective_rank(singular_values: torch.Tensor) -> torch.Tensor:
    """(...): the exponential of the entropy of the singular values (..., R) as shares.

    Between 1 and R; NaN where all are zero. Roy and Vetterli, *The effective rank*, EUSIPCO 2007.
    """
    shares = singular_values / singular_values.sum(-1, keepdim=True)
    return torch.special.entr(shares).sum(-1).exp()


def value_output_maps(model: LanguageModel, layer: int) -> torch.Tensor:
    """(H, D, D) float64: W_V W_O of each head of a layer, from a state (row) to an output."""
    values, outputs = _value_and_output(model, layer)
    return values @ outputs


def map_singular_values(model: LanguageModel, layer: int) -> torch.Tensor:
    """(H, d) float64: the singular values of W_V W_O that need not be zero, largest first."""
    d = model.config.width // model.config.heads
    return torch.linalg.svdvals(value_output_maps(model, layer))[..., :d]


def output_singular_values(outputs: torch.Tensor) -> torch.Tensor:
    """(..., R) float64: the singular values of outputs (..., N, C) over N characters.

    A head's outputs have d columns at most that are independent, before and after any gate, and
    before and after the projection: a gate changes how evenly they are used, never their number.
    """
    return torch.linalg.svdvals(outputs.double())


def gated_map_singular_values(
    model: LanguageModel, layer: int, gates: torch.Tensor
) -> torch.Tensor:
    """(H, d) float64: how many *different* maps W_V diag(g) W_O the gates of a text make of a head.

    ``gates`` (N, D or H) are those of N characters. Each opens a map of its own; these are the
    singular values of the N maps as vectors, of which all but one vanish without a gate and with
    one gate for a whole head. Here a gate lifts the rank: without one, W_V W_O is one low-rank map
    (Qiu et al., arXiv 2505.06708).
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

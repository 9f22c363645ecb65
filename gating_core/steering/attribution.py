"""Direct attribution: the part of each head and MLP in the residual stream along a direction.

The stream after a layer is a sum: embeddings, and for each layer up to it the outputs of its heads
and of its MLP. Its product with a direction is the same sum of products. Source: Elhage et al., *A
Mathematical Framework for Transformer Circuits*, 2021. Shapes: B texts, T characters, L layers, H
heads, D width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.language import BlockRecord, LanguageModel


@dataclass(frozen=True, eq=False)
class Attribution:
    """The product of each part of the stream with a direction; the parts add up to ``total``."""

    embedding: torch.Tensor  # (B, T)
    heads: torch.Tensor  # (L, H, B, T)
    mlps: torch.Tensor  # (L, B, T)
    total: torch.Tensor  # (B, T): the stream's own product with the direction

    @property
    def sum(self) -> torch.Tensor:
        """(B, T): the sum of all parts."""
        return self.embedding + self.heads.sum((0, 1)) + self.mlps.sum(0)


@torch.no_grad()
def direct_attribution(
    model: LanguageModel, numbers: torch.Tensor, layer: int, direction: torch.Tensor
) -> Attribution:
    """Attribute the stream after ``layer`` (0 is the first), for characters ``numbers`` (B, T).

    Each part is computed by itself, none as the remainder. ``ValueError`` for a layer that does
    not exist, and for a ``direction`` of another shape than (D,).
    """
    if not 0 <= layer < model.config.depth:
        raise ValueError(f"layer is {layer}; the model has layers 0 to {model.config.depth - 1}")
    if direction.shape != (model.config.width,):
        raise ValueError(
            f"direction has shape {tuple(direction.shape)}; it must be ({model.config.width},)"
        )
    records: list[BlockRecord] = []
    model(numbers, records=records)
    heads, mlps = [], []
    for block, record in zip(model.layers[: layer + 1], records, strict=False):
        # (D,) through the projection: the product per unit of each channel of each head.
        written = (direction @ block.attention.project.weight).unflatten(
            0, (model.config.heads, -1)
        )
        heads.append(torch.einsum("bhtc,hc->hbt", record.attention.mixed, written))
        mlps.append(block.mlp(record.mlp_input) @ direction)
    return Attribution(
        embedding=model.embedded(numbers) @ direction,
        heads=torch.stack(heads),
        mlps=torch.stack(mlps),
        total=records[layer].stream @ direction,
    )

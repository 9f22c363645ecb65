"""The surface of each block's output while one character's embedding moves over a plane.

The model reads a text and then one more character, whose embedding is an affine mixture of three
characters' embeddings. The residual stream there after each block is a surface.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import torch

from gating_core.geometry import Grid, SurfaceResult, measure_surface, square_grid
from gating_core.language import BlockRecord, LanguageModel, encode

BEFORE = "The l"
CORNERS = "eao"  # the most frequent letters of both languages
GRID = square_grid(21)


def block_outputs(
    model: LanguageModel, before: str = BEFORE, corners: str = CORNERS
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Points (N, 2) of [-1, 1]² to the residual stream after each block, (L, N, D), in float64.

    At (-1, -1), (1, -1) and (-1, 1) the character after ``before`` is the first, second and third
    of ``corners``; between them its embedding is affine, with that of its position added.
    """
    model = deepcopy(model).double()
    with torch.no_grad():
        texts = torch.stack([encode(before + corner) for corner in corners])
        read, embedded = model.embedded(texts).split((texts.shape[1] - 1, 1), 1)

    def outputs(points: torch.Tensor) -> torch.Tensor:
        u, v = ((points[:, axis, None, None] + 1) / 2 for axis in (0, 1))
        origin, along, across = embedded[0], embedded[1] - embedded[0], embedded[2] - embedded[0]
        last = origin + u * along + v * across  # (N, 1, D)
        records: list[BlockRecord] = []
        model.run(torch.cat((read[:1].expand(len(points), -1, -1), last), 1), records=records)
        return torch.stack([record.stream[:, -1] for record in records])

    return outputs


def block_surfaces(model: LanguageModel, grid: Grid | None = None) -> SurfaceResult:
    """Measure the surfaces of all blocks, a frame each, with an estimate of errors."""
    return measure_surface(block_outputs(model), grid or GRID, bound="estimate")

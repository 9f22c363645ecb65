"""Block topologies: costs of cut links, gradients at attention outputs, and curvature.

Links and gradients after Kim et al., *First Attentions Last*, arXiv 2510.14614. Shapes: N texts, M
of them for gradients, L blocks, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import deepcopy

import numpy as np
import torch

from gating_core.characters import encode
from gating_core.geometry import Grid, SurfaceResult, measure_surface, square_grid
from gating_core.lm.attention import Hooks
from gating_core.lm.losses import Arrays, row_losses, rows_of, text_losses
from gating_core.lm.model import LanguageModel

GRADIENT_TEXTS = 50  # at most
BEFORE = "The l"
CORNERS = "eao"  # the most frequent letters of both languages
GRID = square_grid(21)


def topology(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Quantities in which topologies differ; no arrays for a model with a gate.

    ``links`` (L, N): `link_costs`, in nats a character. ``gradients`` (L, M): the norm of the
    gradient of a text's mean loss by each attention output (`attention_gradients`). ``total`` (L,),
    ``total_error`` and ``complete``: the total absolute curvature ∫|K| dA of each block's output
    (`block_surfaces`).
    """
    if model.config.gate is not None:
        return {}
    chosen = texts[:: -(-len(texts) // GRADIENT_TEXTS)]
    surfaces = block_surfaces(model)
    return {
        "links": link_costs(model, texts).float().numpy(),
        "gradients": torch.stack(
            [attention_gradients(model, [text]) for text in chosen], -1
        ).numpy(),
        "total": surfaces.total.astype(np.float32),
        "total_error": surfaces.total_error.astype(np.float32),
        "complete": surfaces.complete.astype(np.uint8),
    }


def link_costs(model: LanguageModel, texts: Sequence[str]) -> torch.Tensor:
    """(L, B) float64: the added loss of each of B texts when a block's MLP reads no attention.

    In nats a character, above the loss of the intact model. The MLP of that block reads the
    residual stream without its own block's attention output, and without the first block's where
    the topology adds it; the stream itself keeps both.
    """
    intact, counts = text_losses(model, texts)
    cut = [
        text_losses(model, texts, hooks=without_attention([layer]))[0]
        for layer in range(model.config.depth)
    ]
    return (torch.stack(cut) - intact) / counts


def without_attention(layers: Collection[int]) -> Hooks:
    """Return hooks by which the MLPs of ``layers`` (0 is the first) read no attention outputs."""

    def cut(layer: int, output: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(output) if layer in layers else output

    return {"own_read": cut, "first_read": cut}


def attention_gradients(model: LanguageModel, texts: Sequence[str]) -> torch.Tensor:
    """(L,): the norm of the gradient of the mean loss by each block's attention output.

    The root of the summed squares over all entries of that output, for all ``texts``.
    """
    rows = rows_of(texts, model.config.context)
    with torch.enable_grad():
        differentiable = {"embedded": lambda _, x: x.detach().requires_grad_()}
        logits, records = model.record(rows.read, hooks=differentiable)
        losses = row_losses(logits, rows.targets)[rows.counted]
        gradients = torch.autograd.grad(losses.mean(), [record.output for record in records])
    return torch.stack([gradient.norm() for gradient in gradients])


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
        states = torch.cat((read[:1].expand(len(points), -1, -1), last), 1)
        _, records = model.record(texts[:1], hooks={"embedded": lambda *_: states})
        return torch.stack([record.stream[:, -1] for record in records])

    return outputs


def block_surfaces(model: LanguageModel, grid: Grid | None = None) -> SurfaceResult:
    """Measure the surfaces of all blocks, a frame each, with an estimate of errors."""
    return measure_surface(block_outputs(model), grid or GRID, bound="estimate")

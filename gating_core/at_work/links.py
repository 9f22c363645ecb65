"""Wiring: the cost of cutting attention out of an MLP's input, and gradients at attention outputs.

After Kim et al., *First Attentions Last*, arXiv 2510.14614. L blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gating_core.language import BlockRecord, LanguageModel, row_losses, rows_of, text_losses


def link_costs(model: LanguageModel, texts: Sequence[str]) -> torch.Tensor:
    """(L, B) float64: the added loss of each of B texts when a block's MLP reads no attention.

    In nats a character, above the loss of the intact model. The MLP of that block reads the
    residual stream without its own block's attention output, and without the first block's where
    the wiring adds it; the stream itself keeps both.
    """
    intact, counts = text_losses(model, texts)
    cut = [text_losses(model, texts, cut=(layer,))[0] for layer in range(model.config.depth)]
    return (torch.stack(cut) - intact) / counts


def attention_gradients(model: LanguageModel, texts: Sequence[str]) -> torch.Tensor:
    """(L,): the norm of the gradient of the mean loss by each block's attention output.

    The root of the summed squares over all entries of that output, for all ``texts``.
    """
    rows = rows_of(texts, model.config.context)
    records: list[BlockRecord] = []
    with torch.enable_grad():
        stream = model.embedded(rows.read).detach().requires_grad_()
        losses = row_losses(model.logits(model.run(stream, records=records)), rows.targets)
        outputs = [record.attention.output for record in records]
        gradients = torch.autograd.grad(losses[rows.counted].mean(), outputs)
    return torch.stack([gradient.norm() for gradient in gradients])

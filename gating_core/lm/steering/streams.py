"""The residual stream of a model: read over texts, steered along a direction, and decomposed.

Read character by character and as trailing means. Steering adds a direction to the stream after one
layer while a model writes (Turner et al., arXiv 2308.10248, activation addition; Chou et al.,
*Causal Language Control in Multilingual Transformers via Sparse Feature Steering*). Direct
attribution: the stream after a layer is a sum of embeddings and, for each layer up to it, the
outputs of its heads and of its MLP; its product with a direction is the same sum of products
(Elhage et al., *A Mathematical Framework for Transformer Circuits*, 2021).

Shapes: B texts, T characters, L layers, H heads, N characters of all texts, D width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from gating_core.characters import encode
from gating_core.checks import check_integer
from gating_core.lm.generate import draw_next
from gating_core.lm.losses import rows_of
from gating_core.lm.model import Hooks, KeyValueCache, LanguageModel
from gating_core.randomness import generator

MEAN_OVER = 16  # characters
SKIPPED = 8  # characters at the beginning of a text, that hardly show the language
TEXTS_AT_ONCE = 64
RELEASED_AFTER = 16  # characters that are steered, of those that a model writes
# A line break would end the text, and the next text may be in either language.
FORBIDDEN = tuple(encode("").tolist())


@dataclass(frozen=True, eq=False)
class Streams:
    """Residual streams after each layer, with the text and the character of each."""

    states: torch.Tensor  # (L, N, D)
    texts: torch.Tensor  # (N,) int64: which text
    positions: torch.Tensor  # (N,) int64: which character of it; the line break before it is 0


@torch.no_grad()
def streams(model: LanguageModel, texts: Sequence[str], skipped: int = SKIPPED) -> Streams:
    """Read ``texts`` and return the stream after each character but the first ``skipped``."""
    states, owners, positions = [], [], []
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        rows = rows_of(texts[start : start + TEXTS_AT_ONCE], model.config.context)
        _, records = model.record(rows.read)
        use = rows.counted.clone()
        use[:, :skipped] = False
        text, position = use.nonzero(as_tuple=True)
        states.append(torch.stack([record.stream[use] for record in records]))
        owners.append(text + start)
        positions.append(position)
    return Streams(torch.cat(states, 1), torch.cat(owners), torch.cat(positions))


def trailing_means(residual: Streams, over: int = MEAN_OVER) -> Streams:
    """The means of the stream over ``over`` characters of a text, each at the last of them."""
    sums = torch.nn.functional.pad(residual.states.double().cumsum(1), (0, 0, 1, 0))
    means = (sums[:, over:] - sums[:, :-over]) / over
    last = torch.arange(over - 1, len(residual.texts))
    within_text = residual.texts[last] == residual.texts[last - over + 1]
    last = last[within_text]
    return Streams(
        means[:, within_text].to(residual.states.dtype),
        residual.texts[last],
        residual.positions[last],
    )


@dataclass(frozen=True, eq=False)
class Steering:
    """A vector that is added to the stream after ``layer``, at every character that is read."""

    layer: int  # 0 is the first
    addition: torch.Tensor  # (D,) or (B, 1, D): direction times strength
    released_after: int | None = None  # characters written; None: it is held

    def hooks(self, written: int) -> Hooks | None:
        """Return the edit of the stream once ``written`` characters are written; or ``None``."""
        if self.released_after is not None and written >= self.released_after:
            return None
        if not self.addition.any():
            return None  # a sum with zero is not always the same bits
        return {"stream": lambda layer, x: x + self.addition if layer == self.layer else x}


def write_steered(
    model: LanguageModel,
    prompts: torch.Tensor,
    steering: Steering | None,
    seed: int,
    temperature: float = 0.7,
) -> Iterator[torch.Tensor]:
    """Write after ``prompts`` (B, T) int64 until the context is full; yield (B,) at a time.

    The same ``seed`` gives the same random numbers, steered or not. ``ValueError`` for one out of
    range.
    """
    check_integer("seed", seed, 0, 2**31 - 1)
    draw, cache, unread, written = generator(seed, "steering"), KeyValueCache(), prompts, 0
    while cache.length + unread.shape[-1] <= model.config.context:
        hooks = None if steering is None else steering.hooks(written)
        unread = draw_next(
            model, unread, cache, draw, temperature, hooks=hooks, forbidden=FORBIDDEN
        )
        written += 1
        yield unread[:, 0]


@dataclass(frozen=True, eq=False)
class Attribution:
    """The product of each part of the stream with a direction; the parts add up to ``total``."""

    embedding: torch.Tensor  # (B, T)
    heads: torch.Tensor  # (L, H, B, T)
    mlps: torch.Tensor  # (L, B, T)
    total: torch.Tensor  # (B, T): the stream's own product with the direction


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
    _, records = model.record(numbers)
    heads, mlps = [], []
    for block, record in zip(model.layers[: layer + 1], records, strict=False):
        # (D,) through the projection: the product per unit of each channel of each head.
        written = (direction @ block.attention.project.weight).unflatten(
            0, (model.config.heads, -1)
        )
        heads.append(torch.einsum("bhtc,hc->hbt", record.mixed, written))
        mlps.append(block.mlp(record.mlp_input) @ direction)
    return Attribution(
        embedding=model.embedded(numbers) @ direction,
        heads=torch.stack(heads),
        mlps=torch.stack(mlps),
        total=records[layer].stream @ direction,
    )

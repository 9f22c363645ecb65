"""The states that each layer of a BERT reads from a text: a forward pass of our own, in float64.

Shapes: T tokens, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional

from gating_core.checkpoints.checkpoint import Checkpoint, open_checkpoint, read_layer
from gating_core.checkpoints.layer import attend
from gating_core.checks import check_integer
from gating_core.randomness import generator

MOST_TOKENS = 4096


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it: ``ids``, ``words``, and which are ``special``, such as [CLS].

    Words are the tokeniser's own names ("##ing" goes on with one).
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    special: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.ids)


def shuffled_order(tokens: Tokens, seed: int = 0) -> tuple[int, ...]:
    """Return for each place of a shuffled text the token that stands there, from 0.

    The same tokens in random order; special ones stay where they are.
    """
    places = [i for i, special in enumerate(tokens.special) if not special]
    draw = torch.randperm(len(places), generator=generator(seed, "shuffled text")).tolist()
    order = list(range(len(tokens)))
    for place, other in zip(places, draw, strict=True):
        order[place] = places[other]
    return tuple(order)


@torch.no_grad()
def read_states(
    checkpoint: Checkpoint | str | Path, tokens: Tokens | Sequence[int]
) -> tuple[torch.Tensor, ...]:
    """Return the states (T, D) that the attention of every layer reads, first to last.

    Args:
        checkpoint: Of the family BERT, with all its weights.
        tokens: Of the text, or their ids.

    Raises:
        ValueError: Another family, a tensor is missing, an id is none of the model's, or the text
            is longer than the model reads.
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = open_checkpoint(checkpoint)
    ids = tokens.ids if isinstance(tokens, Tokens) else tuple(tokens)
    if checkpoint.family != "bert":
        raise ValueError("only the states of a BERT are computed here; give others as (T, D)")
    check_integer("the number of tokens", len(ids), 1, MOST_TOKENS)
    return _bert(checkpoint, ids)


def _bert(c: Checkpoint, ids: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    at = "embeddings."
    stream = (
        c.tensor(f"{at}word_embeddings.weight", -1, c.width, rows=ids)
        + c.tensor(f"{at}position_embeddings.weight", -1, c.width, rows=range(len(ids)))
        + c.tensor(f"{at}token_type_embeddings.weight", -1, c.width, rows=[0])
    )
    stream = c.norm(f"{at}LayerNorm")(stream)
    states = []
    for i in range(c.layers):
        states.append(stream)
        layer = read_layer(c, i)
        after = layer.after
        output = attend(layer, stream).output
        if after is None or output is None:
            raise ValueError(f"layer {i} has no projection or no norm after attention in the files")
        stream = after(stream + output)
        block = f"encoder.layer.{i}."
        wide = _linear(c, stream, f"{block}intermediate.dense")
        stream = stream + _linear(c, functional.gelu(wide), f"{block}output.dense", c.width)
        stream = c.norm(f"{block}output.LayerNorm")(stream)
    return tuple(states)


def _linear(c: Checkpoint, x: torch.Tensor, name: str, rows: int = -1) -> torch.Tensor:
    """``x`` (T, columns) through a linear map with a bias, of ``rows`` outputs if that is known."""
    weight = c.tensor(f"{name}.weight", rows, x.shape[1])
    return x @ weight.T + c.tensor(f"{name}.bias", len(weight))

"""The states that each layer reads from a text: our own forward pass of BERT, GPT-2 and our models.

Shapes: T tokens, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from gating_core.checkpoints.checkpoint import TOKENIZER, Checkpoint, open_checkpoint
from gating_core.checkpoints.families import CONFIG, FAMILIES, OURS
from gating_core.checkpoints.layer import Norm, attend, read_layer
from gating_core.checkpoints.reading import read_bytes
from gating_core.checks import check_integer, quoted
from gating_core.randomness import generator

MOST_TOKENS = 4096
TOPOLOGY = "wiring"  # the entry of our models' topology
TOKENIZER_BYTES = 100_000_000
INSTALL = 'pip install "gating-curvature[checkpoints]"'


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it: ``ids``, ``words``, and which are ``special``, such as [CLS]."""

    ids: tuple[int, ...]
    words: tuple[str, ...]
    special: tuple[bool, ...]

    @staticmethod
    def numbered(count: int) -> Tokens:
        """Return tokens of no tokeniser: their words are 1, 2, …, and none is special."""
        check_integer("count", count, 1, MOST_TOKENS)
        words = tuple(str(i + 1) for i in range(count))
        return Tokens(tuple(range(count)), words, (False,) * count)

    def __len__(self) -> int:
        return len(self.ids)


def read_tokens(checkpoint: Checkpoint | str | Path, text: str, most: int = 64) -> Tokens:
    """Split a text into at most ``most`` tokens, special ones included, by ``tokenizer.json``.

    Our own language models read characters, after a line break. ``ValueError`` where there is no
    tokeniser beside the weights, or none that can be used; ``ImportError`` without the package
    tokenizers, which is an extra.
    """
    check_integer("most", most, 3, MOST_TOKENS)
    if isinstance(checkpoint, Checkpoint) and checkpoint.family == OURS:
        return _characters(checkpoint, text, most)
    folder = checkpoint.folder if isinstance(checkpoint, Checkpoint) else Path(checkpoint)
    data = read_bytes(folder / TOKENIZER, TOKENIZER_BYTES)
    try:
        from tokenizers import Tokenizer  # here: an extra
    except ImportError as error:
        raise ImportError(f"splitting a text needs the package tokenizers: {INSTALL}") from error
    try:
        tokenizer = Tokenizer.from_buffer(data)
        tokenizer.no_padding()
        tokenizer.enable_truncation(most)
        encoded = tokenizer.encode(text)
    except Exception as error:  # the package raises nothing narrower
        raise ValueError(f"{TOKENIZER} cannot be used: {quoted(str(error))}") from None
    special = tuple(bool(x) for x in encoded.special_tokens_mask)
    return Tokens(tuple(encoded.ids), tuple(encoded.tokens), special)


def _characters(checkpoint: Checkpoint, text: str, most: int) -> Tokens:
    from gating_core.language.characters import BREAK, CHARACTERS, encode, read_typed  # seldom used

    check_integer(
        f"characters in {CONFIG}",
        checkpoint.config.get("characters"),
        len(CHARACTERS),
        len(CHARACTERS),
    )
    context: Any = checkpoint.config.get("context")
    check_integer(f"context in {CONFIG}", context, 1, MOST_TOKENS)
    read = BREAK + read_typed(text)[0][: min(most, context) - 1]
    words = tuple({BREAK: "Ċ", " ": "Ġ"}.get(x, x) for x in read)  # as GPT-2 writes them
    return Tokens(tuple(encode(read[1:]).tolist()), words, (True, *[False] * (len(read) - 1)))


def shuffled(tokens: Tokens, seed: int = 0) -> Tokens:
    """Return the same tokens in random order; special ones stay where they are."""
    order = shuffled_order(tokens, seed)
    return replace(
        tokens,
        ids=tuple(tokens.ids[i] for i in order),
        words=tuple(tokens.words[i] for i in order),
    )


def shuffled_order(tokens: Tokens, seed: int = 0) -> tuple[int, ...]:
    """Return for each place of the `shuffled` text the token that stands there, from 0."""
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
        checkpoint: Of the families BERT and GPT-2, or ours, with all its weights.
        tokens: Of the text, or their ids.

    Raises:
        ValueError: Another family, a tensor is missing, an id is none of the model's, or the text
            is longer than the model reads.
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = open_checkpoint(checkpoint)
    ids = tokens.ids if isinstance(tokens, Tokens) else tuple(tokens)
    if checkpoint.family not in FORWARD:
        titles = ", ".join(FAMILIES[family].title for family in FORWARD)
        raise ValueError(
            f"states of {checkpoint.title} are not computed here, only those of {titles};"
            " give them as (T, D)"
        )
    check_integer("the number of tokens", len(ids), 1, MOST_TOKENS)
    return FORWARD[checkpoint.family](checkpoint, ids)


def _bert(c: Checkpoint, ids: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    _check_activation(c, "hidden_act", "gelu")
    at = "embeddings."
    stream = (
        c.tensor(f"{at}word_embeddings.weight", -1, c.width, rows=ids)
        + c.tensor(f"{at}position_embeddings.weight", -1, c.width, rows=range(len(ids)))
        + c.tensor(f"{at}token_type_embeddings.weight", -1, c.width, rows=[0])
    )
    stream = _norm(c, f"{at}LayerNorm")(stream)
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
        stream = _norm(c, f"{block}output.LayerNorm")(stream)
    return tuple(states)


def _gpt2(c: Checkpoint, ids: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    _check_activation(c, "activation_function", "gelu_new")
    stream = c.tensor("wte.weight", -1, c.width, rows=ids)
    stream = stream + c.tensor("wpe.weight", -1, c.width, rows=range(len(ids)))
    states = []
    for i in range(c.layers):
        layer = read_layer(c, i)
        states.append(layer.read(stream))
        output = attend(layer, states[-1]).output
        if output is None:
            raise ValueError(f"layer {i} has no projection after attention in the files")
        stream = stream + output
        wide = _linear(c, _norm(c, f"h.{i}.ln_2")(stream), f"h.{i}.mlp.c_fc")
        wide = functional.gelu(wide, approximate="tanh")
        stream = stream + _linear(c, wide, f"h.{i}.mlp.c_proj", c.width)
    return tuple(states)


def _ours(c: Checkpoint, ids: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    name = c.config.get(TOPOLOGY, "usual")
    if name not in [*READ_BY_MLP]:
        known = ", ".join(READ_BY_MLP)
        raise ValueError(f"{CONFIG} says {TOPOLOGY} {quoted(name)}; known are {known}")
    reads_own, reads_first = READ_BY_MLP[name]
    stream = c.tensor("embed.weight", -1, c.width, rows=ids)
    stream = stream + c.tensor("embed_position.weight", -1, c.width, rows=range(len(ids)))
    states: list[torch.Tensor] = []
    first = None
    for i in range(c.layers):
        layer, block = read_layer(c, i), f"blocks.{i}."
        states.append(layer.read(stream))
        own = attend(layer, states[-1]).output
        if own is None:
            raise ValueError(f"layer {i} has no projection after attention in the files")
        read = _root_norm(c, f"{block}norm_mlp")(stream + own if reads_own or not i else stream)
        if reads_first and first is not None:
            read = read + _root_norm(c, f"{block}norm_first")(first)
        first = own if first is None else first
        wide = functional.gelu(_linear(c, read, f"{block}up"), approximate="tanh")
        stream = stream + own + _linear(c, wide, f"{block}down", c.width)
    return tuple(states)


# Whether the MLP of our models reads the attention of its own block, and of the first; by topology.
READ_BY_MLP = {"usual": (True, False), "fal": (False, True), "fal_plus": (True, True),
               "parallel": (False, False)}  # fmt: skip
FORWARD = {"bert": _bert, "gpt2": _gpt2, OURS: _ours}


def _check_activation(c: Checkpoint, entry: str, known: str) -> None:
    found = c.config.get(entry, known)
    if found != known:
        raise ValueError(
            f"{CONFIG} says {entry} {quoted(found)}; of {c.title} only {known!r} is known"
        )


def _norm(c: Checkpoint, name: str) -> Norm:
    weight, bias = (c.tensor(f"{name}.{part}", c.width) for part in ("weight", "bias"))
    return Norm(weight, bias, c.epsilon, mean_removed=True)


def _root_norm(c: Checkpoint, name: str) -> Norm:
    weight = c.tensor(f"{name}.weight", c.width)
    return Norm(weight, None, c.epsilon, mean_removed=False)


def _linear(c: Checkpoint, x: torch.Tensor, name: str, rows: int = -1) -> torch.Tensor:
    """``x`` (T, columns) through a linear map with a bias, of ``rows`` outputs if that is known."""
    transposed = c.row.transposed
    shape = (x.shape[1], rows) if transposed else (rows, x.shape[1])
    weight = c.tensor(f"{name}.weight", *shape)
    weight = weight if transposed else weight.T
    return x @ weight + c.tensor(f"{name}.bias", weight.shape[1])

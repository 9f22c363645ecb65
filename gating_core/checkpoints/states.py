"""The states that each layer reads from a text: our own forward pass of BERT, GPT-2 and our models.

Shapes: T tokens, D width.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from gating_core.characters import BREAK, CHARACTERS, encode, read_typed
from gating_core.checkpoints import splitting
from gating_core.checkpoints.checkpoint import TOKENIZER, Checkpoint, open_checkpoint
from gating_core.checkpoints.families import CONFIG, FAMILIES, OURS
from gating_core.checkpoints.layer import Norm, attend, read_layer
from gating_core.checkpoints.reading import read_bytes
from gating_core.checks import check_integer, quoted
from gating_core.randomness import generator

MOST_TOKENS = 4096
TOPOLOGY = "wiring"  # the entry of our models' topology
TOKENIZER_BYTES = 10_000_000
SPLITTING_SECONDS = 20.0
INSTALL = 'pip install "gating-curvature[checkpoints]"'


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it: ``ids``, ``words``, and which are ``special``, such as [CLS].

    Words are the tokeniser's own names where these are words ("##ing" goes on with one), otherwise
    the parts of the text, with the space before them; "…" marks a side on which a character goes on
    in another token.
    """

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
    if find_spec("tokenizers") is None:
        raise ImportError(f"splitting a text needs the package tokenizers: {INSTALL}")
    try:
        found = _split({"file": data.decode(), "text": text, "most": most})
    except ValueError as error:  # UnicodeDecodeError is one
        raise ValueError(f"{TOKENIZER} cannot be used: {error}") from None
    words = _words(text, found["names"], found["offsets"])
    return Tokens(tuple(found["ids"]), tuple(words), tuple(map(bool, found["special"])))


def _split(request: dict[str, Any]) -> dict[str, Any]:
    """The result of `splitting.split` in a process of its own; ``ValueError`` if it has none."""
    command = [sys.executable, "-P", splitting.__file__]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # of a panic, with paths
            timeout=SPLITTING_SECONDS,
            encoding="ascii",
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"it takes longer than {SPLITTING_SECONDS:g} s") from None
    except OSError as error:
        raise ValueError(f"no process can be started for it: {error.strerror}") from None
    if done.returncode or not done.stdout:
        raise ValueError("it ends the process that reads it")
    result: dict[str, Any] = json.loads(done.stdout)
    if "error" in result:
        raise ValueError(quoted(result["error"]))
    return result


def _words(
    text: str, names: Sequence[str | None], offsets: Sequence[tuple[int, int]]
) -> Iterator[str]:
    """Yield the name of each token, or without one the part of the text that it stands for."""
    spans = [span for span, name in zip(offsets, names, strict=True) if name is None]
    number, stop = 0, 0
    for name in names:
        if name is not None:
            yield name
            continue
        before, (start, end) = stop, spans[number]
        after = spans[number + 1][0] if number + 1 < len(spans) else end
        first = before if text[before:start].isspace() else start
        yield "…" * (start < before) + text[first:end] + "…" * (after < end)
        number, stop = number + 1, end


def _characters(checkpoint: Checkpoint, text: str, most: int) -> Tokens:
    check_integer(
        f"characters in {CONFIG}",
        checkpoint.config.get("characters"),
        len(CHARACTERS),
        len(CHARACTERS),
    )
    context: Any = checkpoint.config.get("context")
    check_integer(f"context in {CONFIG}", context, 1, MOST_TOKENS)
    read = BREAK + read_typed(text)[0][: min(most, context) - 1]
    ids = tuple(encode(read[1:]).tolist())
    return Tokens(ids, tuple(read), (True, *[False] * (len(read) - 1)))


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

"""A language model that reads characters: embeddings, blocks, and logits of the next character.

Positions have learned embeddings, not rotations: scores are one bilinear form of two states, so
that W_Q W_Kᵀ can be analysed, and keys can be left out without new rotations.

Shapes: B texts, T characters, D width, V characters of the alphabet.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import nn
from torch.nn import functional

from gating_core.lm.attention import AttentionRecord, CausalAttention, LayerCache
from gating_core.lm.attention_kinds import AttentionKind
from gating_core.lm.config import TOPOLOGIES, ModelConfig
from gating_core.randomness import normal

SCALE = 0.05  # standard deviation of all initial matrices
EPSILON = 1e-6
MLP_FACTOR = 4


# From a layer's number (0 is the first) and the residual stream (B, T, D) after it: a new stream.
Edit = Callable[[int, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, eq=False)
class BlockRecord:
    """The attention of one block, the input of its MLP, and the residual stream after it."""

    attention: AttentionRecord
    mlp_input: torch.Tensor  # (B, T, D)
    stream: torch.Tensor  # (B, T, D)


@dataclass
class KeyValueCache:
    """Keys and values of the characters that a model has read, for reading on."""

    layers: list[LayerCache] = field(default_factory=list)
    length: int = 0  # characters read


class Block(nn.Module):
    """Attention and MLP, each reading the normalised residual stream and adding to it."""

    def __init__(self, config: ModelConfig, first: bool) -> None:
        super().__init__()
        topology = TOPOLOGIES["usual" if first else config.topology]
        self.reads_own = topology.reads_own
        self.norm_attention = nn.RMSNorm(config.width, eps=EPSILON)
        self.norm_mlp = nn.RMSNorm(config.width, eps=EPSILON)
        self.norm_first = nn.RMSNorm(config.width, eps=EPSILON) if topology.reads_first else None
        self.attention = CausalAttention(config)
        self.up = nn.Linear(config.width, MLP_FACTOR * config.width)
        self.down = nn.Linear(MLP_FACTOR * config.width, config.width)

    def mlp_input(
        self, stream: torch.Tensor, own: torch.Tensor, first: torch.Tensor | None, cut: bool
    ) -> torch.Tensor:
        """(B, T, D): the input of the MLP; with ``cut``, without any attention output.

        From the block's input ``stream``, its ``own`` attention output and that of the ``first``
        block, (B, T, D) each and not normalised; ``first`` is ``None`` in the first block.
        """
        read = self.norm_mlp(stream + own if self.reads_own and not cut else stream)
        if self.norm_first is not None and first is not None and not cut:
            read = read + self.norm_first(first)
        return read

    def mlp(self, read: torch.Tensor) -> torch.Tensor:
        """(B, T, D): the output of the MLP."""
        return self.down(functional.gelu(self.up(read), approximate="tanh"))


class LanguageModel(nn.Module):
    """A decoder: logits of the next character after each one that it reads.

    Initial weights depend on ``seed`` and their names alone: models of one seed share all weights
    that they have in common, whatever their gates and topologies.

    >>> model = LanguageModel(ModelConfig(), seed=0)
    >>> logits = model(encode("In the beginning")[None])  # (1, 17, V)
    """

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.characters, config.width)
        self.embed_position = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config, layer == 0) for layer in range(config.depth))
        self.norm = nn.RMSNorm(config.width, eps=EPSILON)
        self.read_out = nn.Linear(config.width, config.characters, bias=False)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if weight.ndim == 2:
                    weight.copy_(normal((seed,), name, tuple(weight.shape), SCALE)[0])
                elif name.endswith("bias"):
                    weight.zero_()

    def forward(
        self,
        numbers: torch.Tensor,
        *,
        strength: float = 1.0,
        cache: KeyValueCache | None = None,
        records: list[BlockRecord] | None = None,
        cut: Collection[int] = (),
        edit: Edit | None = None,
    ) -> torch.Tensor:
        """(B, T, V): logits for the characters ``numbers`` (B, T) int64.

        ``strength`` (0 to 1) scales the gates: at 0 they are left out, bit for bit. A ``cache``
        holds the characters read before, and is extended. ``records`` receive one `BlockRecord` a
        block. The MLPs of the blocks ``cut`` (0 is the first) read no attention outputs. ``edit``
        changes the residual stream after each block. ``ValueError`` for more characters than the
        context holds.
        """
        start = 0 if cache is None else cache.length
        stream = self.embedded(numbers, start)
        return self.logits(self.run(stream, strength, cache, records, cut, edit))

    @property
    def layers(self) -> list[Block]:
        """The blocks, first to last."""
        return cast(list[Block], list(self.blocks))

    def embedded(self, numbers: torch.Tensor, start: int = 0) -> torch.Tensor:
        """(B, T, D): embeddings of ``numbers`` (B, T), the first one at position ``start``."""
        stop = start + numbers.shape[-1]
        if stop > self.config.context:
            raise ValueError(f"{stop} characters; the model reads at most {self.config.context}")
        return self.embed(numbers) + self.embed_position.weight[start:stop]

    def run(
        self,
        stream: torch.Tensor,
        strength: float = 1.0,
        cache: KeyValueCache | None = None,
        records: list[BlockRecord] | None = None,
        cut: Collection[int] = (),
        edit: Edit | None = None,
    ) -> torch.Tensor:
        """(B, T, D): the residual stream after all blocks, from embedded characters (B, T, D).

        Other arguments as in `forward`.
        """
        if cache is not None:
            cache.layers = cache.layers or [LayerCache() for _ in self.blocks]
            cache.length += stream.shape[-2]
        first = None
        for layer, block in enumerate(self.layers):
            attention: list[AttentionRecord] = []
            own = block.attention(
                block.norm_attention(stream),
                strength,
                None if cache is None else cache.layers[layer],
                None if records is None else attention,
            )
            read = block.mlp_input(stream, own, first, layer in cut)
            stream = stream + own + block.mlp(read)
            if edit is not None:
                stream = edit(layer, stream)
            first = own if layer == 0 else first
            if records is not None:
                records.append(BlockRecord(attention[0], read, stream))
        return stream

    def logits(self, stream: torch.Tensor) -> torch.Tensor:
        """(B, T, V): logits from the residual stream (B, T, D) after the last block."""
        return self.read_out(self.norm(stream))


def with_attention(model: LanguageModel, kinds: Sequence[AttentionKind]) -> LanguageModel:
    """``model`` with other ``kinds`` of attention, one for each block, and the same weights.

    Weights are shared, not copied; ``model`` is not changed. ``ValueError`` for another number of
    kinds.
    """
    if len(kinds) != model.config.depth:
        raise ValueError(
            f"{len(kinds)} kinds of attention; the model has {model.config.depth} blocks"
        )
    result = copy.deepcopy(model, {id(weight): weight for weight in model.parameters()})
    for block, kind in zip(result.layers, kinds, strict=True):
        block.attention.kind = kind
    return result

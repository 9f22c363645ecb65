"""A language model that reads characters: embeddings, blocks, and logits of the next character.

Positions have learned embeddings, not rotations: scores are one bilinear form of two states, so
that W_Q W_Kᵀ can be analysed, and keys can be left out without new rotations.

Shapes: B texts, T characters, D width, V characters of the alphabet.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional

from gating_core.lm.attention import CausalAttention, Hooks, KeyValueCache, see
from gating_core.lm.config import TOPOLOGIES, ModelConfig
from gating_core.randomness import normal

SCALE = 0.05  # standard deviation of all initial matrices
EPSILON = 1e-6
MLP_FACTOR = 4


@dataclass(frozen=True, eq=False)
class BlockRecord:
    """Everything that one block computes."""

    states: torch.Tensor  # (B, T, D): the input of queries, keys, values and gate
    queries: torch.Tensor  # (B, H, T, d)
    keys: torch.Tensor  # (B, H, n, d)
    values: torch.Tensor  # (B, H, n, d): as they are mixed, after a gate at G2
    scores: torch.Tensor  # (B, H, T, n), before the mask
    weights: torch.Tensor  # (B, H, T, n)
    ungated: torch.Tensor  # (B, H, T, d): values mixed as if there were no gate
    mixed: torch.Tensor  # (B, H, T, d): values mixed, gate included
    output: torch.Tensor  # (B, T, D): of attention, after the projection
    mlp_input: torch.Tensor  # (B, T, D)
    stream: torch.Tensor  # (B, T, D): the residual stream after the block
    gate: torch.Tensor | None = None  # (B, T, D or H), strength included; None without a gate


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
        hooks: Hooks | None = None,
    ) -> torch.Tensor:
        """(B, T, V): logits for the characters ``numbers`` (B, T) int64.

        Args:
            numbers: The characters.
            strength: Scales the gates, 0 to 1: at 0 they are left out, bit for bit.
            cache: Holds the characters read before, and is extended.
            hooks: Read or replace results: those of a block by the fields of `BlockRecord`,
                ``embedded``, and what the MLP reads of attention outputs (B, T, D): ``own_read``,
                and ``first_read`` of the first block's.

        Raises:
            ValueError: For more characters than the context holds.
        """
        hooks = hooks or {}
        start = 0 if cache is None else cache.length
        x = see(hooks, 0, "embedded", self.embedded(numbers, start))  # (B, T, D)
        first = None
        for layer, block in enumerate(self.layers):
            own = block.attention(block.norm_attention(x), strength, cache, hooks, layer)
            read = x + see(hooks, layer, "own_read", own) if block.reads_own else x
            read = block.norm_mlp(read)
            if block.norm_first is not None and first is not None:
                # FAL and FAL+: also the first block's attention, with a norm of its own.
                read = read + see(hooks, layer, "first_read", block.norm_first(first))
            read = see(hooks, layer, "mlp_input", read)
            x = see(hooks, layer, "stream", x + own + block.mlp(read))
            first = own if layer == 0 else first
        if cache is not None:
            cache.length += numbers.shape[-1]
        return self.read_out(self.norm(x))

    def record(
        self, numbers: torch.Tensor, *, hooks: Hooks | None = None, **options: Any
    ) -> tuple[torch.Tensor, list[BlockRecord]]:
        """(B, T, V) and a record of each block: the logits, and all that is computed on the way.

        Arguments are those of `forward`; what ``hooks`` return is recorded.
        """
        seen: list[dict[str, torch.Tensor]] = [{} for _ in self.blocks]

        def keep(name: str, layer: int, result: torch.Tensor) -> torch.Tensor:
            seen[layer][name] = see(hooks or {}, layer, name, result)
            return seen[layer][name]

        keeping = {field.name: partial(keep, field.name) for field in fields(BlockRecord)}
        logits = self(numbers, hooks={**(hooks or {}), **keeping}, **options)
        return logits, [BlockRecord(**parts) for parts in seen]

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

"""A language model that reads characters: embeddings, blocks, and logits of the next character.

Positions have learned embeddings, not rotations: scores are one bilinear form of two states, so
that W_Q W_Kᵀ can be analysed, and keys can be left out without new rotations.

Shapes: B texts, T characters that are read, n keys (T, and those of a cache before them), D width,
H heads of d = D / H channels, V characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional

from gating_core.attention import GATE_KINDS, GateConfig
from gating_core.characters import CHARACTERS
from gating_core.checks import check_choice, check_integer
from gating_core.lm.attention_kinds import ATTENTION_KINDS, causal_mask, scaled_products
from gating_core.randomness import normal

POSITIONS = ("G1", "G2")  # positions of a gate: after attention, and on the values
SCALE = 0.05  # standard deviation of all initial matrices
EPSILON = 1e-6
MLP_FACTOR = 4


@dataclass(frozen=True)
class Topology:
    """The inputs of the MLP of a later block besides the residual stream x.

    The first block always has the standard topology. *First attentions last* (FAL: Kim et al.,
    arXiv 2510.14614) feeds the MLP of every later block from the first block's attention, so that
    attention and MLP of a block can run in parallel. Where exactly its norms are is our reading of
    that paper.

    The MLP reads norm(x + A_l), or norm(x) if it does not read its own block's attention; if it
    reads the first block's, norm(A_1) is added. A_l is the attention output of
    block l after its projection, and every norm has gains of its own.
    """

    reads_own: bool  # A_l; then the MLP must wait for the attention of its block
    reads_first: bool  # A_1


TOPOLOGIES = {
    "usual": Topology(reads_own=True, reads_first=False),
    "fal": Topology(reads_own=False, reads_first=True),
    "fal_plus": Topology(reads_own=True, reads_first=True),
    "parallel": Topology(reads_own=False, reads_first=False),  # attention and MLP in parallel
}


@dataclass(frozen=True)
class ModelConfig:
    """A decoder of ``depth`` blocks of attention and MLP, with states of ``width`` D.

    ``ValueError`` for sizes that do not fit, and for unknown kinds of gate, attention and topology.
    """

    depth: int = 4
    width: int = 96  # D
    heads: int = 4  # of d = D / H channels each
    context: int = 128  # characters that it reads at most, the line break before them included
    characters: int = len(CHARACTERS)
    gate: GateConfig | None = None
    attention: str = "softmax"  # a key of ATTENTION_KINDS
    topology: str = "usual"  # a key of TOPOLOGIES
    # Keys that a query sees at most, its own included; with linear attention: in the added window.
    window: int | None = None

    def __post_init__(self) -> None:
        check_integer("depth", self.depth, 1, 64)
        check_integer("width", self.width, 1, 4096)
        check_integer("heads", self.heads, 1, self.width)
        check_integer("context", self.context, 1, 4096)
        check_integer("characters", self.characters, 2, 65536)
        check_choice("attention", self.attention, ATTENTION_KINDS)
        check_choice("topology", self.topology, TOPOLOGIES)
        if self.window is not None:
            check_integer("window", self.window, 1, self.context)
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}; it must be a multiple of heads, {self.heads}")
        if self.gate is not None:
            check_choice("gate.position", self.gate.position, POSITIONS)
            if self.gate.record.control is not None:
                raise ValueError(f"gate.kind is {self.gate.kind!r}, a control; it must be a gate")


# --- Attention ------------------------------------------------------------------------------------

# By the name of a result: from a layer's number (0 is the first) and the result, what is used in
# its place. Names are the fields of `BlockRecord`.
Hooks = Mapping[str, Callable[[int, torch.Tensor], torch.Tensor]]


def see(hooks: Hooks, layer: int, name: str, result: torch.Tensor) -> torch.Tensor:
    """Return a block's ``result`` called ``name``, as the hook of that name has it."""
    return hooks[name](layer, result) if name in hooks else result


@dataclass
class KeyValueCache:
    """Keys and values (B, H, n, d), and `LearnedAttention.of_keys`, of the characters read."""

    layers: dict[int, tuple[torch.Tensor, ...]] = field(default_factory=dict)
    length: int = 0  # characters read

    def extend(self, layer: int, *new: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Append the tensors of further characters, and return those of all."""
        if layer in self.layers:
            new = tuple(torch.cat(both, -2) for both in zip(self.layers[layer], new, strict=True))
        self.layers[layer] = new
        return new


class CausalAttention(nn.Module):
    """Multi-head causal attention with a gate at G1 or G2, or without.

    The gate's factor is ``(1 - strength) + strength * sigma(W h + b)``, one a channel or one a
    head, where h is the input state. At strength 0 it is left out altogether.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kind = config.heads, ATTENTION_KINDS[config.attention]
        self.window, self.learned = config.window, None
        if self.kind.learned is not None:
            channels = config.width // config.heads
            self.learned = self.kind.learned(config.heads, channels, config.window)
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.project = nn.Linear(config.width, config.width, bias=False)
        self.gate_config, self.gate = config.gate, None
        if config.gate is not None:
            elementwise = config.gate.granularity == "elementwise"
            self.gate = nn.Linear(config.width, config.width if elementwise else config.heads)

    def gate_values(self, states: torch.Tensor, strength: float) -> torch.Tensor | None:
        """(B, T, D or H): the gate's factors at ``states`` (B, T, D); ``None`` without a gate.

        ``strength`` (0 to 1) multiplies that of the configuration.
        """
        if self.gate is None or self.gate_config is None:
            return None
        strength = strength * self.gate_config.strength
        if strength == 0:
            return None
        values = GATE_KINDS[self.gate_config.kind].sigma(self.gate(states))
        return values if strength == 1 else (1 - strength) + strength * values

    def forward(
        self,
        states: torch.Tensor,
        strength: float = 1.0,
        cache: KeyValueCache | None = None,
        hooks: Hooks | None = None,
        layer: int = 0,
    ) -> torch.Tensor:
        """(B, T, D): the output for ``states`` (B, T, D); arguments as of `LanguageModel.forward`.

        Where a hook reads them, weights are computed, else a fused kernel may do without.
        """
        hooks = hooks or {}
        states = see(hooks, layer, "states", states)
        queries, keys, values = (self.by_head(part) for part in self.qkv(states).chunk(3, -1))
        gate = self.gate_values(states, strength)  # (B, T, D or H)
        # (B, H, T, d or 1)
        factors = None if gate is None else self.by_head(see(hooks, layer, "gate", gate))
        at_values = self.gate_config is not None and self.gate_config.position == "G2"
        if factors is not None and at_values:
            values = values * factors
        of_keys = () if self.learned is None else self.learned.of_keys(states)
        if cache is not None:
            keys, values, *rest = cache.extend(layer, keys, values, *of_keys)
            of_keys = tuple(rest)
        queries = see(hooks, layer, "queries", queries)
        keys = see(hooks, layer, "keys", keys)
        values = see(hooks, layer, "values", values)
        lengths = queries.shape[-2], keys.shape[-2]
        if self.kind.fused is not None and self.window is None and "weights" not in hooks:
            mixed = self.kind.fused(queries, keys, values, causal_mask(*lengths))
        else:
            scores = see(hooks, layer, "scores", scaled_products(queries, keys))
            weights = (
                self.learned(queries, keys, scores, *of_keys)
                if self.learned is not None
                else self.kind.weights(scores, causal_mask(*lengths, self.window))
            )
            mixed = see(hooks, layer, "weights", weights) @ values
        if self.learned is not None:
            mixed = self.learned.finish(mixed, states)
        if factors is not None and not at_values:
            mixed = mixed * factors
        mixed = see(hooks, layer, "mixed", mixed)
        return see(hooks, layer, "output", self.project(mixed.transpose(-3, -2).flatten(-2)))

    def by_head(self, states: torch.Tensor) -> torch.Tensor:
        """(B, H, T, d): the channels of ``states`` (B, T, H d) by head."""
        return states.unflatten(-1, (self.heads, -1)).transpose(-3, -2)


# --- The model ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockRecord:
    """Everything that one block computes."""

    states: torch.Tensor  # (B, T, D): the input of queries, keys, values and gate
    queries: torch.Tensor  # (B, H, T, d)
    keys: torch.Tensor  # (B, H, n, d)
    values: torch.Tensor  # (B, H, n, d): as they are mixed, after a gate at G2
    scores: torch.Tensor  # (B, H, T, n), before the mask
    weights: torch.Tensor  # (B, H, T, n)
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
            hooks: Read or replace results of a block, by the fields of `BlockRecord`.

        Raises:
            ValueError: For more characters than the context holds.
        """
        hooks = hooks or {}
        start = 0 if cache is None else cache.length
        x = self.embedded(numbers, start)  # (B, T, D)
        first = None
        for layer, block in enumerate(self.layers):
            own = block.attention(block.norm_attention(x), strength, cache, hooks, layer)
            read = block.norm_mlp(x + own if block.reads_own else x)
            if block.norm_first is not None and first is not None:
                # FAL and FAL+: also the first block's attention, with a norm of its own.
                read = read + block.norm_first(first)
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

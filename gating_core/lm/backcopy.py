"""The toy: Bigram–Backcopy, the task on which a small attention layer learns a sink.

Guo et al., *Active-Dormant Attention Heads*, arXiv 2410.13835. Texts of letters begin with a letter
that occurs nowhere else. After a trigger, the letter before it is repeated; after any other letter,
the next is drawn from a table. So attention is needed at triggers only; at all other letters
softmax still has to put its weight somewhere.

Shapes: K kinds of layer, S seeds, B texts in a batch, T letters of a text, V letters, D width, n
measurements during training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gating_core.attention import GATE_KINDS
from gating_core.checks import check_choice
from gating_core.lm.attention_kinds import ATTENTION_KINDS, causal_mask, scaled_products
from gating_core.lm.losses import row_losses
from gating_core.lm.measurements import SINK
from gating_core.lm.shipped import FOLDER
from gating_core.progress import Progress, silent
from gating_core.randomness import generator, normal
from gating_core.records import load_record

KINDS = ("none", "elementwise", "headwise", "relu")  # three gates of softmax; ReLU attention
FIRST = 0  # the letter that every text begins with
TEST_TEXTS = 64
SCALE = 0.02  # standard deviation of all initial matrices
TOY = FOLDER / "toy.safetensors"
STEPS_BETWEEN = 25  # two measurements


@dataclass(frozen=True)
class ToyRequest:
    """The layers to train, and the length of their training."""

    kinds: tuple[str, ...] = KINDS
    seeds: tuple[int, ...] = tuple(range(8))
    steps: int = 500
    batch: int = 16  # B
    length: int = 32  # T
    letters: int = 33  # V, the first one included
    width: int = 32  # D
    triggers: int = 3
    concentration: float = 0.3  # of the Dirichlet distribution of each row of the table
    learning_rate: float = 6e-3


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of every seed, and its triggers."""

    letters: torch.Tensor  # (S, N, T + 1) int64
    triggers: torch.Tensor  # (S, V) bool


def draw_texts(request: ToyRequest, name: str, count: int) -> Texts:
    """Draw ``count`` texts for every seed; each ``name`` gives other texts from the same tables."""
    drawn, size = [], request.letters
    for seed in request.seeds:
        rows = torch.full((size, size), request.concentration, dtype=torch.float64)
        table = torch._sample_dirichlet(rows, generator=generator(seed, "table"))
        table[:, FIRST] = 0.0
        table /= table.sum(-1, keepdim=True)
        frequent = torch.linalg.matrix_power(table, 64)[1]
        triggers = torch.zeros(size, dtype=torch.bool)  # the most frequent letters
        triggers[frequent.topk(request.triggers).indices] = True
        beginning = frequent.masked_fill(triggers, 0.0)  # no trigger, for no letter precedes it
        draw = generator(seed, f"texts {name}")
        limits = table.cumsum(-1)[:, :-1].float()
        letters = torch.full((count, request.length + 1), FIRST)
        letters[:, 1] = torch.multinomial(beginning, count, replacement=True, generator=draw)
        for position in range(2, request.length + 1):
            last = letters[:, position - 1]
            new = (limits[last] < torch.rand(count, 1, generator=draw)).sum(-1)
            letters[:, position] = torch.where(triggers[last], letters[:, position - 2], new)
        drawn.append((letters, triggers))
    return Texts(*map(torch.stack, zip(*drawn, strict=True)))


class ToyLayers(nn.Module):
    """Residual attention layers of one kind with one head, a stack with one for each seed."""

    def __init__(self, kind: str, request: ToyRequest) -> None:
        super().__init__()
        check_choice("kind", kind, KINDS)
        self.attention = ATTENTION_KINDS["relu" if kind == "relu" else "softmax"]
        self.gates = {"elementwise": request.width, "headwise": 1}.get(kind, 0)
        D, V = request.width, request.letters

        def drawn(name: str, *shape: int) -> nn.Parameter:
            return nn.Parameter(normal(request.seeds, name, shape, SCALE).float())

        self.embed, self.position = drawn("embed", V, D), drawn("position", request.length, D)
        self.qkv, self.gate = drawn("qkv", D, 3 * D), drawn("gate", D, self.gates)
        self.project, self.read_out = drawn("project", D, D), drawn("read_out", D, V)

    def forward(
        self, letters: torch.Tensor, maps: list[torch.Tensor] | None = None
    ) -> torch.Tensor:
        """(S, B, T, V): logits for ``letters`` (S, B, T) int64; ``maps`` receives weights."""
        seeds, length = torch.arange(letters.shape[0])[:, None, None], letters.shape[-1]
        shape = letters.shape[1:]
        stream = (self.embed[seeds, letters] + self.position[:, None]).flatten(1, 2)
        states = _normalised(stream)
        queries, keys, values = (states @ self.qkv).unflatten(1, shape).chunk(3, -1)
        mask = causal_mask(length, length)
        if self.attention.fused is not None and maps is None:
            mixed = self.attention.fused(queries, keys, values, mask)
        else:
            weights = self.attention.weights(scaled_products(queries, keys), mask)
            mixed = weights @ values
            if maps is not None:
                maps.append(weights)  # (S, B, T, T)
        if self.gates:
            mixed = mixed * GATE_KINDS["sigmoid"].sigma(states @ self.gate).unflatten(1, shape)
        stream = stream + mixed.flatten(1, 2) @ self.project
        return (_normalised(stream) @ self.read_out).unflatten(1, shape)


def _normalised(states: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(states, states.shape[-1:], eps=1e-6)


@dataclass(frozen=True, eq=False)
class ToyRun:
    """A training up to now, measured on test texts after each of ``steps``."""

    request: ToyRequest
    steps: np.ndarray  # (n,)
    sink: np.ndarray  # (n, K, S): mean weight on the first letter, at letters that are no triggers
    letters: np.ndarray  # (S, T) of one text
    triggers: np.ndarray  # (S, V) bool
    weights: np.ndarray  # (K, S, T, T) for it, after the last step

    @property
    def share(self) -> float:
        """The share of the training that is done."""
        return float(self.steps[-1] / self.request.steps)

    @property
    def sink_shares(self) -> np.ndarray:
        """(K,): the share of seeds whose text has a sink after the last step."""
        return (self.weights[..., 0].mean(-1) > SINK).mean(-1)


class ToyTraining:
    """The layers of a request in training: all seeds of a kind as one batch.

    Seeds and kinds do not mix: each layer learns as if it were alone, from texts that are the same
    for all kinds.

    >>> training = ToyTraining(ToyRequest(steps=50))
    >>> for step in training.advance(50): pass
    >>> training.measure().sink  # (1, K, S)
    """

    def __init__(self, request: ToyRequest) -> None:
        self.request, self.step = request, 0
        self.layers = [ToyLayers(kind, request) for kind in request.kinds]
        weights = [weight for layers in self.layers for weight in layers.parameters()]
        self.optimiser = torch.optim.Adam(weights, request.learning_rate, fused=True)
        self.texts = draw_texts(request, "train", request.steps * request.batch)
        self.test = draw_texts(request, "test", TEST_TEXTS)

    def advance(self, step: int) -> Iterator[int]:
        """Train up to step ``step``, and yield the number of each step that is done."""
        while self.step < step:
            stretch = slice(self.step * self.request.batch, (self.step + 1) * self.request.batch)
            letters = self.texts.letters[:, stretch]
            self.optimiser.zero_grad()
            for layers in self.layers:
                losses = row_losses(layers(letters[..., :-1]), letters[..., 1:])
                losses.mean((-2, -1)).sum().backward()
            self.optimiser.step()
            self.step += 1
            yield self.step

    @torch.no_grad()
    def measure(self) -> ToyRun:
        """Measure the layers now on test texts, from each text's second letter on."""
        read = self.test.letters[..., :-1]
        elsewhere = ~self.test.triggers[torch.arange(len(read))[:, None, None], read]
        elsewhere[..., 0] = False
        maps: list[torch.Tensor] = []
        for layers in self.layers:
            layers(read, maps)
        sinks = [(x[..., 0] * elsewhere).sum((-2, -1)) / elsewhere.sum((-2, -1)) for x in maps]
        return ToyRun(
            self.request,
            np.array([self.step]),
            sink=torch.stack(sinks)[None].numpy(),
            letters=read[:, 0].numpy(),
            triggers=self.test.triggers.numpy(),
            weights=torch.stack([x[:, 0] for x in maps]).numpy(),
        )


def train_toy(request: ToyRequest, progress: Progress = silent) -> Iterator[ToyRun]:
    """Train the layers, and yield the run so far after every few steps.

    ``progress`` is called with ``None`` after every step.
    """
    training = ToyTraining(request)
    run = training.measure()
    yield run
    for step in training.advance(request.steps):
        if step % STEPS_BETWEEN == 0 or step == request.steps:
            now = training.measure()
            steps, sink = (
                np.concatenate(x) for x in ((run.steps, now.steps), (run.sink, now.sink))
            )
            run = replace(now, steps=steps, sink=sink)
            yield run
        progress(None)


def joined(request: ToyRequest, runs: Sequence[ToyRun]) -> ToyRun:
    """Join ``runs`` of single kinds, all at the same step, into the run of ``request``."""
    by_kind = {kind: (run, k) for run in runs for k, kind in enumerate(run.request.kinds)}
    parts = [by_kind[kind] for kind in request.kinds]
    return replace(
        runs[0],
        request=request,
        sink=np.stack([run.sink[:, k] for run, k in parts], 1),
        weights=np.stack([run.weights[k] for run, k in parts]),
    )


def load_toy() -> ToyRun:
    """The bundled run of `ToyRequest()`; ``ValueError`` for a file of another kind."""
    run = load_record(ToyRun, TOY, "holds no run of the bigram-backcopy task")
    return replace(run, weights=run.weights.astype(np.float32))

"""Training a language model: one loop.

A batch depends on seed and step alone, so models of one seed read the same batches in one order.
Shapes: B texts in a batch, T characters of context, N characters of all training verses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from gating_core.characters import encode
from gating_core.lm.config import ModelConfig
from gating_core.lm.corpus import Verse, texts_of
from gating_core.lm.losses import row_losses
from gating_core.lm.model import LanguageModel
from gating_core.randomness import generator


@dataclass(frozen=True)
class LanguageRecipe:
    """A training configuration: AdamW, a linear warm-up, then half a cosine down to zero."""

    steps: int = 4000
    batch: int = 8  # B
    learning_rate: float = 4e-3
    warmup: int = 100  # steps
    weight_decay: float = 0.1  # of matrices; gains and biases have none
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float = 1.0  # the largest norm of a gradient

    def rate(self, step: int) -> float:
        """The learning rate of step ``step``, the first being 0."""
        warm = min(1.0, (step + 1) / self.warmup)
        return self.learning_rate * warm * (1 + math.cos(math.pi * step / self.steps)) / 2


@dataclass(frozen=True, eq=False)
class TrainingText:
    """All training verses as one text, the English ones first."""

    numbers: torch.Tensor  # (N,) int64
    starts: torch.Tensor  # int64: the numbers at which verses begin

    @classmethod
    def of(cls, verses: Sequence[Verse]) -> TrainingText:
        """The text of those ``verses`` that are not held out."""
        trained_on = [verse for verse in verses if not verse.held_out]
        parts = [encode(text) for text in texts_of(trained_on)]
        lengths = torch.tensor([0, *map(len, parts)])
        return cls(torch.cat(parts), lengths.cumsum(0)[:-1])

    def batch(self, seed: int, step: int, count: int, context: int) -> torch.Tensor:
        """(B, T + 1): ``count`` stretches of text, each from the beginning of a verse on."""
        starts = self.starts[self.starts < len(self.numbers) - context]
        draw = generator(seed, f"batch {step}")
        chosen = starts[torch.randint(len(starts), (count,), generator=draw)]
        return self.numbers[chosen[:, None] + torch.arange(context + 1)]


class Training:
    """A model in training, after ``step`` steps, which took ``seconds`` of processor time.

    >>> training = Training(ModelConfig(), 0, LanguageRecipe(), TrainingText.of(verses))
    >>> for loss in training.advance(100): pass
    """

    def __init__(
        self, config: ModelConfig, seed: int, recipe: LanguageRecipe, text: TrainingText
    ) -> None:
        self.model = LanguageModel(config, seed)
        self.seed, self.recipe, self.text = seed, recipe, text
        self.step, self.seconds = 0, 0.0
        matrices = [weight for weight in self.model.parameters() if weight.ndim == 2]
        others = [weight for weight in self.model.parameters() if weight.ndim != 2]
        groups = [
            {"params": matrices, "weight_decay": recipe.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(groups, betas=recipe.betas, fused=True)

    def batch(self, step: int) -> torch.Tensor:
        """(B, T + 1) int64: the batch of step ``step``."""
        return self.text.batch(self.seed, step, self.recipe.batch, self.model.config.context)

    def advance(self, step: int) -> Iterator[float]:
        """Train up to step ``step``, and yield the loss of each step in nats a character.

        Raises ``ArithmeticError`` where a loss is not finite.
        """
        while self.step < step:
            began = time.process_time()
            for group in self.optimiser.param_groups:
                group["lr"] = self.recipe.rate(self.step)
            numbers = self.batch(self.step)
            loss = row_losses(self.model(numbers[:, :-1]), numbers[:, 1:]).mean()
            value = loss.item()
            if not math.isfinite(value):
                raise ArithmeticError(f"the loss of step {self.step} is {value}")
            self.optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
            self.optimiser.step()
            self.step += 1
            self.seconds += time.process_time() - began
            yield value

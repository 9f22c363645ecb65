"""Convert a trained model: new attention imitates the old by layer, then all weights train on.

Shapes: B texts, T characters of context, N texts that are measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch

from gating_core.checks import check_choice
from gating_core.efficient import BRANCHES
from gating_core.lm.attention_kinds import EluAttention, LearnedAttention
from gating_core.lm.conversions import (
    CONVERSIONS,
    Conversion,
    ConversionRecipe,
    Converted,
)
from gating_core.lm.losses import text_losses
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import digest, half_precision, load_model, model_of
from gating_core.lm.training import LanguageRecipe, Training, TrainingText
from gating_core.randomness import generator

ADDED_WINDOWS = (16, 4)  # of windows added to linear attention that was trained without one


def converted_model(model: LanguageModel, conversion: Conversion, seed: int) -> LanguageModel:
    """The converted model with all weights of ``model``; new weights are drawn from ``seed``."""
    converted = LanguageModel(conversion.config, seed)
    converted.load_state_dict(converted.state_dict() | model.state_dict())
    return converted


def learned_parts(model: LanguageModel) -> list[LearnedAttention]:
    """The learned parts of attention besides queries, keys and values, by layer; may be empty."""
    parts = (block.attention.learned for block in model.layers)
    return [part for part in parts if part is not None]


def transfer(
    model: LanguageModel,
    base: LanguageModel,
    recipe: ConversionRecipe,
    text: TrainingText,
    seed: int,
    first: int,
) -> Iterator[float]:
    """Train the new parameters of the attention of ``model`` to imitate the outputs of ``base``.

    Each layer gets the input of that layer of ``base``. ``first`` is the number of the first batch.
    Yields each step's mean squared error divided by the variance of the outputs, averaged over
    layers; nothing where there are no new parameters.
    """
    new = [weight for part in learned_parts(model) for weight in part.parameters()]
    if not new:
        return
    optimiser = torch.optim.Adam(new, recipe.transfer_rate)
    for step in range(recipe.transfer_steps):
        for group in optimiser.param_groups:
            falling = (1 + math.cos(math.pi * step / recipe.transfer_steps)) / 2
            group["lr"] = recipe.transfer_rate * falling
        numbers = text.batch(seed, first + step, recipe.transfer_batch, model.config.context)
        with torch.no_grad():
            _, records = base.record(numbers[:, :-1])
        errors = []
        for block, record in zip(model.layers, records, strict=True):
            layer, of_keys = block.attention, block.attention.of_keys(record.states)
            weights = layer.weights(record.queries, record.keys, record.scores, *of_keys)
            mixed = layer.mix(weights, record.values, record.states)
            error = (mixed - record.ungated).square().mean()
            errors.append(error / record.ungated.var())
        loss = torch.stack(errors).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield loss.item()


class TrainingOn(Training):
    """The training of a converted model, on batches that follow those of its base."""

    def __init__(
        self,
        model: LanguageModel,
        drops: Sequence[tuple[float, float]],
        seed: int,
        recipe: LanguageRecipe,
        text: TrainingText,
        first: int,
    ) -> None:
        super().__init__(model.config, seed, recipe, text)
        self.model.load_state_dict(model.state_dict())
        self.drops, self.first = drops, first

    def batch(self, step: int) -> torch.Tensor:
        """(B, T + 1): the batch of ``step``; also sets whether this step leaves out the window."""
        done = step / self.recipe.steps
        chance = [chance for since, chance in self.drops if since <= done][-1]
        draw = torch.rand((), generator=generator(self.seed, f"drop {step}"))
        set_share(self.model, 0.0 if draw < chance else None)
        return super().batch(self.first + step)


def set_share(model: LanguageModel, share: float | None) -> None:
    """Set the window's ``share`` in all layers with linear attention; ``None``: the learned one."""
    for part in learned_parts(model):
        part.share = share


def without_branch(model: LanguageModel, branch: str) -> LanguageModel:
    """A copy of a hybrid ``model`` without a branch, "window" or "linear", in all layers."""
    check_choice("branch", branch, BRANCHES)
    result = deepcopy(model)
    set_share(result, BRANCHES[branch])
    return result


def zero_output(model: LanguageModel, *branches: str) -> LanguageModel:
    """A copy of a hybrid ``model`` in which ``branches`` put out zero and the other keeps its w.

    `without_branch` gives the other branch the weight 1 instead. With both branches attention adds
    nothing: the control of Benfeghoul et al., arXiv 2510.05901, Table 4.
    """
    for branch in branches:
        check_choice("branch", branch, BRANCHES)
    result = deepcopy(model)
    for part in learned_parts(result):
        part.zeroed = branches
    return result


def zero_output_losses(model: LanguageModel, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """(N,): the loss of each text of a hybrid in nats, by "zero_linear" and "zero_both"."""
    controls = {"zero_linear": ("linear",), "zero_both": tuple(BRANCHES)}
    return {
        name: text_losses(zero_output(model, *branches), texts)[0].numpy()
        for name, branches in controls.items()
    }


def with_window(model: LanguageModel, window: int) -> LanguageModel:
    """Return ``model`` with a softmax window added, which has the share 1/2 in a hybrid.

    For linear attention that was trained alone; softmax attention then sees its window only.
    """
    windowed = LanguageModel(replace(model.config, window=window)).requires_grad_(False)
    windowed.load_state_dict(model.state_dict())
    return windowed


def branch_losses(
    model: LanguageModel, texts: Sequence[str], branches: Sequence[str | None]
) -> dict[str, np.ndarray]:
    """(N,): the loss of each text in nats, by "whole" (``None``), "without_window" and so on."""
    losses = {}
    for branch in branches:
        sums, _ = text_losses(model if branch is None else without_branch(model, branch), texts)
        losses["whole" if branch is None else f"without_{branch}"] = sums.numpy()
    return losses


def measure_conversion(model: LanguageModel, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """(N,): the losses of a converted model in nats, by "whole", "without_window" and so on.

    Of hybrids also by `zero_output_losses`. A model with linear attention alone is measured with
    added windows too, as "added_16.whole".
    """
    if not isinstance(model.layers[0].attention.learned, EluAttention):
        return branch_losses(model, texts, (None,))
    if model.config.window is not None:
        return branch_losses(model, texts, (None, *BRANCHES)) | zero_output_losses(model, texts)
    losses = branch_losses(model, texts, (None,))
    for window in ADDED_WINDOWS:
        added = with_window(model, window)
        for name, sums in branch_losses(added, texts, (None, "linear")).items():
            losses[f"added_{window}.{name}"] = sums
    return losses


def convert(
    name: str,
    seed: int,
    text: TrainingText,
    texts: Sequence[str],
    recipe: ConversionRecipe | None = None,
) -> tuple[Converted, LanguageModel]:
    """Convert a shipped model, and measure it over ``texts`` before and after it trains on.

    The model that is measured after, and returned, has weights rounded to half precision, as they
    are shipped.
    """
    began, conversion = time.process_time(), CONVERSIONS[name]
    recipe = recipe or ConversionRecipe()
    base, card = load_model(conversion.base, seed)
    model = converted_model(base, conversion, seed)
    first = card.recipe.steps  # batches continue those of the base
    for _ in transfer(model, base, recipe, text, seed, first):
        pass
    before = measure_conversion(model, texts)
    training = TrainingOn(
        model, conversion.drops, seed, recipe.training, text, first + recipe.transfer_steps
    )
    for _ in training.advance(recipe.training.steps):
        pass
    shipped = model_of(half_precision(training.model), conversion.config)
    losses = {f"before.{key}": sums for key, sums in before.items()}
    losses |= measure_conversion(shipped, texts)
    shares = tuple(
        tuple(part.balance.sigmoid().flatten().tolist())
        for part in learned_parts(shipped)
        if isinstance(part, EluAttention)
    )
    seconds = time.process_time() - began
    return Converted(digest(conversion.base, seed), recipe, seconds, shares, losses), shipped

"""Shipped models whose attention is replaced by one that costs less: the table, training, files.

The new attention imitates the old by layer, then all weights train on. For every row and seed the
losses of each text are shipped, with and without each branch of hybrid attention; for the first
seed weights are shipped too. Shapes: B texts, T characters of context, N texts that are measured,
L layers, H heads.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np
import torch

from gating_core.checks import check_choice
from gating_core.efficient import BRANCHES
from gating_core.lm.attention_kinds import EluAttention, LearnedAttention
from gating_core.lm.config import ModelConfig
from gating_core.lm.losses import text_losses
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import (
    FOLDER,
    MODELS,
    SEEDS,
    digest,
    half_precision,
    is_current,
    load_model,
    model_of,
)
from gating_core.lm.training import LanguageRecipe, Training, TrainingText
from gating_core.randomness import generator
from gating_core.records import load_record, save_record, tensors_of

CONVERTED = FOLDER / "conversions.safetensors"  # losses
WEIGHTS = FOLDER / "conversions"  # of `WEIGHTS_SEED`
WEIGHTS_SEED = 0
Row = tuple[str, int]  # name and seed
ADDED_WINDOWS = (16, 4)  # of windows added to linear attention that was trained without one


@dataclass(frozen=True)
class Conversion:
    """The replacement for the attention of a shipped model.

    First the new parameters of its attention learn to imitate the old attention, layer by layer;
    then all weights are trained on. ``drops``: pairs of a share of that training and the
    probability, from there on, that a step leaves out the window.
    """

    base: str = "none"  # of MODELS
    attention: str = "softmax"
    window: int | None = None
    drops: tuple[tuple[float, float], ...] = ((0.0, 0.0),)
    ships_weights: bool = True  # of the first seed, some .95 MB

    @property
    def config(self) -> ModelConfig:
        """The configuration of the converted model."""
        return replace(MODELS[self.base], attention=self.attention, window=self.window)


FALLING = ((0.0, 0.9), (0.4, 0.5), (0.75, 0.0))
CONVERSIONS = {  # a further conversion is one more row
    # Trained on equally long: the reference of all others.
    "softmax": Conversion(ships_weights=False),
    "window_16": Conversion(window=16),
    "hybrid_16": Conversion(attention="linear_exponential", window=16),
    "linear": Conversion(attention="linear_exponential"),
    "dropped_16": Conversion(attention="linear_exponential", window=16, drops=FALLING),
    "elu_16": Conversion(attention="linear_elu", window=16),
    "window_4": Conversion(window=4),
    "hybrid_4": Conversion(attention="linear_exponential", window=4),
    "dropped_4": Conversion(attention="linear_exponential", window=4, drops=FALLING),
    "elu_4": Conversion(attention="linear_elu", window=4),
    "delta": Conversion(attention="delta"),
    "gated_softmax": Conversion("g1_channel", ships_weights=False),
    "gated_window_16": Conversion("g1_channel", window=16, ships_weights=False),
    "gated_hybrid_16": Conversion(
        "g1_channel", attention="linear_exponential", window=16, ships_weights=False
    ),
}


@dataclass(frozen=True)
class ConversionRecipe:
    """The training configuration of a transfer of attention, and of the training after it."""

    transfer_steps: int = 150
    transfer_batch: int = 8
    transfer_rate: float = 5e-3  # of Adam, half a cosine down to zero
    training: LanguageRecipe = field(
        default_factory=lambda: LanguageRecipe(
            steps=250, batch=16, learning_rate=5e-4, warmup=20, weight_decay=0.01
        )
    )


@dataclass(frozen=True, eq=False)
class Converted:
    """The results of a conversion."""

    base: str  # the digest of the base model's file
    recipe: ConversionRecipe
    seconds: float  # of processor time, measuring included
    share: tuple[tuple[float, ...], ...]  # (L, H): w of the window; empty without linear attention
    losses: dict[str, np.ndarray]  # (N,) nats of each text, by measurement (`measure_conversion`)


@dataclass(frozen=True, eq=False)
class _Table:
    counts: np.ndarray  # (N,) characters of each text
    rows: dict[str, Converted]  # by name and seed


# --- Training -------------------------------------------------------------------------------------


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


def with_window(model: LanguageModel, window: int) -> LanguageModel:
    """Return ``model`` with a softmax window added, which has the share 1/2 in a hybrid.

    For linear attention that was trained alone; softmax attention then sees its window only.
    """
    windowed = LanguageModel(replace(model.config, window=window)).requires_grad_(False)
    windowed.load_state_dict(model.state_dict())
    return windowed


def measure_conversion(model: LanguageModel, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """(N,): the losses of a converted model in nats, by "whole", "without_window" and so on.

    Of hybrids also with outputs set to zero: "zero_linear" and "zero_both". A model with linear
    attention alone is measured with added windows too, as "added_16.whole".
    """
    versions = {"whole": model}
    if isinstance(model.layers[0].attention.learned, EluAttention):
        if model.config.window is not None:
            versions |= {f"without_{name}": without_branch(model, name) for name in BRANCHES}
            versions |= {"zero_linear": zero_output(model, "linear")}
            versions |= {"zero_both": zero_output(model, *BRANCHES)}
        else:
            for window in ADDED_WINDOWS:
                added = with_window(model, window)
                versions[f"added_{window}.whole"] = added
                versions[f"added_{window}.without_linear"] = without_branch(added, "linear")
    return {name: text_losses(of, texts)[0].numpy() for name, of in versions.items()}


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


# --- Files ----------------------------------------------------------------------------------------


def load_converted(path: Path = CONVERTED) -> tuple[dict[Row, Converted], np.ndarray | None]:
    """All conversions of models that have not changed since, and the characters of each text."""
    if not path.exists():
        return {}, None
    table = load_record(_Table, path, "holds no conversions")
    return {
        (name, seed): row
        for name, seed in product(CONVERSIONS, SEEDS)
        if (row := table.rows.get(f"{name}-{seed}"))
        and is_current(CONVERSIONS[name].base, seed, row.base)
    }, table.counts


def save_converted(
    converted: Mapping[Row, Converted], counts: np.ndarray, path: Path = CONVERTED
) -> None:
    """Write what `load_converted` reads; a kill leaves the old file or the new."""
    rows = {
        f"{name}-{seed}": replace(
            row, losses={k: x.astype(np.float32) for k, x in row.losses.items()}
        )
        for (name, seed), row in converted.items()
    }
    new = path.with_suffix(".new")
    save_record(new, _Table(counts, rows))
    os.replace(new, path)


def weights_path(name: str, folder: Path = WEIGHTS) -> Path:
    """The file of a conversion's weights."""
    return folder / f"{name}-{WEIGHTS_SEED}.safetensors"


def load_conversion(name: str, folder: Path = WEIGHTS) -> LanguageModel:
    """The converted model of the first seed; ``ValueError`` where there is no such file."""
    with tensors_of(weights_path(name, folder), "holds no converted model") as (weights, _):
        return model_of(weights, CONVERSIONS[name].config)

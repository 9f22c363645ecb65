"""Training the tables of models and of conversions, a process for each core."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from gating_core.lm.conversions import (
    CONVERSIONS,
    WEIGHTS_SEED,
    Converted,
    Row,
    convert,
    load_converted,
    save_converted,
    weights_path,
)
from gating_core.lm.corpus import (
    CORPUS,
    LANGUAGES,
    ROOT,
    excerpt_texts,
    read_excerpt,
    read_verses,
)
from gating_core.lm.losses import mean_loss, rows_of
from gating_core.lm.model import LanguageModel
from gating_core.lm.processes import in_processes
from gating_core.lm.shipped import (
    FOLDER,
    MODELS,
    SEEDS,
    Card,
    half_precision,
    model_file,
    model_of,
    model_path,
)
from gating_core.lm.training import LanguageRecipe, Training, TrainingText
from gating_core.records import tensor_file

CHECKPOINTS = ROOT / "build" / "models"
STEPS_BETWEEN = 100  # checkpoints and lines of the log


def train_table() -> None:
    """Train all rows of the table that have no file, all of one seed before the next."""
    rows = [(name, seed) for seed in SEEDS for name in MODELS]
    missing = [row for row in rows if not model_path(*row).exists()]
    for _ in in_processes(train_row, missing, flush_denormal=True):
        pass


def convert_table() -> None:
    """Make all conversions that have no results yet, all of one seed before the next.

    Each takes a minute or two of one core; one that was killed starts again.
    """
    converted, _ = load_converted()
    rows = [(name, seed) for seed in SEEDS for name in CONVERSIONS]
    missing = [row for row in rows if row not in converted]
    counted = rows_of(excerpt_texts(), MODELS["none"].context).counted
    counts = counted.sum(-1).numpy().astype(np.float32)
    for row, result in in_processes(convert_row, missing, flush_denormal=True):
        converted[row] = result
        save_converted(converted, counts)


def train_row(
    name: str,
    seed: int,
    recipe: LanguageRecipe | None = None,
    corpus: Path = CORPUS,
    checkpoints: Path = CHECKPOINTS,
    folder: Path = FOLDER,
) -> Card:
    """Train one row of the table from its checkpoint on, and write its file."""
    verses, recipe = read_verses(corpus), recipe or LanguageRecipe()
    text = TrainingText.of(verses)
    training = Training(MODELS[name], seed, recipe, text)
    checkpoint = model_path(name, seed, checkpoints)
    if checkpoint.exists():
        training.load(checkpoint)
    for loss in training.advance(recipe.steps):
        if training.step % STEPS_BETWEEN == 0:
            training.save(checkpoint)
            line = "%s %d: step %d, loss %.4f, %.0f s"
            logging.info(line, name, seed, training.step, loss, training.seconds)
    weights = half_precision(training.model)
    card = Card(
        name,
        seed,
        verses=sum(not verse.held_out for verse in verses),
        characters=len(text.numbers),
        recipe=recipe,
        losses=excerpt_losses(model_of(weights, MODELS[name])),
        seconds=training.seconds,
    )
    path = model_path(name, seed, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model_file(weights, MODELS[name], card))
    logging.info("%s %d: %s", name, seed, card.losses)
    return card


def excerpt_losses(model: LanguageModel) -> dict[str, float]:
    """The mean loss of a character of the shipped verses, in each language and in both."""
    texts = {
        language: [getattr(verse, language) for verse in read_excerpt()] for language in LANGUAGES
    }
    texts["both"] = [text for part in texts.values() for text in part]
    return {part: mean_loss(model, verses) for part, verses in texts.items()}


def convert_row(name: str, seed: int) -> tuple[Row, Converted]:
    """Make one conversion, and write its weights if they are shipped."""
    text = TrainingText.of(read_verses(CORPUS))
    result, model = convert(name, seed, text, excerpt_texts())
    if seed == WEIGHTS_SEED and CONVERSIONS[name].ships_weights:
        path = weights_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tensor_file(half_precision(model), {}))
    losses = {key: round(float(sums.mean()), 3) for key, sums in result.losses.items()}
    logging.info("%s %d: %.0f s, nats a text %s", name, seed, result.seconds, losses)
    return (name, seed), result

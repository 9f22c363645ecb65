"""Training the table of models, a process for each core."""

from __future__ import annotations

import logging
from pathlib import Path

from gating_core.lm.corpus import CORPUS, LANGUAGES, read_excerpt, read_verses
from gating_core.lm.losses import mean_loss
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

STEPS_BETWEEN = 100  # lines of the log


def train_table() -> None:
    """Train all rows of the table that have no file, all of one seed before the next."""
    rows = [(name, seed) for seed in SEEDS for name in MODELS]
    missing = [row for row in rows if not model_path(*row).exists()]
    for _ in in_processes(train_row, missing, flush_denormal=True):
        pass


def train_row(
    name: str,
    seed: int,
    recipe: LanguageRecipe | None = None,
    corpus: Path = CORPUS,
    folder: Path = FOLDER,
) -> Card:
    """Train one row of the table, some five minutes, and write its file."""
    verses, recipe = read_verses(corpus), recipe or LanguageRecipe()
    text = TrainingText.of(verses)
    training = Training(MODELS[name], seed, recipe, text)
    for loss in training.advance(recipe.steps):
        if training.step % STEPS_BETWEEN == 0:
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

"""Make the corpus, or train the table of models on it, a process for each core.

python -m gating_core.language corpus
python -m gating_core.language models

Both leave alone what is done. Training goes on where it was stopped, from ``build/models``.
"""

from __future__ import annotations

import logging
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import torch

from gating_core.language.corpus import (
    CORPUS,
    LANGUAGES,
    ROOT,
    make_corpus,
    read_excerpt,
    read_verses,
)
from gating_core.language.losses import mean_loss
from gating_core.language.shipped import (
    MODELS,
    SEEDS,
    Card,
    half_precision,
    model_file,
    model_of,
    model_path,
)
from gating_core.language.training import Recipe, Training, TrainingText

CHECKPOINTS = ROOT / "build" / "models"
STEPS_BETWEEN = 100  # checkpoints and lines of the log


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if sys.argv[1:] == ["corpus"]:
        verses = make_corpus()
        logging.info("%d verses, %d of them held out", len(verses),
                     sum(verse.held_out for verse in verses))  # fmt: skip
    elif sys.argv[1:] == ["models"]:
        train_table()
    else:
        sys.exit(__doc__)


def train_table() -> None:
    """Train all rows of the table that have no file, all of one seed before the next."""
    rows = [(name, seed) for seed in SEEDS for name in MODELS]
    missing = [row for row in rows if not model_path(*row).exists()]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for _ in pool.map(train_row, *zip(*missing, strict=True)):
            pass


def train_row(name: str, seed: int) -> Path:
    """Train one row of the table from its checkpoint on, and write its file."""
    torch.set_num_threads(1)  # each core has a model of its own
    torch.set_flush_denormal(True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    verses, recipe = read_verses(CORPUS), Recipe()
    text = TrainingText.of(verses)
    training = Training(MODELS[name], seed, recipe, text)
    checkpoint = CHECKPOINTS / f"{name}-{seed}.safetensors"
    if checkpoint.exists():
        training.load(checkpoint)
    for loss in training.advance(recipe.steps):
        if training.step % STEPS_BETWEEN == 0:
            training.save(checkpoint)
            logging.info("%s %d: step %d, loss %.4f, %.0f s", name, seed, training.step, loss,
                         training.seconds)  # fmt: skip
    weights = half_precision(training.model)
    model, excerpt = model_of(weights, MODELS[name]), read_excerpt()
    texts = {language: [getattr(verse, language) for verse in excerpt] for language in LANGUAGES}
    texts["both"] = [text for part in texts.values() for text in part]
    card = Card(
        name,
        seed,
        verses=sum(not verse.held_out for verse in verses),
        characters=len(text.numbers),
        recipe=asdict(recipe),
        losses={part: mean_loss(model, some) for part, some in texts.items()},
        seconds=training.seconds,
    )
    path = model_path(name, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model_file(weights, MODELS[name], card))
    logging.info("%s %d: %s", name, seed, card.losses)
    return path


if __name__ == "__main__":
    main()

"""Making all conversions, a process for each core."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from gating_core.export.weights import tensor_file
from gating_core.language.conversions import (
    CONVERSIONS,
    WEIGHTS_SEED,
    Converted,
    Row,
    load_converted,
    save_converted,
    weights_path,
)
from gating_core.language.converting import convert
from gating_core.language.corpus import CORPUS, excerpt_texts, read_verses
from gating_core.language.losses import rows_of
from gating_core.language.shipped import MODELS, SEEDS, half_precision
from gating_core.language.table import settle
from gating_core.language.training import TrainingText


def convert_table() -> None:
    """Make all conversions that have no results yet, all of one seed before the next.

    Each takes a minute or two of one core; one that was killed starts again.
    """
    converted, _ = load_converted()
    rows = [(name, seed) for seed in SEEDS for name in CONVERSIONS]
    missing = [row for row in rows if row not in converted]
    counted = rows_of(excerpt_texts(), MODELS["none"].context).counted
    counts = counted.sum(-1).numpy().astype(np.float32)
    with ProcessPoolExecutor(os.cpu_count(), initializer=settle, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(convert_row, *row) for row in missing]):
            row, result = done.result()
            converted[row] = result
            save_converted(converted, counts)


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

"""Train the toy, measure all shipped models over the shipped verses, and write both results.

python -m gating_core.lm.measurements

Models that have been measured with the same weights are skipped.
"""

from __future__ import annotations

import logging

from gating_core.lm.measurements.backcopy import (
    TOY,
    ToyRequest,
    load_toy,
    save_toy,
    train_toy,
)
from gating_core.lm.measurements.stored import measure_missing


def main() -> None:
    """Train the toy models if their file is missing or outdated; measure what models lack."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if not TOY.exists() or load_toy().request != ToyRequest():
        *_, run = train_toy(ToyRequest())
        save_toy(run)
    for model, rows in measure_missing():
        logging.info("%s %d: %s", *model, ", ".join(rows))


if __name__ == "__main__":
    main()

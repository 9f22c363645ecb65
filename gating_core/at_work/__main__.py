"""Measure all shipped models over the shipped verses, train the toy, and write both.

python -m gating_core.at_work

Leaves alone what is measured already, of the same weights.
"""

from __future__ import annotations

import logging
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from gating_core.at_work.bigram_backcopy import ToyRequest
from gating_core.at_work.measured import Model, measure, read_measured, save_measured
from gating_core.at_work.measurements import MEASUREMENTS, Arrays
from gating_core.at_work.toy import TOY, save_toy, train_toy
from gating_core.language import shipped


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if not TOY.exists():
        *_, run = train_toy(ToyRequest())
        save_toy(run)
    arrays, rows = read_measured()
    missing = {model: [row for row in MEASUREMENTS if row not in rows.get(model, ())]
               for model in shipped()}  # fmt: skip
    missing = {model: some for model, some in missing.items() if some}
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for model, new in zip(missing, pool.map(_measure, missing.items()), strict=True):
            arrays[model] = arrays.get(model, {}) | new
            rows[model] = list(MEASUREMENTS)
            save_measured(arrays, rows)
            logging.info("%s %d: %s", *model, ", ".join(missing[model]))


def _measure(task: tuple[Model, list[str]]) -> Arrays:
    torch.set_num_threads(1)  # each core has a model of its own
    return measure(*task)


if __name__ == "__main__":
    main()

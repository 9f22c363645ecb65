"""Train the toy, measure all shipped models over the shipped verses, and write both results.

python -m gating_core.at_work

Models that have been measured with the same weights are skipped.
"""

from __future__ import annotations

import logging

from gating_core.at_work.measured import measure_missing
from gating_core.at_work.toy import TOY, ToyRequest, load_toy, save_toy, train_toy


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if not TOY.exists() or load_toy().request != ToyRequest():
        *_, run = filter(None, train_toy(ToyRequest()))
        save_toy(run)
    for model, rows in measure_missing():
        logging.info("%s %d: %s", *model, ", ".join(rows))


if __name__ == "__main__":
    main()

"""Measure what may be left out of the shipped models over the shipped verses, and write it.

python -m gating_core.left_out_at_work

Leaves alone what is measured already, of the same weights.
"""

from __future__ import annotations

import logging

from gating_core.left_out_at_work.measured import measure_missing


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    for model, rows in measure_missing():
        logging.info("%s %d: %s", *model, ", ".join(rows))


if __name__ == "__main__":
    main()

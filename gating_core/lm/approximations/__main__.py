"""Run the measurements of this package on the shipped models and verses, and write the results.

python -m gating_core.lm.approximations

Models that have been measured with the same weights are skipped.
"""

import logging

from gating_core.lm.approximations.stored import measure_missing

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    for model, rows in measure_missing():
        logging.info("%s %d: %s", *model, ", ".join(rows))

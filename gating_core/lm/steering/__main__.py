"""Train the dictionaries that are missing, and measure steering with them, a process for each core.

Then write the text that the page opens with.

python -m gating_core.lm.steering
"""

import logging

from gating_core.lm.steering.experiment import measure_steering
from gating_core.lm.steering.live import make_opening, save_opening
from gating_core.lm.steering.shipped import make_dictionaries

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    make_dictionaries()
    for name, seed in measure_steering():
        logging.info("steering of %s, seed %d", name, seed)
    save_opening(make_opening())

"""Make the corpus; train and measure the models, a process for each core.

python -m gating_core.lm corpus ENGLISH SPANISH   # files that diatheke wrote
python -m gating_core.lm models measurements   # one of these, or both in turn

What is done is skipped.
"""

import logging
import sys
from pathlib import Path

from gating_core.lm.corpus import make_corpus
from gating_core.lm.measurements.backcopy import train_bundled
from gating_core.lm.measurements.stored import measure_all
from gating_core.lm.table import train_table

STEPS = {"models": (train_table,), "measurements": (train_bundled, measure_all)}


def main() -> None:
    """Run what ``sys.argv`` names; without known names, print the usage and exit."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    names = sys.argv[1:]
    if names[:1] == ["corpus"] and len(names) == 3:
        verses = make_corpus(*map(Path, names[1:]))
        held_out = sum(verse.held_out for verse in verses)
        logging.info("%d verses, %d of them held out", len(verses), held_out)
    elif names and set(names) <= set(STEPS):
        for name in names:
            for step in STEPS[name]:
                step()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

"""Make the corpus, train the table of models on it, or convert them, a process for each core.

python -m gating_core.lm corpus ENGLISH SPANISH   # files that diatheke wrote
python -m gating_core.lm models
python -m gating_core.lm conversions   # of those models' attention

The last two skip what is done. Training goes on from checkpoints in ``build/models``.
"""

import logging
import sys
from pathlib import Path

from gating_core.lm.corpus import make_corpus
from gating_core.lm.table import convert_table, train_table


def main() -> None:
    """Run the command in ``sys.argv``; without a known one, print the usage and exit."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if sys.argv[1:2] == ["corpus"] and len(sys.argv) == 4:
        verses = make_corpus(*map(Path, sys.argv[2:]))
        held_out = sum(verse.held_out for verse in verses)
        logging.info("%d verses, %d of them held out", len(verses), held_out)
    elif sys.argv[1:] == ["models"]:
        train_table()
    elif sys.argv[1:] == ["conversions"]:
        convert_table()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

"""Rows and verdicts of the study that the app bundles, in assets/claims.

python -m ui.claims         # from the rows of this user's store, after `run --full` and `run --v2`
python -m ui.claims judge   # the verdicts alone, after a change of texts
"""

import lzma
import sys

from gating_core.claims import SELECTIONS, ModelRow, StackRow, Store, csv_text, default_path
from ui.claims.shared import FOLDER, MODELS, STACKS, save_judged

BUNDLED = ("full", "v2")  # studies

if __name__ == "__main__":
    if sys.argv[1:] != ["judge"]:
        units = [unit for name in BUNDLED for unit in SELECTIONS[name].units()]
        keys = {key for unit in units for key in unit.keys.values()}
        with Store(default_path(), readable=True) as store:
            found = (MODELS, ModelRow, store.models()), (STACKS, StackRow, store.stacks())
        for name, kind, rows in found:
            text = csv_text(kind, [row for row in rows if row.key in keys])
            packed = lzma.compress(text.encode(), preset=lzma.PRESET_EXTREME | 9)
            (FOLDER / name).write_bytes(packed)
    save_judged()

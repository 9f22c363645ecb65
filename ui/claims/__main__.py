"""Run the full study, as far as it is not done; its rows and verdicts go to ``assets/claims``.

python -m ui.claims
"""

import sys
from pathlib import Path

from gating_core.claims import SELECTIONS, Store, default_place, run_study
from ui.claims.judged import Source, judge
from ui.claims.shipped import save_rows
from ui.claims.shipped_verdicts import save_judged


def main(place: Path) -> None:
    """Only the rows of the full study are written; ``place`` may have others."""
    selection = SELECTIONS["full"]
    with Store(place) as store:
        for progress in run_study(selection, store):
            sys.stderr.write(f"\r{progress.done} of {progress.total} rows")
        sys.stderr.write("\n")
        if not progress.complete:
            sys.exit("\n".join(progress.failures))
        keys = {key for unit in selection.units() for key in unit.keys.values()}
        save_rows(
            [row for row in store.models() if row.key in keys],
            [row for row in store.stacks() if row.key in keys],
        )
        save_judged(judge(Source()))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default_place())

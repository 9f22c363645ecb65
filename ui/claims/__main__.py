"""The study's command line with pictures in its report, and what the app bundles.

python -m ui.claims report report   # as python -m gating_core.claims report, with pictures
python -m ui.claims                 # run the studies of both criteria; results go to assets/claims
python -m ui.claims judge           # judge the bundled rows again, after a change of texts
"""

import sys

from gating_core.claims import SELECTIONS, Store, default_path, run_study
from gating_core.claims.__main__ import main
from ui.claims.report_charts import head, pictures
from ui.claims.shared import save, save_judged

BUNDLED = ("full", "v2")  # studies


def bundle() -> int:
    """Do what is missing of the studies, and write their rows and verdicts; others stay here."""
    keys = {k for name in BUNDLED for unit in SELECTIONS[name].units() for k in unit.keys.values()}
    with Store(default_path()) as store:
        for name in BUNDLED:
            for progress in run_study(SELECTIONS[name], store):
                sys.stderr.write(f"\r{name}: {progress['done']} of {progress['total']} rows")
            if not progress["complete"]:
                sys.stderr.write("\n" + "\n".join(progress["failures"]) + "\n")
                return 1
        save(
            [row for row in store.models() if row.key in keys],
            [row for row in store.stacks() if row.key in keys],
        )
    save_judged()
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(bundle())
    if sys.argv[1] == "judge":
        save_judged()
    else:
        sys.exit(main(pictures=pictures, head=head()))

"""Prove what can be proved of shipped models beside C1 and C2, and write it to ``assets/claims``.

python -m ui.claims.proofs
"""

import sys

from gating_core.claims import proved_models, units_to_prove
from ui.claims.sources import load_rows, save_proofs


def main() -> None:
    rows = {row.key: row for row in load_rows()[0]}
    proofs, units = [], units_to_prove()
    for number, unit in enumerate(units, 1):
        proofs += list(proved_models(unit, rows))
        sys.stderr.write(f"\r{number} of {len(units)} ensembles, {len(proofs)} models")
        sys.stderr.flush()
    sys.stderr.write("\n")
    save_proofs(proofs)


if __name__ == "__main__":
    main()

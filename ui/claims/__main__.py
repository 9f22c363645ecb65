"""The study's command line with pictures in its report, and what the app bundles.

python -m ui.claims report report   # as python -m gating_core.claims report, with pictures
python -m ui.claims                 # run the studies of both criteria; results go to assets/claims
python -m ui.claims proofs          # prove what can be proved of these beside C1 and C2
python -m ui.claims signs           # prove the sign of K of those with four keys, by a theorem
python -m ui.claims further         # train and judge what is asked beside the claims
python -m ui.claims refine          # compute totals that a grid does not settle, beside C3
python -m ui.claims judge           # judge the bundled rows again, after a change of texts
"""

import sys

from gating_core.claims import (
    QUESTIONS,
    SELECTIONS,
    ProvedModel,
    SignedModel,
    Store,
    default_path,
    further_rows,
    proved_models,
    run_study,
    signed_models,
    units_of_four_keys,
    units_to_prove,
)
from gating_core.claims.__main__ import main
from gating_core.claims.models import RefinedTotal
from gating_core.claims.refined import refined_totals, units_to_refine
from ui.claims.report_charts import illustrations
from ui.claims.shared import (
    PROOFS,
    REFINED,
    SIGNS,
    Source,
    judge_rows,
    load_rows,
    save_csv,
    save_further,
    save_judged,
    save_rows,
)

BUNDLED = ("full", "v2")  # studies


def bundle() -> int:
    """Do what is missing of the studies, and write their rows and verdicts; others stay here."""
    keys = set()
    with Store(default_path()) as store:
        for selection in map(SELECTIONS.__getitem__, BUNDLED):
            for progress in run_study(selection, store):
                sys.stderr.write(f"\r{progress.done} of {progress.total} rows")
            sys.stderr.write("\n")
            if not progress.complete:
                sys.stderr.write("\n".join(progress.failures) + "\n")
                return 1
            keys |= {key for unit in selection.units() for key in unit.keys.values()}
        save_rows(
            [row for row in store.models() if row.key in keys],
            [row for row in store.stacks() if row.key in keys],
        )
    return judge()


def judge() -> int:
    """Write the verdicts of the bundled rows."""
    save_judged(judge_rows(Source()))
    return 0


def refine() -> int:
    """Write totals in closed form of bundled models, and the verdicts with them."""
    rows = {row.key: row for row in load_rows()[0]}
    units = units_to_refine(rows)
    totals: list[RefinedTotal] = []
    for number, unit in enumerate(units, 1):
        totals += refined_totals(unit, rows)
        sys.stderr.write(f"\r{number} of {len(units)} ensembles, {len(totals)} totals")
    sys.stderr.write("\n")
    save_csv(RefinedTotal, REFINED, totals)
    return judge()


def prove() -> int:
    """Write what can be proved of bundled models."""
    rows = {row.key: row for row in load_rows()[0]}
    units = units_to_prove()
    proofs: list[ProvedModel] = []
    for number, unit in enumerate(units, 1):
        proofs += proved_models(unit, rows)
        sys.stderr.write(f"\r{number} of {len(units)} ensembles, {len(proofs)} models")
    sys.stderr.write("\n")
    save_csv(ProvedModel, PROOFS, proofs)
    return 0


def sign() -> int:
    """Write the signs of K of bundled ungated models with four values."""
    rows = {row.key: row for row in load_rows()[0]}
    signs: list[SignedModel] = []
    for unit in units_of_four_keys():
        signs += signed_models(unit, rows)
        sys.stderr.write(f"\r{len(signs)} models")
    sys.stderr.write("\n")
    save_csv(SignedModel, SIGNS, signs)
    return 0


def answer() -> int:
    """Write the rows and verdicts of the further questions."""
    save_further([row for question in QUESTIONS for row in further_rows(question)])
    return 0


if __name__ == "__main__":
    commands = {
        (): bundle,
        ("proofs",): prove,
        ("signs",): sign,
        ("further",): answer,
        ("refine",): refine,
        ("judge",): judge,
    }
    own = commands.get(tuple(sys.argv[1:]))
    sys.exit(own() if own else main(illustrations=illustrations()))

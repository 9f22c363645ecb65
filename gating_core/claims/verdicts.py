"""The claims and their verdicts, each with its evidence.

The rules are preregistered: written down before the models of the seeds that they decide on were
trained. The rules of C3, C4 and C6 are criteria v2; the verdicts of these claims by criteria v1 are
stored with the commit that decided them, and shown on the page *Claims*.
"""

from __future__ import annotations

from collections.abc import Iterable

from gating_core.claims.accuracy import C4, C5
from gating_core.claims.claim import (
    CRITERIA,
    THRESHOLDS,
    V1,
    Claim,
    Criteria,
    Table,
    Thresholds,
    Verdict,
)
from gating_core.claims.curvature import C1, C2, C3
from gating_core.claims.growth import C7
from gating_core.claims.price_verdicts import PRICE_CLAIMS, price_study
from gating_core.claims.relation import C6
from gating_core.claims.rows import BASE, ModelRow, Models, StackRow, sorted_out
from gating_core.claims.statistics import paired
from gating_core.claims.text import interval, number

CLAIMS: dict[str, Claim] = {claim.name: claim for claim in (C1, C2, C3, C4, C5, C6, C7)}


def verdicts(
    rows: Iterable[ModelRow],
    stacks: Iterable[StackRow],
    t: Thresholds = THRESHOLDS,
) -> dict[str, Verdict]:
    """Return the verdicts of all claims by name, each from the seeds of its criteria."""
    rows, stacks = list(rows), list(stacks)
    models = {name: models_of(rows, criteria, stacks) for name, criteria in CRITERIA.items()}
    return {name: verdict(x, models[x.criteria.name], t) for name, x in CLAIMS.items()}


def models_of(
    rows: Iterable[ModelRow], criteria: Criteria, stacks: Iterable[StackRow] = ()
) -> Models:
    """Return the models of the seeds that ``criteria`` decide on, and the stacks of these."""
    seeds = criteria.seeds
    return sorted_out((x for x in rows if x.seed in seeds), (x for x in stacks if x.seed in seeds))


def verdict(claim: Claim, models: Models, t: Thresholds = THRESHOLDS) -> Verdict:
    """Return the verdict of one claim; models of tasks that it does not need do not count."""
    return claim.judge(models.of_tasks(claim.tasks), t)


def accuracies(models: Models) -> Table:
    """Return the mean test accuracies of the base, with their intervals over seeds."""
    table = []
    for (conditions, task, variant), members in models.cells.items():
        known = {s: x.test_accuracy for s, x in members.items() if x.test_accuracy is not None}
        if conditions == BASE and known:
            of = paired([*known], [*known.values()])
            table.append({
                "task": task, "variant": variant, "mean": number(of.mean, ".3f"),
                "95 % interval": interval(of.low, of.high, ".3f"), "seeds": str(of.count),
            })  # fmt: skip
    return table


def report(rows: Iterable[ModelRow], stacks: Iterable[StackRow]) -> str:
    """Return what is found of all nine claims as Markdown: verdicts, rules, every number."""
    rows, stacks = list(rows), list(stacks)
    claims = CLAIMS | PRICE_CLAIMS
    found = verdicts(rows, stacks) | {x.name: x.judge(price_study()) for x in PRICE_CLAIMS.values()}
    parts = ["# Does the paper hold here?"]
    for name, x in found.items():
        parts += [f"## {name} {claims[name].title}: {x.word}", x.sentences]
        parts += [f"**{title}.** {text}" for title, text in claims[name].rule().items()]
        parts += [f"- {line}" for line in x.gaps] + [_markdown(x.table)]
    parts += ["## Test accuracies", _markdown(accuracies(models_of(rows, V1)))]
    return "\n\n".join(parts) + "\n"


def _markdown(table: Table) -> str:
    lines = [[*line] for row in table[:1] for line in (row, ["---"] * len(row))]
    lines += [[cell.replace("|", "\\|") for cell in row.values()] for row in table]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

"""Three further questions on seeds of their own, 96 to 127, by the rules of criteria v2.

*Sink*: does a learned sink logit help as a gate does? C4's rule with the sink
in the gate's place: supported if models with a sink are significantly better than those without on
every nonlinear task of the study (two-sided Student t tests of paired test accuracies, Holm over
the tasks), partly on some, not supported on none. Beside it stands how much of the sigmoid gate's
gain the sink reaches: most of it on a task where half of the gate's gain, less the gate's lead over
the sink, is significantly above zero.

*Reported*: C4 and C5 by their rules (and C3 by that of criteria v1, while it was there), in the
setting that readers of the paper report: sequence length 8, projection width 64, two-dimensional
tasks; here eight learned slots, D = 64, one layer, one head. Nothing else of the paper's setting is
known.

*Reported, tokens*: the same with keys and values from eight tokens (self-attention), which a
sequence length of 8 may also mean. C4 and C5 read test accuracies alone; curvature, most of two
hours on one core, is not measured.

The rules of the first two were written on 26 November 2026 before any model of these seeds was
trained, those of the third the same day, before any of its models was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gating_core.claims.claim import THRESHOLDS, Claim
from gating_core.claims.design import (
    BASE_SETTING,
    FULL_TASKS,
    LABEL_NOISE,
    LINEAR,
    PRIMARY,
    UNGATED,
)
from gating_core.claims.equality import C5
from gating_core.claims.gain import ADDITIVE, C4, reached
from gating_core.claims.models import BASE, ModelRow, Models
from gating_core.claims.selection import UNIT_SEEDS, ModelUnit
from gating_core.claims.training import unit_rows
from gating_core.claims.verdicts import ClaimVerdict, verdict
from gating_core.experiments.comparison import SINK, Setting
from gating_core.jets.blocks import one_thread
from gating_core.training.ensemble import batches_of

SEEDS = range(96, 128)
SINKS, REPORTED, TOKENS = QUESTIONS = ("sink", "reported", "reported tokens")
VARIANTS = {SINKS: (UNGATED, PRIMARY, SINK)}
SIZES: dict[str, Any] = {"model_dim": 64, "value_count": 8}
VARIED: dict[str, dict[str, Any]] = {REPORTED: SIZES, TOKENS: SIZES | {"source": "tokens"}}


def settings(question: str) -> Iterator[Setting]:
    """Yield what is trained for a ``question``: as in the study, but for what `VARIED` says."""
    for first in range(SEEDS.start, SEEDS.stop, UNIT_SEEDS):
        for task in FULL_TASKS:
            if question == SINKS and task in LINEAR:
                continue
            yield Setting(
                task=task,
                variants=VARIANTS.get(question, (UNGATED, PRIMARY)),
                seed=first,
                seed_count=UNIT_SEEDS,
                label_noise=LABEL_NOISE if task in LINEAR else 0.0,
                **{**BASE_SETTING, **VARIED.get(question, {})},
            )


def further_rows(question: str) -> Iterator[ModelRow]:
    """Train and measure all models of a ``question``, as the study does."""
    for setting in settings(question):
        for names in batches_of(setting.configs):
            unit = ModelUnit(question, replace(setting, variants=names))
            with one_thread():
                rows = unit_rows(unit, curvature=question != TOKENS)
            yield from (row for row in rows if isinstance(row, ModelRow))


# --- Verdicts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SinkVerdict:
    """The word of C4's rule for the sink, and on how many of the ``tasks`` it is ``ahead`` of none.

    ``least`` and ``greatest`` are mean differences, in points. On ``most`` tasks the sink reaches
    most of the gate's gain; on ``gate_ahead`` the gate is significantly ahead of the sink.
    """

    word: str  # one of `WORDS`
    tasks: int
    ahead: int
    least: float
    greatest: float
    most: int
    gate_ahead: int


def sink_verdict(rows: Sequence[ModelRow]) -> SinkVerdict:
    """Judge the rows of `SINKS`."""
    found = verdict(C4, _models(rows, SINKS, {UNGATED: UNGATED, SINK: PRIMARY}))
    tasks = found.evidence.deciding
    means = [100 * one.measured.mean for one in tasks]
    beside = {UNGATED: UNGATED, PRIMARY: PRIMARY, SINK: ADDITIVE}
    parts = reached(verdict(C4, _models(rows, SINKS, beside)).evidence, THRESHOLDS)
    return SinkVerdict(
        str(found.word),
        len(tasks),
        sum(one.sign(THRESHOLDS.level) > 0 for one in tasks),
        min(means),
        max(means),
        sum(one.most for one in parts),
        sum(one.own for one in parts),
    )


def reported_verdicts(
    rows: Sequence[ModelRow], question: str = REPORTED
) -> dict[str, ClaimVerdict]:
    """Judge the rows of `REPORTED`, or of `TOKENS`, by C4 and C5."""
    models = _models(rows, question, {UNGATED: UNGATED, PRIMARY: PRIMARY})
    claims: tuple[Claim, ...] = C4, C5
    return {claim.name: verdict(claim, models) for claim in claims}


def _models(rows: Iterable[ModelRow], question: str, names: dict[str, str]) -> Models:
    """The models of one question in the base's place, each variant under the name of another."""
    cells: dict[tuple, dict[int, ModelRow]] = {}
    for row in rows:
        if row.part == question and row.variant in names:
            cells.setdefault((BASE, row.task, names[row.variant]), {})[row.seed] = row
    return Models(cells, seeds=tuple(SEEDS), variants=tuple(names.values()))

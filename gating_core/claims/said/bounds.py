"""How are claims C1 and C2 said? From bounds, model by model."""

from __future__ import annotations

import numpy as np

from gating_core.claims.charts import CHART_WORDS, CURVED, FLAT, Charts
from gating_core.claims.models import GATED, WITHOUT_GATE
from gating_core.claims.said.said import Wording
from gating_core.claims.thresholds import NOT_ENOUGH, SUPPORTED, Thresholds
from gating_core.claims.wording import (
    Table,
    counted,
    listed,
    number,
)


def without_gate(found: Charts, word: str, t: Thresholds) -> Wording:
    models = found.of(WITHOUT_GATE)
    flat, curved = found.count(WITHOUT_GATE, FLAT), found.count(WITHOUT_GATE, CURVED)
    if not models:
        said = "There is no trained model without a gate."
    else:
        said = f"{flat:,} of {counted(len(models), 'trained model')} without a gate are flat on the"
        said += f" attention-weight chart, and {curved:,} are known to be curved."
        bounds = [row.chart_bound for row in models if row.chart_bound is not None]
        if bounds:
            said += f" The bound on |K| is at most {number(max(bounds))}."
        gated = found.count(GATED, CURVED)
        if gated:
            every = counted(len(found.of(GATED)), "gated model")
            said += f" The same test finds {gated:,} of {every} curved, so it can tell."
    change = (
        "One model without a gate whose |K| exceeds its bound on this chart would contradict it."
        if not curved
        else "Nothing that is added would: one such model is enough."
    )
    return Wording(said, _chart_table(found), change)


def with_gate(found: Charts, word: str, t: Thresholds) -> Wording:
    models, curved = found.of(GATED), found.count(GATED, CURVED)
    positive = found.positive(GATED)
    if not models:
        said = "There is no trained model with a gate."
    else:
        said = f"{curved:,} of {counted(len(models), 'gated model')} are known to be curved, and"
        said += f" {positive:,} have K > 0 on some of their area."
        others = [n for n in ("additive", "pointwise") if found.count((n,), CURVED)]
        if others:
            verb = "curve" if len(others) > 1 else "curves"
            said += f" The {listed(others)} control {verb}, too: gating is one way among others."
    few = f"{t.curved_share:.0%} of gated models were known to be curved"
    if word == SUPPORTED:
        change = f"It would fall if fewer than {few}, or none had K > 0."
    elif word == NOT_ENOUGH:
        change = f"At least {t.fewest_seeds} gated models, trained."
    else:
        change = f"It would be supported if at least {few}, and one had K > 0."
    return Wording(said, _chart_table(found), change)


def _chart_table(found: Charts) -> Table:
    columns = ("variant", "models", *CHART_WORDS, "K > 0 known", "median max |K|", "largest bound")
    rows = []
    for name in found.models:
        of = found.of((name,))
        largest = [row.chart_largest for row in of if row.chart_largest is not None]
        bounds = [row.chart_bound for row in of if row.chart_bound is not None]
        rows.append((
            name, str(len(of)), *(str(found.count((name,), word)) for word in CHART_WORDS),
            str(found.positive((name,))), number(float(np.median(largest)) if largest else None),
            number(max(bounds, default=None)),
        ))  # fmt: skip
    return Table(columns, tuple(rows))

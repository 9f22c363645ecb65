"""What is said of verdicts, of rows, of a study that runs, of one model?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gating_core.claims import ModelRow, Size, Verdict
from gating_core.claims.charts import CURVED, FLAT
from gating_core.claims.models import GATED, WITHOUT_GATE
from gating_core.claims.relations import EXACT, PEARSON, PROXY
from gating_core.claims.slopes import CENTRE
from gating_core.claims.slopes import PROXY as DEPTH_PROXY
from gating_core.claims.thresholds import NOT_ENOUGH, NOT_SUPPORTED, PARTLY, SUPPORTED
from gating_core.claims.wording import (
    counted,
    fixed,
    fixed_interval,
    interval,
    number,
    signed,
    spans,
)
from gating_core.experiments.comparison import FIRST_SETTING
from ui.common.words import percent
from ui.foreign import as_words

PLAIN = (
    FIRST_SETTING.source,
    FIRST_SETTING.depth,
    FIRST_SETTING.value_count,
)  # which need not be said
SIGNS = {
    SUPPORTED: "✓",
    PARTLY: "◐",
    NOT_SUPPORTED: "✗",
    NOT_ENOUGH: "?",
}


def evidence_text(verdict: Verdict) -> str:
    """The evidence of a claim, as short as a table needs it."""
    return EVIDENCE[verdict.claim](verdict.evidence, verdict.thresholds.level)


def _without_gate(found: Any, level: float) -> str:
    flat, count = found.count(WITHOUT_GATE, FLAT), len(found.of(WITHOUT_GATE))
    return f"{flat} of {count} models flat, {found.count(WITHOUT_GATE, CURVED)} curved"


def _with_gate(found: Any, level: float) -> str:
    curved, count = found.count(GATED, CURVED), len(found.of(GATED))
    return f"{curved} of {count} curved, {found.positive(GATED)} with K > 0 somewhere"


def _ahead(found: Any, unit: str, factor: float, level: float) -> str:
    ahead = sum(one.ahead(level) for one in found.deciding)
    said = f"gated ahead on {ahead} of {counted(len(found.deciding), 'task')}"
    means = [factor * one.measured.mean for one in found.deciding if one.measured is not None]
    return f"{said}, {signed(min(means))} to {signed(max(means))}{unit}" if means else said


def _equal(found: Any, level: float) -> str:
    parts = [
        f"{one.task} {signed(100 * one.measured.paired.mean, 2)}"
        f" {interval(100 * one.measured.interval[0], 100 * one.measured.interval[1], 2)}"
        for one in found.tasks
        if one.measured is not None
    ]
    return f"{', '.join(parts)} points" if parts else "no pairs"


def _together(found: Any, level: float) -> str:
    parts = []
    for name, word in ((EXACT, "∫|K| dA"), (PROXY, "the proxy")):
        r = found.pooled[name, PEARSON]
        parts.append(f"{fixed(r.r)} {fixed_interval(r.low, r.high)} for {word}")
    return "r = " + ", ".join(parts)


def _deeper(found: Any, level: float) -> str:
    if not len(found.seeds):
        return "no stacks"
    parts = []
    for name, word in ((CENTRE, "of K(0)"), (DEPTH_PROXY, "of the proxy")):
        of = found.exponents[name]
        mean = "–" if of.interval is None else fixed(of.interval.mean, 3)
        parts.append(f"{mean} {fixed_interval(of.low, of.high, 3)} {word}")
    return "exponents " + ", ".join(parts)


EVIDENCE: dict[str, Callable[[Any, float], str]] = {
    "C1": _without_gate,
    "C2": _with_gate,
    "C3": lambda found, level: _ahead(found, "", 1.0, level),
    "C4": lambda found, level: _ahead(found, " points", 100.0, level),
    "C5": _equal,
    "C6": _together,
    "C7": _deeper,
}


def rows_text(models: int, stacks: int, seeds: tuple[int, ...], code: str, where: str) -> str:
    """What the verdicts stand on."""
    told = f"{counted(models, 'trained model')} and {counted(stacks, 'stack')}"
    return f"Rows: {told}, seeds {spans(seeds) or '–'}, code {code or '–'}, {where}."


def aside_text(models: int) -> str:
    """How many models have no say; nothing where all have."""
    if not models:
        return ""
    return (
        f"Set aside: {counted(models, 'model')}, of another version or number of steps than most,"
        " or trained twice."
    )


def code_text(code: str, running: str) -> str:
    """Where the rows' code is not the one that runs; else nothing."""
    if not code or code == running:
        return ""
    return (
        f"These rows were made by another version of the code than the one that runs here"
        f" ({running}): running the study would make new ones."
    )


def model_text(row: ModelRow) -> str:
    """One trained model, with its numbers and their doubt."""
    name = f"{row.task}, {row.variant}, seed {row.seed}"
    if (row.source, row.depth, row.values) != PLAIN:
        name += f", {row.source}, depth {row.depth}, n = {row.values}"
    if row.error is not None:
        return f"**{name}**: {as_words(row.error)}"
    accuracy = "–" if row.test_accuracy is None else percent(row.test_accuracy)
    total = f"{number(row.total_curvature)} ± {number(row.total_error, 2)}"
    if row.total_complete is False:
        total += " (a lower estimate)"
    return (
        f"**{name}**: {accuracy} of its new points right; ∫|K| dA = {total} over the query chart;"
        f" {percent(row.positive_share or 0.0)} of the area known to have K > 0."
    )


LINK_TEXT = (
    "There it is trained again with the same seeds, data and steps, beside the ungated or the"
    " sigmoid model; it is tested on 1,024 new points instead of 1,000, and where the study"
    " trained other variants or seeds in its batch, rounding differs and long runs part ways."
)


def time_text(seconds: float) -> str:
    """Minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def progress_text(done: int, total: int, seconds: float) -> str:
    """How far a study is."""
    return f"{done:,} of {total:,} rows, about {time_text(seconds)} left"


def size_text(size: Size, seconds: float) -> str:
    """What would be done, and how long that takes."""
    parts = [counted(size.models, "model")] * bool(size.models)
    parts += [counted(size.stacks, "stack")] * bool(size.stacks)
    return (
        f"{' and '.join(parts)}, less what is there already: about {rough_time_text(seconds)} on"
        " two cores, perhaps half or twice that."
    )


def rough_time_text(seconds: float) -> str:
    """Seconds below two minutes, else minutes."""
    return f"{max(round(seconds), 1)} s" if seconds < 120 else f"{seconds / 60:.0f} min"

"""Sentences about rows, about a study that runs, and about one model."""

from __future__ import annotations

from gating_core.claims import EDITIONS, FIRST, SECOND, STUDY_VERSION, ModelRow, ProofCounts, Size
from gating_core.claims.claim import EXPERIMENT, WORDS
from gating_core.claims.text import NO_WORKERS, counted, number, spans
from gating_core.experiments.comparison import FIRST_SETTING
from ui.claims.request import SHIPPED
from ui.claims.sources import JudgedStudy, Judgement
from ui.common.lessons import section
from ui.common.words import percent
from ui.foreign import as_words

USUAL = (FIRST_SETTING.source, FIRST_SETTING.depth, FIRST_SETTING.value_count)  # not worth a word
SIGNS: dict[str, str] = dict(zip(WORDS, "✓◐✗?", strict=True))


def editions_text() -> str:
    """Say what the two editions are, and what is a check of our code."""
    return section(
        "claims", "editions", first=FIRST.name, second=SECOND.name, first_date=FIRST.date,
        second_date=SECOND.date, first_seeds=spans(FIRST.seeds), second_seeds=spans(SECOND.seeds),
    )  # fmt: skip


def claim_text(one: Judgement) -> str:
    """Name a claim, and say what it is where it cannot fail."""
    check = "" if one.kind == EXPERIMENT else f" ({one.kind}: a check of our code)"
    return f"{one.claim} {one.title}{check}"


def verdict_cell(one: Judgement | None) -> str:
    """Return a verdict with its sign; a dash where the edition has no rule of its own."""
    return "–" if one is None else f"{SIGNS[one.word]}\u00a0{one.word}"


def rule_text(one: Judgement) -> str:
    """Say which rule of which edition decides."""
    about = f"**The rule of {one.claim}, {one.edition} edition, written on"
    about += f" {EDITIONS[one.edition].date}, before the results.** {one.rule['The verdict']}"
    return about


def other_text(one: Judgement) -> str:
    """Say what the other edition found."""
    return (
        f"*{one.edition.capitalize()} edition* ({EDITIONS[one.edition].date}, seeds"
        f" {spans(one.seeds) or '–'}): {SIGNS[one.word]} **{one.word}**: {one.evidence}."
    )


def proved_text(claim: str, counts: ProofCounts) -> str:
    """Say what is proved of single models beside C1 or C2; nothing where none was proved."""
    if not counts.models:
        return ""
    gated = claim == "C2"
    kind = "gated models" if gated else "models without a gate"
    again = (
        f"*Also proved.* {counts.models:,} of the {counts.trained:,} {kind} with seeds"
        f" {spans(counts.seeds)} came out the same when they were trained again. Of these"
    )
    if not gated:
        return (
            f"{again}, {counts.flat:,} are flat on the whole chart, by the theorem about fixed"
            f" values, and {counts.curved:,} have a cell on which K ≠ 0."
        )
    return (
        f"{again}, {counts.curved:,} are curved, and {counts.positive:,} have a cell on which"
        f" K > 0. The sign of K is proved on {percent(counts.median)} of the chart for the median"
        f" model, and on {percent(counts.least)} for the worst."
    )


def rows_text(judged: JudgedStudy, shipped: bool) -> str:
    """Say which rows the verdicts use, of which version, and how many models do not count."""
    models, stacks = judged.model_count, judged.stack_count
    rows = f"{counted(models, 'trained model')} and {counted(stacks, 'stack')}"
    where = SHIPPED if shipped else "trained here"
    text = f"Rows: {rows}, seeds {spans(judged.seeds) or '–'}, {where}."
    if version := version_text(judged.code, shipped):
        text += f" {version}"
    if judged.set_aside:
        text += f" Set aside: {counted(judged.set_aside, 'model')}. They have another version or"
        text += " number of steps than most, or were trained twice."
    return text


def version_text(version: str, shipped: bool) -> str:
    """Name the rows' version of the study, and say what this means where it is an older one."""
    if not version:
        return ""
    if version != STUDY_VERSION:
        return (
            f"They are of version {version} of the study; version {STUDY_VERSION} runs here. A new"
            " run adds its own rows and keeps these."
        )
    checked = "; recomputed single layers are the same" if shipped else ""
    return f"Version {version} of the study{checked}."


def model_text(row: ModelRow) -> str:
    """Describe one trained model, with its numbers and their doubt."""
    name = f"{row.task}, {row.variant}, seed {row.seed}"
    if (row.source, row.depth, row.values) != USUAL:
        name += f", {row.source}, depth {row.depth}, n = {row.values}"
    if row.part == "residual":
        name += ", residual"
    if row.error is not None:
        return f"**{name}**: {as_words(row.error)}"
    accuracy = "–" if row.test_accuracy is None else percent(row.test_accuracy)
    total = f"{number(row.total_curvature)} ± {number(row.total_error, 2)}"
    if row.lower_estimate:
        total += " (without its unresolved points)"
    elif row.total_complete is False:
        total += " (not known: the error is larger)"
    return (
        f"**{name}**: {accuracy} of its new points right; ∫|K| dA = {total} over the query chart;"
        f" {percent(row.positive_share or 0.0)} of the area known to have K > 0."
    )


def time_text(seconds: float) -> str:
    """Write minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def progress_text(done: int, total: int, seconds: float, workers: int | None = None) -> str:
    """Say how far a study is, or that nobody works on it."""
    rest = NO_WORKERS if workers == 0 else f"about {time_text(seconds)} left"
    return f"{done:,} of {total:,} rows, {rest}"


def size_text(size: Size, seconds: float) -> str:
    """Say what would be done, and how long that takes."""
    time = f"{max(round(seconds), 1)} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    parts = [counted(size.models, "model")] * bool(size.models)
    parts += [counted(size.stacks, "stack")] * bool(size.stacks)
    return (
        f"{' and '.join(parts)}, without those that are there already. This takes about"
        f" {time} on two cores, perhaps half or twice that."
    )

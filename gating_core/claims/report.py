"""The report of a study, to send to somebody else: one HTML file, and the same as Markdown.

The core draws nothing: `Illustrations` bring the pictures, if there shall be any.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gating_core.claims.claim import THRESHOLDS, Thresholds
from gating_core.claims.models import ModelRow, Models, StackRow, sorted_out
from gating_core.claims.report_formats import Format, Html, Markdown, Picture
from gating_core.claims.text import TextTable, counted, spans
from gating_core.claims.verdicts import (
    EDITIONS,
    FIRST,
    ClaimVerdict,
    accuracies,
    models_of,
    verdicts,
)

TITLE = "Does the paper hold here?"
PAPER = "Bathula & Joshi, Gating Enables Curvature (arXiv 2604.14702)"
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "plotly")


@dataclass(frozen=True)
class Illustrations:
    """The pictures of a verdict, and the HTML that they need in the head of a page."""

    pictures: Callable[[ClaimVerdict], Iterable[Picture]] = lambda _: ()
    head: str = ""


PLAIN = Illustrations()


def write_report(
    folder: Path,
    rows: Iterable[ModelRow],
    stacks: Iterable[StackRow],
    about: Mapping[str, str],
    illustrations: Illustrations = PLAIN,
    t: Thresholds = THRESHOLDS,
) -> tuple[Path, Path]:
    """Write ``claims.html`` and ``claims.md`` into ``folder``, which is made; returns their paths.

    ``about`` says how the report was made: names and texts, which stand first among the settings.
    Files of these names are replaced, each at once; ``OSError`` where that cannot be done.
    """
    rows, stacks = list(rows), list(stacks)
    judged = {
        (claim, edition.name): one
        for edition in EDITIONS.values()
        for claim, one in verdicts(rows, stacks, t, edition).items()
    }
    judged = {key: judged[key] for key in sorted(judged)}  # claim by claim, the first edition first
    pictures = {key: [*illustrations.pictures(one)] for key, one in judged.items()}
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "claims.html", folder / "claims.md"
    formats: tuple[Format, Format] = Html(illustrations.head), Markdown()
    for path, form in zip(paths, formats, strict=True):
        parts = _parts(form, rows, stacks, judged, pictures, about)
        unfinished = path.with_suffix(f"{path.suffix}.{os.getpid()}")
        unfinished.write_text(form.page(TITLE, parts), encoding="utf-8")
        unfinished.replace(path)
    return paths


def _parts(
    form: Format,
    rows: Sequence[ModelRow],
    stacks: Sequence[StackRow],
    judged: Mapping[tuple[str, str], ClaimVerdict],
    pictures: Mapping[tuple[str, str], Sequence[Picture]],
    about: Mapping[str, str],
) -> Iterator[str]:
    """The report, in order: verdicts, claim by claim, accuracies, settings, seeds."""
    models = sorted_out(rows)
    yield form.heading(TITLE, 1)
    yield form.text(
        f"Seven claims of {PAPER}, in our words. Each is decided by a rule that was written down"
        " before the numbers. A verdict speaks of small models on tasks in the plane, and of"
        " nothing else. What is a theorem, or true by construction, is a check of our code."
    )
    for edition in EDITIONS.values():
        yield form.text(
            f"The rules of {', '.join(edition.claims)} were written on {edition.date}; they decide"
            f" on the seeds {spans(edition.seeds)}.",
            f"The {edition.name} edition",
        )
    summary = [
        (claim, x.claim.title, x.claim.kind, which, x.word, x.sentences)
        for (claim, which), x in judged.items()
    ]
    columns = ("claim", "", "what it is", "edition", "verdict", "evidence")
    yield form.table(TextTable(columns, tuple(summary)))
    for key, one in judged.items():
        which = "" if key[1] == FIRST.name else f", {key[1]} edition"
        yield form.heading(f"{key[0]} {one.claim.title}{which}: {one.word}")
        yield form.text(one.sentences)
        yield form.text(one.changes, "What would change it")
        yield from map(form.picture, pictures[key])
        for title, text in one.rule.items():
            yield form.text(text, title)
        if one.gaps:
            yield form.text("Models that are not there:")
            yield form.lines(one.gaps)
        yield form.folded("All numbers", one.table)
    yield form.heading("Test accuracies")
    yield form.table(accuracies(models_of(rows, FIRST)))
    yield form.heading("What was trained")
    yield form.table(_pairs({**about, **_setting(models, rows, stacks)}))
    yield form.heading("What this report was written with")
    yield form.text(
        "The rows do not say on which machines they were trained, which may have been others."
    )
    yield form.table(_pairs(surroundings()))
    yield form.heading("Models and seeds")
    yield form.table(_seeds(models))


def _pairs(texts: Mapping[str, str]) -> TextTable:
    return TextTable(("", ""), tuple(texts.items()))


def _setting(
    models: Models, rows: Sequence[ModelRow], stacks: Sequence[StackRow]
) -> dict[str, str]:
    dims = sorted({row.model_dim for row in rows})
    return {
        "trained models": f"{len(rows):,}, of which"
        f" {counted(sum(row.error is not None for row in rows), 'model')} failed",
        "set aside": f"{models.set_aside:,} rows of other versions, other numbers of steps, or"
        " trained again",
        "stacks": f"{len(stacks):,}",
        "version of the study": models.code or "–",
        "steps of training": str(models.steps or "–"),
        "model dimensions D": ", ".join(map(str, dims)) or "–",
        "processor time": f"{sum(row.seconds or 0.0 for row in rows):.0f} s",
    }


def surroundings() -> dict[str, str]:
    """Return versions and hardware of the process that writes the report, by name."""
    texts = {"Python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            texts[name] = version(name)
        except PackageNotFoundError:
            texts[name] = "not installed"
    processor = platform.processor() or platform.machine()
    cores = counted(os.cpu_count() or 1, "core")
    return texts | {"system": f"{platform.system()} {platform.release()}",
                    "written on": f"{processor}, {cores}"}  # fmt: skip


def _seeds(models: Models) -> TextTable:
    columns = ("setting", "task", "variant", "D", "parameters", "seeds", "failed")
    rows = []
    for (conditions, task, variant), members in models.cells.items():
        some = next(iter(members.values()))
        failed = [seed for seed, row in members.items() if row.error is not None]
        rows.append((conditions.text, task, variant, str(some.model_dim), str(some.parameters),
                     spans([*members]), spans(failed) or "–"))  # fmt: skip
    return TextTable(columns, tuple(rows))

"""What does one send to somebody else? A report in one HTML file, and the same as Markdown.

The HTML file needs no network: plotly.js is taken from the installed package and stands inside.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gating_core.claims.blocks import Block, Folded, Heading, Lines, Text
from gating_core.claims.html import html_page
from gating_core.claims.markdown import markdown_page
from gating_core.claims.models import Models, sorted_out
from gating_core.claims.pictures import figures
from gating_core.claims.published import (
    SOURCE,
    difference_sentence,
    difference_table,
    differences,
)
from gating_core.claims.rows import ModelRow, StackRow
from gating_core.claims.store import Store
from gating_core.claims.thresholds import THRESHOLDS, Thresholds
from gating_core.claims.verdicts import Verdict, verdicts
from gating_core.claims.wording import Table, counted, spans

TITLE = "Does the paper hold here?"
PAPER = "Bathula & Joshi, Gating Enables Curvature (arXiv 2604.14702)"
NAMES = "claims.html", "claims.md"
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "plotly")


def write_report(
    folder: Path,
    rows: Iterable[ModelRow],
    stacks: Iterable[StackRow],
    about: Mapping[str, str],
    t: Thresholds = THRESHOLDS,
) -> tuple[Path, Path]:
    """Write ``claims.html`` and ``claims.md`` into ``folder``, which is made; returns their paths.

    ``about`` says what was asked for: names and texts, which stand first among the settings. Files
    of these names are replaced, each at once; ``OSError`` where that cannot be done.
    """
    blocks = report_blocks(rows, stacks, about, t)
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / NAMES[0], folder / NAMES[1]
    for path, text in zip(paths, (html_page(TITLE, blocks), markdown_page(blocks)), strict=True):
        unfinished = path.with_suffix(f"{path.suffix}.{os.getpid()}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    return paths


def report(store: Store, folder: Path, about: Mapping[str, str]) -> tuple[Path, Path]:
    """`write_report` of all that is in ``store``."""
    return write_report(folder, store.models(), store.stacks(), {"store": store.path.name, **about})


def report_blocks(
    rows: Iterable[ModelRow],
    stacks: Iterable[StackRow],
    about: Mapping[str, str],
    t: Thresholds = THRESHOLDS,
) -> list[Block]:
    """The report, in order: verdicts, claim by claim, accuracies, settings, seeds."""
    rows, stacks = list(rows), list(stacks)
    models, found = sorted_out(rows), verdicts(rows, stacks, t)
    summary = Table(
        ("claim", "", "verdict", "evidence"),
        tuple((name, one.title, one.word, one.sentences) for name, one in found.items()),
    )
    blocks: list[Block] = [
        Heading(TITLE, 1),
        Text(
            f"Seven claims of {PAPER}, in our words, each decided by a rule that was written down"
            " before the numbers. A verdict speaks of small models on tasks in the plane, and of"
            " nothing else."
        ),
        summary,
    ]
    for one in found.values():
        blocks += _claim_blocks(one)
    compared = differences(models)
    blocks += [
        Heading("Our accuracies, and others"),
        Text(f"Beside those of {SOURCE}. {difference_sentence(compared)}"),
        *([difference_table(compared)] if compared else []),
        Heading("What was trained"),
        Table(("", ""), tuple({**about, **_setting(models, rows, stacks)}.items())),
        Heading("What this report was written with"),
        Text(
            "The rows do not say on which machines they were trained, which may have been others;"
            " the version of the code stands above."
        ),
        Table(("", ""), tuple(surroundings().items())),
        Heading("Models and seeds"),
        _seeds(models),
    ]
    return blocks


def _claim_blocks(one: Verdict) -> list[Block]:
    blocks: list[Block] = [
        Heading(f"{one.claim} {one.title}: {one.word}"),
        Text(one.sentences),
        Text(one.changes, "What would change it"),
    ]
    for figure in figures(one):
        blocks.append(figure)
    blocks += [Text(text, about) for about, text in one.rule.items()]
    if one.gaps:
        blocks += [Text("Models that are not there:"), Lines(one.gaps)]
    return [*blocks, Folded("All numbers", one.table)]


def _setting(
    models: Models, rows: Sequence[ModelRow], stacks: Sequence[StackRow]
) -> dict[str, str]:
    dims = sorted({row.model_dim for row in rows})
    told = {
        "trained models": f"{len(rows):,}, of which"
        f" {counted(sum(row.error is not None for row in rows), 'model')} failed",
        "set aside": f"{models.set_aside:,} rows of other versions, other numbers of steps, or"
        " trained again",
        "stacks": f"{len(stacks):,}",
        "version of the code": models.code or "–",
        "steps of training": str(models.steps or "–"),
        "model dimensions D": ", ".join(map(str, dims)) or "–",
        "processor time": f"{sum(row.seconds or 0.0 for row in rows):.0f} s",
    }
    return told


def surroundings() -> dict[str, str]:
    """Versions and hardware of the process that writes the report, by name."""
    found = {"Python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    processor = platform.processor() or platform.machine()
    cores = counted(os.cpu_count() or 1, "core")
    return found | {"system": f"{platform.system()} {platform.release()}",
                    "written on": f"{processor}, {cores}"}  # fmt: skip


def _seeds(models: Models) -> Table:
    columns = ("setting", "task", "variant", "D", "parameters", "seeds", "failed")
    rows = []
    for (place, task, variant), found in models.cells.items():
        some = next(iter(found.values()))
        failed = [seed for seed, row in found.items() if row.error is not None]
        rows.append((place.text, task, variant, str(some.model_dim), str(some.parameters),
                     spans([*found]), spans(failed) or "–"))  # fmt: skip
    return Table(columns, tuple(rows))

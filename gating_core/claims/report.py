"""The report of a study, to send to somebody else: one HTML file, and the same as Markdown.

The core draws nothing: `Illustrations` supply the pictures, if any. Whatever a text
contains, it becomes no tag or mark.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from gating_core.claims.claim import CRITERIA, THRESHOLDS, V1, Thresholds
from gating_core.claims.models import ModelRow, Models, RefinedTotal, StackRow, sorted_out
from gating_core.claims.text import TextTable, counted, listed, spans
from gating_core.claims.verdicts import ClaimVerdict, accuracies, models_of, verdicts
from gating_core.progress import Progress, silent

TITLE = "Does the paper hold here?"
PAPER = "Bathula & Joshi, Gating Enables Curvature (arXiv 2604.14702)"
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
WHITE = re.compile(r"\s+")
LINE_START = re.compile(r"^(\d*)([.)+=-]+)(?= |$)")  # would begin a list or a rule
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "plotly")


@dataclass(frozen=True)
class Picture:
    """A picture of a report: ``html`` is its element, made by whoever draws."""

    title: str
    explain: str
    html: str


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
    refined: Iterable[RefinedTotal] = (),
    progress: Progress = silent,
) -> tuple[Path, Path]:
    """Write ``claims.html`` and ``claims.md`` into ``folder``, which is made; returns their paths.

    ``about`` says how the report was made: names and texts, which stand first among the settings.
    Files of these names are replaced, each at once; ``OSError`` where that cannot be done. It takes
    seconds; ``progress`` hears of them, and ends the work by raising.
    """
    progress(0.0)
    rows, stacks, refined = list(rows), list(stacks), list(refined)
    judged = verdicts(rows, stacks, t, refined)
    pictures = []
    for number, one in enumerate(judged.values()):
        progress((1 + number) / (len(judged) + 3))
        pictures.append([*illustrations.pictures(one)])
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "claims.html", folder / "claims.md"
    formats: tuple[Format, Format] = Html(illustrations.head), Markdown()
    for number, (path, form) in enumerate(zip(paths, formats, strict=True)):
        progress((1 + len(judged) + number) / (len(judged) + 3))
        parts = _parts(form, rows, stacks, judged, pictures, about)
        unfinished = path.with_suffix(f"{path.suffix}.{os.getpid()}")
        unfinished.write_text(form.page(TITLE, parts), encoding="utf-8")
        unfinished.replace(path)
    return paths


def _parts(
    form: Format,
    rows: Sequence[ModelRow],
    stacks: Sequence[StackRow],
    judged: Mapping[str, ClaimVerdict],
    pictures: Sequence[Sequence[Picture]],
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
    for criteria in CRITERIA.values():
        names = [name for name, one in judged.items() if one.claim.criteria is criteria]
        yield form.text(
            f"The rules of {listed(names)} were written on {criteria.date}; they decide on the"
            f" seeds {spans(criteria.seeds)}.",
            f"Criteria {criteria.name}",
        )
    summary = [
        (claim, x.claim.title, x.claim.kind, x.claim.criteria.name, x.word, x.sentences)
        for claim, x in judged.items()
    ]
    columns = ("claim", "", "what it is", "criteria", "verdict", "evidence")
    yield form.table(TextTable(columns, tuple(summary)))
    for (claim, one), drawn in zip(judged.items(), pictures, strict=True):
        yield form.heading(f"{claim} {one.claim.title}: {one.word}")
        yield form.text(one.sentences)
        yield form.text(one.changes, "What would change it")
        yield from map(form.picture, drawn)
        for title, text in one.rule.items():
            yield form.text(text, title)
        if one.gaps:
            yield form.text("Models that are not there:")
            yield form.lines(one.gaps)
        yield form.folded("All numbers", one.table)
    yield form.heading("Test accuracies")
    yield form.table(accuracies(models_of(rows, V1)))
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
    return texts | {
        "system": f"{platform.system()} {platform.release()}",
        "written on": f"{processor}, {cores}",
    }


def _seeds(models: Models) -> TextTable:
    columns = ("setting", "task", "variant", "D", "parameters", "seeds", "failed")
    rows = []
    for (conditions, task, variant), members in models.cells.items():
        some = next(iter(members.values()))
        failed = [seed for seed, row in members.items() if row.error is not None]
        rows.append(
            (
                conditions.text,
                task,
                variant,
                str(some.model_dim),
                str(some.parameters),
                spans([*members]),
                spans(failed) or "–",
            )
        )
    return TextTable(columns, tuple(rows))


# --- Formats, with the same parts: every part is a method that returns text ---------------------


@dataclass(frozen=True)
class Html:
    """One file that fetches nothing, light or dark as the reader's system is.

    ``head`` is what pictures need before they are drawn.
    """

    head: str = ""

    def heading(self, text: str, level: int = 2) -> str:
        """Return a heading of ``level`` 1 to 6."""
        return f"<h{level}>{escape(text)}</h{level}>"

    def text(self, text: str, about: str = "") -> str:
        """Return a paragraph that begins with ``about`` in bold, if given."""
        front = f"<b>{escape(about)}.</b> " if about else ""
        return f"<p>{front}{escape(text)}</p>"

    def lines(self, lines: Iterable[str]) -> str:
        """Return a bulleted list, an item for each line."""
        return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"

    def table(self, table: TextTable) -> str:
        """Return a table with a header row, in a box that scrolls sideways."""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
        rows = "\n".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
        )
        return (
            f'<div class="table"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody>'
            "</table></div>"
        )

    def folded(self, title: str, table: TextTable) -> str:
        """Return a table that is folded under its title."""
        return f"<details><summary>{escape(title)}</summary>{self.table(table)}</details>"

    def picture(self, picture: Picture) -> str:
        """Return a figure with its title above and its explanation folded below."""
        return (
            f"<figure><figcaption>{escape(picture.title)}</figcaption>{picture.html}<details>"
            f"<summary>Explain this plot</summary><p>{escape(picture.explain)}</p></details>"
            "</figure>"
        )

    def page(self, title: str, parts: Iterable[str]) -> str:
        """Return the whole document with the style sheet in it; ``parts`` are HTML already."""
        body = "\n".join(parts)
        style = (files("gating_core.claims") / "report.css").read_text(encoding="utf-8")
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(title)}</title><style>\n{style}</style>{self.head}</head>\n"
            f"<body><main>\n{body}\n</main></body></html>\n"
        )


class Markdown:
    """Plain text; pictures are told in words."""

    def heading(self, text: str, level: int = 2) -> str:
        """Return a heading of ``level`` 1 to 6."""
        return f"{'#' * level} {escaped(text)}"

    def text(self, text: str, about: str = "") -> str:
        """Return a paragraph that begins with ``about`` in bold, if given."""
        return f"**{escaped(about)}.** {escaped(text)}" if about else escaped(text)

    def lines(self, lines: Iterable[str]) -> str:
        """Return a bulleted list, an item for each line."""
        return "\n".join(f"- {escaped(line)}" for line in lines)

    def table(self, table: TextTable) -> str:
        """Return a table with a header row."""
        rule = "|".join(["", *["---"] * len(table.columns), ""])
        return "\n".join([_line(table.columns), rule, *map(_line, table.rows)])

    def folded(self, title: str, table: TextTable) -> str:
        """Return a table under a heading of level 3: Markdown folds nothing."""
        return f"{self.heading(title, 3)}\n\n{self.table(table)}"

    def picture(self, picture: Picture) -> str:
        """Return the title and the explanation of a picture in place of it."""
        title, explain = escaped(picture.title), escaped(picture.explain)
        return f"*Picture: {title} (in the HTML report).* {explain}"

    def page(self, title: str, parts: Iterable[str]) -> str:
        """Return the whole document, without its ``title``; empty parts are left out."""
        return "\n\n".join(filter(None, parts)) + "\n"


def escaped(text: str) -> str:
    """Return ``text`` in one line, in which no sign means anything but itself in Markdown."""
    plain = SPECIAL.sub(r"\\\1", WHITE.sub(" ", text).strip())
    return LINE_START.sub(r"\1\\\2", plain)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


Format = Html | Markdown

"""The report of a study, to send to somebody else: one HTML page.

The core draws nothing: pictures are made by whoever asks for the report. Whatever a text contains,
it becomes no tag.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import NamedTuple

from gating_core.claims.claim import V1, Table, Verdict
from gating_core.claims.price_study import price_study
from gating_core.claims.price_verdicts import PRICE_CLAIMS
from gating_core.claims.rows import ModelRow, StackRow, sorted_out
from gating_core.claims.text import counted, listed, spans
from gating_core.claims.verdicts import CLAIMS, accuracies, models_of, verdicts
from gating_core.progress import Progress, silent

TITLE = "Does the paper hold here?"
PAPER = "Bathula & Joshi, Gating Enables Curvature (arXiv 2604.14702)"
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "plotly")


class Picture(NamedTuple):
    """A picture of a report: ``html`` is its element, made by whoever draws."""

    title: str
    explain: str
    html: str


Pictures = Callable[[str, Verdict], Iterable[Picture]]  # by the name of the claim


def report(
    rows: Iterable[ModelRow],
    stacks: Iterable[StackRow],
    about: Mapping[str, str],
    pictures: Pictures = lambda *_: (),
    head: str = "",
    progress: Progress = silent,
) -> str:
    """Return an HTML page that fetches nothing: verdicts, claim by claim, settings, seeds.

    Args:
        rows: of trained models.
        stacks: of the structured regime.
        about: how the report was made: names and texts, which stand first among the settings.
        pictures: makes the pictures of a verdict.
        head: HTML that pictures need in the head of a page.
        progress: hears of the seconds that it takes, and ends the work by raising.
    """
    progress(0.0)
    rows, stacks = list(rows), list(stacks)
    models, judged, claims = sorted_out(rows), verdicts(rows, stacks), CLAIMS | PRICE_CLAIMS
    judged |= {name: claim.judge(price_study()) for name, claim in PRICE_CLAIMS.items()}
    parts = [
        f"<h1>{escape(TITLE)}</h1>",
        _text(
            f"Nine claims: seven of {PAPER}, in our words, and {listed(PRICE_CLAIMS)}, which are"
            " ours and decided by the rows of a study of their own. Each is decided by a rule that"
            " was written down before the numbers. A verdict speaks of small models on tasks in the"
            " plane, and of nothing else. What is a theorem, or true by construction, is a check of"
            " our code."
        ),
    ]
    for criteria in dict.fromkeys(claim.criteria for claim in claims.values()):
        names = listed(name for name, claim in claims.items() if claim.criteria is criteria)
        text = f"The rules of {names} were written on {criteria.date}; they decide on the seeds"
        parts.append(_text(f"{text} {spans(criteria.seeds)}.", f"Criteria {criteria.name}"))
    parts.append(_table([
        {"claim": name, "": claims[name].title, "what it is": claims[name].kind,
         "criteria": claims[name].criteria.name, "verdict": x.word, "evidence": x.sentences}
        for name, x in judged.items()
    ]))  # fmt: skip
    for number, (name, x) in enumerate(judged.items(), 1):
        progress(number / (len(judged) + 1))
        parts += [_heading(f"{name} {claims[name].title}: {x.word}"), _text(x.sentences)]
        for picture in pictures(name, x):
            parts.append(
                f"<figure><figcaption>{escape(picture.title)}</figcaption>{picture.html}<details>"
                f"<summary>Explain this plot</summary><p>{escape(picture.explain)}</p></details>"
                "</figure>"
            )
        parts += [_text(text, title) for title, text in claims[name].rule().items()]
        if x.gaps:
            lines = "".join(f"<li>{escape(line)}</li>" for line in x.gaps)
            parts.append(f"<p>Models that are not there:</p><ul>{lines}</ul>")
        parts.append(f"<details><summary>All numbers</summary>{_table(x.table)}</details>")
    failed = counted(sum(row.error is not None for row in rows), "model")
    parts += [
        _heading("Test accuracies"),
        _table(accuracies(models_of(rows, V1))),
        _heading("What was trained"),
        _pairs({
            **about,
            "trained models": f"{len(rows):,}, of which {failed} failed",
            "set aside": f"{models.set_aside:,} rows of other versions, other numbers of steps, or"
            " trained again",
            "stacks": f"{len(stacks):,}",
            "version of the study": models.code or "–",
            "steps of training": str(models.steps or "–"),
            "model dimensions D": ", ".join(map(str, sorted({x.model_dim for x in rows}))) or "–",
            "processor time": f"{sum(row.seconds or 0.0 for row in rows):.0f} s",
        }),
        _heading("What this report was written with"),
        _text("The rows do not say on which machines they were trained, which may have been"
              " others."),
        _pairs(surroundings()),
        _heading("Models and seeds"),
        _table([
            {"setting": conditions.text, "task": task, "variant": variant,
             "D": str(next(iter(members.values())).model_dim),
             "parameters": str(next(iter(members.values())).parameters), "seeds": spans(members),
             "failed": spans(s for s, row in members.items() if row.error is not None) or "–"}
            for (conditions, task, variant), members in models.cells.items()
        ]),
    ]  # fmt: skip
    style = (files("gating_core.claims") / "report.css").read_text(encoding="utf-8")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(TITLE)}</title><style>\n{style}</style>{head}</head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def surroundings() -> dict[str, str]:
    """Return versions and hardware of the process that writes the report, by name."""
    texts = {"Python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            texts[name] = version(name)
        except PackageNotFoundError:
            texts[name] = "not installed"
    processor = platform.processor() or platform.machine()
    return texts | {
        "system": f"{platform.system()} {platform.release()}",
        "written on": f"{processor}, {counted(os.cpu_count() or 1, 'core')}",
    }


def _heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def _text(text: str, title: str = "") -> str:
    return f"<p>{f'<b>{escape(title)}.</b> ' if title else ''}{escape(text)}</p>"


def _table(table: Table) -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for row in table[:1] for name in row)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row.values()) for row in table)
    lines = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="table"><table><thead><tr>{names}</tr></thead>\n<tbody>{lines}</tbody>'
        "</table></div>"
    )


def _pairs(texts: Mapping[str, str]) -> str:
    return _table([{"": name, " ": text} for name, text in texts.items()])

"""The two formats of a report: HTML and Markdown, with the same parts.

Every part is a method that returns text. Whatever a text contains, it becomes no tag or mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from gating_core.claims.text import TextTable

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
WHITE = re.compile(r"\s+")
LINE_START = re.compile(r"^(\d*)([.)+=-]+)(?= |$)")  # would begin a list or a rule


@dataclass(frozen=True)
class Picture:
    """A picture of a report: ``html`` is its element, made by whoever draws."""

    title: str
    explain: str
    html: str


@dataclass(frozen=True)
class Html:
    """One file that fetches nothing, light or dark as the reader's system is.

    ``head`` is what pictures need before they are drawn.
    """

    head: str = ""

    def heading(self, text: str, level: int = 2) -> str:
        return f"<h{level}>{escape(text)}</h{level}>"

    def text(self, text: str, about: str = "") -> str:
        front = f"<b>{escape(about)}.</b> " if about else ""
        return f"<p>{front}{escape(text)}</p>"

    def lines(self, lines: Iterable[str]) -> str:
        return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"

    def table(self, table: TextTable) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
        rows = "\n".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
        )
        return (
            f'<div class="table"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody>'
            "</table></div>"
        )

    def folded(self, title: str, table: TextTable) -> str:
        return f"<details><summary>{escape(title)}</summary>{self.table(table)}</details>"

    def picture(self, picture: Picture) -> str:
        return (
            f"<figure><figcaption>{escape(picture.title)}</figcaption>{picture.html}<details>"
            f"<summary>Explain this plot</summary><p>{escape(picture.explain)}</p></details>"
            "</figure>"
        )

    def page(self, title: str, parts: Iterable[str]) -> str:
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
        return f"{'#' * level} {escaped(text)}"

    def text(self, text: str, about: str = "") -> str:
        return f"**{escaped(about)}.** {escaped(text)}" if about else escaped(text)

    def lines(self, lines: Iterable[str]) -> str:
        return "\n".join(f"- {escaped(line)}" for line in lines)

    def table(self, table: TextTable) -> str:
        rule = "|".join(["", *["---"] * len(table.columns), ""])
        return "\n".join([_line(table.columns), rule, *map(_line, table.rows)])

    def folded(self, title: str, table: TextTable) -> str:
        return f"{self.heading(title, 3)}\n\n{self.table(table)}"

    def picture(self, picture: Picture) -> str:
        title, explain = escaped(picture.title), escaped(picture.explain)
        return f"*Picture: {title} (in the HTML report).* {explain}"

    def page(self, title: str, parts: Iterable[str]) -> str:
        return "\n\n".join(filter(None, parts)) + "\n"


def escaped(text: str) -> str:
    """Return ``text`` in one line, in which no sign means anything but itself in Markdown."""
    plain = SPECIAL.sub(r"\\\1", WHITE.sub(" ", text).strip())
    return LINE_START.sub(r"\1\\\2", plain)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


Format = Html | Markdown

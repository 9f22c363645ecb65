"""How is a report written as Markdown? Every text escaped, tables with pipes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gating_core.claims.blocks import Block, Folded, Heading, Lines, Text
from gating_core.claims.pictures import Figure
from gating_core.claims.wording import Table

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
WHITE = re.compile(r"\s+")
LINE_START = re.compile(r"^(\d*)([.)+=-]+)(?= |$)")  # would begin a list or a rule


def markdown_page(blocks: Sequence[Block]) -> str:
    """The whole text; figures are told in words."""
    return "\n\n".join(filter(None, map(_block, blocks))) + "\n"


def escaped(text: str) -> str:
    """``text`` in one line, in which no sign means anything but itself."""
    plain = SPECIAL.sub(r"\\\1", WHITE.sub(" ", text).strip())
    return LINE_START.sub(r"\1\\\2", plain)


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {escaped(text)}"
        case Text(text, about):
            return f"**{escaped(about)}.** {escaped(text)}" if about else escaped(text)
        case Lines(lines):
            return "\n".join(f"- {escaped(line)}" for line in lines)
        case Folded(title, table):
            return f"### {escaped(title)}\n\n{_table(table)}"
        case Table():
            return _table(block)
        case Figure():
            title, explain = escaped(block.title), escaped(block.explain)
            return f"*Picture: {title} (in the HTML report).* {explain}"
    raise ValueError(f"block is {type(block).__name__}; it must be one of a report's parts")


def _table(table: Table) -> str:
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    first, rule, *rest = lines
    return "\n".join([_line(first), "|".join(["", *rule, ""]), *map(_line, rest)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"

"""How is a report written as one HTML file, with figures that move and nothing fetched?

Light or dark as the reader's system is; figures change their colours with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from gating_core.claims.blocks import Block, Folded, Heading, Lines, Text
from gating_core.claims.pictures import DARK, LIGHT, Figure, colours
from gating_core.claims.wording import Table

PLOTLY_JS = "package_data/plotly.min.js"  # within the installed package
WITHOUT = (
    "The figures need plotly.js, which is taken from the Python package plotly; it was not"
    " installed where this report was written."
)


def html_page(title: str, blocks: Sequence[Block]) -> str:
    """The whole file. Without plotly.js it says in a sentence why there are no figures."""
    library = plotly_js()
    drawn = [block for block in blocks if isinstance(block, Figure)]
    parts, place = [], 0
    for block in blocks:
        parts.append(_figure(block, place, library) if isinstance(block, Figure) else _block(block))
        place += isinstance(block, Figure)
    style, script = _beside("report.css"), _beside("report.js")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n<body><main>\n"
    )
    scripts = ""
    if library is not None and drawn:
        data = {"figures": [block.figure for block in drawn],
                "light": colours(LIGHT), "dark": colours(DARK)}  # fmt: skip
        scripts = (
            f"<script>{library}</script>\n"
            f'<script type="application/json" id="figures">{_in_script(data)}</script>\n'
            f"<script>\n{script}</script>\n"
        )
    return f"{head}{''.join(parts)}</main>\n{scripts}</body></html>\n"


def plotly_js() -> str | None:
    """The library's text, found without importing the package; ``None`` where there is none."""
    found = find_spec("plotly")
    for folder in (found.submodule_search_locations or []) if found else []:
        path = Path(folder) / PLOTLY_JS
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None


def _beside(name: str) -> str:
    """The text of a file of this package."""
    return (files("gating_core.claims") / name).read_text(encoding="utf-8")


def _in_script(data: object) -> str:
    """JSON that ends no script, whatever text is in it; NaN is no JSON and would be an error."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _figure(block: Figure, place: int, library: str | None) -> str:
    height = block.figure["layout"]["height"]
    picture = (
        f'<div class="figure" id="figure-{place}" style="height:{height}px" role="img"'
        f' aria-label="{escape(block.alt)}"></div>'
        if library is not None
        else f"<p>{escape(WITHOUT)}</p>"
    )
    return (
        f"<figure><figcaption>{escape(block.title)}</figcaption>{picture}"
        f"<details><summary>Explain this plot</summary><p>{escape(block.explain)}</p></details>"
        "</figure>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>\n"
        case Text(text, about):
            front = f"<b>{escape(about)}.</b> " if about else ""
            return f"<p>{front}{escape(text)}</p>\n"
        case Lines(lines):
            return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>\n"
        case Folded(title, table):
            inner = _table(table)
            return f"<details><summary>{escape(title)}</summary>{inner}</details>\n"
        case Table():
            return _table(block)
    raise ValueError(f"block is {type(block).__name__}; it must be one of a report's parts")


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in table.rows
    )
    return (
        f'<div class="table"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
        "</div>\n"
    )

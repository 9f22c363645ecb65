"""The pictures of a report: Plotly figures that move, in a file that fetches nothing."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from itertools import count
from pathlib import Path

import plotly

from gating_core.claims import ClaimVerdict, Illustrations, Picture
from ui.claims.figures import figures
from ui.claims.picture import DARK, LIGHT, Figure, colours

SCRIPT = Path(__file__).with_name("report.js")


def illustrations() -> Illustrations:
    """Return what `write_report` takes: pictures in the colours of the reader's scheme."""
    numbers = count()

    def pictures(verdict: ClaimVerdict) -> list[Picture]:
        return [_picture(figure, next(numbers)) for figure in figures(verdict)]

    return Illustrations(pictures, _head())


def _picture(figure: Figure, number: int) -> Picture:
    html = (
        f'<div class="figure" id="figure-{number}" role="img" aria-label="{escape(figure.alt)}"'
        f' style="height:{figure.figure["layout"]["height"]}px"></div>'
        f'<script type="application/json">{in_script(figure.figure)}</script>'
    )
    return Picture(figure.title, figure.explain, html)


@cache
def _head() -> str:
    script = SCRIPT.read_text(encoding="utf-8")
    pairs = in_script(list(zip(colours(LIGHT), colours(DARK), strict=True)))
    return (
        f"<script>{plotly_js()}</script>\n"
        f'<script type="application/json" id="colours">{pairs}</script>\n'
        f"<script>\n{script}</script>\n"
    )


def plotly_js() -> str:
    """Return the text of the library, which comes with the Python package."""
    path = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return path.read_text(encoding="utf-8")


def in_script(data: object) -> str:
    """JSON that ends no script, whatever text is in it; NaN is no JSON and would be an error."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

"""The charts of a report: Plotly figures that move, in a file that fetches nothing."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from itertools import count
from pathlib import Path

import plotly

from gating_core.claims import ClaimVerdict, Illustrations, Picture
from ui.claims.charts import ClaimChart, claim_charts

SCRIPT = Path(__file__).with_name("report.js")
INK, FAINT = "#1f2933", "#c3c8cf"  # of text and of grids, in a light scheme
IN_DARK = [(INK, "#e4e7eb"), (FAINT, "#444b54")]


def illustrations() -> Illustrations:
    """Return what `write_report` takes: charts in the colours of the reader's scheme."""
    numbers = count()

    def pictures(verdict: ClaimVerdict) -> list[Picture]:
        charts = claim_charts(verdict, wide=True)
        return [_picture(chart, next(numbers)) for chart in charts]

    return Illustrations(pictures, _head())


def _picture(chart: ClaimChart, number: int) -> Picture:
    axis = {"gridcolor": FAINT, "linecolor": FAINT}
    chart.figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK},
        legend={"font": {"color": INK}},
    )
    chart.figure.update_xaxes(axis).update_yaxes(axis)
    html = (
        f'<div class="figure" id="figure-{number}" role="img" aria-label="{escape(chart.alt)}"'
        f' style="height:{chart.figure.layout.height}px"></div>'
        f'<script type="application/json">{in_script(json.loads(chart.figure.to_json()))}</script>'
    )
    return Picture(chart.title, chart.explanation, html)


@cache
def _head() -> str:
    script = SCRIPT.read_text(encoding="utf-8")
    return (
        f"<script>{plotly_js()}</script>\n"
        f'<script type="application/json" id="colours">{in_script(IN_DARK)}</script>\n'
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

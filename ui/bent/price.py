"""The tab Price: what is left of a gate's gain when its curvature is paid for."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.claims.price_study import TASKS as STUDIED
from gating_core.claims.price_study import PieceResult, PriceStudy, price_study
from gating_core.claims.price_verdicts import NEEDED, NOT_NEEDED, Row, Share, judge
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.lessons import section
from ui.common.links import LINK
from ui.work.cache import cached

NAMES = {"islands": "two islands"}
COLOURS = {("elementwise", 3): c.TEAL, ("elementwise", 4): c.BLUE, ("elementwise", 8): c.PURPLE,
           ("elementwise", 16): c.MAGENTA, ("headwise", 8): c.ORANGE,
           ("headwise", 16): c.GREEN}  # fmt: skip
PRICES = {"none": ("no price", "circle"), "K": ("price on |K|", "circle-open"),
          "bending": ("on bending", "x"), "area": ("on area", "square-open")}  # fmt: skip
MANY = 0.5  # of priced models with an island, that fold
AXES = {"total |K|": "total", "total bending": "bending"}


@cached("Judging …")
def rows() -> list[Row]:
    """Return the verdicts of C8 and C9."""
    return judge(price_study())


def draw() -> None:
    """Draw the choice of a task and an axis, the chart, and the table of verdicts."""
    front = st.container(horizontal=True, vertical_alignment="bottom")
    task = front.selectbox("Task", STUDIED, key="price_task", width=180, **LINK,
                           format_func=lambda name: NAMES.get(name, name))  # fmt: skip
    axis = front.radio("Against", [*AXES], key="price_axis", horizontal=True, **LINK)
    found = [row for row in rows() if row.task == task]
    text = finding(task, found)
    st.markdown(text)
    charts = c.Charts("price")
    st.caption("Filled: no price · open: a price on |K| · cross: on bending · square: on area")
    charts.draw("price", st, price_chart(price_study(), task, axis), text)
    charts.draw_table("verdicts", st, f"Kept shares of the gain on {NAMES.get(task, task)}",
                      columns(found, price_study()))  # fmt: skip
    charts.draw_footer(section("bent", "price"))


def price_chart(study: PriceStudy, task: str, axis: str) -> go.Figure:
    """Draw accuracy against curvature: of each architecture without a price and with each."""
    at = STUDIED.index(task)

    def place(result: PieceResult) -> tuple[float, float]:
        return float(np.median(getattr(result, AXES[axis])[at])), 100 * result.accuracy[at].mean()

    traces = []
    for (gate, dim), colour in COLOURS.items():
        name = f"{gate}, D = {dim}"
        found = {price: study.find(gate=gate, model_dim=dim, price=price) for price in PRICES}
        results = {price: result for price, result in found.items() if result is not None}
        ends = zip(*(place(results[price]) for price in ("none", "K")), strict=True)
        traces.append(c.line(name, *ends, colour=colour, width=1.5, mode="lines", legend=False))
        for price, result in results.items():
            title, symbol = PRICES[price]
            x, y = place(result)
            half = mean_interval(100 * result.accuracy[at].astype(float)).half_width
            traces.append(
                c.line(
                    name,
                    [x],
                    [y],
                    [half],
                    colour=colour,
                    symbol=symbol,
                    mode="markers",
                    legend=price == "none",
                    labels=[title],
                )
            )
    level = [
        base.accuracy[at].mean()
        for _, dim in COLOURS
        if (base := study.find(gate="none", model_dim=dim)) is not None
    ]
    figure = c.chart(
        "Test accuracy against curvature, with and without a price",
        traces,
        f"median {axis}",
        "test accuracy, %",
        height=380,
        x_axis=c.log_axis(),
    )
    return c.mark_y(figure, float(100 * np.mean(level)), "no gate")


def finding(task: str, found: list[Row]) -> str:
    """Say for which architectures the gain needs curvature, and for which it does not."""
    words = {
        word: [
            f"{row.gate} D = {row.model_dim}" + " (it folds)" * (row.folds > MANY)
            for row in found
            if row.word == word
        ]
        for word in dict.fromkeys(row.word for row in found)
    }
    order = [word for word in (NOT_NEEDED, NEEDED) if word in words]
    order += [word for word in words if word not in order]
    bold = {NOT_NEEDED: f"**{NOT_NEEDED}**", NEEDED: f"**{NEEDED}**"}
    parts = [f"{bold.get(word, word)} with {', '.join(words[word])}" for word in order]
    name = NAMES.get(task, task)
    text = f"Gaussian curvature for the gain of a gate on *{name}*: {'; '.join(parts)}."
    folds = [
        f"{100 * row.folds:.0f}\u00a0% (D = {row.model_dim})"
        for row in sorted(found, key=lambda row: row.model_dim)
        if row.gate == "elementwise" and not np.isnan(row.folds)
    ]
    if len(folds) < len({row.model_dim for row in found}):
        return text
    return (
        f"{text} Of priced models with an island and an elementwise gate, {', '.join(folds)} fold:"
        " in three dimensions an island without curvature has to, in more it can be rolled."
    )


def columns(found: list[Row], study: PriceStudy) -> dict[str, list[str]]:
    """Return the table of verdicts, cells by heading."""

    def both(row: Row, name: str) -> str:
        """Return the median of a column without a price, and with one on |K|."""
        at = STUDIED.index(row.task)
        pair = (study.find(gate=row.gate, model_dim=row.model_dim, price=x) for x in ("none", "K"))
        medians = [np.nanmedian([np.nan, *getattr(x, name)[at]]) for x in pair if x is not None]
        return " → ".join("–" if np.isnan(x) else f"{x:.2f}" for x in medians)

    return {
        "gate": [f"{row.gate}, D = {row.model_dim}" for row in found],
        "gain over no gate, points": [
            f"{x.gain.mean:.1f} ± {x.gain.half_width:.1f}" for x in found
        ],
        "total |K| left": [f"{100 * row.left:.2g}\u00a0%" for row in found],
        "kept share, price on |K|": [share_text(next(iter(x.tries), None)) for x in found],
        "second tries": ["; ".join(map(share_text, row.tries[1:])) or "–" for row in found],
        "placebo, price on area": [share_text(row.placebo) for row in found],
        "test loss, nats": [both(row, "loss") for row in found],
        "margin, radii": [both(row, "margin") for row in found],
        "height of the island, radii": [both(row, "height") for row in found],
        "of priced islands, folds": [
            "–" if np.isnan(row.folds) else f"{100 * row.folds:.0f}\u00a0%" for row in found
        ],
        "verdict": [f"**{row.word}**" for row in found],
    }


def share_text(share: Share | None) -> str:
    """Format a kept share with its interval."""
    if share is None:
        return "–"
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]".replace("-", "−")

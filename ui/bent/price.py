"""The tab Price: what is left of a gate's gain when its curvature is paid for."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.claims.price_verdicts import (
    NEEDED,
    NOT_NEEDED,
    PAID,
    SEEDS_TOGETHER,
    WITH_ISLANDS,
    PieceResult,
    PriceStudy,
    Row,
    Share,
    judge,
    judge_planes,
    price_study,
)
from gating_core.claims.price_verdicts import TASKS as STUDIED
from gating_core.experiments.comparison import cast_shadow
from gating_core.training import mean_interval
from ui.bent.shadows import NO_BREAK, draw_shadows, percent, shadow_pair
from ui.common import charts as c
from ui.common.formatting import plus_minus
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.components.pair import Pair
from ui.work.cache import cached

NAMES = {"islands": "two islands"}
COLOURS = {("elementwise", 3): c.TEAL, ("elementwise", 4): c.BLUE, ("elementwise", 8): c.PURPLE,
           ("elementwise", 16): c.MAGENTA, ("headwise", 8): c.ORANGE,
           ("headwise", 16): c.GREEN}  # fmt: skip
GATES = {f"{gate}, D = {dim}": (gate, dim) for gate, dim in COLOURS}
PRICES = {"none": ("no price", "circle"), "K": ("price on |K|", "circle-open"),
          "bending": ("price on bending", "x"),
          "area": ("price on area", "square-open")}  # fmt: skip
MANY = 0.5  # of priced models, that fold
AXES = {"total |K|": "total", "total bending": "bending"}
CHART = "chart_price_price"
SAME = {"marker": {"opacity": 1}}  # where another mark is selected
GRID = 61  # points along each side of a surface


@cached("Judging …")
def rows() -> list[Row]:
    """Return the verdicts of C8 and C9."""
    return judge(price_study())


@cached("Judging …")
def plane_rows() -> list[Row]:
    """Return what headwise gates keep that cannot curve."""
    return judge_planes(price_study())


@cached("Drawing two surfaces …")
def surfaces(gate: str, price: str, task: str) -> Pair:
    """Return the shadows of the two typical models of a point."""
    gate_kind, dim = GATES[gate]
    result = price_study().find(gate=gate_kind, model_dim=dim, price=price)
    assert result is not None
    shadows = {}
    for place in (0, 1):
        model = result.model(task, place)
        (normal,), (offset,) = model.plane()
        name = f"seed {result.seeds[result.typical[STUDIED.index(task), place]]}"
        shadows[name] = cast_shadow(model.attention, normal, float(offset), GRID)
    return shadow_pair(shadows)


def draw() -> None:
    """Draw the choice of a task and an axis, the chart, two surfaces, and the verdicts."""
    front = st.container(horizontal=True, vertical_alignment="bottom")
    task = front.selectbox("Task", STUDIED, key="price_task", width=180, **LINK,
                           format_func=lambda name: NAMES.get(name, name))  # fmt: skip
    axis = front.radio("Against", [*AXES], key="price_axis", horizontal=True, **LINK)
    found = [row for row in rows() if row.task == task]
    text = finding(task, found)
    draw_finding(text, lead=section("bent", "lead"))
    charts = c.Charts("price")
    chart, beside = c.chart_columns("price", [3, 2])
    choice = beside.container(horizontal=True, vertical_alignment="bottom")
    gate = choice.selectbox("Two surfaces of", [*GATES], 3, key="price_gate", width=190, **LINK)
    price = choice.selectbox("trained with", [*PRICES], 1, key="price_paid", width=170, **LINK,
                             format_func=lambda name: PRICES[name][0])  # fmt: skip
    figure = price_chart(price_study(), task, axis, (gate, price))
    charts.figures["price"] = figure
    chart.plotly_chart(
        c.in_type_of_page(figure),
        key=CHART,
        alt=text,
        config={"displayModeBar": False},
        on_select=take_point,
        selection_mode="points",
    )
    chart.caption(section("bent", "marks"))
    with beside:
        draw_point(gate, price, task)
    folding = [row for row in found if row.gate == "elementwise" and row.folds[1]]
    if task in WITH_ISLANDS and folding and folding[0].model_dim == 3:
        counts = ", ".join(f"{of_text(x)} (D = {x.model_dim})" for x in folding)
        st.markdown(section("bent", "folds", counts=counts))
    shares = " and ".join(
        f"{share_text(next(iter(row.tries), None))} at D = {row.model_dim} ({row.word})"
        for row in plane_rows()
        if row.task == task
    )
    st.markdown(section("bent", "planes", shares=shares, task=NAMES.get(task, task)))
    charts.draw_table("verdicts", st, f"Kept shares of the gain on {NAMES.get(task, task)}",
                      columns(found, price_study()))  # fmt: skip
    charts.draw_footer(section("bent", "price"))


def take_point() -> None:
    """Choose the point that was clicked; a callback."""
    points = st.session_state[CHART].selection.points
    if points and "customdata" in points[0]:
        st.session_state["price_gate"], st.session_state["price_paid"] = points[0]["customdata"]


def draw_point(gate: str, price: str, task: str) -> None:
    """Draw the two typical surfaces of a point of the chart, with their numbers."""
    gate_kind, dim = GATES[gate]
    result = price_study().find(gate=gate_kind, model_dim=dim, price=price)
    assert result is not None  # bundled: a test draws them all
    at = STUDIED.index(task)
    draw_shadows(
        surfaces(gate, price, task),
        "price_pair",
        f"{gate}, {price}, {task}",
        [verdict(result, at, member) for member in result.typical[at]],
    )
    st.caption(section("bent", "typical", dim=dim, count=SEEDS_TOGETHER, piece=result.piece.name))


def verdict(result: PieceResult, at: int, member: int) -> tuple[str, str]:
    """Return what is large and what is small above the surface of one model."""
    total, bending = (
        plus_minus(*(float(getattr(result, name)[at, member]) for name in (kind, f"{kind}_error")))
        for kind in ("total", "bending")
    )
    words = [f"test accuracy {percent(result.accuracy[at, member])}"]
    words.append(f"bending {bending}")
    islands = int(result.islands[at, member])
    words.append("no island" if not islands else f"{islands} island{'s' * (islands > 1)}")
    words += ["it folds"] * (result.folded is not None and bool(result.folded[at, member]))
    sign = "=" if result.resolved[at, member] else "≥"  # tangent planes are missing in the sum
    return f"total |K| {sign} {total}", ", ".join(words)


def price_chart(study: PriceStudy, task: str, axis: str, chosen: tuple[str, str]) -> go.Figure:
    """Draw accuracy against curvature, of each architecture without a price and with each.

    The ``chosen`` point, of a gate and a price, is ringed.
    """
    at = STUDIED.index(task)

    def place(result: PieceResult) -> tuple[float, float]:
        return float(np.median(getattr(result, AXES[axis])[at])), 100 * result.accuracy[at].mean()

    traces = []
    for name, (gate, dim) in GATES.items():
        colour = COLOURS[gate, dim]
        found = {price: study.find(gate=gate, model_dim=dim, price=price) for price in PRICES}
        results = {price: result for price, result in found.items() if result is not None}
        ends = zip(*(place(results[price]) for price in ("none", "K")), strict=True)
        line = c.line(name, *ends, colour=colour, width=1.5, mode="lines", legend=False)
        # Else its ends take the clicks on its marks.
        traces.append(line | {"hoverinfo": "skip", "hovertemplate": None})
        for price, result in results.items():
            title, symbol = PRICES[price]
            x, y = place(result)
            half = mean_interval(100 * result.accuracy[at].astype(float)).half_width
            mark = c.line(
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
            mark["marker"]["size"] = 9
            # A click brings its name and price; Plotly would fade all other marks.
            traces.append(mark | {"customdata": [[name, price]], "unselected": SAME})
    level = [
        base.accuracy[at].mean()
        for _, dim in COLOURS
        if (base := study.find(gate="none", model_dim=dim)) is not None
    ]
    figure = c.chart(
        "Accuracy against curvature: click a point",
        traces,
        f"median {axis}",
        "test accuracy, %",
        height=400,
        margin={"l": 58, "r": 8, "t": 84, "b": 40},  # six names in three rows on a phone
        x_axis=c.log_axis(),
    )
    gate, dim = GATES[chosen[0]]
    ringed = study.find(gate=gate, model_dim=dim, price=chosen[1])
    if ringed is not None:
        x, y = place(ringed)
        figure.add_scatter(
            x=[x],
            y=[y],
            mode="markers",
            marker={"size": 20, "symbol": "circle-open", "color": COLOURS[gate, dim]},
            name="shown below",
            showlegend=False,
            hoverinfo="skip",
        )
    return c.mark_y(figure, float(100 * np.mean(level)), "no gate")


def finding(task: str, found: list[Row]) -> str:
    """Say for which architectures the gain needs curvature, and for which it does not."""
    words: dict[str, dict[str, list[str]]] = {NOT_NEEDED: {}, NEEDED: {}}
    for row in found:
        words.setdefault(row.word, {}).setdefault(row.gate, []).append(f"{row.model_dim}{why(row)}")
    parts = [
        f"**{word}** with "
        + " and ".join(f"{gate} gates, D = {', '.join(dims)}" for gate, dims in gates.items())
        for word, gates in words.items()
        if gates
    ]
    name = NAMES.get(task, task)
    return f"Gaussian curvature for the gain of a gate on *{name}*: {'; '.join(parts)}."


def of_text(row: Row) -> str:
    """Return how many of the priced models with an island fold."""
    return "{} of {}".format(*row.folds) if row.folds[1] else "–"


def why(row: Row) -> str:
    """Say in brackets what a reader of the chart would miss: second tries, and folds."""
    first = row.tries[0].word if row.tries and row.left <= PAID else ""
    notes = ["second try"] * (row.word == NOT_NEEDED != first) + ["it folds"] * (row.folded > MANY)
    return f" ({', '.join(notes)})" if notes else ""


def columns(found: list[Row], study: PriceStudy) -> dict[str, list[str]]:
    """Return the table of verdicts, cells by heading."""

    def both(row: Row, name: str) -> str:
        """Return the median of a column without a price, and with one on |K|."""
        medians = []
        for price in ("none", "K"):
            result = study.find(gate=row.gate, model_dim=row.model_dim, price=price)
            assert result is not None  # or there would be no row
            numbers = getattr(result, name)[STUDIED.index(row.task)]
            numbers = numbers[~np.isnan(numbers)]  # heights without an island
            medians.append(f"{np.median(numbers):.2f}" if numbers.size else "–")
        return " → ".join(medians)

    return {
        "gate": [f"{row.gate}, D = {row.model_dim}".replace(" ", NO_BREAK) for row in found],
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
        "with an island, fold": [of_text(row) for row in found],
        "verdict": [f"**{row.word}**" for row in found],
    }


def share_text(share: Share | None) -> str:
    """Format a kept share with its interval."""
    if share is None:
        return "–"
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]".replace("-", "−")

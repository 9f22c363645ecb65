"""The tabs Comparison and Theory.

Comparison: three ways to add up curvature side by side, and a table of all stacks. Theory: when
curvature adds up with depth, where the growth ends, and our reading.
"""

from __future__ import annotations

import numpy as np
import streamlit as st

import gating_core.experiments.depth as core
from gating_core.experiments.depth import DepthResult
from ui.common import charts as c
from ui.common.formatting import short
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.depth import shared
from ui.depth.shared import ALIGNED, QUANTITIES, RANDOM, TRAINED, Growth

# --- Comparison -----------------------------------------------------------------------------------


EXACT = 1e-9  # relative: as exact as rounding lets a ratio be


@st.cache_resource(show_spinner=False)
def bundled_gates() -> dict[str, DepthResult]:
    """Load the curves of gates that come with the app."""
    return core.load_gates()


def draw() -> None:
    """Draw three charts with a sentence each, and the table."""
    gates, trained = bundled_gates(), shared.bundled().results
    rows = {
        ALIGNED: [Growth(ALIGNED, gates["aligned"], "centre")],
        RANDOM: [Growth(RANDOM, gates["random"], "centre")],
        TRAINED: shared.pair(trained, {"ungated": "ungated", "gated": "gated"}, "total"),
    }
    charts = c.Charts("comparison")
    draw_finding(doubling_text(*rows[ALIGNED]).replace("**", ""))
    for column, (name, growths) in zip(c.chart_columns("depth", 3), rows.items(), strict=True):
        key = name.split()[0]
        column.markdown(section("depth", f"side_{key}"))
        charts.draw(key, column, shared.growth_chart(growths), shared.alt_text(growths))
        column.markdown(doubling_text(*growths) if name != TRAINED else shared.gate_text(*growths))
        column.button(
            "Layer by layer",
            key=f"open_{key}",
            icon=":material/layers:",
            on_click=st.session_state.update,
            args=({"tab_depth": "Layer by layer", "stacked": name},),
        )

    quantity = st.selectbox("Quantity", [*QUANTITIES], key="compared", width=220, **LINK)
    results = shared.measured(tuple(core.REGIMES), "Measuring all stacks")
    named = {core.REGIMES[name].title: result for name, result in results.items()}
    named |= {f"trained, {name}": result for name, result in trained.items()}
    table = [table_row(Growth(name, x, QUANTITIES[quantity])) for name, x in named.items()]
    columns = {heading: [row[heading] for row in table] for heading in table[0]}
    charts.draw_table("stacks", st, f"Growth with depth: {quantity}", columns)
    charts.draw_footer(section("depth", "exponents", small=f"{core.STRUCTURED_LIMIT:g}"))


def doubling_text(growth: Growth) -> str:
    """Say what twice as many layers do to |K| at the origin, and how well that is established."""
    ratios = growth.curve.doubling()
    times = float(np.median(ratios))
    theory = f"exponent {shared.exponent_text(growth.exponent)}, theory {growth.theory:g}"
    if np.abs(ratios / times - 1).max() < EXACT:
        return (
            f"Twice the layers give **{times:.4g} times** $|K|$ at the origin, exactly ({theory})."
        )
    times = 2**growth.exponent.over_seeds.value
    return f"Twice the layers give about **{times:.1f} times** $|K|$ at the origin ({theory})."


def table_row(growth: Growth) -> dict[str, str]:
    """Return one row of the table of all stacks."""
    curve, shown = growth.curve, growth.exponent
    least, most = int(curve.count.min()), int(curve.count.max())
    layers = "–" if shown.depths is None else "{} to {}".format(*shown.depths)
    if shown.depths and not curve.exponent.over_seeds.known and not curve.small.all():
        layers += " (all layers)"
    return {
        "Stack": growth.title,
        "With depth": curve.course.word,
        "Exponent": shared.exponent_text(shown),
        "Layers fitted": layers,
        "Seeds resolved": f"{f'{least} to ' if least < most else ''}{most} of {len(curve.values)}",
    }


# --- Theory ---------------------------------------------------------------------------------------


def draw_theory() -> None:
    """Draw the text, with the numbers of the regimes that it names."""
    st.markdown(theory_text(shared.measured(tuple(core.REGIMES), "Measuring all stacks")))


def theory_text(results: dict[str, DepthResult]) -> str:
    """Return the theory, its limits and our reading, with the numbers of ``results``, by regime."""
    measured = cap = ""
    if "aligned" in results and "random" in results:
        exponents = [
            f"{name} {shared.exponent_text(results[name].curves[quantity].exponent)} ({quantity})"
            for name in ("aligned", "random")
            for quantity in ("total", "centre", "proxy")
        ]
        measured = f"Measured: {', '.join(exponents)}."
    strong = results.get("strong")
    if strong is not None and strong.eps is not None:
        curve = strong.curves["total"]
        depth = int(curve.depths[-1])
        ellipsoid = np.median(core.cap_curvature(2 * depth * strong.eps))
        cap = (
            f"With strong gates, after {depth} layers, the measured median is"
            f" {short(curve.median[-1])}. The cap with the same a has {short(ellipsoid)}."
        )
    stacks = [
        f"{core.REGIMES[name].title}: diameter {result.curves['diameter'].course.word}, total"
        f" curvature {result.curves['total'].course.word}"
        for name, result in results.items()
        if core.REGIMES[name].arrangement is not None
    ]
    return section(
        "depth",
        "theory",
        small=f"{core.STRUCTURED_LIMIT:g}",
        measured=measured,
        most=f"{core.MOST_CURVATURE:.2f}",
        cap=cap,
        dimension=shared.UNTRAINED.model_dim,
        stacks=f"Measured: {'; '.join(stacks)}." if stacks else "",
    )

"""The fold with curves along the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.comparison import drawn_frames
from ui.common import charts as c
from ui.common.links import LINK
from ui.decision_boundary.measuring import MeasurementRequest, stopped_frame
from ui.decision_boundary.model import TITLES, text
from ui.drawing import palette
from ui.work.runs import Shown

CURVES = "curves"  # the fold
BAND = (0.1, 0.9)  # quantiles over the seeds


def draw_curves(shown: Shown, measurement: MeasurementRequest, charts: c.Charts) -> None:
    """Draw the fold with loss, accuracy and total curvature of all seeds along the run."""
    fold = st.expander("Curves along the run", key=CURVES, on_change="rerun", **LINK)
    if not fold.open:
        return
    run, member = shown.run, measurement.member(shown.run)
    frames = drawn_frames(run)
    steps, now = run.steps[frames], int(run.steps[frames][stopped_frame(run)])
    with fold:
        left, right = (TITLES[name] for name in run.setting.compared)
        st.caption(text("curves", left=left, right=right))
        columns = c.chart_columns("curves", 3)
    ensembles = {name: run.variants[name].ensemble for name in run.setting.compared}
    totals = {name: totals_of(shown, name) for name in ensembles}
    for column, title, unit, values in zip(
        columns,
        ("Training loss", "Test accuracy", "Total curvature"),
        ("nats", "%", "∫|K| dA"),
        (
            {name: x.train_loss[frames] for name, x in ensembles.items()},
            {name: 100 * x.test_accuracy[frames] for name, x in ensembles.items()},
            {name: x[0] for name, x in totals.items()},
        ),
        strict=True,
    ):
        doubts = {name: x[1:, :, member] for name, x in totals.items()} if unit[0] == "∫" else {}
        figure = curve_chart(title, unit, steps, values, member, doubts)
        ends = ", ".join(f"{TITLES[name]} {x[-1, member]:.3g}" for name, x in values.items())
        charts.draw(title, column, c.mark_x(figure, now, f"step {now}"),
                    f"{title} of seed shown, last: {ends}.")  # fmt: skip


def totals_of(shown: Shown, name: str) -> np.ndarray:
    """(3, T, S): total curvature of all seeds in the drawn frames, its error, 1 if a lower one.

    NaN where it is not measured. Where it is refined that is the last point.
    """
    totals = np.full((3, len(drawn_frames(shown.run)), len(shown.run.task.seeds)), np.nan)
    for of, at in ((shown.along, slice(None)), (shown.final, slice(-1, None))):
        for (variant, seed), summary in of.items():
            if variant == name and (variant, seed) in shown.along:
                x = summary.total
                for row, part in zip(totals, (x.value, x.error, ~x.resolved), strict=True):
                    row[at, seed] = part.numpy()
    return totals


def curve_chart(
    title: str,
    unit: str,
    steps: np.ndarray,
    by_variant: Mapping[str, np.ndarray],
    shown: int,
    doubts: Mapping[str, np.ndarray],
) -> go.Figure:
    """Draw the seed ``shown`` of both variants (T, S) with its error, and the band over all seeds.

    ``doubts`` (2, T) are its errors, and 1 at lower estimates, which have rings. There is a band
    where all seeds are known.
    """
    traces = []
    colours = palette.SIDE_COLOURS.values()
    for (name, values), colour in zip(by_variant.items(), colours, strict=True):
        whole = np.isfinite(values).all(1)
        errors, lower = doubts.get(name, (None, np.zeros(len(steps))))
        parts: list[Any] = [("", steps, values[:, shown], errors, "lines", {})]
        if whole.any():
            low, high = np.quantile(values[whole], BAND, axis=1)
            fill = {"fill": "toself", "fillcolor": f"{colour}33"}
            parts.insert(0, (", band", [*steps[whole], *steps[whole][::-1]], [*low, *high[::-1]],
                             None, "lines", fill))  # fmt: skip
        if (ringed := lower == 1).any():
            parts.append((", lower estimate", steps[ringed], values[ringed, shown], None, "markers",
                          {}))  # fmt: skip
        traces += [
            c.line(f"{TITLES[name]}{what}", x, y, half, colour=colour, mode=mode, legend=False,
                   symbol="circle-open", width=0 if more else 2.5) | more
            for what, x, y, half, mode, more in parts
        ]  # fmt: skip
    return c.chart(title, traces, "step", unit, y_axis={"rangemode": "tozero"})

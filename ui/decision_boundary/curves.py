"""The fold with loss, accuracy and total curvature of all seeds along the run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.comparison import drawn_frames
from ui.common import charts as c
from ui.common.links import LINK
from ui.decision_boundary.frames import variants_of
from ui.decision_boundary.model import TITLES, text
from ui.decision_boundary.shared import MeasurementRequest, stopped_frame
from ui.drawing import palette
from ui.work.runs import Shown

BAND = (0.1, 0.9)  # quantiles over the seeds


@dataclass(frozen=True, eq=False)
class RunCurve:
    """A quantity along T drawn frames: by variant (T, S) over seeds; NaN where it is not measured.

    ``errors`` (T,) by variant are those of the seed ``shown``; where it is ``open`` (T,) its curve
    is a lower estimate.
    """

    title: str
    unit: str
    by_variant: dict[str, np.ndarray]
    shown: int  # the shown seed's column
    errors: dict[str, np.ndarray] = field(default_factory=dict)
    open: dict[str, np.ndarray] = field(default_factory=dict)


def is_open() -> bool:
    """Return whether the fold was left open."""
    return bool(st.session_state.get("curves"))


def draw(shown: Shown, measurement: MeasurementRequest, charts: c.Charts) -> None:
    """Draw the fold; where it is open, a chart for each quantity, with the shown step marked."""
    fold = st.expander("Curves along the run", key="curves", on_change="rerun", **LINK)
    if not fold.open:
        return
    run, member = shown.run, measurement.member(shown.run)
    steps = run.steps[drawn_frames(run)]
    with fold:
        left, right = (TITLES[name] for name in run.setting.compared)
        st.caption(text("curves", left=left, right=right))
        curves = curves_of(shown, member)
        for curve, column in zip(curves, c.chart_columns("curves", len(curves)), strict=True):
            figure = curve_chart(curve, steps, int(steps[stopped_frame(run)]))
            ends = ", ".join(
                f"{TITLES[name]} {values[-1, member]:.3g}"
                for name, values in curve.by_variant.items()
            )
            charts.draw(curve.title, column, figure, f"{curve.title} of seed shown, last: {ends}.")


def curves_of(shown: Shown, member: int) -> list[RunCurve]:
    """Return loss, accuracy and total curvature of all seeds along the run.

    The refined total is the last point of its curve.
    """
    run, frames = shown.run, drawn_frames(shown.run)
    ensembles = {name: run.variants[name].ensemble for name in variants_of(run).values()}
    totals, errors, lower = {}, {}, {}
    for name in ensembles:
        totals[name] = np.full((len(frames), len(run.task.seeds)), np.nan)
        for seed in range(len(run.task.seeds)):
            if (summary := shown.along.get((name, seed))) is not None:
                totals[name][:, seed] = summary.total.value.numpy()
        if (summary := shown.along.get((name, member))) is not None:
            errors[name] = summary.total.error.numpy().copy()
            lower[name] = ~summary.total.resolved.numpy()
            if (end := shown.final.get((name, member))) is not None:
                totals[name][-1, member] = float(end.total.value)
                errors[name][-1] = float(end.total.error)
                lower[name][-1] = not bool(end.total.resolved)
    accuracy = {name: 100 * x.test_accuracy[frames] for name, x in ensembles.items()}
    loss = {name: x.train_loss[frames] for name, x in ensembles.items()}
    return [
        RunCurve("Training loss", "nats", loss, member),
        RunCurve("Test accuracy", "%", accuracy, member),
        RunCurve("Total curvature", "∫|K| dA", totals, member, errors, lower),
    ]


def curve_chart(curve: RunCurve, steps: np.ndarray, now: int) -> go.Figure:
    """Draw the shown seed of both variants with its error, the band over all seeds, and a mark.

    A ring is a lower estimate. There is a band where all seeds are known.
    """
    traces = []
    colours = palette.SIDE_COLOURS.values()
    for (name, values), colour in zip(curve.by_variant.items(), colours, strict=True):
        whole = np.isfinite(values).all(1)
        if whole.any():
            low, high = np.quantile(values[whole], BAND, axis=1)
            band = c.line(
                f"{TITLES[name]}, band",
                [*steps[whole], *steps[whole][::-1]],
                [*low, *high[::-1]],
                colour=colour,
                width=0,
                mode="lines",
                legend=False,
            )
            traces.append(band | {"fill": "toself", "fillcolor": f"{colour}33"})
        own, errors = values[:, curve.shown], curve.errors.get(name)
        traces.append(
            c.line(TITLES[name], steps, own, errors, colour=colour, mode="lines", legend=False)
        )
        ringed = curve.open.get(name, np.zeros(len(steps), dtype=bool))
        if ringed.any():
            rings = c.line(
                f"{TITLES[name]}, lower estimate",
                steps[ringed],
                own[ringed],
                colour=colour,
                symbol="circle-open",
                mode="markers",
                legend=False,
            )
            traces.append(rings)
    figure = c.chart(curve.title, traces, "step", curve.unit, y_axis={"rangemode": "tozero"})
    return c.mark_x(figure, now, f"step {now}")

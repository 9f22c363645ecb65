"""The tab Learning curves: test error against training points, with and without a gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.experts as core
from gating_core.claims import THRESHOLDS
from gating_core.experiments.comparison import VARIANTS, impossible_variants
from gating_core.experts import CurvesRequest, LearningCurves, Needed, Ratio
from gating_core.tasks import TASKS
from gating_core.training import TrainingDiverged
from ui import limits
from ui.common import charts as c
from ui.common.formatting import percent
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.experts import shared
from ui.experts.shared import FIRST_SEEDS
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE
from ui.work.jobs import Jobs

SOURCES = {"tokens": "tokens", "static slots": "memory"}
GATES = tuple(name for name in VARIANTS if name != "ungated")
BOTH = ("ungated", "gated")
REMAINS = ("gated better", "ungated better")  # with the most data


@st.cache_resource(show_spinner=False)
def bundled() -> LearningCurves:
    """Load the curves that come with the app."""
    return core.load_curves()


def train(request: CurvesRequest) -> Iterator[Any]:
    """Train both models on more and more points, in all worker processes."""
    for item in pool.POOL.split(core.accuracies_at, core.COUNTS, request):
        yield core.curves_of(request, item) if isinstance(item, tuple) else item


CURVES: Jobs[CurvesRequest, LearningCurves] = Jobs(
    "experts_curves", train, NUMBERS_CACHE, expected=(TrainingDiverged,)
)


def draw() -> None:
    """Draw the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="control-row")
    task = row.selectbox(
        "Task", [*TASKS], [*TASKS].index(CurvesRequest.task), key="curves_task", width=130, **LINK
    )
    source = SOURCES[
        row.radio(
            "Attention over",
            [*SOURCES],
            key="curves_source",
            horizontal=True,
            **LINK,
            help="*tokens*: keys and values are computed from the input, as in transformers."
            " *static slots*: keys and values are learned vectors, the same for all inputs. Without"
            " a gate the outputs are flat there, and a model may not reach the accuracy at any n.",
        )
    ]
    gate = row.selectbox(
        "Gate",
        GATES,
        key="curves_gate",
        width=130,
        **LINK,
        help="The gate of the gated model, or a control. Both models share all other weights, the"
        " data and the order of the data.",
    )
    dim = row.number_input(
        "Channels D",
        *limits.CURVES_CHANNELS,
        CurvesRequest.model_dim,
        key="curves_channels",
        width=90,
        **LINK,
    )
    values = row.number_input(
        "Tokens or slots n",
        *limits.CURVES_VALUES,
        CurvesRequest.value_count,
        key="curves_tokens",
        width=125,
        **LINK,
    )
    label_noise = row.number_input(
        "Label noise",
        0.0,
        0.4,
        0.0,
        0.05,
        key="label_noise",
        width=120,
        help="The share of training labels that are wrong. Test labels are right.",
        **LINK,
    )
    seed = row.number_input("First seed", *FIRST_SEEDS, 0, key="curves_seed", width=90, **LINK)
    level = row.slider(
        "Target accuracy",
        0.6,
        0.99,
        0.9,
        0.01,
        key="target_accuracy",
        width=160,
        help="The test accuracy that both models are to reach.",
        **LINK,
    )
    if gate in impossible_variants(source):
        st.caption(
            f":material/info: The gate “{gate}” needs tokens: a slot has no state. Shown: sigmoid."
        )
        gate = "sigmoid"
    curves = curves_of(CurvesRequest(task, source, gate, dim, values, label_noise, seed))
    charts, request = c.Charts("learning_curves"), curves.request

    compared, verdicts = finding(curves, level), verdicts_text(curves)
    draw_finding(compared[0])
    charts.draw(
        "test_error", st.container(key="first"), curves_chart(curves, level), curves_alt(curves)
    )
    st.markdown(f"{compared[1]} {verdicts}")
    charts.tables["accuracies"] = accuracy_columns(curves)
    charts.tables["differences"] = difference_columns(curves)
    charts.draw_footer(
        section(
            "experts",
            "learning_curves",
            steps=request.steps,
            count=request.seed_count,
            gate=request.gate,
            power=percent(THRESHOLDS.power),
        )
    )


def curves_of(request: CurvesRequest) -> LearningCurves:
    """Return the curves, or bundled ones until the job, which is drawn, has trained them."""
    if request == CurvesRequest():
        return bundled()
    with jobs.dock(CURVES.name, (request,)):
        curves, job = CURVES.fetch(request)
        if job is not None:
            CURVES.watch(job, "Training on more and more points", again="Train")
    if curves is None:
        st.caption(
            ":material/hourglass: Nothing has been computed for this selection yet. Shown:"
            " what comes with the app."
        )
        return bundled()
    return curves


def title_of(variant: str) -> str:
    """Name the model that stands beside the ungated one: a gated one, or a control."""
    gate = VARIANTS[variant]
    is_gate = gate is not None and gate.record.control is None
    return f"gated model ({variant})" if is_gate else f"control ({variant})"


# --- Sentences ----------------------------------------------------------------------------------


def finding(curves: LearningCurves, level: float) -> tuple[str, str]:
    """Say whether the gate changes the number of training points that an accuracy needs."""
    name, (ungated, gated) = title_of(curves.request.gate), curves.needed(level)
    says, numbers = ratio_text(curves.ratio(level), name, percent(level))
    return says, (
        f"{numbers}The ungated model needs {needed_text(ungated, curves)}, the {name}"
        f" {needed_text(gated, curves)} (95 % intervals over seeds)."
    )


def ratio_text(ratio: Ratio, name: str, level: str) -> tuple[str, str]:
    """Say whether the model called ``name`` needs another number of points, and by which ratio."""
    of, points = ratio.measured, f"training points for {level}"
    if of is None or ratio.word == "not enough data":
        return (
            f"Not enough data for a ratio of {points}: too few seeds of either model reach it.",
            "",
        )
    if ratio.against or (ratio.bounded and ratio.word == "inconclusive"):
        return f"Inconclusive which model needs fewer {points}.", (
            f"For {ratio.bounded} of {of.count} seeds a number is at an end of those tried, so that"
            " only a bound of their ratio is known. "
        )
    low, middle, high = (f"{2.0**x:.2g}" for x in (of.low, of.mean, of.high))
    numbers = (
        f"Paired over {of.count} seeds, the {name} needs {middle} [{low}, {high}] times as many"
    )
    if ratio.bounded:
        numbers += f"; {ratio.bounded} are at an end of what was tried, so that is too near 1"
    says = f"No significant difference in the {points}: the {name} needs {middle} times as many."
    if ratio.word != "inconclusive":
        more = "fewer" if ratio.word == "gated better" else "more"
        says = f"The {name} needs {more} {points}: {middle} times as many."
    return says, f"{numbers}. "


def needed_text(needed: Needed, curves: LearningCurves) -> str:
    """Format a number of points with its interval, or say that it is not reached."""
    count, of = len(needed.points), needed.log2
    if of is None:
        reached = int(needed.reached.sum())
        return f"more than {curves.counts[-1]:,.0f} points ({reached} of {count} seeds reach it)"
    low, middle, high = (2 ** (of.mean + k * of.half_width) for k in (-1, 0, 1))
    missed = int((~needed.reached).sum())
    early = int((needed.reached & ~needed.inside).sum())
    notes = [f"{missed} of {count} seeds never do"] if missed else []
    if early:
        notes.append(f"{early} of {count} with {curves.counts[0]:.0f} or fewer")
    text = f"{middle:,.0f} [{low:,.0f}, {high:,.0f}] points"
    return f"{text} ({', '.join(notes)})" if notes else text


def verdicts_text(curves: LearningCurves) -> str:
    """Say what holds at every number of points, gathered by verdict."""
    by_word: dict[str, list[str]] = {}
    differences = curves.differences()
    for difference in differences:
        by_word.setdefault(difference.word, []).append(f"{difference.count:,}")
    parts = [f"*{word}* at {', '.join(counts)}" for word, counts in by_word.items()]
    text = (
        f"Test accuracy with equal numbers of points, by the criteria of *Claims*"
        f" (±{THRESHOLDS.margin_points:g} point): {'; '.join(parts)}."
    )
    last = differences[-1]
    if last.word in REMAINS:
        text += f" The difference remains at {last.count:,} points: so many data do not remove it."
    return text


def curves_alt(curves: LearningCurves) -> str:
    """Return the finding of the curves."""
    ends = [
        f"{name} from {percent(float(1 - accuracy[:, 0].mean()))} to"
        f" {percent(float(1 - accuracy[:, -1].mean()))}"
        for name, accuracy in zip(BOTH, curves.accuracy, strict=True)
    ]
    first, last = curves.counts[0], curves.counts[-1]
    return f"Mean test error from {first:.0f} to {last:,.0f} training points: {'; '.join(ends)}"


# --- Table and charts ---------------------------------------------------------------------------


def accuracy_columns(curves: LearningCurves) -> dict[str, list[Any]]:
    """Return every model as columns of a table."""
    side, row, level = (index.ravel() for index in np.indices(curves.accuracy.shape))
    seeds = np.array(curves.request.setting.seeds)
    return {
        "model": [BOTH[i] for i in side],
        "seed": seeds[row].tolist(),
        "training points": curves.counts[level].astype(int).tolist(),
        "test accuracy": curves.accuracy.ravel().tolist(),
    }


def difference_columns(curves: LearningCurves) -> dict[str, list[Any]]:
    """Return the gated minus the ungated accuracy, with intervals, as columns of a table."""
    differences = curves.differences()
    return {
        "training points": [x.count for x in differences],
        **{
            f"difference, {name} (percentage points)": [
                100 * float(getattr(x.measured, name)) for x in differences
            ]
            for name in ("low", "mean", "high")
        },
        "verdict": [x.word for x in differences],
    }


def points_axis(curves: LearningCurves) -> dict[str, Any]:
    """Return the axis of training points."""
    return c.log_axis() | c.ticks([*curves.counts], [f"{count:.0f}" for count in curves.counts])


def curves_chart(curves: LearningCurves, level: float) -> go.Figure:
    """Draw test errors against training points, seed by seed, and where ``level`` is reached."""
    traces: list[c.Trace] = []
    styles = (c.UNGATED, c.GATED)
    for name, accuracy, needed, style in zip(
        ("ungated", title_of(curves.request.gate)),
        curves.accuracy,
        curves.needed(level),
        styles,
        strict=True,
    ):
        errors = 100 * (1 - accuracy)
        traces.append(shared.thin_lines(curves.counts, errors, style))
        traces.append(c.line(name, curves.counts, errors.mean(0), **style))
        if (of := needed.log2) is not None:
            low, middle, high = (2 ** (of.mean + k * of.half_width) for k in (-1, 0, 1))
            star = c.line(
                f"{name}, target reached",
                [middle],
                [100 * (1 - level)],
                [[middle - low], [high - middle]],
                colour=style["colour"],
                symbol="star",
                mode="markers",
                legend=False,
            )
            star["marker"] |= {"size": 13, "line": {"width": 1, "color": c.FAINT}}
            traces.append(star | {"error_x": star.pop("error_y")})
    figure = c.chart(
        f"Test error on {curves.request.task}",
        traces,
        "training points",
        "test error, %",
        height=370,
        x_axis=points_axis(curves),
        y_axis={"rangemode": "tozero"},
        margin={"l": 56, "r": 8, "t": 56, "b": 40},
    )
    return c.mark_y(figure, 100 * (1 - level), "★ target")

"""The results of a run: accuracies of all seeds, calibration, and files to take away."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    COMPARISONS,
    FRAME_GRID,
    TrainedRun,
    drawn_frames,
    measure_fields,
    steps_model,
)
from gating_core.export import Surface, log_csv
from gating_core.geometry import Integral, SurfaceResult
from gating_core.lm.measurements.calibration import BINS, ResampledReliability
from gating_core.training import mean_interval
from ui.common.charts import Charts
from ui.common.formatting import points_text, short
from ui.common.links import LINK
from ui.common.take_along import OfferedSurface, offered
from ui.common.trained import offer_model
from ui.components.strip import strip
from ui.decision_boundary import film
from ui.decision_boundary.frames import calibrations, variants_of
from ui.decision_boundary.model import (
    PICKED,
    TITLES,
    WHO,
    BoundaryView,
    experts_link,
    text,
)
from ui.decision_boundary.shared import (
    FEW_SEEDS,
    JOB,
    MEASUREMENT,
    MeasurementRequest,
    base_rates,
    base_text,
    mean_text,
    new_seeds,
    put_in_link,
    stopped_frame,
    train_on,
)
from ui.drawing import palette
from ui.drawing.classified import class_colours
from ui.drawing.exported import exported
from ui.drawing.reliability import reliability_chart
from ui.proved.code import offer_notebook, run_code
from ui.work import pool, runs
from ui.work.cache import cached
from ui.work.jobs import Job, State
from ui.work.runs import Shown, serial

MORE_STEPS = 400
DIAGRAM_PIXELS = 420
TAILS = (2.5, 97.5)  # percent: the ends of a 95 % interval


def draw(job: Job, shown: Shown, measurement: MeasurementRequest, charts: Charts) -> None:
    """Draw what trains a run on or begins another, the table of variants, and a dot per seed."""
    run = shown.run
    member = measurement.member(run)
    with st.container(horizontal=True):
        st.button(
            f"Train on ({MORE_STEPS} steps)",
            icon=":material/fast_forward:",
            on_click=train_on,
            args=(MORE_STEPS,),
            key="train_on",
        )
        st.button("New seeds", icon=":material/casino:", on_click=new_seeds, key="new_seeds")
        _draw_others(job)
    if job.requests != (run.setting,):
        st.caption(f":material/hourglass_top: {text('not_current')}")
    columns = charts.tables["test accuracy"] = table(run)
    st.markdown(table_text(columns))  # st.table loads pandas and Arrow
    st.caption(table_note(run), help=text("learned_help"))
    others = len(run.variants) - len(palette.SIDE_COLOURS)
    strip(
        key="seed_strip",
        label="Final test accuracy of every seed; press one to show it.",
        title="test accuracy, % (click a seed to show it)",
        accuracies={TITLES[name]: x.ensemble.test_accuracy[-1] for name, x in run.variants.items()},
        colours=[*palette.SIDE_COLOURS.values(), *[palette.BESIDE] * others],
        seeds=run.task.seeds,
        shown=member,
        on_pick=_on_seed,
    )
    st.caption(shown_text(run, member, measurement.chosen(run)))
    name = run.setting.compared[-1]
    if link := experts_link(run.setting, name, run.task.seeds[member]):
        st.page_link(
            "pages/6_Mixture_of_experts.py",
            icon=":material/account_tree:",
            query_params=link,
            label=f"*{TITLES[name]}*, seed {run.task.seeds[member]}: its experts",
        )


def _on_seed(seed: int) -> None:
    put_in_link("picked_seed", str(seed))
    st.session_state["who"] = PICKED


def _draw_others(job: Job) -> None:
    """Offer to measure the other seeds, where that takes long."""
    shown = runs.shown_of(JOB, job)
    if job.state is not State.DONE or shown is None:
        return
    setting, seeds = shown.run.setting, range(len(shown.run.task.seeds))
    if all((name, i) in shown.along for name in setting.compared for i in seeds):
        return
    count = len(seeds) - 1
    st.button(
        f"Measure the other {count} seeds" if count > 1 else "Measure the other seed",
        icon=":material/stacked_line_chart:",
        key="measure_others",
        on_click=lambda: setattr(st.session_state[MEASUREMENT], "all_of", setting),
        help=text("others_help"),
    )


# --- Numbers and sentences ------------------------------------------------------------------------


def table(run: TrainedRun) -> dict[str, list[str]]:
    """Return accuracy, difference to the left variant, parameters and time of every variant."""
    left = run.setting.compared[0]
    rows = []
    for name, variant in run.variants.items():
        ensemble = variant.ensemble
        finals = ensemble.test_accuracy[-1]
        gap = points_text(mean_interval(finals - run.variants[left].ensemble.test_accuracy[-1]))
        together = " (together)" if len(variant.together) > 1 else ""
        rows.append(
            {
                "Variant": TITLES[name],
                "Test accuracy": mean_text(finals),
                f"Difference to {TITLES[left]}, paired": "–" if name == left else f"{gap} points",
                "Worst seed": f"{100 * finals.min():.0f} %",
                "D": str(ensemble.config.model_dim),
                "Parameters": str(ensemble.parameter_count),
                "Training time, all seeds": f"{variant.seconds:.2f} s{together}",
            }
        )
    return {title: [row[title] for row in rows] for title in rows[0]}


def table_text(columns: Mapping[str, Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [columns, ["---"] * len(columns), *zip(*columns.values(), strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def table_note(run: TrainedRun) -> str:
    """Say what the numbers are of, and which variants are not significantly above the base rate."""
    count, rate = len(run.task.seeds), base_text(run)
    parts = [
        f"After step {run.steps[-1]}. Mean of {count} seeds ± 95 % interval of the mean (Student"
        " t)."
    ]
    if count < FEW_SEEDS:
        parts.append("With so few seeds, intervals are wide.")
    parts.append(f"{rate[0].upper()}{rate[1:]}.")
    idle = [
        TITLES[name]
        for name, variant in run.variants.items()
        if not _above(variant.ensemble.test_accuracy[-1], base_rates(run))
    ]
    if idle:
        parts.append(f"Not significantly better than that: {', '.join(idle)}.")
    if run.setting.own is not None:
        parts.append(
            "Seeds differ in their initial weights and in which of your points they train on. The"
            " interval does not say what other points would have done."
        )
    return " ".join(parts)


def _above(accuracy: np.ndarray, base: np.ndarray) -> bool:
    """Return whether the 95 % interval of the mean of ``accuracy`` - ``base`` (S,) is above 0."""
    gain = mean_interval(accuracy - base)
    return gain.mean > gain.half_width


def shown_text(run: TrainedRun, member: int, chosen: str) -> str:
    """Say which seed is shown, and why."""
    if chosen == PICKED:
        why = "You picked it"
    elif (whose := WHO[chosen]) is None:
        why = "It is nearest to the medians over seeds of test accuracies and total curvatures"
    else:
        side, which = whose
        why = f"It is the {which} of the {side} model on its training points"
    return f"Seed {run.task.seeds[member]} is shown. {why}."


# --- Calibration ----------------------------------------------------------------------------------


@cached()
def _calibrations(key: int, _run: TrainedRun) -> dict[str, ResampledReliability]:
    return pool.POOL.call(calibrations, _run)


def draw_calibration(run: TrainedRun, charts: Charts) -> bool:
    """Draw the fold with the reliability diagram of both variants; return whether it is open."""
    fold = st.expander(
        "Calibration: reliability diagram", key="calibration", on_change="rerun", **LINK
    )
    if fold.open:
        results = _calibrations(serial(run), run)
        sentence = calibration_text(results, len(run.task.seeds))
        bins = [
            (
                TITLES[name],
                np.stack([of.whole.confidence, of.whole.frequency]),
                np.nanpercentile(of.frequencies, TAILS, axis=0),
            )
            for name, of in results.items()
        ]
        fold.markdown(sentence)
        charts.draw(
            "reliability", fold, reliability_chart(bins, DIAGRAM_PIXELS), sentence.replace("**", "")
        )
    return bool(fold.open)


def calibration_text(results: Mapping[str, ResampledReliability], seeds: int) -> str:
    """Say how the right variant changes the expected calibration error (ECE) of the left one."""
    before, after = results.values()
    *_, right = results
    what = "the expected calibration error (ECE)"
    differences = after.errors - before.errors
    low, high = np.percentile(differences, TAILS)
    if seeds < FEW_SEEDS or low <= 0 <= high:
        why = "" if seeds >= FEW_SEEDS else f", because a verdict needs {FEW_SEEDS} seeds"
        verdict = f"The effect of {TITLES[right]} on {what} is inconclusive{why}"
    else:
        name = TITLES[right]
        verb = "increases" if low > 0 else "reduces"
        verdict = f"{name[0].upper()}{name[1:]} {verb} {what}"
    each = ", ".join(
        f"{TITLES[name]} {short(of.whole.error)} ({_range(of.errors)})"
        for name, of in results.items()
    )
    return (
        f"**{verdict}**: {each}, difference {short(after.whole.error - before.whole.error)}"
        f" ({_range(differences)}; {seeds} seeds, 95\u00a0% bootstrap intervals over seeds)."
    )


def _range(resamples: np.ndarray) -> str:
    low, high = np.percentile(resamples, TAILS)
    return f"{short(low)} to {short(high)}"


# --- Files to take away ---------------------------------------------------------------------------


def draw_files(
    shown: Shown,
    view: BoundaryView,
    measurement: MeasurementRequest,
    charts: Charts,
    calibrated: bool,
) -> None:
    """Offer weights, script, figure and data, and draw the explanation of the charts."""
    run = shown.run
    member = measurement.member(run)
    offer_model(run, run.setting.compared[-1], member)
    index, seed = stopped_frame(run), run.task.seeds[member]
    step = int(run.steps[drawn_frames(run)][index])
    for side, name in variants_of(run).items():
        offered().surfaces[TITLES[name]] = OfferedSurface(
            f"{run.setting.task}_{name}_seed{seed}_step{step}",
            partial(_exported, shown, view, member, side, index),
        )
    _offer_notebook(shown, member, index, step)
    charts.tables |= _logs((serial(run), len(shown.along), len(shown.final)), shown)
    explanation = text("charts", grid=FRAME_GRID)
    if calibrated:
        points = run.task.test_labels.size
        more = text(
            "reliability", points=points, seeds=len(run.task.seeds), step=run.steps[-1], bins=BINS
        )
        explanation = f"{explanation}\n\n{more}"
    charts.draw_footer(explanation)


def _offer_notebook(shown: Shown, member: int, index: int, step: int) -> None:
    """Offer a notebook on the surface of the right variant in the drawn frame ``index``."""
    run, name = shown.run, shown.run.setting.compared[-1]
    setting = run.setting
    if setting not in COMPARISONS.values():  # a run trained further has other frames on its way
        setting = replace(setting, steps=max(step, 1))
    problem = None if setting.own is None else "A notebook does not hold points of your own."
    imports, trained = ("", "") if problem else run_code(setting, "drawn_frames", "steps_model")
    lines = (
        trained,
        f"frame = run.steps[drawn_frames(run)].tolist().index({step})",
        f"surface = steps_model(run, {name!r}, {member}).attention.member(frame)",
    )
    along = (name, member) in shown.along
    offered().name = f"{run.setting.task}_{name}_seed{run.task.seeds[member]}_step{step}"
    offer_notebook(
        f"{TITLES[name]}, seed {run.task.seeds[member]}, step {step}",
        offered().name,
        (imports, "\n".join(lines)),
        total_at(shown, name, member, index) if along else None,
        run.variants[name].ensemble.config.model_dim,
        problem=problem,
    )


def total_at(shown: Shown, name: str, member: int, index: int) -> Integral:
    """Return the total curvature of a variant in a drawn frame; after the last step, refined."""
    end = shown.final.get((name, member))
    if end is not None and index == len(drawn_frames(shown.run)) - 1:
        return end.total
    return shown.along[name, member].total.at(index)


def _exported(
    shown: Shown, view: BoundaryView, member: int, side: str, index: int, line: str
) -> Surface:
    """Return the drawn surface of a variant."""
    run = shown.run
    own = film.film_for(run, member).sides[side]
    key = serial(run), len(run.steps), variants_of(run)[side], member, index
    surface, more = measured_step(key, run)
    if view.paint == "class" and not view.discrete and run.task.class_count == 2:
        more = more | {"probability of class 1": class_colours(own.frames.logits[index])}
    return exported(surface, line, own.points[index], more=more)


@cached("Measuring curvature …")
def measured_step(
    key: tuple[Any, ...], _run: TrainedRun
) -> tuple[SurfaceResult, dict[str, np.ndarray]]:
    """Measure a variant's surface in a drawn frame, for its files; ``key`` ends with them."""
    name, member, frame = key[-3:]
    return pool.POOL.call(measure_fields, steps_model(_run, name, member).attention.member(frame))


@cached()
def _logs(key: object, _shown: Shown) -> dict[str, dict[str, list[Any]]]:
    return logs(_shown)


def logs(shown: Shown) -> dict[str, dict[str, list[Any]]]:
    """Return the history of losses and accuracies, and total curvature along the run, as tables."""
    run = shown.run
    titles, *lines = csv.reader(
        io.StringIO(log_csv({name: variant.ensemble for name, variant in run.variants.items()}))
    )
    history = dict(zip(titles, map(list, zip(*lines, strict=True)), strict=True))
    steps, rows = run.steps[drawn_frames(run)], []
    for name, member in shown.along:
        for index, step in enumerate(steps):
            total = total_at(shown, name, member, index)
            rows.append(
                (
                    name,
                    step,
                    run.task.seeds[member],
                    float(total.value),
                    float(total.error),
                    bool(total.complete),
                )
            )
    if not rows:  # not measured yet
        return {"log": history}
    titles = ["variant", "step", "seed", "total curvature (estimate)", "its error", "complete"]
    curvature = dict(zip(titles, map(list, zip(*rows, strict=True)), strict=True))
    return {"log": history, "total curvature": curvature}

"""The results of a run: its finding with a dot for every seed, the table, files."""

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
    Setting,
    TrainedRun,
    drawn_frames,
    measure_fields,
    steps_model,
)
from gating_core.export import Surface, log_csv
from gating_core.geometry import Integral, SurfaceResult
from gating_core.training import mean_interval
from ui.common.charts import Charts
from ui.common.formatting import by_points, percent, points_text
from ui.common.links import put_in_link
from ui.common.page import FINDING
from ui.common.take_along import OfferedSurface, offer_model, offered
from ui.components.strip import strip
from ui.decision_boundary import film
from ui.decision_boundary.controls import new_seeds
from ui.decision_boundary.film import JOB, Told, divergence_text, mean_text
from ui.decision_boundary.frames import variants_of
from ui.decision_boundary.measuring import MEASUREMENT, MeasurementRequest, stopped_frame
from ui.decision_boundary.model import PICKED, TITLES, WHO, BoundaryView, experts_link, text
from ui.drawing import palette
from ui.drawing.colours import class_colours, exported
from ui.proved import offer_notebook, run_code
from ui.work import pool, runs
from ui.work.cache import cached
from ui.work.jobs import Job, State
from ui.work.runs import Shown, serial

COMPLETE = "boundary_complete"
FEW_SEEDS = 6
HALFWAY = 0.5  # from the base rate to 100 %: below it nothing much is learned
LOPSIDED = 1.2  # times an even share: what the largest class has where the sentence says so


def complete_run(job: Job) -> Shown | None:
    """Return the run for the table: a complete one, or what is left of one; else the last."""
    if job.over or runs.trained(job):
        shown = runs.shown_of(JOB, job)
        if shown is not None and shown.run.frames:
            st.session_state[COMPLETE] = shown
    return st.session_state.get(COMPLETE)


# --- The finding ----------------------------------------------------------------------------------


def draw_finding(
    job: Job, run: TrainedRun | None, requested: Setting, measurement: MeasurementRequest
) -> None:
    """Draw what the seeds show together, and each of them as a dot; before a first run, the axes.

    So that the page does not move when a first run is complete.
    """
    said, dots = st.session_state[FINDING].columns((6, 5), vertical_alignment="center")
    bold, rest = finding(run) if run else ("" if job.over else "Training …", "")
    said.markdown(bold)
    said.text(rest)
    names = requested.variants if run is None else [*run.variants]
    others = len(names) - len(palette.SIDE_COLOURS)
    with dots:
        strip(
            key="seed_strip",
            label="Test accuracy of every seed; press one to show it.",
            title="test accuracy of every seed, %",
            accuracies={
                TITLES[name]: np.array([])
                if run is None
                else run.variants[name].ensemble.test_accuracy[-1]
                for name in names
            },
            colours=[*palette.SIDE_COLOURS.values(), *[palette.BESIDE] * others],
            seeds=run.task.seeds if run else (),
            shown=measurement.member(run) if run else None,
            on_pick=_on_seed,
        )


def _on_seed(seed: int) -> None:
    put_in_link(picked_seed=str(seed))
    st.session_state["who"] = PICKED


def finding(run: TrainedRun) -> Told:
    """Say in a sentence what the paired difference of test accuracies shows, then the numbers."""
    left, right = run.setting.compared
    before, after = (run.variants[n].ensemble.test_accuracy[-1] for n in (left, right))
    means = [f"{TITLES[n]} {mean_text(x)}" for n, x in ((left, before), (right, after))]
    base, gap = base_rates(run), mean_interval(after - before)
    seeds = f"step {run.steps[-1]}, {len(before)} seeds, 95 % interval, paired by seed"
    broken = "" if run.divergence is None else f"{divergence_text(run)} "
    difference = f"difference {points_text(gap)} points"
    if not has_learned(before, base) and not has_learned(after, base):
        yet = "" if run.complete else " yet"
        return (
            f"{broken}Neither model has learned much{yet}.",
            f"{', '.join(means)}, {difference} ({seeds}); {base_text(run)}.",
        )
    if base.mean() >= LOPSIDED / run.task.class_count:
        means.append(base_text(run))
    name = TITLES[right] if TITLES[right].startswith("no ") else f"the {TITLES[right]}"
    name += "," if "," in name else ""
    verb = by_points(gap, "reduces", "", "increases")
    if not verb:
        bold = f"Whether {name} changes test accuracy is inconclusive."
        return f"{broken}{bold}", f"{', '.join(means)}, {difference} ({seeds})."
    by = points_text(gap).lstrip("−")
    over = "" if left == "ungated" else f" against {TITLES[left]}"
    bold = f"{name[0].upper()}{name[1:]} {verb} test accuracy by {by} points{over}."
    above = f"{(after > before.max()).sum()} of {len(after)} seeds with {TITLES[right]}"
    best = f" {above} exceed the best with {TITLES[left]}." if verb == "increases" else ""
    return f"{broken}{bold}", f"{', '.join(means)} ({seeds}).{best}"


def has_learned(accuracy: np.ndarray, base: np.ndarray) -> bool:
    """Return whether test ``accuracy`` (S,) may be halfway from the ``base`` rate (S,) to 100 %.

    Not where even the upper end of the mean's 95 % interval stays below halfway. The base rate is
    that of always predicting the largest class.
    """
    interval, rate = mean_interval(accuracy), float(base.mean())
    return interval.mean + interval.half_width >= rate + HALFWAY * (1 - rate)


def base_rates(run: TrainedRun) -> np.ndarray:
    """(S,): the share of each seed's test points in their largest class."""
    counts = [np.bincount(own, minlength=run.task.class_count) for own in run.task.test_labels]
    return np.max(counts, axis=1) / run.task.test_labels.shape[1]


def base_text(run: TrainedRun) -> str:
    """Say how right the constant classifier is."""
    class_ = "larger" if run.task.class_count == 2 else "largest"
    return f"always predicting the {class_} class gets {percent(base_rates(run).mean())}"


# --- The table ------------------------------------------------------------------------------------


def draw(job: Job, shown: Shown, measurement: MeasurementRequest, charts: Charts) -> None:
    """Draw what trains a run on or begins another, and the table of variants."""
    run, member = shown.run, measurement.member(shown.run)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("New seeds", icon=":material/casino:", on_click=new_seeds, key="new_seeds")
        pairs = {(name, i) for name in run.setting.compared for i in range(len(run.task.seeds))}
        if job.state is State.DONE and run.setting in job.requests and pairs - {*shown.along}:
            st.button(
                "Measure the other seeds",
                icon=":material/stacked_line_chart:",
                key="measure_others",
                on_click=lambda: setattr(st.session_state[MEASUREMENT], "all_of", run.setting),
                help=text("others_help"),
            )
        st.caption(shown_text(run, member, measurement.chosen(run)))
    if job.requests != (run.setting,):
        st.caption(f":material/hourglass_top: {text('not_current')}")
    columns = charts.tables["test accuracy"] = table(run)
    rows = [columns, ["---"] * len(columns), *zip(*columns.values(), strict=True)]
    st.markdown("\n".join(f"| {' | '.join(row)} |" for row in rows))  # st.table loads pandas
    st.caption(table_note(run), help=text("learned_help"))
    name, seed = run.setting.compared[-1], run.task.seeds[member]
    if link := experts_link(run.setting, name, seed):
        st.page_link(
            "pages/6_Mixture_of_experts.py",
            icon=":material/account_tree:",
            query_params=link,
            label=f"*{TITLES[name]}*, seed {seed}: its experts",
        )


def table(run: TrainedRun) -> dict[str, list[str]]:
    """Return accuracy, difference to the left variant, parameters and time of every variant."""
    left = run.setting.compared[0]
    rows = []
    for name, variant in run.variants.items():
        ensemble, finals = variant.ensemble, variant.ensemble.test_accuracy[-1]
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


def table_note(run: TrainedRun) -> str:
    """Say what the numbers are of, and which variants are not significantly above the base rate."""
    count, rate, rates = len(run.task.seeds), base_text(run), base_rates(run)
    gains = {TITLES[name]: mean_interval(variant.ensemble.test_accuracy[-1] - rates)
             for name, variant in run.variants.items()}  # fmt: skip
    idle = [name for name, gain in gains.items() if not gain.mean > gain.half_width]
    parts = [
        f"After step {run.steps[-1]}. Mean of {count} seeds ± 95 % interval of the mean (Student"
        " t).",
        "With so few seeds, intervals are wide." if count < FEW_SEEDS else "",
        f"{rate[0].upper()}{rate[1:]}.",
        f"Not significantly better than that: {', '.join(idle)}." if idle else "",
        text("own_seeds") if run.setting.own is not None else "",
    ]
    return " ".join(filter(None, parts))


def shown_text(run: TrainedRun, member: int, chosen: str) -> str:
    """Say which seed is shown, and why."""
    why = "It is nearest to the medians over seeds of test accuracies and total curvatures"
    if chosen == PICKED:
        why = "You picked it"
    elif (whose := WHO[chosen]) is not None:
        why = f"It is the {whose[1]} of the {whose[0]} model on its training points"
    return f"Seed {run.task.seeds[member]} is shown. {why}."


# --- Files to take away ---------------------------------------------------------------------------


def draw_files(
    shown: Shown,
    view: BoundaryView,
    measurement: MeasurementRequest,
    charts: Charts,
) -> None:
    """Offer weights, script, notebook, surfaces and data; draw the explanation of the charts."""
    run, member, index = shown.run, measurement.member(shown.run), stopped_frame(shown.run)
    offer_model(run, run.setting.compared[-1], member)
    seed, step = run.task.seeds[member], int(run.steps[drawn_frames(run)][index])
    for side, name in variants_of(run).items():
        offered().name = f"{run.setting.task}_{name}_seed{seed}_step{step}"
        offered().surfaces[TITLES[name]] = OfferedSurface(
            offered().name, partial(_exported, shown, view, member, side, index)
        )
    setting = run.setting  # a run trained further has other frames on its way
    if setting not in COMPARISONS.values():
        setting = replace(setting, steps=max(step, 1))
    problem = None if setting.own is None else "A notebook does not hold points of your own."
    imports, trained = ("", "") if problem else run_code(setting, "drawn_frames", "steps_model")
    lines = (
        trained,
        f"frame = run.steps[drawn_frames(run)].tolist().index({step})",
        f"surface = steps_model(run, {name!r}, {member}).attention.member(frame)",
    )
    offer_notebook(
        f"{TITLES[name]}, seed {seed}, step {step}",
        offered().name,
        (imports, "\n".join(lines)),
        total_at(shown, name, member, index) if (name, member) in shown.along else None,
        run.variants[name].ensemble.config.model_dim,
        problem=problem,
    )
    charts.tables |= _logs((serial(run), len(shown.along), len(shown.final)), shown)
    charts.draw_footer(text("charts", grid=FRAME_GRID))


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
def _logs(key: object, _shown: Shown) -> dict[str, Mapping[str, Sequence[Any]]]:
    return logs(_shown)


def logs(shown: Shown) -> dict[str, Mapping[str, Sequence[Any]]]:
    """Return the history of losses and accuracies, and total curvature along the run, as tables."""
    run = shown.run
    titles, *lines = csv.reader(
        io.StringIO(log_csv({name: variant.ensemble for name, variant in run.variants.items()}))
    )
    rows = [
        (name, step, run.task.seeds[member], float(x.value), float(x.error), bool(x.complete))
        for name, member in shown.along
        for index, step in enumerate(run.steps[drawn_frames(run)])
        for x in [total_at(shown, name, member, index)]
    ]
    headings = ["variant", "step", "seed", "total curvature (estimate)", "its error", "complete"]
    tables = {"log": (titles, lines)} | ({"total curvature": (headings, rows)} if rows else {})
    return {
        name: dict(zip(heads, map(list, zip(*cells, strict=True)), strict=True))
        for name, (heads, cells) in tables.items()
    }

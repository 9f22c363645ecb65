"""The results of a run: its finding with a dot for every seed, the table, curves, files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.comparison import (
    COMPARISONS,
    DRAWN_POINTS,
    FRAME_GRID,
    LIMITS,
    Setting,
    TrainedRun,
    drawn_frames,
    measure_fields,
    steps_model,
)
from gating_core.export import Surface, log_csv
from gating_core.geometry import Integral
from gating_core.training import mean_interval
from ui import limits
from ui.common import charts as c
from ui.common.formatting import accuracy_text, by_points, percent, points_text
from ui.common.links import LINK, put_in_link
from ui.common.page import FINDING
from ui.common.take_along import OfferedSurface, offer_model, offered
from ui.components.strip import strip
from ui.decision_boundary import film
from ui.decision_boundary.controls import (
    FIRST,
    MORE_STEPS,
    PICKED,
    TITLES,
    WHO,
    BoundaryView,
    ask,
    text,
)
from ui.decision_boundary.film import JOB, MeasurementRequest, Told, stopped_frame
from ui.decision_boundary.frames import variants_of
from ui.drawing import palette
from ui.drawing.colours import class_colours, exported
from ui.proved import offer_notebook, run_code
from ui.work import pool, runs
from ui.work.cache import CACHE
from ui.work.jobs import Job
from ui.work.runs import Shown, serial

COMPLETE = "boundary_complete"
CURVES = "curves"  # the fold
BAND = (0.1, 0.9)  # quantiles over the seeds
FEW_SEEDS = 6
HALFWAY = 0.5  # from the base rate to 100 %: below it nothing much is learned
LOPSIDED = 1.2  # times an even share: what the largest class has where the sentence says so


def draw_finding(job: Job, requested: Setting, measurement: MeasurementRequest) -> Shown | None:
    """Draw what the seeds show together, and each as a dot; return the run that they are of.

    That is a complete one, or what is left of one, else the last. Before a first run there are
    axes, so that the page does not move when it is complete.
    """
    if job.over or runs.trained(job):
        shown = runs.shown_of(JOB, job)
        if shown is not None and shown.run.frames:
            st.session_state[COMPLETE] = shown
    shown = st.session_state.get(COMPLETE)
    run = shown.run if shown else None
    said, dots = st.session_state[FINDING].columns((6, 5), vertical_alignment="center")
    bold, rest = finding(run) if run else ("" if job.over else "Training …", "")
    said.markdown(bold)
    said.text(rest)
    names = requested.variants if run is None else [*run.variants]
    others = len(names) - len(palette.SIDE_COLOURS)

    def on_seed(seed: int) -> None:
        put_in_link(picked_seed=str(seed))
        st.session_state["who"] = PICKED

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
            on_pick=on_seed,
        )
    return shown


def finding(run: TrainedRun) -> Told:
    """Say in a sentence what the paired difference of test accuracies shows, then the numbers."""
    left, right = run.setting.compared
    before, after = (run.variants[n].ensemble.test_accuracy[-1] for n in (left, right))
    means = [f"{TITLES[n]} {mean_text(x)}" for n, x in ((left, before), (right, after))]
    base, gap = base_rates(run), mean_interval(after - before)
    seeds = f"step {run.steps[-1]}, {len(before)} seeds, 95 % interval, paired by seed"
    broken = "" if run.divergence is None else f"{film.divergence_text(run)} "
    if not has_learned(before, base) and not has_learned(after, base):
        return (
            f"{broken}Neither model has learned much{'' if run.complete else ' yet'}.",
            f"{', '.join(means)} ({seeds}); {base_text(run)}.",
        )
    lopsided = base.mean() >= LOPSIDED / run.task.class_count
    rest = f"({seeds}){f'; {base_text(run)}' if lopsided else ''}."
    name = TITLES[right] if TITLES[right].startswith("no ") else f"the {TITLES[right]}"
    name += "," if "," in name else ""
    verb = by_points(gap, "reduces", "", "increases")
    if not verb:
        bold = f"Whether {name} changes test accuracy is inconclusive."
        # One mean beside a difference, or two: of three rounded numbers one may seem wrong.
        return f"{broken}{bold}", f"{means[0]}, difference {points_text(gap)} points {rest}"
    by = f"{points_text(gap).lstrip('−')} points"
    by += "" if left == "ungated" else f" against {TITLES[left]}"
    bold = f"{name[0].upper()}{name[1:]} {verb} test accuracy by {by}."
    if verb == "increases":
        above, gains = after > before.max(), 100 * (after - before)
        camps = f"{above.sum()} of {len(after)} seeds with {TITLES[right]} exceed the best with"
        camps += f" {TITLES[left]}"
        if not above.all():  # perhaps a camp of their own, which the mean hides
            count, most = int((~above).sum()), gains[~above].max()
            camps += f"; the other {count} gain{'s' * (count == 1)} at most {most:.1f} points"
        means[0] = f"{camps.replace('-', '−')}. Mean with {means[0]}"
    return f"{broken}{bold}", f"{means[0]} {rest}"


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


def mean_text(shares: np.ndarray) -> str:
    """Format the mean accuracy of all seeds in percent, with its 95 % interval.

    An interval that would reach beyond what an accuracy can be ends there.
    """
    interval = mean_interval(shares)
    if not interval.half_width <= interval.mean <= 1 - interval.half_width:
        return accuracy_text(interval)
    width = np.ceil(1000 * interval.half_width - 1e-9) / 10  # rounded up
    return f"{100 * interval.mean:.1f} ± {width:.1f}\u00a0%"


# --- The table ------------------------------------------------------------------------------------


def draw(
    job: Job, shown: Shown, measurement: MeasurementRequest, charts: c.Charts, steps: int
) -> None:
    """Draw what trains a run on, from ``steps``, or begins another, and the table of variants."""
    run, member, chosen = shown.run, measurement.member(shown.run), measurement.chosen(shown.run)
    why = "It is nearest to the medians over seeds of test accuracies and total curvatures"
    if chosen == PICKED:
        why = "You picked it"
    elif (whose := WHO[chosen]) is not None:
        why = f"It is the {whose[1]} of the {whose[0]} model on its training points"
    (least, most), count = LIMITS["seed"], st.session_state.get("seeds", FIRST.seed_count)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(f"+{MORE_STEPS} steps", key="train_on", on_click=ask,
                  args=("steps", steps, MORE_STEPS, limits.BOUNDARY_STEPS[1],
                        limits.BOUNDARY_STEPS[1]))  # fmt: skip
        st.button("New seeds", icon=":material/casino:", key="new_seeds", on_click=ask,
                  args=("first", FIRST.seed, count, most, least))  # fmt: skip
        st.caption(f"Seed {run.task.seeds[member]} is shown. {why}.")
    if job.requests != (run.setting,):
        st.caption(f":material/hourglass_top: {text('not_current')}")
    columns = charts.tables["test accuracy"] = table(run)
    rows = [columns, ["---"] * len(columns), *zip(*columns.values(), strict=True)]
    st.markdown("\n".join(f"| {' | '.join(row)} |" for row in rows))  # st.table loads pandas
    st.caption(table_note(run), help=text("learned_help"))


def table(run: TrainedRun) -> dict[str, list[str]]:
    """Return accuracy, difference to the left variant, parameters and time of every variant."""
    left, variants = run.setting.compared[0], run.variants
    finals = {name: x.ensemble.test_accuracy[-1] for name, x in variants.items()}
    gaps = {name: points_text(mean_interval(x - finals[left])) for name, x in finals.items()}
    return {
        "Variant": [TITLES[name] for name in variants],
        "Test accuracy": [*map(mean_text, finals.values())],
        f"Difference to {TITLES[left]}, paired": [
            "–" if name == left else f"{gap} points" for name, gap in gaps.items()
        ],
        "Worst seed": [f"{100 * x.min():.0f} %" for x in finals.values()],
        "D": [str(x.ensemble.config.model_dim) for x in variants.values()],
        "Parameters": [str(x.ensemble.parameter_count) for x in variants.values()],
        "Training time, all seeds": [
            f"{x.seconds:.2f} s{' (together)' * (len(x.together) > 1)}" for x in variants.values()
        ],
    }


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


# --- Curves along the run -------------------------------------------------------------------------


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


# --- Files to take away ---------------------------------------------------------------------------


def draw_files(
    shown: Shown,
    view: BoundaryView,
    measurement: MeasurementRequest,
    charts: c.Charts,
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
    charts.later = lambda: logs(shown)
    charts.draw_footer(text("charts", grid=FRAME_GRID, points=DRAWN_POINTS))


def total_at(shown: Shown, name: str, member: int, index: int) -> Integral:
    """Return the total curvature of a variant in a drawn frame; after the last step, refined."""
    end = shown.final.get((name, member))
    if end is not None and index == len(drawn_frames(shown.run)) - 1:
        return end.total
    return shown.along[name, member].total.at(index)


def _exported(
    shown: Shown, view: BoundaryView, member: int, side: str, index: int, line: str
) -> Surface:
    """Return the drawn surface of a variant, measured in full."""
    run, name = shown.run, variants_of(shown.run)[side]
    own = film.film_for(run, member).sides[side]
    with st.spinner("Measuring curvature …"):
        model = steps_model(run, name, member).attention.member(index)
        key = measure_fields, serial(run), len(run.steps), name, member, index
        surface, more = CACHE.get(key, lambda: pool.POOL.call(measure_fields, model))
    if view.paint == "class" and not view.discrete and run.task.class_count == 2:
        more = more | {"probability of class 1": class_colours(own.frames.logits[index])}
    return exported(surface, line, own.points[index], more=more)


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

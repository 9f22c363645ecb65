"""The landing page from top to bottom: controls, the run they ask for, its pair, what is below.

Cached objects are shared by all visitors; nothing may change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_COMPARISON,
    FIRST_SETTING,
    LIMITS,
    PRESETS,
    STRENGTHS,
    Setting,
    StrengthSweep,
    TrainedRun,
    first_setting,
    load_reference,
    shows_surface,
    sweep_strengths,
)
from gating_core.training import mean_interval
from ui.common import formatting as common
from ui.common.charts import Charts
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_number, parse_pick
from ui.common.page import dated, front_columns
from ui.common.take_along import offer_model, offered
from ui.drawing.chart_map import CHART_NAMES
from ui.landing.details import compared, data_tables, draw_details, offer_surfaces
from ui.landing.pair import Result, chosen_text, draw_models, draw_strip, stale_text
from ui.landing.picture import MeasuredPair, measure_pair
from ui.landing.stage import draw_numbers, draw_stage
from ui.limits import LANDING_LAYERS
from ui.proved import draw_proofs, offer_notebook
from ui.work import jobs, pool, runs
from ui.work.cache import cached

# Few, for a first look. The first of each is the first example's.
TASKS, GATES = ("circle", "xor", "moons", "linear"), ("sigmoid", "headwise")
LEFT_MODELS = {"trained without": "own", "gate ablated": "same"}  # see `measure_pair`
COLOUR_BY = ("class", "curvature")
SHOWN = ("one surface", "two models")
FIRST = {
    "task": TASKS[0],
    "beside": next(iter(LEFT_MODELS)),
    "colour": COLOUR_BY[0],
    "depth": str(LANDING_LAYERS[0]),
    "gate": GATES[0],
    "seed": FIRST_SETTING.seed,
}
JOB, LAST_SHOWN = "landing", "landing_last_shown"


def draw() -> None:
    """Draw the page below its lead."""
    top = st.container(key="first-screen")
    with top:
        status, picture = st.container(key="status"), st.container()
        task, shown, left, colouring = _draw_front()
    below = st.container()
    explore = st.expander(
        "Explore: other depths, gates and seeds", key="explore", on_change="rerun", **LINK
    )
    with explore:
        setting = _draw_explore(task)
        details = st.container()
    with status:
        result = fetch(setting, left, colouring)
    on_stage = shown == SHOWN[0] and result.pair.seen
    charts = Charts("landing")
    charts.tables |= data_tables(result)
    with picture:
        if not result.pair.seen:
            _draw_unseen(result.run.setting)
        with dated(stale_text(result.run.setting, setting)):
            (draw_stage if on_stage else draw_models)(result)
    with below:
        if on_stage:
            draw_numbers(result)
        _draw_tokens_link(task)
        _draw_seeds(result)
    if explore.open:
        with details:
            draw_details(result, charts)
    draw_proofs(lambda: compared(result), CHART_NAMES["inputs"], charts)
    explanation = (section("landing", name) for name in ("one_surface", "two_models", "colours"))
    charts.draw_footer("\n\n".join(explanation))
    if result.pair.seen:
        offer_surfaces(result, shown == SHOWN[1])
        (gated,), code = compared(result)
        offer_notebook(gated.name, offered().name, code, gated.estimates.get("absolute"), 3)
    offer_model(result.run, result.run.setting.compared[1], result.sweep.member)


# --- Controls -------------------------------------------------------------------------------------


def _draw_front() -> tuple[str, str, str, str]:
    """Draw task and what is shown; of two models also which, and their colours."""
    asked = {"beside", "colour", "pick"} & set(st.query_params)  # which only two models have
    if asked and "picture" not in st.query_params and "picture" not in st.session_state:
        st.session_state["picture"] = SHOWN[1]
    widths = (5, 4, 4, 3)
    first, second, third, fourth = front_columns(widths, "bottom", alone=2)
    task = first.radio("Task", TASKS, key="task", horizontal=True, **LINK)
    shown = second.radio("Show", SHOWN, key="picture", horizontal=True, **LINK)
    left, colouring = "gate ablated", COLOUR_BY[0]  # of one surface: its own λ = 0
    if shown == SHOWN[1]:
        left = third.radio(
            "Compare with",
            [*LEFT_MODELS],
            key="beside",
            horizontal=True,
            **LINK,
            help=section("landing", "beside"),
        )
        colouring = fourth.radio("Colour by", COLOUR_BY, key="colour", horizontal=True, **LINK)
    return task, shown, LEFT_MODELS[left], colouring


def _draw_tokens_link(task: str) -> None:
    """Draw a link to values that depend on tokens."""
    st.page_link(
        "pages/2_Decision_boundary.py",
        label=tokens_text(load_reference("tokens", task)),
        icon=":material/arrow_forward:",
        query_params={"from": "tokens", "data": task},
        help=section("landing", "break_it"),
    )


def tokens_text(accuracies: np.ndarray) -> str:
    """Say what a gate gains where values depend on the tokens: test accuracies (2, S)."""
    without, gated = (f"{100 * x.mean():.1f}\u00a0%" for x in accuracies)
    gain = common.gain_text(mean_interval(accuracies[1] - accuracies[0]))
    return (
        f"Other models, with values from tokens (self-attention): the gate {gain}, {without}"
        f" without it and {gated} with it"
    )


def _draw_explore(task: str) -> Setting:
    """Draw depth, gate kind and first seed, and the way back; return the training."""
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    depth = first.radio("Layers", [*map(str, LANDING_LAYERS)], key="depth", horizontal=True, **LINK)
    gate = second.radio("Gate kind", GATES, key="gate", horizontal=True, **LINK)
    count = FIRST_SETTING.seed_count
    seed = third.number_input(
        "First seed",
        *LIMITS["seed"],
        FIRST_SETTING.seed,
        count,
        key="seed",
        help=section("landing", "seed", count=count),
        **LINK,
    )
    fourth.button("Back to the first example", on_click=_go_back, width="stretch")
    one_layer = replace(FIRST_SETTING, task=task, variants=("ungated", gate), seed=seed)
    return landing_setting(one_layer, int(depth))


def _go_back() -> None:
    for key, value in FIRST.items():
        st.session_state[key] = value
    for name in ("strength", "pick", "plane"):
        st.query_params.pop(name, None)


def landing_setting(like: Setting, depth: int) -> Setting:
    """Return ``like`` with another ``depth``, trained as this page trains at that depth."""
    return replace(first_setting(depth), task=like.task, variants=like.variants, seed=like.seed)


def _parse_frame(text: str) -> int | None:
    strength = parse_number(text)
    if strength is None or not 0 <= strength <= 1:
        return None
    return min(range(len(STRENGTHS)), key=lambda frame: abs(STRENGTHS[frame] - strength))


# --- The run and its pair -------------------------------------------------------------------------


def fetch(setting: Setting, left: str, colouring: str) -> Result:
    """Return the pair of ``setting``, or the one shown last while that is trained; draw progress.

    Strength and marked point are those of the link.
    """
    runs.leave(JOB, setting)
    shown = _swept(setting) or st.session_state.get(LAST_SHOWN) or runs.cached_run(FIRST_SETTING)
    assert shown is not None  # the first example is bundled
    assert shown.sweep is not None
    st.session_state[LAST_SHOWN] = shown
    pair = measured_pair(shown.run.setting, left, shown.run, shown.sweep)
    point = link_value("pick", parse_pick, None, "no point")
    return Result(shown.run, shown.sweep, pair, left, colouring, linked_frame(), point)


def bundled_result(task: str, frame: int = -1, left: str = "gate ablated") -> Result:
    """Return bundled models of a ``task`` of `TASKS`; ``left`` is one of `LEFT_MODELS`."""
    shown, left = runs.cached_run(PRESETS[task]), LEFT_MODELS[left]
    assert shown is not None
    assert shown.sweep is not None
    pair = measured_pair(shown.run.setting, left, shown.run, shown.sweep)
    return Result(shown.run, shown.sweep, pair, left, COLOUR_BY[0], frame, None)


def linked_frame(first: float = 1.0) -> int:
    """Return the index of the link's strength, or of the ``first`` one."""
    return link_value("strength", _parse_frame, STRENGTHS.index(first), f"{first:g}")


@cached("Measuring curvature …")
def measured_pair(
    setting: Setting, left: str, _run: TrainedRun, _sweep: StrengthSweep
) -> MeasuredPair:
    """Measure both models at all strengths."""
    bundled = next((name for name, preset in PRESETS.items() if preset == setting), None)
    if bundled is not None:  # one surface at most is measured: no visitor waits for a worker
        return measure_pair(left, _run, _sweep, bundled)
    return pool.POOL.call(measure_pair, left, _run, _sweep, bundled)


def _swept(setting: Setting) -> runs.Shown | None:
    """The run of ``setting`` with its sweep, which may lack totals; draw how work goes."""
    shown = runs.cached_run(setting)
    if shown is None or _lacks_totals(shown):
        with jobs.dock(JOB, setting):
            job = runs.fetch(JOB, setting, _sweep, _lacks_totals)
            jobs.draw_end(job, _what(job))
        jobs.watch(job, lambda: _what(job), share=lambda: _share(job))
        shown = runs.shown_of(JOB, job)
    if shown is None or shown.run.setting != setting or not shown.run.ended:
        return None
    if shown.run.divergence is not None:
        text = shown.run.divergence.text
        st.error(f"{text}. Shown instead: the last experiment that worked.")
        return None
    return shown if shown.sweep is not None else None


def _sweep(shown: runs.Shown) -> Iterator[Any]:
    return pool.POOL.stream(sweep_strengths, shown.run)


def _lacks_totals(shown: runs.Shown) -> bool:
    return shown.sweep is None or not shown.sweep.measured.all()


def _what(job: jobs.Job) -> str:
    return "Training" if _sweep_of(job) is None else "Measuring curvature"


def _share(job: jobs.Job) -> float:
    sweep = _sweep_of(job)
    return job.share if sweep is None else float(sweep.measured.mean())


def _sweep_of(job: jobs.Job) -> StrengthSweep | None:
    return next((shown.sweep for shown in job.so_far.values()), None)


# --- Around the pictures --------------------------------------------------------------------------


def _draw_unseen(setting: Setting) -> None:
    """Say that there is no surface to see, with a button to the nearest depth that has one."""
    text, way = st.columns([4, 1], vertical_alignment="center")
    text.info(section("landing", "unseen", layers=common.layers_text(setting.depth)))
    near = nearest_with_surface(setting)
    depth = near or LANDING_LAYERS[0]
    if depth != setting.depth:
        way.button(
            f"{'See' if near else 'Try'} {common.layers_text(depth)}",
            width="stretch",
            on_click=st.session_state.update,
            args=({"depth": str(depth)},),
        )


def nearest_with_surface(setting: Setting) -> int | None:
    """Return the depth nearest to that of ``setting`` whose cached run has a surface to see."""
    for depth in sorted(LANDING_LAYERS, key=lambda depth: (abs(depth - setting.depth), depth)):
        shown = runs.cached_run(landing_setting(setting, depth))
        if shown and shown.sweep and shows_surface(shown.run, shown.sweep.member):
            return depth
    return None


def _draw_seeds(result: Result) -> None:
    """Draw how the shown seed was chosen, what every seed reached, and the marked point."""
    setting, pair = result.run.setting, result.pair
    text, dots = st.columns([3, 2], vertical_alignment="center")
    chosen = chosen_text(result)
    there = load_reference("boundary", setting.task)
    elsewhere = section(
        "landing",
        "elsewhere",
        task=setting.task,
        steps=setting.steps,
        seed=setting.seed,
        last=setting.seeds[-1],
        gain=common.points_text(mean_interval(there[1] - there[0])),
        there=FIRST_COMPARISON.seed,
        there_last=FIRST_COMPARISON.seeds[-1],
        there_steps=FIRST_COMPARISON.steps,
    )
    text.caption(f"{chosen} {elsewhere}")
    with dots:
        draw_strip(result, "seed_strip")
    if pair.seen and result.point:
        row, column = result.point
        axis = pair.left.surface.axis
        parts = [f"Marked point x = ({axis[column]:.2f}, {axis[row]:.2f})"]
        for name, model, frame in result.models:
            curvature = common.curvature_text(model.surface, (frame, row, column))
            parts.append(f"{name.lower()}: K = {curvature}")
        st.caption(" · ".join(parts))

"""Parts of the page beside the pictures: how a run ended, buttons, numbers, seeds, downloads."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.comparison import TrainedRun
from gating_core.export import log_csv, script_problem, script_text, weights_file
from gating_core.language.measurements import BINS, ResampledReliability
from ui.common.parts import BARE, draw_csv, draw_explanation
from ui.components.strip import strip
from ui.decision_boundary import words
from ui.decision_boundary.controls import new_seeds, rewind, train_on
from ui.decision_boundary.frame_words import captions, heading, shown_text, still_text
from ui.decision_boundary.frames import variants_of
from ui.decision_boundary.names import TITLES, page_text
from ui.decision_boundary.reliability import calibrations, ends, reliability_rows, summary
from ui.decision_boundary.request import BoundaryView, experts_link
from ui.decision_boundary.stage import frames_for
from ui.decision_boundary.training import MeasurementRequest, draw_others, stopped_frame, what
from ui.drawing import palette
from ui.drawing.panels import View
from ui.drawing.reliability import reliability_chart
from ui.work import jobs, pool
from ui.work.cache import cached
from ui.work.job import State
from ui.work.runs import Shown, newest_run, serial

MORE_STEPS = 400
DIAGRAM_PIXELS = 420
SCENE_FROM, PLANE_TO, GAP = 0.42, 0.36, 0.02  # of a still's height, and of its width


def draw_end(job: jobs.Job) -> None:
    """Draw why a run is not complete, and where it was stopped, beside the way to go on."""
    items = job.items
    run = newest_run(items)
    where = ""
    if run is not None and not run.ended:
        where = f", at step {run.steps[-1]} of {run.setting.steps}"
    text = jobs.end_text(job, what(items), items, where)
    if job.state is State.FAILED:
        st.error(text)
    elif text:
        st.caption(f":material/stop_circle: {text}")


def draw_buttons(job: jobs.Job, measurement: MeasurementRequest) -> None:
    """Draw the buttons that train a run on, rewind it or begin another."""
    with st.container(horizontal=True):
        st.button(f"Train on ({MORE_STEPS} steps)", icon=":material/fast_forward:",
                  on_click=train_on, args=(MORE_STEPS,), key="train_on")  # fmt: skip
        st.button("Back to step 0", icon=":material/replay:", on_click=rewind, key="rewind",
                  help=page_text("rewind_help"))  # fmt: skip
        st.button("New seeds", icon=":material/casino:", on_click=new_seeds, key="new_seeds")
        draw_others(job, measurement)


def draw_numbers(shown: Shown, measurement: MeasurementRequest, current: bool) -> None:
    """Draw the table and the strip of seeds; those of the run before, if not ``current``."""
    run = shown.run
    if not current:
        st.caption(f":material/hourglass_top: {page_text('not_current')}")
    st.markdown(words.table_text(words.table(run)))  # st.table loads pandas and Arrow
    st.caption(words.table_note(run), help=page_text("learned_help"))
    member = measurement.member(run)
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
            "pages/6_Mixture_of_experts.py", icon=":material/account_tree:", query_params=link,
            label=f"*{TITLES[name]}*, seed {run.task.seeds[member]}: its experts",
        )  # fmt: skip


def _on_seed(seed: int) -> None:
    st.query_params["picked_seed"] = str(seed)
    st.session_state["who"] = "picked"


@cached()
def _calibrations(key: int, _run: TrainedRun) -> dict[str, ResampledReliability]:
    return pool.POOL.call(calibrations, _run)


def draw_reliability(run: TrainedRun) -> None:
    """Draw how often both variants are right where they are how sure, over all test points."""
    results = _calibrations(serial(run), run)
    sentence = summary(results, len(run.task.seeds))
    bins = [(TITLES[name], np.stack([of.whole.confidence, of.whole.frequency]), ends(of))
            for name, of in results.items()]  # fmt: skip
    st.plotly_chart(reliability_chart(bins, DIAGRAM_PIXELS), alt=sentence, key="reliability",
                    config=BARE)  # fmt: skip
    st.markdown(sentence)
    with st.container(horizontal=True):
        draw_explanation(
            "decision_boundary", "reliability", "reliability", points=run.task.test_labels.size,
            seeds=len(run.task.seeds), step=run.steps[-1], bins=BINS,
        )  # fmt: skip
        draw_csv("Reliability", lambda: reliability_rows(results))


def draw_downloads(shown: Shown, view: BoundaryView, measurement: MeasurementRequest) -> None:
    """Draw the four buttons."""
    run = shown.run
    member, name = measurement.member(run), run.setting.compared[-1]
    ensemble = run.variants[name].ensemble
    problem = script_problem(ensemble.config)
    logs = {name: variant.ensemble for name, variant in run.variants.items()}
    quiet: dict[str, Any] = {"on_click": "ignore"}
    with st.container(horizontal=True):
        st.download_button(
            "Weights (safetensors)",
            lambda: weights_file(ensemble, run.task, words.about(run, name)), "model.safetensors",
            icon=":material/download:", key="take_weights", **quiet,
        )  # fmt: skip
        st.download_button(
            "Script (PyTorch)", "" if problem else script_text(ensemble, ensemble.seeds[member]),
            "rerun.py", icon=":material/code:", key="take_script", disabled=bool(problem),
            help=problem or page_text("script_help"), **quiet,
        )  # fmt: skip
        st.download_button(
            "Log (CSV)", lambda: log_csv(logs), "log.csv", icon=":material/table:",
            key="take_log", **quiet,
        )  # fmt: skip
        st.download_button(
            "Figure (HTML)", lambda: figure_page(shown, view, member), "figure.html",
            icon=":material/image:", key="take_figure", **quiet,
        )  # fmt: skip


def figure_page(shown: Shown, view: BoundaryView, member: int) -> str:
    """Return the frame that is shown as an HTML page."""
    run, index = shown.run, stopped_frame(shown.run)
    titles = [
        f"{heading(run, name, member)}<br>"
        + captions(shown, name, member, False)[index].replace("**", "")
        for name in variants_of(run).values()
    ]
    picture = frames_for(shown, view, member).picture
    figure = still_figure(picture, index, titles, still_text(run, index))
    return figure.to_html(include_plotlyjs=True)


def still_figure(picture: View, frame: int, titles: list[str], caption: str) -> go.Figure:
    """Draw one ``frame`` of both variants, surfaces over input planes, with a ``caption``."""
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    for number, (scene, plane) in enumerate(picture.columns[: len(titles)]):
        suffix = "" if number == 0 else str(number + 1)
        across = [number / len(titles) + GAP, (number + 1) / len(titles) - GAP]
        at_scene = {"scene": f"scene{suffix}"}
        at_plane = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        for panel, where in ((scene, at_scene), (plane, at_plane)):
            traces += [filled(trace, picture, frame) | where for trace in panel.traces]
        camera = {"camera": picture.camera, "domain": {"x": across, "y": [SCENE_FROM, 1.0]}}
        layout[f"scene{suffix}"] = scene.layout | camera
        x, y = plane.layout["xaxis"], plane.layout["yaxis"]
        layout[f"xaxis{suffix}"] = x | {"domain": across, "anchor": f"y{suffix}"}
        layout[f"yaxis{suffix}"] = y | {
            "domain": [0.0, PLANE_TO], "anchor": f"x{suffix}", "scaleanchor": f"x{suffix}",
        }  # fmt: skip
    figure = go.Figure(traces, layout)
    for number, title in enumerate(titles):
        figure.add_annotation(
            text=f"<b>{title}</b>", x=(number + 0.5) / len(titles), y=1.0, xref="paper",
            yref="paper", yanchor="bottom", showarrow=False,
        )  # fmt: skip
    over = {"text": caption, "font": {"size": 13}, "x": 0.02, "y": 0.98, "yanchor": "top"}
    figure.update_layout(
        height=900, title=over, showlegend=False, template="plotly_white",
        margin={"l": 50, "r": 20, "t": 120, "b": 50},
    )  # fmt: skip
    return figure


def filled(tree: Any, picture: View, frame: int) -> Any:
    """Return a trace with each reference to an array replaced by that array in ``frame``.

    Ink is that of white paper.
    """
    if isinstance(tree, str):
        return palette.LINE if tree == palette.INK else tree
    if isinstance(tree, list):
        return [filled(part, picture, frame) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if "array" in tree and isinstance(tree["array"], str):
        array = picture.arrays[tree["array"]]
        array = array[frame] if tree["array"] in picture.framed else array
        return array.ravel() if tree.get("flat") else array
    return {key: filled(part, picture, frame) for key, part in tree.items()}

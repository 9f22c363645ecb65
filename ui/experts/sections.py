"""The sections of the Experts page by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from gating_core.claims import THRESHOLDS
from gating_core.experts import GATES, Learned, LearningCurves, SampleRequest
from ui.common.lessons import section, sections
from ui.common.parts import draw_csv, draw_explanation, draw_figure
from ui.common.words import short
from ui.components.pad import Handle, pad
from ui.components.tree import tree
from ui.drawing import palette
from ui.experts import controls, data_words, measured, picture, words
from ui.experts.request import (
    CURVES,
    DATA,
    MIXING,
    NULLS,
    RANDOM,
    TREE,
    DataSelection,
    ExpertsSelection,
)
from ui.work import jobs

SPARE = 450  # pixels of the window's height that all but the tree takes
HEADS = {"expert": "head_expert_errors", "prediction": "head_prediction_errors"}


def _with_model(selection: ExpertsSelection, *others: ExpertsSelection) -> ExpertsSelection:
    """Return the selection, with random weights if its training or one of ``others`` diverges."""
    if all(map(measured.trained, (selection, *others))):
        return selection
    st.warning(section("experts", "diverged"), icon=":material/warning:")
    return replace(selection, task=RANDOM)


# --- One entry, taken apart -----------------------------------------------------------------------


def _draw_tree() -> None:
    """Draw the tree of one entry, the input that can be dragged, and the formula."""
    selection = _with_model(controls.read_selection())
    entry = measured.decomposed(selection)
    left, right = st.columns([3, 10])
    with left:
        pad(
            key=controls.PAD_KEY, handles=[Handle("x", *selection.point, palette.ACCENT)],
            extent=controls.EXTENT, label="The input x", x_name="x₁", y_name="x₂",
            on_move=controls.on_point,
        )  # fmt: skip
        formula, place = (section("experts", name) for name in words.position_sections(selection))
        st.container(key="entry_formula").markdown(f"${formula}$")
        st.caption(place)
    with right:
        tree(
            key=controls.TREE_KEY,
            label=words.entry_alt(selection, entry),
            hint=section("experts", "hint"),
            name=f"Y[{selection.channel}]",
            numbers=measured.numbers(selection),
            strength=selection.strength,
            point=selection.point,
            pad=controls.PAD_KEY,
            expert=selection.expert,
            spare=SPARE,
            on_strength=partial(controls.put_linked, "open"),
            on_expert=partial(controls.put_linked, "expert"),
        )  # fmt: skip
        st.markdown(words.entry_summary(selection, entry))
    with st.container(horizontal=True):
        draw_explanation("experts", "the tree", "tree", **words.tree_fields(selection, entry))
        draw_csv("Terms", lambda: words.terms_rows(entry))
    with controls.EXPERTS["code"].draw(st) as code:
        if code.open:
            st.code(words.code(selection), language="python")


# --- What no data can decide ----------------------------------------------------------------------


def _draw_null_directions() -> None:
    """Draw how many directions data cannot decide, and a move along one of them."""
    selection = controls.read_selection()
    selection = _with_model(selection, *measured.moved_models(selection).values())
    counts, setting = measured.counts(selection), selection.gate_setting
    shown = counts[setting]
    model = selection.compared.config, selection.seed, selection.task, setting
    bars, gap, move = st.columns([4, 4, 5])
    with bars:
        st.markdown(section("experts", "head_counts"))
        draw_figure("experts", ("counts", *model),
                    lambda: picture.count_chart(counts, setting),
                    words.counts_alt(counts))  # fmt: skip
    with gap:
        st.markdown(section("experts", "head_gap", place=picture.setting_text(setting)))
        draw_figure("experts", ("gap", *model),
                    lambda: picture.gap_chart(shown), words.gap_alt(shown))  # fmt: skip
    with move:
        left, right = st.columns([3, 2])
        direction, far = controls.MOVE["along"].draw(left), controls.MOVE["far"].draw(right)
        selection = replace(selection, direction=direction, distance=far)
        if selection.direction == MIXING and not selection.mixes:
            st.caption(f":material/info: {section('experts', 'nothing_to_mix')}")
        moves = measured.moves(selection)
        sentence = words.move_text(selection, moves)
        draw_figure("experts", ("moves", selection),
                    lambda: picture.move_chart(moves, selection.distance), sentence)  # fmt: skip
    st.markdown(f"{words.counts_summary(selection, counts)} {sentence}")
    own = f"{section('experts', 'trained_row')} " if selection.task != RANDOM else ""
    st.caption(f"{own}{section('experts', 'not_said')}")
    with st.container(horizontal=True):
        draw_explanation("experts", "undecidable directions", "counts",
                         **words.counts_fields(selection, counts))  # fmt: skip
        draw_explanation("experts", "the move", "moves", sentence=sentence,
                         distance=short(selection.distance))  # fmt: skip
        draw_csv("Counts", lambda: words.counts_rows(counts))
        draw_csv("Moves", lambda: words.moves_rows(moves))


# --- How many data does it take? ------------------------------------------------------------------


def _draw_data() -> None:
    """Draw errors of experts and of predictions side by side, and what they say."""
    front, stage, folds = st.container(), st.container(), st.container()
    with front:
        selection = controls.read_data(folds)
    with folds:
        row, every = st.container(horizontal=True), controls.FOLDS["every_place"].draw(st)
    # One job for all that is shown: two would cancel each other at every run.
    learned = _fetch(selection.request, GATES if every.open else selection.gates)
    shown = {gate: learned[gate] for gate in selection.gates if gate in learned}
    with stage:
        if not shown:
            _say_shipped()
            shown = {gate: measured.shipped_samples()[gate] for gate in DataSelection().gates}
        _draw_errors(shown)
    with row:
        fields = data_words.errors_fields(shown)
        draw_explanation("experts", "errors against data", "samples", **fields)
        draw_csv("Errors", lambda: data_words.errors_rows(shown))
    if every.open and len(learned) == len(GATES):
        with every:
            st.table(data_words.table(learned))
            st.caption(section("experts", "every_place"))
    with folds, controls.FOLDS["data_code"].draw(st) as code:
        if code.open:
            st.code(sections("experts")["data_code"], language="python")


def _say_shipped() -> None:
    """Say that what comes with the app stands in until the job has a result."""
    st.caption(f":material/hourglass: {section('experts', 'still_shipped')}")


def _fetch(request: SampleRequest, gates: tuple[str, ...]) -> dict[str, Learned]:
    """Return what is there of the selection, and draw how its job goes."""
    learned, job = measured.learned(request, gates)
    if job is not None:
        with jobs.dock(measured.LEARNED.name, job.about):
            what = f"Learning {len(gates)} × {request.repeats} teachers"
            measured.LEARNED.watch(job, what, again="Learn")
    return learned


def _draw_errors(learned: dict[str, Learned]) -> None:
    request = next(iter(learned.values())).request
    for column, (name, head) in zip(st.columns(2), HEADS.items(), strict=True):
        with column:
            st.markdown(section("experts", head))
            draw_figure("errors", (name, request, tuple(learned)),
                        partial(picture.error_chart, learned, name),
                        data_words.errors_alt(learned, name))  # fmt: skip
    st.markdown(data_words.errors_summary(learned))
    if text := data_words.caution(learned):
        st.caption(text)


# --- And in training? -----------------------------------------------------------------------------


def _draw_curves() -> None:
    """Draw test errors against training points, differences, and the verdict."""
    selection = controls.read_curves()
    curves, job = measured.curves(selection.request)
    if job is not None:
        with jobs.dock(measured.CURVES.name, job.about):
            measured.CURVES.watch(job, "Training on more and more points", again="Train")
    if curves is None:
        _say_shipped()
        curves = measured.shipped_curves()
    _draw_learning(curves, selection.level)


def _draw_learning(curves: LearningCurves, level: float) -> None:
    request = curves.request
    verdicts = data_words.verdicts(curves)
    summary = data_words.curves_summary(curves, level)
    left, right = st.columns(2)
    with left:
        st.markdown(section("experts", "head_curves", task=request.task, count=request.seed_count))
        draw_figure("curves", ("errors", request, level),
                    lambda: picture.curves_chart(curves, level),
                    data_words.curves_alt(curves))  # fmt: skip
    with right:
        st.markdown(section("experts", "head_differences"))
        draw_figure("curves", ("gains", request),
                    lambda: picture.difference_chart(curves, THRESHOLDS.margin),
                    verdicts)  # fmt: skip
    st.markdown(f"{summary} {verdicts}")
    with st.container(horizontal=True):
        draw_explanation(
            "experts", "learning curves", "curves",
            steps=request.steps, count=request.seed_count, gate=request.gate,
            sentence=summary, power=f"{THRESHOLDS.power:.0%}",
        )  # fmt: skip
        draw_csv("Curves", lambda: data_words.curves_rows(curves))


SECTIONS: dict[str, Callable[[], None]] = {
    TREE: _draw_tree,
    NULLS: _draw_null_directions,
    DATA: _draw_data,
    CURVES: _draw_curves,
}

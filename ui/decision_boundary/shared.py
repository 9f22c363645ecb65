"""Shared by the sections of Decision boundary: the controls, the run, and numbers as text.

What is shown of a run may change while it is measured: the seed shown is measured first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import gating_core.experiments.comparison as comparison
from gating_core.attention import MECHANISMS, NORMS, SINKS
from gating_core.experiments.comparison import LIMITS, VARIANTS, Setting, TooLarge, TrainedRun
from gating_core.tasks import TASK_NAME, TASKS, OwnData, make_task
from gating_core.training import GOOD_START, OPTIMISERS, mean_interval
from ui import limits
from ui.common.formatting import accuracy_text, percent
from ui.common.front import front_columns
from ui.common.links import LINK, change_link, link_value
from ui.common.possible import SOURCES_HELP
from ui.components.tiles import STYLE, Tile, draw_tiles
from ui.decision_boundary.model import (
    DATA,
    FIRST,
    KINDS,
    OWN_SHARE,
    PAINTS,
    PICKED,
    TYPICAL,
    WHO,
    BoundaryRequest,
    BoundaryView,
    Named,
    TooLong,
    resolve,
    setting,
    text,
)
from ui.drawing import palette
from ui.foreign import error_words
from ui.limits import OTHERS_COST
from ui.work import pool, runs
from ui.work.pool import Rank
from ui.work.runs import Shown

JOB, MEASUREMENT, COMPLETE = "boundary", "boundary_measurement", "boundary_complete"
VIEW_KEY = "boundary_view"
STOPPED = "boundary_stopped"  # a setting, and the step at which its visitor has stopped
LAST_SETTING, TILE_CHOSEN = "boundary_setting", "boundary_tile_chosen"
SEEDS = LIMITS["seed"]
LAST_SEED = SEEDS[1] + limits.BOUNDARY_SEEDS[1]
RATES = {f"{rate:g}": rate for rate in (0.001, 0.003, 0.01, 0.02, 0.05, 0.1)}
AUTOMATIC = percent(FIRST.train_share)
FOLDED = ("setup", "points", "share", "noise", "flip", "balance", "from", "width", "slots",
          "attention_heads", "sink_logit", "stack", "rms", "skip", "out", "also", "optimiser",
          "rate", "batch", "decay", "soft", "seeds", "first", "paint", "discrete",
          "test_points")  # fmt: skip
TILE_POINTS = 260  # of a tile's picture
SIZE, DOT = 100, 2.6  # of that picture and of a point, in units of the picture
FEW_SEEDS = 6
HALFWAY = 0.5  # from the base rate to 100 %: below it nothing much is learned


# --- Controls -------------------------------------------------------------------------------------


def draw_front() -> tuple[dict[str, Any], str]:
    """Draw the controls above the pictures; return fields of the request, and the seed shown."""
    st.html(STYLE)
    data, left, right, steps, who = front_columns((1.1, 1.1, 1.1, 0.8, 0.9), "bottom")
    fields = {
        "task": _choose_tile(data, "data", "Data", DATA, FIRST.task),
        "left": _choose_tile(left, "left", "Left", KINDS, FIRST.variants[0]),
        "right": _choose_tile(right, "right", "Right", KINDS, FIRST.variants[1]),
        "steps": steps.slider("Steps", *limits.BOUNDARY_STEPS, FIRST.steps, 50, key="steps",
                              **LINK),
    }  # fmt: skip
    which = who.selectbox("Seed shown", (*WHO, PICKED), key="who", help=text("who_help"), **LINK)
    return fields, which


def draw_more() -> tuple[dict[str, Any], BoundaryView]:
    """Draw the fold *More*; return fields of the request, and of the view.

    A closed fold that nobody has used stays empty: a first visit would load the files of all its
    controls.
    """
    fold = st.expander(
        "More: data, model, training, picture", key="setup", on_change="rerun", **LINK
    )
    if not (fold.open or in_use(FOLDED[1:])):
        return {}, BoundaryView()
    data, model, training, picture = fold.columns(4)
    data.markdown("**Data**")
    model.markdown("**Model**")
    training.markdown("**Training**")
    picture.markdown("**Picture**")
    fields = {
        "points": data.slider("Points, training and test", *limits.BOUNDARY_POINTS, FIRST.points, 4,
                              key="points", **LINK),
        "train_share": data.slider(
            f"Train fraction (0: automatic, {AUTOMATIC})", 0.0, 0.9, 0.0, 0.05, key="share",
            help=text("share_help", share=AUTOMATIC, own=percent(OWN_SHARE)), **LINK),
        "noise": data.slider("Noise of the points", 0.0, 0.5, FIRST.noise, 0.02, key="noise",
                             help="Of the coordinates, in half sides of the"
                             " square.", **LINK),
        "label_noise": data.slider("Label noise", 0.0, 0.5, FIRST.label_noise, 0.02, key="flip",
                                   help="Share of the training labels that are wrong.", **LINK),
        "balance": data.slider("Share of class 0 (0: automatic)", 0.0, 0.9, 0.0, 0.1, key="balance",
                               **LINK),
        "source": model.radio("Keys and values from", [*MECHANISMS], key="from", horizontal=True,
                              help=SOURCES_HELP, **LINK),
        "model_dim": model.slider("Dimension D", *limits.BOUNDARY_CHANNELS, FIRST.model_dim,
                                  key="width", **LINK),
        "value_count": model.slider("Values n", *limits.BOUNDARY_VALUES, FIRST.value_count,
                                    key="slots", help="Slots or tokens.", **LINK),
        "heads": model.slider("Heads", *limits.BOUNDARY_HEADS, FIRST.heads, key="attention_heads",
                              **LINK),
        "sink": model.radio("Sink logit", SINKS, key="sink_logit", horizontal=True,
                            help=text("sink_help"), **LINK),
        "depth": model.slider("Layers", *limits.BOUNDARY_LAYERS, FIRST.depth, key="stack", **LINK),
        "norm": model.radio("Normalisation (RMSNorm)", NORMS, key="rms", horizontal=True, **LINK),
        "residual": model.toggle("Residual connection", key="skip", **LINK),
        "output_projection": model.toggle("Output projection", key="out", **LINK),
        "also": tuple(model.multiselect(
            "Also train, for the table", [*VARIANTS], key="also", placeholder="no other model",
            max_selections=limits.VARIANTS_BESIDE, **LINK)),
        "optimiser": training.radio(
            "Optimiser", [*OPTIMISERS], key="optimiser", horizontal=True, on_change=_suit_rate,
            help=text("optimiser_help", momentum=f"{GOOD_START['sgd'][1]:g}"), **LINK),
        "learning_rate": RATES[training.select_slider(
            "Learning rate", [*RATES], f"{FIRST.learning_rate:g}", key="rate", **LINK)],
        "batch_size": int(training.select_slider(
            "Batch size", [*map(str, limits.BOUNDARY_BATCHES)], str(FIRST.batch_size), key="batch",
            **LINK)),
        "weight_decay": training.slider("Weight decay", 0.0, 1.0, FIRST.weight_decay, 0.02,
                                        key="decay", help=text("decay_help"), **LINK),
        "entropy_bonus": training.slider("Entropy regularisation", 0.0, 0.3, FIRST.entropy_bonus,
                                         0.01, key="soft", help=text("soft_help"), **LINK),
        "seed_count": training.slider("Seeds", *limits.BOUNDARY_SEEDS, FIRST.seed_count,
                                      key="seeds", **LINK),
        "seed": training.number_input("First seed", *SEEDS, FIRST.seed, 1, key="first", **LINK),
    }  # fmt: skip
    view = BoundaryView(
        picture.radio("Colour by", PAINTS, key="paint", horizontal=True, **LINK),
        picture.toggle("Predicted class only", key="discrete", **LINK),
        picture.toggle("Test points", True, key="test_points", **LINK),
    )
    return fields, view


def in_use(keys: Iterable[str]) -> bool:
    """Return whether one of the controls ``keys`` was drawn before, or is in the link."""
    return any(key in st.session_state or key in st.query_params for key in keys)


def _suit_rate() -> None:
    """Each optimiser begins at a learning rate that suits it."""
    st.session_state["rate"] = f"{GOOD_START[st.session_state['optimiser']][0]:g}"


def _choose_tile(
    where: DeltaGenerator, key: str, label: str, names: Mapping[str, Named], default: str
) -> str:
    """Draw a button with the chosen one of ``names``, which opens tiles; return that one."""
    word = link_value(key, lambda given: given if given in names else None, default, default)
    st.session_state.pop(TILE_CHOSEN, None)
    with where:
        _draw_menu(key, label, names, word, default)
    return word


@st.fragment
def _draw_menu(key: str, label: str, names: Mapping[str, Named], word: str, default: str) -> None:
    def draw() -> None:
        if st.session_state.pop(TILE_CHOSEN, False):
            st.rerun()  # which closes them
        tiles = {
            name: Tile(x.name, x.line, "" if x.formula else data_picture(name), x.formula)
            for name, x in names.items()
        }
        draw_tiles(tiles, word, key, choose)

    def choose(name: str) -> None:
        put_in_link(key, "" if name == default else name)
        st.session_state[TILE_CHOSEN] = True

    with st.container(key=f"menu_{key}", gap="xxsmall"):
        st.markdown(f":small[{label}]")
        if st.button(
            names[word].name,
            key=f"{key}_menu",
            width="stretch",
            icon=":material/expand_more:",
            icon_position="right",
        ):
            st.dialog(label, width="large")(draw)()


@st.cache_data(max_entries=len(DATA), show_spinner=False)
def data_picture(name: str) -> str:
    """Return an SVG of a data set's points in their classes' colours; a frame for own points."""
    if name == TASK_NAME:
        inside = (
            f'<rect x="8" y="8" width="84" height="84" rx="8" fill="none" stroke-width="3"'
            f' stroke="{palette.PLANE}" stroke-dasharray="9 7"/>'
            f'<path d="M50 32V68M32 50H68" stroke="{palette.PLANE}" stroke-width="6"/>'
        )
    elif name in TASKS:
        task = make_task(name, points=TILE_POINTS, test_points=TILE_POINTS)
        where = np.clip((task.train_points[0] * (1, -1) + 1) / 2, 0, 1) * (SIZE - 2 * DOT) + DOT
        inside = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" fill="{palette.CLASS_COLOURS[label]}"/>'
            for (x, y), label in zip(where, task.train_labels[0], strict=True)
        )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}">'
    return f"{head}{inside}</svg>"


def put_in_link(name: str, word: str) -> None:
    """Set a parameter that no widget holds, or remove it if empty; for callbacks only."""
    st.query_params.pop(name, None)
    if word:
        st.query_params[name] = word


def find_setting(request: BoundaryRequest, own: OwnData | None, lost: bool) -> Setting:
    """Return the setting nearest to the ``request``, and draw the notes on it.

    Where it cannot be trained at all, it is the last one that could. ``lost`` says that the link is
    about a table that did not fit into it.
    """
    request, notes = resolve(request, own, lost)
    for note in notes:
        st.caption(f":material/info: {note}")
    try:
        st.session_state[LAST_SETTING] = setting(request, own)
    except ValueError as error:
        why = f"This cannot be trained: {error_words(error)}."
        if isinstance(error, TooLarge | TooLong):
            why = text("too_large" if isinstance(error, TooLarge) else "too_long")
        st.error(f"{why} Shown: the last run that could be trained.")
    return st.session_state.get(LAST_SETTING, FIRST)


def train_on(steps: int) -> None:
    """Ask for more steps of the same run; for callbacks only."""
    st.session_state["steps"] = min(st.session_state["steps"] + steps, limits.BOUNDARY_STEPS[1])


def new_seeds() -> None:
    """Ask for the next seeds, none of them among these; for callbacks only."""
    count = st.session_state.get("seeds", FIRST.seed_count)
    first = st.session_state.get("first", FIRST.seed) + count
    first = first if first <= SEEDS[1] else SEEDS[0]
    if "first" in st.session_state:
        st.session_state["first"] = first
    else:  # its control is not drawn yet
        change_link({"first": [str(first)]})


# --- The run --------------------------------------------------------------------------------------


@dataclass
class MeasurementRequest:
    """The seed that is measured first: ``which`` of `WHO`, or the ``picked`` one.

    There is one for a session, and its job reads it as well. Curvature of the other seeds along the
    run is measured where that takes few seconds, and for the setting ``all_of``.
    """

    which: str = TYPICAL
    picked: int | None = None
    all_of: Setting | None = None

    def member(self, run: TrainedRun) -> int:
        """Return the index of the seed shown, which is the same for both variants."""
        chosen = self.chosen(run)
        if chosen == PICKED:
            return run.task.seeds.index(self.picked)
        if (whose := WHO[chosen]) is None:
            return comparison.typical_member(run)
        side, which = whose
        name = run.setting.compared[("left", "right").index(side)]
        return comparison.shown_member(run.variants[name].ensemble, which)

    def chosen(self, run: TrainedRun) -> str:
        """Return by which of `WHO` it is shown, or `PICKED` for a seed of the run that was."""
        if self.which == PICKED:
            return PICKED if self.picked in run.task.seeds else TYPICAL
        return self.which

    def others(self, run: TrainedRun) -> bool:
        """Return whether seeds that are not shown are measured, too."""
        count = len(run.task.seeds) - 1
        return self.all_of == run.setting or count * comparison.along_cost(run) <= OTHERS_COST

    def lacks(self, shown: Shown) -> bool:
        """Return whether there is something left to measure."""
        return bool(shown.run.frames) and self._next(shown, set(), set()) is not None

    def measure(self, shown: Shown) -> Iterator[Any]:
        """Measure the curvatures that are missing, those of the seed shown first.

        Only its curvature along the run ranks first: the rest waits for others' trainings, and for
        their first pictures.
        """
        along: set[tuple[str, int]] = set()
        final: set[tuple[str, int]] = set()
        while (work := self._next(shown, along, final)) is not None:
            function, name, member = work
            at_end = function is comparison.final_curvature
            (final if at_end else along).add((name, member))
            first = not at_end and member == self.member(shown.run)
            rank = Rank.FIRST if first else Rank.REST
            yield from pool.POOL.stream(function, shown.run, name, member, rank=rank)

    def _next(
        self, shown: Shown, along: set[tuple[str, int]], final: set[tuple[str, int]]
    ) -> tuple[Callable[..., Any], str, int] | None:
        """Return what is measured next, besides what is ``shown``, ``along`` and ``final``.

        Of seeds that are not shown, totals are enough.
        """
        run, seed = shown.run, self.member(shown.run)
        enough = along | {
            key
            for key, summary in shown.along.items()
            if key[1] != seed or summary.known is not None
        }
        settled = final | set(shown.final)
        work = next(
            comparison.pending_measurements(run, run.setting.compared, seed, enough, settled), None
        )
        return work if work is not None and (work[2] == seed or self.others(run)) else None


def read_measurement(which: str) -> MeasurementRequest:
    """Return this session's request, brought up to date with the controls and the link."""
    request = st.session_state.setdefault(MEASUREMENT, MeasurementRequest())
    request.which = which
    request.picked = link_value("picked_seed", _parse_seed, None, "the typical one")
    return request


def _parse_seed(word: str) -> int | None:
    seed = int(word) if word.isascii() and word.isdigit() and len(word) <= 5 else -1
    return seed if SEEDS[0] <= seed <= LAST_SEED else None


def stopped_frame(run: TrainedRun) -> int:
    """Return the drawn frame that the visitor has stopped at, or else the last one."""
    steps = run.steps[comparison.drawn_frames(run)]
    about, step = st.session_state.get(STOPPED, (None, 0))
    return int(np.abs(steps - step).argmin()) if about == run.setting else len(steps) - 1


def complete_run(job: Any) -> Shown | None:
    """Return the run for the table: a complete one, or what is left of one; else the last."""
    if job.over or runs.trained(job):
        shown = runs.shown_of(JOB, job)
        if shown is not None and shown.run.frames:
            st.session_state[COMPLETE] = shown
    return st.session_state.get(COMPLETE)


# --- Numbers as text ------------------------------------------------------------------------------


def mean_text(shares: np.ndarray) -> str:
    """Format the mean accuracy of all seeds in percent, with its 95 % interval.

    An interval that would reach beyond what an accuracy can be ends there.
    """
    interval = mean_interval(shares)
    if not interval.half_width <= interval.mean <= 1 - interval.half_width:
        return accuracy_text(interval)
    width = math.ceil(1000 * interval.half_width - 1e-9) / 10  # rounded up
    return f"{100 * interval.mean:.1f} ± {width:.1f}\u00a0%"


def base_rates(run: TrainedRun) -> np.ndarray:
    """(S,): the share of each seed's test points in their largest class."""
    labels = run.task.test_labels
    counts = [np.bincount(own, minlength=run.task.class_count) for own in labels]
    return np.max(counts, axis=1) / labels.shape[1]


def base_text(run: TrainedRun) -> str:
    """Say how right the constant classifier is."""
    class_ = "larger" if run.task.class_count == 2 else "largest"
    return f"always predicting the {class_} class gets {percent(base_rates(run).mean())}"

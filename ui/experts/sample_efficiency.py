"""The tab Sample efficiency: errors of experts and of predictions against the number of data.

Shapes: R repeats, L numbers n of measurements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.experts as core
from gating_core.experts import GATES, Learned, SampleRequest, Sizes
from gating_core.training import MeanInterval
from ui import limits
from ui.common import charts as c
from ui.common.formatting import short, tick_text
from ui.common.lessons import section, sections
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.experts import shared
from ui.experts.shared import FIRST_SEEDS, setting_text
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE
from ui.work.jobs import Jobs

USUAL = -0.5  # the slope of an error that falls like 1 / sqrt(n)
NEARLY_NONE = 0.2  # slopes nearer to 0: ten times the data change an error by at most 1.6
NEARLY_USUAL = -0.35  # between that and none: steeper slopes are nearer to the usual one
CLEAR = 0.1  # half-width and distance at most, to be called usual
LATE = 3  # numbers of data, the last ones, where the asymptotic rate holds best
ALIKE = 2.0  # medians of predictions within this factor of each other
VERDICTS = {  # of the slope of the experts' errors
    "learned": "Experts are learned with",
    "slower": "Experts are learned more slowly than 1/√n with",
    "not learned": "Experts are not learned with",
    "inconclusive": "It is inconclusive whether experts are learned with",
}
SETTINGS = {gate: None if gate == "none" else (gate.split()[1], gate.split()[0]) for gate in GATES}
TITLES = {gate: setting_text(setting) for gate, setting in SETTINGS.items()}
FIRST = ("none", "headwise G1", "elementwise G1")
Key = tuple[SampleRequest, str]  # with the gate


@st.cache_resource(show_spinner=False)
def bundled() -> dict[str, Learned]:
    """Load the errors that come with the app, by gate."""
    return core.load_samples()


def learn(key: Key) -> Iterator[Any]:
    """Learn all repeats for one gate, in all worker processes."""
    request, gate = key
    for item in pool.POOL.split(core.learn, request.seeds, request, gate):
        yield core.gathered(item) if isinstance(item, tuple) else item


LEARNED: Jobs[Key, Learned] = Jobs("experts_learning", learn, NUMBERS_CACHE)


def learned_of(request: SampleRequest, gates: tuple[str, ...]) -> dict[str, Learned]:
    """Return what there is of a request, by gate, and draw the job that makes the rest."""
    if request == SampleRequest():
        return {gate: bundled()[gate] for gate in gates}
    keys = tuple((request, gate) for gate in gates)
    with jobs.dock(LEARNED.name, keys):
        results, job = LEARNED.fetch_all(keys)
        if job is not None:
            LEARNED.watch(job, f"Learning {len(gates)} × {request.repeats} teachers", again="Learn")
    return {gate: results[request, gate] for gate in gates if (request, gate) in results}


def draw() -> None:
    """Draw the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="control-row")
    above = st.container(key="first")
    fold = st.expander(
        "Sizes and seed of the teachers", key="teacher_sizes", on_change="rerun", **LINK
    )
    every = st.expander(
        "All gate positions, as a table", key="all_gates", on_change="rerun", **LINK
    )
    with above:
        titles, request = choose(row, fold)
    gates = tuple(gate for gate in GATES if TITLES[gate] in titles)
    if not gates:
        above.info("Select at least one gate.")
        return
    charts = c.Charts("sample_efficiency")
    with above:
        # One job for all that is shown: two would cancel each other at every run.
        learned = learned_of(request, GATES if every.open else gates)
        shown = {gate: learned[gate] for gate in gates if gate in learned}
        if not shown:
            st.caption(
                ":material/hourglass: Nothing has been computed for this selection yet."
                " Shown: what comes with the app."
            )
            shown = {gate: bundled()[gate] for gate in FIRST}
        says, predictions = finding(shown)
        draw_finding(says)
        left, right = c.chart_columns("first", 2)
        charts.draw(
            "expert_errors", left, error_chart(shown, "expert"), errors_alt(shown, "expert")
        )
        charts.draw(
            "prediction_errors",
            right,
            error_chart(shown, "prediction"),
            errors_alt(shown, "prediction"),
        )
        st.markdown(f"{predictions} {caution(shown)}")
    if every.open and len(learned) == len(GATES):
        charts.draw_table("all_gates", every, "Median errors of experts", gate_columns(learned))
        every.caption(
            "*learned*: the interval of the slope lies below −0.35. *slower*: it lies"
            " between −½ and −0.2. *not learned*: it lies within ±0.2. *inconclusive*:"
            " none of these."
        )
    charts.tables["fits"] = fit_columns(shown)
    charts.draw_footer(section("experts", "sample_efficiency", **explained(shown)))
    code = st.expander("The same from the library", key="sample_code", on_change="rerun", **LINK)
    if code.open:
        code.code(sections("experts")["sample_code"], language="python")


def choose(row: Any, fold: Any) -> tuple[list[str], SampleRequest]:
    """Draw the controls; return titles of gates, and what is learned whatever the gate."""
    titles = row.multiselect(
        "Gates",
        [*TITLES.values()],
        [TITLES[gate] for gate in FIRST],
        max_selections=limits.STUDENTS_DRAWN,
        key="student_gates",
        width=430,
        **LINK,
        help="The gate of teacher and student. G1: on the attention output. G2: on the values. G3:"
        " on the keys. G4: on the queries. G5: after W_O. All are in the table below.",
    )
    routing = row.radio(
        "Routing",
        ("known", "learned"),
        key="routing",
        horizontal=True,
        **LINK,
        help="*known*: the student is given the attention weights (the maps of queries and keys)."
        " *learned*: it has to learn them, too. Gates at G3 and G4 are always learned.",
    )
    repeats = row.number_input(
        "Repeats",
        *limits.TEACHER_REPEATS,
        12,
        key="repeats",
        width=120,
        help="The number of teachers. Each has its own design, noise and random starts.",
        **LINK,
    )
    noise = row.number_input(
        "Noise σ",
        *limits.TEACHER_NOISE,
        0.3,
        0.1,
        key="noise_sd",
        width=120,
        help="The standard deviation of one measurement of one output. Outputs are about 1.",
        **LINK,
    )
    extra = row.toggle(
        "Extra expert",
        key="extra_expert",
        **LINK,
        help="Each head of the student has one channel more than the teacher's. The expert that no"
        " expert of the teacher is matched with does not count.",
    )
    sizes = fold.container(horizontal=True)
    dim, heads, experts, tokens, seed = (
        sizes.number_input(label, *within, value, key=key, width=150, **LINK)
        for label, key, within, value in (
            ("Channels D", "teacher_channels", limits.TEACHER_DIM, 4),
            ("Heads H", "teacher_heads", limits.TEACHER_HEADS, 1),
            ("Experts per head", "teacher_experts", limits.TEACHER_EXPERTS, 3),
            ("Tokens n", "teacher_tokens", limits.TEACHER_TOKENS, 3),
            ("First seed", "teacher_seed", FIRST_SEEDS, 0),
        )
    )
    of = Sizes(dim, heads, experts, tokens, extra, routing == "learned")
    request, note = affordable(SampleRequest(of, noise, repeats=repeats, seed=seed))
    if note:
        st.caption(f":material/info: {note}")
    return titles, request


def affordable(request: SampleRequest) -> tuple[SampleRequest, str]:
    """Return the request with as many repeats as there is time for, and a sentence if fewer.

    The time is that of all gate positions: those that are not drawn are in a table.
    """
    cost = sum(request.cost(gate) for gate in GATES)
    repeats = request.repeats
    fewer = max(limits.TEACHER_REPEATS[0], int(repeats * limits.LEARNING_COST / cost))
    if fewer >= repeats:
        return request, ""
    note = f"{repeats} repeats of models this large would take too long. Shown: {fewer}."
    return replace(request, repeats=fewer), note


# --- Sentences ----------------------------------------------------------------------------------


def slope_text(mean: MeanInterval) -> str:
    """Format a slope with its interval, in two places."""
    return f"{mean.mean:z.2f} ± {mean.half_width:.2f}".replace("-", "−")


def verdict(mean: MeanInterval) -> str:
    """Return what the interval of the slope of the experts' errors allows: a key of `VERDICTS`."""
    low, high = mean.mean - mean.half_width, mean.mean + mean.half_width
    if low >= -NEARLY_NONE and high <= NEARLY_NONE:
        return "not learned"
    if high < NEARLY_USUAL:
        return "learned"
    return "slower" if low > USUAL and high < -NEARLY_NONE else "inconclusive"


def finding(learned: Mapping[str, Learned]) -> tuple[str, str]:
    """Say with which gates experts are learned, and whether predictions differ."""
    sentences: list[str] = []
    for name, lead in VERDICTS.items():
        own = [
            f"*{TITLES[gate]}*"
            for gate, x in learned.items()
            if verdict(x.slopes["expert"].mean) == name
        ]
        if own:
            names = " and ".join(filter(None, (", ".join(own[:-1]), own[-1])))
            sentences.append(f"{lead} {names}.")
    last = [float(np.median(x.prediction[:, -1])) for x in learned.values()]
    slopes = [x.slopes["prediction"].mean for x in learned.values()]
    low, high = (
        f"{end:z.2f}".replace("-", "−")
        for end in (min(s.mean for s in slopes), max(s.mean for s in slopes))
    )
    usual = all(max(abs(s.mean - USUAL), s.half_width) <= CLEAR for s in slopes)
    alike = usual and max(last) <= ALIKE * min(last)
    text = f"Predictions: slope {slope_text(slopes[0])}."
    if len(learned) > 1:
        text = (
            f"Predictions {'are equally good' if alike else 'differ'}: their errors have slopes"
            f" {low if low == high else f'{low} to {high}'}, and last medians within a factor of"
            f" {max(last) / min(last):.1f}."
        )
    repeats = next(iter(learned.values())).request.repeats
    kind = f"Slopes of log error over log n: means of {repeats} repeats with 95 % intervals."
    experts = ", ".join(
        f"{slope_text(x.slopes['expert'].mean)} ({TITLES[gate]})" for gate, x in learned.items()
    )
    return " ".join(sentences), f"Errors of experts have slopes {experts}. {text} {kind}"


def caution(learned: Mapping[str, Learned]) -> str:
    """Say what the slopes leave out: fits that missed, and where theory does not hold."""
    parts = []
    for gate, x in learned.items():
        missed = int((~x.reached).sum())
        if missed:
            parts.append(
                f"{missed} of {x.reached.size} fits of *{TITLES[gate]}* stay above the noise"
                f" after {int(x.starts.max())} random starts."
            )
    if next(iter(learned.values())).request.sizes.one_too_many:
        parts.append("With an extra expert, theory's condition fails: no dotted lines.")
    for gate, x in learned.items():
        whole, counts = x.slopes["expert"].mean, x.request.counts
        if whole.mean + whole.half_width < USUAL:
            late = core.slope(counts[-LATE:], x.expert[:, -LATE:]).mean
            parts.append(
                f"The slope of *{TITLES[gate]}* is steeper than −½: where errors exceed the size of"
                f" an expert (dashed), n is too small for the asymptotic rate. From n ="
                f" {counts[-LATE]:,.0f} on it is {slope_text(late)}."
            )
    return " ".join(parts)


def errors_alt(learned: Mapping[str, Learned], name: str) -> str:
    """Return the finding of one chart."""
    parts = []
    for gate, x in learned.items():
        medians = np.median(getattr(x, name), 0)
        parts.append(
            f"{TITLES[gate]} from {short(medians[0])} to {short(medians[-1])}, slope"
            f" {slope_text(x.slopes[name].mean)}"
        )
    counts = next(iter(learned.values())).request.counts
    span = f"{counts[0]:,.0f} to {counts[-1]:,.0f} measurements"
    return f"Errors of {name}s from {span}: {'; '.join(parts)}"


def explained(learned: Mapping[str, Learned]) -> dict[str, str]:
    """Return the numbers of the explanation: its last gate is the example."""
    gate, last = [*learned.items()][-1]
    request = last.request
    theory = float(np.median(last.expert_theory[:, -1]))
    expects = f"expects {short(theory)}"
    if not np.isfinite(theory):
        expects = "has no number" if np.isnan(theory) else "expects ∞: they are non-identifiable"
    return {
        "repeats": f"{request.repeats}", "noise": f"{request.noise:g}", "gate": TITLES[gate],
        "median": short(float(np.median(last.expert[:, -1]))), "expects": expects,
        "directions": f"{last.non_identifiable}", "most": f"{request.counts[-1]:,.0f}",
        "slope": slope_text(last.slopes["expert"].mean),
    }  # fmt: skip


# --- Tables and charts --------------------------------------------------------------------------


def gate_columns(learned: Mapping[str, Learned]) -> dict[str, list[str]]:
    """Return median errors and slopes by gate as columns of a table."""
    medians = np.stack([np.median(x.expert, 0) for x in learned.values()])
    slopes = [x.slopes for x in learned.values()]
    counts = next(iter(learned.values())).request.counts
    return {
        "Gate": [TITLES[gate] for gate in learned],
        **{
            f"n = {n:,.0f}": [*map(short, column)]
            for n, column in zip(counts, medians.T.tolist(), strict=True)
        },
        "Slope, experts": [slope_text(x["expert"].mean) for x in slopes],
        "Slope, predictions": [slope_text(x["prediction"].mean) for x in slopes],
        "Experts": [verdict(x["expert"].mean) for x in slopes],
    }


def fit_columns(learned: Mapping[str, Learned]) -> dict[str, list[Any]]:
    """Return every fit as columns of a table."""
    results = [*learned.values()]
    shape = results[0].expert.shape
    row, level = (index.ravel() for index in np.indices(shape))
    numbers = {
        "expert error": "expert",
        "prediction error": "prediction",
        "expert error, theory": "expert_theory",
        "prediction error, theory": "prediction_theory",
        "excess over the noise": "excess",
        "starts": "starts",
        "residuals within the noise": "reached",
    }
    return {
        "gate": [TITLES[gate] for gate in learned for _ in row],
        "seed": [x.request.seeds[i] for x in results for i in row],
        "n": [int(x.request.counts[i]) for x in results for i in level],
        **{
            heading: np.concatenate([getattr(x, name).ravel() for x in results]).tolist()
            for heading, name in numbers.items()
        },
    }


def error_chart(learned: Mapping[str, Learned], name: str) -> go.Figure:
    """Draw the errors ``name`` of students: every repeat as a thin line, and the median.

    What theory expects is a dotted line, where it is a number. Errors beyond 100 are cut off.
    """
    traces: list[c.Trace] = []
    theory_drawn, styles = False, iter(shared.STYLES)
    first = next(iter(learned.values()))
    counts = first.request.counts
    for gate, x in learned.items():
        style = c.UNGATED if gate == "none" else next(styles)
        errors, theory = getattr(x, name), np.median(getattr(x, f"{name}_theory"), 0)
        traces.append(shared.thin_lines(counts, errors, style))
        if np.isfinite(theory).all():
            line = c.line(
                "theory",
                counts,
                theory,
                colour=c.TEAL,
                dash="dot",
                width=2,
                mode="lines",
                legend=not theory_drawn,
            )
            traces.append(line | {"legendgroup": "theory"})
            theory_drawn = True
        traces.append(c.line(TITLES[gate], counts, np.median(errors, 0), **style))
    every = np.concatenate([getattr(x, name).ravel() for x in learned.values()])
    low, high = np.log10(every.min()), np.log10(every.max())
    ends = 10 ** (low - 0.2), 10 ** (min(high, 2.0) + 0.2)
    powers = 10.0 ** np.arange(np.floor(low), np.ceil(high) + 1)
    title = "Error of experts (dashed: their size)" if name == "expert" else "Error of predictions"
    figure = c.chart(
        title,
        traces,
        "n, measurements",
        "norm" if name == "expert" else "root mean square",
        height=370,
        x_axis=c.log_axis() | c.ticks([*counts], [*map(tick_text, counts)]),
        y_axis=c.log_axis(*ends) | c.ticks([*powers], [*map(tick_text, powers)]),
        margin={"l": 62, "r": 8, "t": 56, "b": 40},
    )
    if name == "expert":
        c.mark_y(figure, float(np.median(first.size)))
    return figure

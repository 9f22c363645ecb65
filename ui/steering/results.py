"""The tab Results: how often steering changes the language, by layer, direction and strength.

Shapes: S seeds, L layers, K kinds of direction, A strengths, N prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.measurements.resampling import PairedDifference
from gating_core.lm.shipped import SEEDS
from gating_core.lm.steering import summary
from gating_core.lm.steering.experiment import (
    BEYOND,
    DIRECTIONS,
    STRENGTHS,
    GridRequest,
    assembled,
    load_steering,
    measure_parts,
    parts_of,
    prompt_verses,
)
from gating_core.lm.steering.summary import (
    SUMMARISED,
    Calibration,
    Outcome,
    auc_difference,
    gate_difference,
    summarise,
)
from ui.common import charts as c
from ui.common.formatting import by_interval, figures, percent
from ui.common.language_models import TONGUES
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing.panels import subplot, subplot_title
from ui.drawing.reliability import reliability_chart
from ui.steering import shared
from ui.steering.shared import DEPTH, FIRST_TOKENS, MODES, STYLE, Model, signed
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.jobs import Jobs

Arrays = dict[str, np.ndarray]  # outcomes of a model, by name
SUCCESS, BAYES, NATS, WORDS, BACK, FLUENT, WORDLESS = SUMMARISED
UNSTEERED, PROMPTED = "unsteered", "prompted"
REFERENCES = {UNSTEERED: "dot", PROMPTED: "dash"}
FEATURE = DIRECTIONS.index("feature")
ALL, BOTH = "all", "both"  # seeds; languages
TARGETS = {BOTH: slice(None)} | {
    tongue: slice(number, number + 1) for number, tongue in enumerate(TONGUES)
}
WORKS = 0.8  # share of texts from which on steering is said to change the language
FOOLED = 0.5  # share of texts in the language and as fluent as unsteered ones, below which: fooled
COMES_BACK = 0.1  # share of names and numbers from which on they are said to recur
FEWEST_SEEDS = 3
CORE_SECONDS = 120.0  # of one core, for a model
START, BUTTON = "Run the experiment on this model", "steering_run"
PANELS = {SUCCESS: "success", FLUENT: "fluent", NATS: "nats", WORDS: "real words"}
LOWEST = {SUCCESS: -0.06, FLUENT: -0.06, WORDS: -0.25}  # of the axes; room for a name
PANELS_PIXELS, HEIGHT, GAP = 400, 210, 0.03
STYLES: tuple[c.Style, ...] = (  # of DIRECTIONS
    {"colour": c.MAGENTA},
    {"colour": c.TEAL, "dash": "dash", "symbol": "square"},
    {"colour": c.GREY, "dash": "dot", "symbol": "x"},
    {"colour": c.ORANGE, "dash": "dashdot", "symbol": "diamond"},
)


@dataclass(frozen=True)
class Source:
    """The models whose outcomes are shown, and the target language."""

    gate: str
    seeds: tuple[int, ...]
    target: str = BOTH
    draw: int = 0
    live: bool = False  # run by a visitor, not bundled


@st.cache_resource(show_spinner=False)
def bundled() -> dict[Model, dict[str, np.ndarray]]:
    """Load the outcomes of all models."""
    return load_steering()


def run(request: GridRequest) -> Iterator[Any]:
    """Run the experiment; yield the share done, and the outcomes last."""
    parts = parts_of(DEPTH)
    for item in pool.POOL.split(measure_parts, parts, request):
        yield assembled(DEPTH, parts, item) if isinstance(item, tuple) else item


GRID: Jobs[GridRequest, Arrays] = Jobs("steering_grid", run, NUMBERS_CACHE)


@cached("Adding up …", on=NUMBERS_CACHE)
def outcome(source: Source, mode: str, _arrays: Sequence[Arrays]) -> Outcome:
    """Return the means of the outcomes of a source, its ``_arrays``."""
    return summarise(_arrays, source.gate, mode, TARGETS[source.target])


@cached(on=NUMBERS_CACHE)
def depth_difference(
    source: Source, _arrays: Sequence[Arrays]
) -> tuple[int, int, PairedDifference]:
    """Compare the best layers of both halves."""
    return summary.depth_difference(_arrays, TARGETS[source.target])


@cached("Reading the dictionaries …", on=NUMBERS_CACHE)
def gate_differences(target: str) -> tuple[list[PairedDifference], list[PairedDifference]]:
    """Return the effects of a gate on success, and on the AUC of the best feature."""
    return gate_difference(TARGETS[target]), auc_difference()


@cached(on=NUMBERS_CACHE)
def calibrations() -> list[Calibration]:
    """Return the calibration of the logistic regression."""
    return summary.calibrations()


# --- The tab --------------------------------------------------------------------------------------


def draw() -> None:
    """Draw the tab."""
    st.html(STYLE)
    source, arrays = choose_source()
    both = {tokens: outcome(source, mode, arrays) for tokens, mode in MODES.items()}
    released, held = both.values()
    charts = c.Charts("results")
    st.markdown(finding_text(released, held))
    most = max(float(of.means[NATS].max()) for of in both.values()) + 0.5
    first = st.container(key="first")
    for column, (tokens, of) in zip(first.columns(2), both.items(), strict=True):
        sentence = best_text(of, tokens)
        figure = outcome_chart(f"Applied to {tokens}", of, most)
        column.plotly_chart(
            figure,
            key=f"chart_results_{MODES[tokens]}",
            alt=sentence,
            config={"displayModeBar": False},
        )
        column.markdown(sentence)
        charts.tables[MODES[tokens]] = outcome_table(of)
    st.markdown(
        f"{classifiers_text(released, held)} {layers_text(*depth_difference(source, arrays))}"
    )
    columns = c.chart_columns("steering_gate", 3)
    (success, auc), judged = gate_differences(source.target), calibrations()
    texts = (
        difference_text("Success with a gate, minus without, over all strengths", success),
        difference_text("AUC × 100 of the best feature, with a gate minus without", auc),
        calibration_text(judged),
    )
    charts.draw(
        "gate",
        columns[0],
        difference_chart("Success, gate minus none", success, "points"),
        texts[0],
    )
    charts.draw(
        "auc", columns[1], difference_chart("AUC, gate minus none", auc, "AUC × 100"), texts[1]
    )
    diagrams = [(f"{of.characters} characters", of.bins, of.ends) for of in judged]
    figure = reliability_chart(diagrams, HEIGHT, 0.5)
    figure.update_layout(
        title=c.title("Reliability of the classifier"),
        margin_t=48,
        xaxis_title_text="confidence",
        yaxis_title_text="accuracy",
    )
    charts.draw("reliability", columns[2], figure, texts[2])
    for column, text in zip(columns, texts, strict=True):
        column.markdown(text)
    st.markdown(back_text(released))
    charts.draw_footer(
        section(
            "steering",
            "results",
            works=percent(WORKS),
            fooled=percent(FOOLED),
            beyond=f"{100 * BEYOND:g}\u00a0%",
            prompts=len(prompt_verses()),
            hidden=percent(3 / len(prompt_verses())),
        )
    )


def choose_source() -> tuple[Source, tuple[Arrays, ...]]:
    """Draw the controls and the button that runs the experiment; return what can be shown."""
    row = shared.control_row("results-row")
    gate = shared.choose_gate(row)
    seed = row.selectbox(
        "Model seed",
        (ALL, *map(str, SEEDS)),
        key="results_seed",
        width=115,
        **LINK,
        help="*all*: the means of three models with different initial weights. The"
        " experiment can be run live on one of them.",
    )
    target = row.selectbox(
        "Target language",
        [*TARGETS],
        key="results_target",
        width=140,
        **LINK,
        help="Every prompt is in the other language.",
    )
    if seed == ALL:
        return Source(gate, SEEDS, target), tuple(bundled()[gate, one] for one in SEEDS)
    draw = row.number_input(
        "Text seed",
        0,
        9999,
        0,
        key="results_draw",
        width=130,
        **LINK,
        help="Of the texts and the random directions. The bundled texts have seed 0.",
    )
    request = GridRequest(gate, int(seed), draw)
    live = fetch(request, row)
    if live is not None:
        st.caption(":material/check: Live. For one model, intervals are over prompts alone.")
        return Source(gate, (int(seed),), target, draw, True), (live,)
    if draw:
        st.caption(
            f":material/info: Texts of seed {draw} have not been generated yet. Shown: the"
            " bundled texts, of seed 0."
        )
    return Source(gate, (int(seed),), target), (bundled()[gate, int(seed)],)


def fetch(request: GridRequest, row: Any) -> Arrays | None:
    """Return the live outcomes, if there are any; draw the button that starts a job, or the job.

    A job about another request ends.
    """
    job, clicked = jobs.current(GRID.name), jobs.clicked_again(GRID.name)
    live = GRID.cached((request,)).get(request)
    if live is None and clicked:
        GRID.start(request)
    if clicked or (job is not None and job.requests == (request,)):
        live, job = GRID.fetch(request)
        if job is not None:
            with jobs.dock(GRID.name, request):
                GRID.watch(job, "Running the experiment", again=START)
            return live
    elif job is not None:
        job.cancel()
    if live is None:
        minutes = max(1, round(CORE_SECONDS / 60 / pool.POOL.size))
        with row:
            jobs.draw_again(GRID.name, f"{START}, about {minutes} min", "play_arrow", BUTTON)
    return live


# --- Sentences ------------------------------------------------------------------------------------


def verdict(outcome: Outcome) -> str:
    """Return what the feature does where it succeeds most often."""
    success, bayes, fluent = (
        outcome.means[name][outcome.best] for name in (SUCCESS, BAYES, FLUENT)
    )
    half_width = outcome.half_widths[FLUENT][outcome.best]
    if success < WORKS:
        return "one feature does not change the language reliably"
    if bayes < WORKS:
        return "the classifiers disagree"
    if fluent + half_width < FOOLED:
        return "one feature only fools both classifiers"
    if fluent + half_width < WORKS:
        return "one feature changes the language and reduces the fluency"
    if fluent - half_width >= WORKS:
        return "one feature changes the language and keeps the fluency"
    return "one feature changes the language, with an inconclusive effect on the fluency"


def finding_text(released: Outcome, held: Outcome) -> str:
    """Return the finding of the tab."""
    fluent = [share_of_texts(of, FLUENT, of.best) for of in (released, held)]
    return (
        f"**Applied to {FIRST_TOKENS}, {verdict(released)}. Applied to all tokens,"
        f" {verdict(held)}.** Where it succeeds most often, {fluent[0]} and {fluent[1]} are in the"
        " target language for both classifiers and as fluent as unsteered ones."
    )


def share_of_texts(outcome: Outcome, name: str, at: tuple[int, int, int]) -> str:
    """Format a share of texts; where all texts agree, a bootstrap knows no interval."""
    mean, half_width = float(outcome.means[name][at]), float(outcome.half_widths[name][at])
    if half_width > 0:
        return f"{around(mean, half_width)} of texts"
    return f"{percent(mean)} of texts ({'all' if mean else 'none'} of {outcome.texts})"


def around(mean: float, half_width: float) -> str:
    """Format a share with its interval, in percent."""
    return f"{percent(mean)} ± {100 * half_width:.0f}"


def best_text(outcome: Outcome, tokens: str) -> str:
    """Return where the feature succeeds most often, and what the texts are like there."""
    at = outcome.best
    means, widths = (
        {name: float(of[name][at]) for name in SUMMARISED}
        for of in (outcome.means, outcome.half_widths)
    )
    plain, prompted = (outcome.references[name] for name in REFERENCES)
    others = ", ".join(
        f"{name} {percent(float(outcome.means[SUCCESS][at[0], kind, at[2]]))}"
        for kind, name in enumerate(DIRECTIONS)
        if kind != FEATURE
    )
    return (
        f"Applied to {tokens}, the feature succeeds most often after layer {at[0] + 1} at strength"
        f" {STRENGTHS[at[2]]:g}: {share_of_texts(outcome, SUCCESS, at)} by logistic regression,"
        f" {percent(means[BAYES])} by naive Bayes ({others}). There texts have"
        f" {figures(means[NATS])} ± {widths[NATS]:.2f} nats per character (unsteered"
        f" {figures(plain[NATS])}) and {words_text(means[WORDS], widths[WORDS], means[WORDLESS])}"
        f" (prompted in the language {percent(prompted[WORDS])})."
    )


def words_text(words: float, half_width: float, wordless: float) -> str:
    """Return the share of real words; texts without a whole word are counted apart."""
    if np.isnan(words):
        return "no whole word"
    share = f"{around(words, half_width)} real words"
    if not wordless:
        return share
    return f"{share} in the {percent(1 - wordless)} of texts that have a whole word"


def classifiers_text(released: Outcome, held: Outcome) -> str:
    """Return by how much the two classifiers differ, at most, in the success of the feature."""
    first, second = (
        100 * float(np.abs(of.means[BAYES] - of.means[SUCCESS])[:, FEATURE].max())
        for of in (released, held)
    )
    return (
        f"The two classifiers differ by at most {first:.1f} points in the success of the feature,"
        f" applied to {FIRST_TOKENS}, and {second:.1f} points, applied to all."
    )


def layers_text(first: int, second: int, difference: PairedDifference) -> str:
    """Compare the best layers of both halves with the paper's."""
    says = by_interval(
        difference.low,
        difference.high,
        "here, too, late layers succeed more",
        "here it is inconclusive",
        "here early layers succeed more",
    )
    return (
        f"Chou et al. steer a large model in mid-to-late layers; **{says}** (applied to"
        f" {FIRST_TOKENS}, layer {first + 1} minus layer {second + 1}: {interval(difference)}"
        " points)."
    )


def interval(difference: PairedDifference) -> str:
    """Format a difference in hundredths."""
    return f"{signed(100 * difference.mean, 0)} ± {100 * difference.half_width:.0f}"


def difference_text(what: str, differences: Sequence[PairedDifference]) -> str:
    """Return what the intervals of differences by layer say."""
    few = min(len(of.by_seed) for of in differences) < FEWEST_SEEDS
    parts = []
    for layer, of in enumerate(differences, 1):
        says = by_interval(of.low, of.high, "**lower**", "inconclusive", "**higher**")
        says = "inconclusive" if few else says
        parts.append(f"layer {layer} {says} ({interval(of)})")
    return f"{what}: {', '.join(parts)}."


def calibration_text(judged: Sequence[Calibration]) -> str:
    """Return how well the classifier is calibrated, by the length of the texts."""
    parts = [
        f"with {of.characters} characters accuracy {100 * of.accuracy:.1f}\u00a0%, mean confidence"
        f" {100 * abs(of.gap):.1f} points {'lower' if of.gap > 0 else 'higher'}"
        for of in judged
    ]
    return (
        f"The logistic regression on {judged[0].bins[2].sum():.0f} windows of held-out verses:"
        f" {'; '.join(parts)}."
    )


def back_text(outcome: Outcome) -> str:
    """Return how many of the verses' names and numbers recur, and whether steering does that."""
    share, width = (float(of[BACK][outcome.best]) for of in (outcome.means, outcome.half_widths))
    plain, prompted = (outcome.references[name][BACK] for name in REFERENCES)
    if share >= COMES_BACK and share - width > plain:
        says = "Names and numbers of the verse recur"
    elif share + width < COMES_BACK <= prompted:
        says = "Names and numbers of the verse hardly recur"
    else:
        says = "It is inconclusive whether the meaning is preserved"
    return (
        f"**{says}**: {100 * share:.1f} ± {100 * width:.1f}\u00a0% of them at the best layer and"
        f" strength, applied to {FIRST_TOKENS} (unsteered {100 * plain:.1f}\u00a0%, prompted in the"
        f" language {100 * prompted:.1f}\u00a0%)."
    )


# --- Charts and data ------------------------------------------------------------------------------


def outcome_table(outcome: Outcome) -> dict[str, Sequence[object]]:
    """Return means and half widths of all cells as columns."""
    cells = [*np.ndindex(outcome.means[SUCCESS].shape)]
    columns: dict[str, Sequence[object]] = {
        "layer": [layer + 1 for layer, _, _ in cells],
        "direction": [DIRECTIONS[kind] for _, kind, _ in cells],
        "strength": [STRENGTHS[strength] for _, _, strength in cells],
    }
    for name in SUMMARISED:
        columns[name] = [float(outcome.means[name][at]) for at in cells]
        columns[f"{name}, half width"] = [float(outcome.half_widths[name][at]) for at in cells]
    for what, references in outcome.references.items():
        columns |= {f"{name}, {what}": [references[name]] * len(cells) for name in SUMMARISED}
    return columns


def outcome_chart(name: str, outcome: Outcome, most_nats: float) -> go.Figure:
    """Draw outcomes over strength: a row for each of `PANELS`, a column for each layer.

    The loss reaches up to ``most_nats``, as in a chart beside it.
    """
    layers = len(outcome.means[SUCCESS])
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes, shapes = [], []
    wide, high = 1 / layers, 1 / len(PANELS)
    for number in range(len(PANELS) * layers):
        row, layer = divmod(number, layers)
        quantity, label = [*PANELS.items()][row]
        axis, last = subplot(number), row == len(PANELS) - 1
        across = [layer * wide + (GAP / 2 if layer else 0), (layer + 1) * wide - GAP / 2]
        axes[f"xaxis{axis['xaxis'][1:]}"] = {
            "domain": across, "anchor": axis["yaxis"], "range": [0.5, max(STRENGTHS) + 0.5],
            "tickvals": STRENGTHS, "showticklabels": last,
            "title": {"text": "strength" if last else "", "standoff": 2},
        }  # fmt: skip
        axes[f"yaxis{axis['yaxis'][1:]}"] = {
            "domain": [1 - (row + 1) * high + GAP, 1 - row * high - GAP / 2],
            "anchor": axis["xaxis"], "showticklabels": not layer,
            "title": {"text": "" if layer else label, "standoff": 4, "font": {"size": 12}},
            **({"range": [0, most_nats], "nticks": 4} if quantity == NATS
               else {"range": [LOWEST[quantity], 1.08], "tickvals": [0, 0.5, 1]}),
        }  # fmt: skip
        if not row:
            notes.append(subplot_title(f"layer {layer + 1}", sum(across) / 2, 1.0, 11))
        for what, dash in REFERENCES.items():
            level = outcome.references[what][quantity]
            text = what if (quantity, layer) == (WORDS, 1) else ""  # once
            shapes.append({
                "type": "line", "xref": f"{axis['xaxis']} domain", "yref": axis["yaxis"], "x0": 0,
                "x1": 1, "y0": level, "y1": level, "layer": "below",
                "line": {"width": 1.5, "dash": dash, "color": c.FAINT},
                "label": {"text": text, "textposition": "start", "font": {"size": 9},
                          "yanchor": "top"},
            })  # fmt: skip
        for kind, (direction, style) in enumerate(zip(DIRECTIONS, STYLES, strict=True)):
            traces.append(
                axis
                | {"legendgroup": direction}
                | c.line(
                    direction,
                    STRENGTHS,
                    outcome.means[quantity][layer, kind],
                    outcome.half_widths[quantity][layer, kind],
                    **style,
                    width=1.8,
                    legend=not number,
                )
            )
        if quantity == SUCCESS:
            means = outcome.means[BAYES][layer, FEATURE]
            bayes = c.line(
                "feature, by naive Bayes", STRENGTHS, means, mode="markers", legend=not number
            )
            marker = {"size": 10, "symbol": "circle-open", "color": c.MAGENTA}
            traces.append(axis | bayes | {"legendgroup": BAYES, "marker": marker})
    return c.chart(
        name,
        traces,
        height=PANELS_PIXELS,
        annotations=notes,
        shapes=shapes,
        margin={"l": 52, "r": 8, "t": 76, "b": 36},
        legend={"orientation": "h", "x": 0, "y": 1.06, "yanchor": "bottom", "font": {"size": 11}},
        **axes,
    )


def difference_chart(name: str, differences: Sequence[PairedDifference], unit: str) -> go.Figure:
    """Draw differences by layer, in hundredths: seeds, and means with intervals."""
    layers = [*range(1, len(differences) + 1)]
    seeds = [
        (layer + 0.08, 100 * value)
        for layer, of in zip(layers, differences, strict=True)
        for value in of.by_seed
    ]
    traces = [
        c.line("seed", *zip(*seeds, strict=True), colour=c.MAGENTA, symbol="circle-open",
               mode="markers"),
        c.line("mean, 95 % interval", layers, [100 * of.mean for of in differences],
               [100 * of.half_width for of in differences], colour=c.MAGENTA, mode="markers"),
    ]  # fmt: skip
    axis = {"tickvals": layers, "range": [0.6, len(layers) + 0.5]}
    return c.mark_y(c.chart(name, traces, "layer", unit, height=HEIGHT, x_axis=axis), 0)

"""The tab Steer: texts of two models, steered, and how often the language changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil, floor, isnan

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.characters import read_typed
from gating_core.lm.corpus import LANGUAGES
from gating_core.lm.resampling import PairedDifference
from gating_core.lm.shipped import SEEDS
from gating_core.lm.steering import live
from gating_core.lm.steering.live import (
    BEGINNING,
    OPENING_DRAW,
    DirectionRequest,
    Ending,
    Example,
    SteerRequest,
    Step,
    load_opening,
    model_and_dictionaries,
    verdict,
    write_judged,
    written_texts,
)
from gating_core.lm.steering.outcomes import (
    BEYOND,
    DIRECTIONS,
    JUDGED_FROM,
    REFERENCES,
    STRENGTHS,
    SUMMARISED,
    WINDOW,
    WRITTEN,
    Outcome,
    gate_difference,
    load_steering,
    prompt_verses,
    summarise,
)
from gating_core.lm.steering.streams import RELEASED_AFTER, STEERED
from ui.common import charts as c
from ui.common.formatting import by_interval, figures, percent
from ui.common.language_models import TITLES, TONGUES, UNGATED, unknown_characters
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.limits import STEERED_CHARACTERS
from ui.steering import shared
from ui.steering.shared import MODES, STYLE, signed
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.jobs import Jobs

SUCCESS, BAYES, NATS, WORDS, BACK, FLUENT, WORDLESS = SUMMARISED
FEATURE, ALONG_RANDOM = (DIRECTIONS.index(name) for name in ("feature", "random direction"))
TARGETS = {"both": slice(None)} | {
    tongue: slice(number, number + 1) for number, tongue in enumerate(TONGUES)
}
HALF = 0.5  # of the texts: what most of them do is done by more
CHART_PIXELS = 380
CHARTS = {SUCCESS: "The language changes", FLUENT: "It changes, and the text is fluent"}
Cell = tuple[int, int, int]  # layer, kind of direction, strength
BEGINNINGS = {"english": BEGINNING, "spanish": "Y dijo Dios á "}
LANGUAGE, CHOSEN, MEANS, RANDOM = (
    "language feature",
    "chosen feature",
    "difference of means",
    "random direction",
)
CARDS = {gate: "No gate" if gate == UNGATED else f"Gate {TITLES[gate]}" for gate in STEERED}
SHADES = 5  # of each language
UNSCORED = "gc-unscored"  # CSS class of what stands before the bar
FINDINGS = {  # by `gating_core.lm.steering.VERDICTS`
    "changed": "**The language changes**",
    "unchanged": "**The language stays the same**",
    "fooled": "**The classifiers are fooled** by a text less fluent than unsteered ones",
    "degenerate": "**The text degenerates**, and the language stays the same",
    "inconclusive": "**It is inconclusive** whether the language changes",
}
TEXTS: Jobs[SteerRequest, Sequence[Step]] = Jobs(
    "steering_text", partial(jobs.text_steps, write_judged), NUMBERS_CACHE
)


@cached("Adding up …", on=NUMBERS_CACHE)
def outcomes(mode: str, target: str) -> dict[str, Outcome]:
    """Return the outcomes of the models without and with a gate, means over their seeds."""
    tables = load_steering()
    return {
        gate: summarise([tables[gate, seed] for seed in SEEDS], gate, mode, TARGETS[target])
        for gate in STEERED
    }


@cached("Adding up …", on=NUMBERS_CACHE)
def gate_effects(mode: str, target: str) -> list[PairedDifference]:
    """Return by how much more often steering succeeds with a gate, by layer."""
    return gate_difference(TARGETS[target], mode)


@st.cache_resource(show_spinner=False)
def opening() -> dict[SteerRequest, Example]:
    """Load the bundled texts with which the page opens."""
    return {example.request: example for example in load_opening().examples}


@cached(on=NUMBERS_CACHE)
def endings(request: SteerRequest, _steps: Sequence[Step]) -> list[Ending]:
    """Return the judgement of both texts, which ``_steps`` make up."""
    if request in opening():
        return opening()[request].endings
    model = request.direction.name, request.direction.model_seed
    texts = written_texts(_steps)
    spanish = _steps[-1].spanish
    return pool.POOL.call(live.endings, *model, texts, spanish, seconds=pool.LONG_VIEW)


def draw() -> None:
    """Draw the tab: controls, how often it works, and beside it a text of each model."""
    st.html(STYLE)
    requests, layer, target = choose_requests()
    mode, strength = requests[0].mode, abs(requests[0].push)
    both, charts = outcomes(mode, target), c.Charts("steer")
    finding, detail = answer_text(both, layer, strength)
    draw_finding(finding)

    bundled = {key: opening()[key].steps for key in requests if key in opening()}
    texts, job = (bundled, None) if len(bundled) == 2 else TEXTS.fetch_all(requests)

    def so_far() -> Mapping[SteerRequest, Sequence[Step]]:
        return texts if job is None else TEXTS.so_far(requests)

    with jobs.dock(TEXTS.name, requests):
        jobs.draw_end(job, "Generating")
    left, right = st.container(key="first").columns([7, 5])
    with left:
        st.html(LEGEND)
        jobs.watch(
            job,
            "Generating",
            lambda: draw_texts(charts, requests, so_far()),
            share=lambda: sum(map(len, so_far().values())) / WRITTEN / 2,
        )
        if bundled:
            st.caption(SAMPLE)

    def draw_chart(quantity: str, where: DeltaGenerator) -> None:
        charts.draw(quantity, where, outcome_chart(both, quantity, layer, strength), detail)

    draw_chart(SUCCESS, right)
    right.markdown(detail)
    for gate, outcome in both.items():
        charts.tables[f"outcomes_{gate}"] = outcome_table(outcome)
    more = st.expander("All numbers", key="steering_numbers", on_change="rerun", **LINK)
    if more.open:
        with more:
            draw_chart(FLUENT, st.container())
            for title, outcome in zip(("No gate", "With a gate"), both.values(), strict=True):
                st.markdown(f"**{title}.** {numbers_text(outcome, cell_of(layer, strength))}")
            st.markdown(effect_text(gate_effects(mode, target)[layer]))
    with st.container(horizontal=True):
        st.button(
            "Generate another",
            icon=":material/refresh:",
            key="steering_another",
            on_click=take_next_seed,
        )
        if job and job.needs_click:
            jobs.draw_again(TEXTS.name, "Generate again", "play_arrow", "steering_again")
        charts.draw_footer(
            section(
                "steering",
                "steer",
                window=WINDOW,
                last=OPENING_DRAW,
                first=RELEASED_AFTER,
                beyond=f"{100 * BEYOND:g}\u00a0%",
                prompts=len(prompt_verses()),
            )
        )


def take_next_seed() -> None:
    """Change the seed of the text."""
    st.session_state["steering_draw"] = (st.session_state["steering_draw"] + 1) % 10_000


def choose_requests() -> tuple[tuple[SteerRequest, ...], int, str]:
    """Draw the controls; return a text to generate for each gate, the layer, the target language.

    The target language is that of the outcomes.
    """
    row = shared.control_row("steer-row")
    typed = row.text_input(
        "Prompt",
        max_chars=STEERED_CHARACTERS,
        placeholder="Type a prompt",
        key="steering_text",
        width=240,
        **LINK,
        help=f"At most {STEERED_CHARACTERS} characters: letters of English and Spanish, and common"
        f" signs. The model generates {WRITTEN} more.",
    )
    strength = shared.choose_strength(row)
    tokens = row.radio(
        "Applied to",
        [*MODES],
        key="steering_tokens",
        horizontal=True,
        **LINK,
        help=f"The steering vector is added at every token of the prompt and of the text, or only"
        f" up to the first {RELEASED_AFTER} generated ones. A token is a character.",
    )
    layer = shared.choose_layer(row)
    with row.popover("More", icon=":material/tune:", key="steering_more"):
        tongue = st.radio("Prompt in", [*TONGUES], key="steering_prompt", horizontal=True, **LINK)
        draw = st.number_input(
            "Text seed",
            0,
            9999,
            OPENING_DRAW,
            key="steering_draw",
            **LINK,
            help="Of the characters drawn, the same for all texts, and of the random direction."
            f" {SAMPLE}",
        )
        seed = shared.choose_seed()
        vector = st.selectbox(
            "Steering vector",
            (LANGUAGE, CHOSEN, MEANS, RANDOM),
            key="steering_vector",
            **LINK,
            help="Of the texts. *language feature*: the feature of the dictionary *means of 16*"
            " whose mean is larger in the target language by the most. *difference of means*: mean"
            " residual stream of Spanish minus that of English.",
        )
        chosen = shared.choose_feature((UNGATED, seed), layer) if vector == CHOSEN else None
        target = st.selectbox(
            "Target language of the charts",
            [*TARGETS],
            key="results_target",
            **LINK,
            help="Every prompt of the experiment is in the other language.",
        )
    for note in unknown_characters(typed):
        st.caption(f":material/info: {note}")
    text = read_typed(typed)[0] or BEGINNINGS[TONGUES[tongue]]
    requests = []
    for gate in STEERED:
        push, along, kind, number = strength, "feature", "means", 0
        if chosen:
            kind, number = chosen.kind, chosen.feature
        elif vector == LANGUAGE:  # of the target language, so that it is always added
            statistics = model_and_dictionaries(gate, seed)[1].kinds["means"].statistics
            number, push = statistics.language_feature(layer, strength >= 0), abs(strength)
        else:
            along, number = ("means", 0) if vector == MEANS else ("random", draw)
        direction = DirectionRequest(gate, seed, layer, along, kind, number)
        requests.append(SteerRequest(direction, text, push, MODES[tokens], draw))
    return tuple(requests), layer, target


def draw_texts(
    charts: c.Charts,
    requests: Sequence[SteerRequest],
    texts: Mapping[SteerRequest, Sequence[Step]],
) -> None:
    """Draw for each gate both texts and what becomes of the language."""
    for request in requests:
        gate, steps = request.direction.name, texts.get(request, ())
        finding, scores, ends = f"Generated: {len(steps)} of {WRITTEN} characters.", None, ["", ""]
        if len(steps) == WRITTEN:
            both = endings(request, steps)
            finding, scores = f"{FINDINGS[verdict(*both)]}.", scores_text(*both)
            ends = [f'<b class="{shade(x.spanish)}">{seen_in(x)}</b>' for x in both]
        applied = next(title for title, mode in MODES.items() if mode == request.mode)
        steered = f"Steered, strength {request.push:g}, {applied}".replace("-", "−")
        lines = []
        for side, (name, text) in enumerate(
            zip(("Unsteered", steered), written_texts(steps), strict=True)
        ):
            # The classifier's window is past the prompt, and past the first steered characters;
            # colours begin with a word, if there is one.
            start = text.find(" ", WINDOW - 1) + 1 or WINDOW
            shades = [
                shade(step.spanish[side]) if number >= start else UNSCORED * (number < JUDGED_FROM)
                for number, step in enumerate(steps)
            ]
            lines.append(f'<p class="gc-of">{name} {ends[side]}</p>')
            lines.append(shared.coloured(text, shades, JUDGED_FROM, request.text))
        card = st.container(border=True, key=f"card_{gate}")
        shared.draw_text(card, CARDS[gate], "".join(lines))
        card.markdown(finding, help=scores)
        charts.tables[f"characters_{gate}"] = {
            "character": range(1, len(steps) + 1),
            "unsteered": [step.plain for step in steps],
            "steered": [step.steered for step in steps],
            "P(Spanish), unsteered": [step.spanish[0] for step in steps],
            "P(Spanish), steered": [step.spanish[1] for step in steps],
        }


def seen_in(ending: Ending) -> str:
    """Return the language that the classifiers see in the last `WRITTEN` - `JUDGED_FROM`."""
    first, second = (LANGUAGES[p > 0.5].title() for p in (ending.spanish, ending.bayes))
    if first != second:
        return f"{first} (logistic regression) and {second} (naive Bayes)"
    return first if ending.language is not None else f"{first}, not significantly"


def scores_text(plain: Ending, steered: Ending) -> str:
    """Return losses and shares of real words of what is scored of both texts."""
    texts = []
    for name, ending in (("steered", steered), ("unsteered", plain)):
        words = "no whole word" if isnan(ending.words) else f"{percent(ending.words)} real words"
        texts.append(f"{name} {figures(ending.nats)} nats per character, {words}")
    return f"After the bar: {'; '.join(texts)}."


def shade(spanish: float) -> str:
    """Return the CSS class of a character: its language, and the probability of that."""
    language = "es" if spanish >= 0.5 else "en"
    return f"gc-{language}-{min(int(2 * abs(spanish - 0.5) * SHADES), SHADES - 1)}"


SAMPLE = (
    f"Text seed {OPENING_DRAW}: of seeds 0 to {OPENING_DRAW}, the median by nats per character of"
    " the steered texts."
)
LEGEND = '<p class="gc-key">A classifier sees {} Grey: too early to judge.</p>'.format(
    " ".join(
        f'<span class="{shade(spanish)}">{text}</span>'
        for spanish, text in (
            (0.0, "English"),
            (0.35, "perhaps"),
            (0.65, "perhaps"),
            (1.0, "Spanish"),
        )
    ),
)


# --- Outcomes -------------------------------------------------------------------------------------


# What the feature does: the answer to the page's question, and what it means for the texts.
ANSWERS = {
    "unchanged": ("No", ""),
    "unreliable": ("Inconclusive", ""),
    "divided": ("Inconclusive", ", and the classifiers disagree"),
    "fooled": ("No", ", but fewer than half fluently"),
    "changed": ("Yes", ""),
}


def verdict_of(outcome: Outcome, at: Cell) -> str:
    """Return which of `ANSWERS` the intervals of shares support: beyond or below a half."""

    def most(name: str, below: str, within: str, above: str) -> str:
        low, high = outcome.intervals[name][:, *at] - HALF
        return by_interval(low, high, below, within, above)

    if changes := most(SUCCESS, "unchanged", "unreliable", ""):
        return changes
    return most(BAYES, "divided", "divided", "") or most(FLUENT, "fooled", "changed", "changed")


def answer_text(both: Mapping[str, Outcome], layer: int, strength: float) -> tuple[str, str]:
    """Answer the page's question at a strength, without and with a gate; and give its numbers."""
    at = cell_of(layer, strength)
    plain, gated = (ANSWERS[verdict_of(outcome, at)] for outcome in both.values())
    shares = [percent(float(of.means[SUCCESS][at])) for of in both.values()]
    measured = STRENGTHS[at[2]]
    nearest = "" if measured == strength else f", the nearest to {strength:g} that is measured"
    says = f"{plain[0]}: at strength {measured:g}{nearest}, {shares[0]} of texts change language"
    if plain == gated:
        same = shares[0] == shares[1]
        says += ", with or without a gate" if same else f" without a gate and {shares[1]} with one"
    else:
        says += f" without a gate{plain[1]}. With one: {gated[0].lower()}, {shares[1]} do"
    success, fluent = (
        [share_text(of, name, at) for of in both.values()] for name in (SUCCESS, FLUENT)
    )
    return f"{says}{gated[1]}.", (
        f"Of {next(iter(both.values())).texts} texts {success[0]} change without a gate,"
        f" {success[1]} with one; {fluent[0]} and {fluent[1]} as fluently as unsteered text."
    )


def cell_of(layer: int, strength: float) -> Cell:
    """Return where outcomes of the feature stand, at the measured strength nearest to this one."""
    return layer, FEATURE, int(np.abs(np.array(STRENGTHS) - strength).argmin())


def share_text(outcome: Outcome, name: str, at: Cell) -> str:
    """Format a share with its interval, in percent, rounded outwards."""
    low, high = 100 * outcome.intervals[name][:, *at]
    ends = f"{floor(low)} to {ceil(high)}\u00a0%"
    return f"{percent(float(outcome.means[name][at]))} ({ends})"


def numbers_text(outcome: Outcome, at: Cell) -> str:
    """Return what texts are like at one strength of the feature."""
    means = {name: float(outcome.means[name][at]) for name in SUMMARISED}
    nats = outcome.intervals[NATS][:, *at]
    plain, prompted = (outcome.references[name] for name in REFERENCES)
    others = ", ".join(
        f"{name} {percent(float(outcome.means[SUCCESS][at[0], kind, at[2]]))}"
        for kind, name in enumerate(DIRECTIONS)
        if kind != FEATURE
    )
    return (
        f"At strength {STRENGTHS[at[2]]:g}: {share_text(outcome, SUCCESS, at)} of texts by"
        f" logistic regression, {percent(means[BAYES])} by naive Bayes ({others});"
        f" {figures(means[NATS])} ± {float(np.ptp(nats)) / 2:.2f} nats per character (unsteered"
        f" {figures(plain[NATS])}); {words_text(outcome, at)}"
        f" (prompted in the language {percent(prompted[WORDS])})."
    )


def words_text(outcome: Outcome, at: Cell) -> str:
    """Return the share of real words; texts without a whole word are counted apart."""
    if np.isnan(outcome.means[WORDS][at]):
        return "no whole word"
    share, wordless = f"{share_text(outcome, WORDS, at)} real words", outcome.means[WORDLESS][at]
    if not wordless:
        return share
    return f"{share} in the {percent(1 - float(wordless))} of texts that have a whole word"


def effect_text(difference: PairedDifference) -> str:
    """Return by how much a gate changes the success of the feature."""
    says = by_interval(difference.low, difference.high, "reduces", "", "increases")
    effect = f"A gate {says} success" if says else "The effect of a gate on success is inconclusive"
    points = f"{signed(100 * difference.mean, 0)} ± {100 * difference.half_width:.0f} points"
    return f"{effect}: {points} over all strengths, paired by seed."


def outcome_table(outcome: Outcome) -> dict[str, Sequence[object]]:
    """Return means and intervals of all layers, directions and strengths as columns."""
    cells = [*np.ndindex(outcome.means[SUCCESS].shape)]
    columns: dict[str, Sequence[object]] = {
        "layer": [layer + 1 for layer, _, _ in cells],
        "direction": [DIRECTIONS[kind] for _, kind, _ in cells],
        "strength": [STRENGTHS[strength] for _, _, strength in cells],
    }
    for name in SUMMARISED:
        columns[name] = [float(outcome.means[name][at]) for at in cells]
        for end, numbers in zip(("from", "to"), outcome.intervals[name], strict=True):
            columns[f"{name}, {end}"] = [float(numbers[at]) for at in cells]
    for what, references in outcome.references.items():
        columns |= {f"{name}, {what}": [references[name]] * len(cells) for name in SUMMARISED}
    return columns


def outcome_chart(
    both: Mapping[str, Outcome], quantity: str, layer: int, strength: float
) -> go.Figure:
    """Draw a share of texts over strength, without and with a gate; a band at one measured."""
    traces = []
    for kind, name, look in ((FEATURE, "", {}), (ALONG_RANDOM, "random vector", {"width": 1})):
        for shift, (gate, outcome), style in zip(
            (0, 0.05), both.items(), (c.UNGATED, c.GATED), strict=True
        ):
            means = outcome.means[quantity][layer, kind]
            low, high = outcome.intervals[quantity][:, layer, kind]
            places, reach = np.array(STRENGTHS) + shift, (means - low, high - means)
            named = kind == FEATURE or gate == UNGATED  # thin lines have one name
            title = name or TITLES[gate]
            traces.append(c.line(title, places, means, reach, legend=named, **(style | look)))
    figure = c.chart(
        CHARTS[quantity],
        traces,
        "",
        "share of texts",
        height=CHART_PIXELS,
        margin={"l": 58, "r": 8, "t": 88, "b": 44},
        x_axis={"range": [0.5, max(STRENGTHS) + 0.5], "tickvals": STRENGTHS}
        | {"title": {"text": "strength", "standoff": 14}},
        y_axis={"range": [-0.04, 1.04], "tickformat": ".0%", "tickvals": [0, 0.5, 1]},
    )
    at = STRENGTHS[cell_of(layer, strength)[2]]
    band = {"fillcolor": c.ACCENT, "opacity": 0.15, "line_width": 0, "layer": "below"}
    return figure.add_vrect(at - 0.15, at + 0.2, **band)

"""The tab Steer: a text generated with a steering vector, beside the same one without it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan

import plotly.graph_objects as go
import streamlit as st

from gating_core.characters import read_typed
from gating_core.lm.corpus import LANGUAGES
from gating_core.lm.steering import live
from gating_core.lm.steering.experiment import BEYOND, JUDGED_FROM, WRITTEN
from gating_core.lm.steering.judge import WINDOW
from gating_core.lm.steering.live import (
    BEGINNING,
    DirectionRequest,
    Ending,
    Opening,
    SteerRequest,
    Step,
    load_opening,
    model_and_dictionaries,
    verdict,
    write_judged,
    written_texts,
)
from gating_core.lm.steering.streams import RELEASED_AFTER
from ui.common import charts as c
from ui.common.formatting import figures, percent
from ui.common.language_models import TONGUES, unknown_characters
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing.characters import sign
from ui.limits import STEERED_CHARACTERS
from ui.steering import shared
from ui.steering.shared import ALL_TOKENS, MODES, STYLE
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.jobs import Job

BEGINNINGS = {"english": BEGINNING, "spanish": "Y dijo Dios á "}
LANGUAGE, CHOSEN, MEANS, RANDOM = (
    "language feature",
    "chosen feature",
    "difference of means",
    "random direction",
)
SHADES = 5  # of each language
LINES: dict[str, c.Style] = {
    "unsteered": {"colour": c.GREY, "dash": "dash", "symbol": "x"},
    "steered": {"colour": c.MAGENTA},
}
FINDINGS = {  # by `gating_core.lm.steering.VERDICTS`
    "changed": "**The language changes**",
    "unchanged": "**The language stays the same**",
    "fooled": "**The classifiers are fooled** by a text less fluent than unsteered ones",
    "degenerate": "**The text degenerates**, and the language stays the same",
    "inconclusive": "**It is inconclusive** whether the language changes",
}


@st.cache_resource(show_spinner=False)
def opening() -> Opening:
    """Load the bundled text with which the page opens."""
    return load_opening()


TEXTS: jobs.Jobs[SteerRequest, Sequence[Step]] = jobs.Jobs(
    "steering_text", partial(jobs.text_steps, write_judged), NUMBERS_CACHE
)


def generated(request: SteerRequest) -> tuple[Sequence[Step], Job | None]:
    """Return the steps of both texts so far, and the job that generates them."""
    if request == opening().request:
        return opening().steps, None
    steps, job = TEXTS.fetch(request)
    return steps or (), job


@cached(on=NUMBERS_CACHE)
def endings(request: SteerRequest, _steps: Sequence[Step]) -> list[Ending]:
    """Return the judgement of both texts, which ``_steps`` make up."""
    if request == opening().request:
        return opening().endings
    model = request.direction.name, request.direction.model_seed
    texts = written_texts(_steps)
    spanish = _steps[-1].spanish
    return pool.POOL.call(live.endings, *model, texts, spanish, rank=pool.Rank.BRIEF)


def draw() -> None:
    """Draw the tab: controls, then the texts as they are generated."""
    st.html(STYLE)
    request = choose_request()
    (steps, job), charts = generated(request), c.Charts("steer")

    def so_far() -> Sequence[Step]:
        return steps or TEXTS.so_far((request,)).get(request, ())

    with jobs.dock(TEXTS.name, request):
        jobs.draw_end(job, "Generating")
    with st.container(key="first"):
        jobs.watch(
            job,
            "Generating",
            lambda: draw_texts(charts, request, so_far()),
            share=lambda: len(so_far()) / WRITTEN,
        )
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
                first=RELEASED_AFTER,
                strength=f"{request.push:g}".replace("-", "−"),
                beyond=f"{100 * BEYOND:g}\u00a0%",
            )
        )


def take_next_seed() -> None:
    """Change the seed of the text."""
    st.session_state["steering_draw"] = (st.session_state["steering_draw"] + 1) % 10_000


def choose_request() -> SteerRequest:
    """Draw the controls; return the text to generate."""
    first, second = shared.control_row("text-row"), shared.control_row("vector-row")
    typed = first.text_input(
        "Prompt",
        max_chars=STEERED_CHARACTERS,
        placeholder="Type a prompt",
        key="steering_text",
        width=330,
        **LINK,
        help=f"At most {STEERED_CHARACTERS} characters: letters of English and Spanish, and common"
        f" signs. The model generates {WRITTEN} more.",
    )
    tongue = first.radio("Or one in", [*TONGUES], key="steering_prompt", horizontal=True, **LINK)
    draw = first.number_input(
        "Text seed",
        0,
        9999,
        0,
        key="steering_draw",
        width=130,
        **LINK,
        help="Of the characters drawn, the same for both texts, and of the random direction.",
    )
    model = shared.choose_model(first)
    strength = shared.choose_strength(second)
    tokens = second.radio(
        "Applied to",
        [*MODES],
        key="steering_tokens",
        horizontal=True,
        **LINK,
        help=f"The steering vector is added at every token of the prompt and of the text, or only"
        f" up to the first {RELEASED_AFTER} generated ones. A token is a character.",
    )
    layer = shared.choose_layer(second)
    vector = second.selectbox(
        "Steering vector",
        (LANGUAGE, CHOSEN, MEANS, RANDOM),
        key="steering_vector",
        width=180,
        **LINK,
        help="*language feature*: the feature of the dictionary *means of 16* whose mean is larger"
        " in the target language by the most. *difference of means*: mean residual stream of"
        " Spanish minus that of English.",
    )
    if vector == CHOSEN:
        direction = shared.choose_feature(second, model, layer)
    elif vector == LANGUAGE:  # of the target language, so that it is always added
        statistics = model_and_dictionaries(*model)[1].kinds["means"].statistics
        feature = statistics.language_feature(layer, spanish=strength >= 0)
        direction = DirectionRequest(*model, layer, "feature", "means", feature)
        strength = abs(strength)
    else:
        along, seed = ("means", 0) if vector == MEANS else ("random", draw)
        direction = DirectionRequest(*model, layer, along, feature=seed)
    for note in unknown_characters(typed):
        st.caption(f":material/info: {note}")
    text = read_typed(typed)[0] or BEGINNINGS[TONGUES[tongue]]
    return SteerRequest(direction, text, strength, MODES[tokens], draw)


def draw_texts(charts: c.Charts, request: SteerRequest, steps: Sequence[Step]) -> None:
    """Draw the finding, the probability of Spanish by character, and both texts."""
    first = request.mode != MODES[ALL_TOKENS]
    finding = f"Generated: {len(steps)} of {WRITTEN} characters."
    if len(steps) == WRITTEN:
        finding = finding_text(first, *endings(request, steps))
    st.markdown(finding)
    charts.draw("probability", st, probability_chart(steps, first), finding)
    titles = ("Unsteered", "Steered, with the same random numbers")
    for side, (column, title) in enumerate(zip(st.columns(2), titles, strict=True)):
        text = written_texts(steps)[side]
        shades = [shade(step.spanish[side]) for step in steps]
        marked = RELEASED_AFTER if side and first else None
        shared.draw_text(column, title, shared.coloured(text, shades, marked, request.text))
    st.html(LEGEND)
    charts.tables["characters"] = {
        "character": range(1, len(steps) + 1),
        "unsteered": [step.plain for step in steps],
        "steered": [step.steered for step in steps],
        "P(Spanish), unsteered": [step.spanish[0] for step in steps],
        "P(Spanish), steered": [step.spanish[1] for step in steps],
    }


def finding_text(first: bool, plain: Ending, steered: Ending) -> str:
    """Return the finding; ``first``: the steering vector is applied to the first tokens only."""
    tokens = shared.FIRST_TOKENS if first else ALL_TOKENS
    return (
        f"{FINDINGS[verdict(plain, steered)]}. With the steering vector applied to {tokens},"
        f" the classifiers see {seen_in(steered)}; without it, {seen_in(plain)}. Last"
        f" {WRITTEN - JUDGED_FROM} characters: {fluency(steered)} (unsteered"
        f" {fluency(plain)})."
    )


def seen_in(ending: Ending) -> str:
    """Return the language that the classifiers see."""
    first, second = (LANGUAGES[p > 0.5].title() for p in (ending.spanish, ending.bayes))
    if first != second:
        return f"{first} (logistic regression) and {second} (naive Bayes)"
    return first if ending.language is not None else f"{first}, not significantly"


def fluency(ending: Ending) -> str:
    """Return loss and share of real words."""
    words = "no whole word" if isnan(ending.words) else f"{percent(ending.words)} real words"
    return f"{figures(ending.nats)} nats per character, {words}"


def shade(spanish: float) -> str:
    """Return the CSS class of a character: its language, and the probability of that."""
    language = "es" if spanish >= 0.5 else "en"
    return f"gc-{language}-{min(int(2 * abs(spanish - 0.5) * SHADES), SHADES - 1)}"


LEGEND = '<p class="gc-key">Classifier, last {} characters: {}</p>'.format(
    WINDOW,
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


def probability_chart(steps: Sequence[Step], first: bool) -> go.Figure:
    """Draw the probability of Spanish after each character."""
    numbers = range(1, len(steps) + 1)
    traces = [
        c.line(
            name,
            numbers,
            [step.spanish[side] for step in steps],
            **style,
            labels=[sign(step.steered if side else step.plain) for step in steps],
        )
        for side, (name, style) in enumerate(LINES.items())
    ]
    figure = c.chart("Probability of Spanish", traces, "characters generated", height=190,
                     x_axis={"range": [0.5, WRITTEN + 0.5]},
                     y_axis={"range": [-0.04, 1.04], "tickformat": ".0%",
                             "tickvals": [0, 0.5, 1]})  # fmt: skip
    c.mark_y(figure, 0.5)
    if first:
        c.mark_x(figure, RELEASED_AFTER + 0.5, "vector removed")
        figure.update_annotations(y=0.3)  # where no line comes near
    return figure

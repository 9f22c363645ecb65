"""The tab Steer: texts of two models, steered, and how often the language changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan

import streamlit as st

from gating_core.characters import read_typed
from gating_core.lm.corpus import LANGUAGES
from gating_core.lm.steering import live
from gating_core.lm.steering.experiment import BEYOND, WRITTEN, prompt_verses
from gating_core.lm.steering.judge import WINDOW
from gating_core.lm.steering.live import (
    BEGINNING,
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
from gating_core.lm.steering.shipped import STEERED
from gating_core.lm.steering.streams import RELEASED_AFTER
from ui.common import charts as c
from ui.common.formatting import figures, percent
from ui.common.language_models import TITLES, TONGUES, UNGATED, unknown_characters
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.limits import STEERED_CHARACTERS
from ui.steering import results, shared
from ui.steering.shared import ALL_TOKENS, MODES, STYLE
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.jobs import Jobs

BEGINNINGS = {"english": BEGINNING, "spanish": "Y dijo Dios á "}
LANGUAGE, CHOSEN, MEANS, RANDOM = (
    "language feature",
    "chosen feature",
    "difference of means",
    "random direction",
)
CARDS = {gate: TITLES[gate].capitalize() for gate in STEERED}
SHADES = 5  # of each language
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
    """Draw the tab: controls, then two cards: a text as it is generated, and how often it works."""
    st.html(STYLE)
    requests, layer, target = choose_requests()
    mode, strength = requests[0].mode, abs(requests[0].push)
    both, charts = results.outcomes(mode, target), c.Charts("steer")
    finding, detail = results.finding_text(both, layer)
    draw_finding(finding)

    bundled = {key: opening()[key].steps for key in requests if key in opening()}
    texts, job = (bundled, None) if len(bundled) == 2 else TEXTS.fetch_all(requests)

    def so_far() -> Mapping[SteerRequest, Sequence[Step]]:
        return texts if job is None else TEXTS.so_far(requests)

    with jobs.dock(TEXTS.name, requests):
        jobs.draw_end(job, "Generating")
    first = st.container(key="first")
    with first:
        jobs.watch(
            job,
            "Generating",
            lambda: draw_texts(charts, requests, so_far()),
            share=lambda: sum(map(len, so_far().values())) / WRITTEN / 2,
        )
    with first:
        for column, quantity in zip(st.columns(2), results.CHARTS, strict=True):
            figure = results.outcome_chart(both, quantity, layer, strength)
            charts.draw(quantity, column, figure, detail)
    st.caption(detail)
    for gate, outcome in both.items():
        charts.tables[f"outcomes_{gate}"] = results.outcome_table(outcome)
    more = st.expander("All numbers", key="steering_numbers", on_change="rerun", **LINK)
    if more.open:
        with more:
            results.draw_more(both, layer, mode, target)
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
                beyond=f"{100 * BEYOND:g}\u00a0%",
                works=percent(results.WORKS),
                fooled=percent(results.FOOLED),
                prompts=len(prompt_verses()),
                hidden=percent(3 / len(prompt_verses())),
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
            0,
            key="steering_draw",
            **LINK,
            help="Of the characters drawn, the same for all texts, and of the random direction.",
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
            [*results.TARGETS],
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
    for column, request in zip(st.columns(2), requests, strict=True):
        gate, steps = request.direction.name, texts.get(request, ())
        finding = f"Generated: {len(steps)} of {WRITTEN} characters."
        if len(steps) == WRITTEN:
            finding = finding_text(*endings(request, steps))
        lines = []
        for name, text, side in zip(
            ("Unsteered", "Steered"), written_texts(steps), (0, 1), strict=True
        ):
            shades = [shade(step.spanish[side]) for step in steps]
            marked = RELEASED_AFTER if side and request.mode != MODES[ALL_TOKENS] else None
            lines.append(f'<p class="gc-of">{name}</p>')
            lines.append(shared.coloured(text, shades, marked, request.text))
        card = column.container(border=True, key=f"card_{gate}")
        shared.draw_text(card, CARDS[gate], "".join(lines))
        card.markdown(finding)
        charts.tables[f"characters_{gate}"] = {
            "character": range(1, len(steps) + 1),
            "unsteered": [step.plain for step in steps],
            "steered": [step.steered for step in steps],
            "P(Spanish), unsteered": [step.spanish[0] for step in steps],
            "P(Spanish), steered": [step.spanish[1] for step in steps],
        }
    st.html(LEGEND)


def finding_text(plain: Ending, steered: Ending) -> str:
    """Return what became of the language, from how both texts end."""
    return (
        f"{FINDINGS[verdict(plain, steered)]}: {seen_in(steered)}, unsteered {seen_in(plain)}."
        f" {fluency(steered)} (unsteered {fluency(plain)})."
    )


def seen_in(ending: Ending) -> str:
    """Return the language that the classifiers see in the last `WRITTEN` - `JUDGED_FROM`."""
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

"""The tab Generate: a model continues a text, character by character, at any gate interpolation.

Shapes: V characters of the alphabet, n values of λ, S seeds.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.characters import read_typed
from gating_core.lm.generate import WriteRequest, probabilities_after, write_on
from gating_core.lm.measurements import STRENGTHS
from gating_core.lm.shipped import SEEDS
from ui.common import charts as c
from ui.common.formatting import percent
from ui.common.language_models import GATES, TONGUES, named, unknown_characters
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.foreign import as_code, as_words
from ui.language_models import shared
from ui.language_models.shared import NO_GATE, Comparison
from ui.limits import READ_CHARACTERS, WRITE_TEMPERATURE
from ui.work import jobs
from ui.work.cache import NUMBERS_CACHE

CSS = Path(__file__).with_name("language_models.css")
WHAT = "Generating"
LEAD = "A small model continues a text, character by character, at any gate interpolation λ."
TEXTS: jobs.Jobs[WriteRequest, tuple[str, ...]] = jobs.Jobs(
    "writing", partial(jobs.text_steps, write_on), NUMBERS_CACHE
)
BEGINNINGS = {"english": "In the beginning ", "spanish": "En el principio "}
DRAWS = (0, 9999)  # seeds of the text
HEIGHT = 215  # pixels
MOST = 14  # characters shown, the most probable first


def draw() -> None:
    """Draw the tab."""
    st.html(CSS)
    title, request = choose()
    now, full = (
        probabilities_after(
            shared.reading((request.name, request.model_seed), request.text, strength),
            request.temperature,
        )
        for strength in (request.strength, 1.0)
    )
    charts = c.Charts("generate")
    left, right = st.columns([7, 6])
    likely = next_text(now)
    charts.draw("next", right, next_chart(now, full, request.strength), likely)
    pair = Comparison(title, request.model_seed)
    sums, counts = pair.pair("strengths.sums"), pair.pair("strengths.counts")
    ungated, gated = map(losses, sums, counts)
    if title == NO_GATE:
        says, loss = f"Without a gate the test loss is {float(ungated.mean()):.3f} nats.", ""
    else:
        says, loss = loss_text(gated, ungated, request.strength)
        charts.draw("losses", right, loss_chart(gated, ungated, request.strength), loss)
    draw_finding(says, lead=LEAD)
    with left:
        draw_text(request)
        st.markdown(f"{loss} {likely}")
    charts.draw_footer(
        section(
            "language_models",
            "generate",
            temperature=f"{request.temperature:g}",
            strength=f"{request.strength:g}",
        )
    )


def choose() -> tuple[str, WriteRequest]:
    """Draw the controls; return the gate's name and the request."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    title = row.selectbox(
        "Gate",
        [*GATES],
        1,
        key="lm_writer",
        width=160,
        **LINK,
        help="The model's multiplicative gate. G1: on the attention output. G2: on the values.",
    )
    seed = row.selectbox(
        "Seed",
        SEEDS,
        key="lm_writer_seed",
        width=75,
        **LINK,
        help="Of the initialisation and of the order of the training texts.",
    )
    typed = row.text_input(
        "Prompt",
        max_chars=READ_CHARACTERS,
        placeholder="Type here",
        key="lm_prompt",
        width=200,
        **LINK,
        help=f"At most {READ_CHARACTERS} characters.",
    )
    tongue = row.radio("Language", [*TONGUES], key="lm_tongue", horizontal=True, **LINK)
    temperature = row.number_input(
        "Temperature",
        *WRITE_TEMPERATURE,
        0.7,
        0.1,
        width=120,
        key="lm_temperature",
        **LINK,
        help="At 1, characters are drawn with the model's own probabilities; at"
        " 0, the most probable one is taken.",
    )
    strength = 1.0
    if title != NO_GATE:
        strength = row.slider(
            "Gate interpolation λ",
            0.0,
            1.0,
            1.0,
            0.1,
            width=160,
            key="lm_lambda",
            **LINK,
            help="Each gate factor is (1 − λ) + λ g: as trained at λ = 1, ablated at λ = 0.",
        )
    draw = row.number_input(
        "Seed of the text",
        *DRAWS,
        0,
        key="lm_draw",
        width=145,
        **LINK,
        help="The drawn characters follow from this number: the link gives the same text again.",
    )
    for note in unknown_characters(typed):
        st.caption(f":material/info: {note}")
    text = read_typed(typed)[0] or BEGINNINGS[TONGUES[tongue]]
    return title, WriteRequest(GATES[title], seed, text, temperature, strength, draw)


def another() -> None:
    """Move on to the next seed of the text."""
    st.session_state["lm_draw"] = (st.session_state["lm_draw"] + 1) % (DRAWS[1] + 1)


def draw_text(request: WriteRequest) -> None:
    """Draw the text so far, while a job writes it."""
    st.markdown("**Generated text**, after the prompt")
    steps, job = TEXTS.fetch(request)
    with jobs.dock(TEXTS.name, request):
        jobs.draw_end(job, WHAT)
    room = READ_CHARACTERS + 1 - len(request.text)

    def so_far() -> tuple[str, ...]:
        return steps or TEXTS.so_far((request,)).get(request, ())

    def draw_steps() -> None:
        with st.container(key="written"):
            st.markdown(continued(request.text, "".join(so_far())))

    jobs.watch(job, WHAT, draw_steps, share=lambda: len(so_far()) / room)
    with st.container(horizontal=True):
        st.button("Generate another", icon=":material/refresh:", key="lm_another", on_click=another)
        if job and job.needs_click:
            jobs.draw_again(TEXTS.name, "Generate again", "play_arrow", "write_again")


def losses(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean loss per character in nats, (S, n), from sums (S, n, N) over N texts."""
    return sums.sum(-1) / counts.sum(-1)[..., None]


def next_chart(probabilities: np.ndarray, full: np.ndarray, strength: float) -> go.Figure:
    """Draw the most probable next characters (V,), and their probabilities at λ = 1."""
    best = np.argsort(-probabilities, kind="stable")[:MOST]
    labels, places = [named(int(number)) for number in best], [*range(len(best))]
    traces = [
        c.bars(
            f"λ = {strength:g}", places, 100 * probabilities[best], colour=c.MAGENTA, labels=labels
        )
    ]
    if strength < 1:
        marks = c.line("λ = 1", places, 100 * full[best], mode="markers")
        marks["marker"] = {
            "symbol": "line-ew-open",
            "size": 14,
            "line": {"width": 2},
            "color": c.GREY,
        }
        traces.append(marks)
    return c.chart(
        "Next character after the prompt",
        traces,
        "",
        "probability, %",
        height=HEIGHT,
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        x_axis={**c.ticks(places, labels), "tickangle": 0, "tickfont": {"family": "monospace"}},
        y_axis={"rangemode": "tozero"},
    )


def loss_chart(gated: np.ndarray, ungated: np.ndarray, strength: float) -> go.Figure:
    """Draw the loss of every seed (S, n) over λ, and that of models without a gate (S, 1)."""
    seeds = [
        c.line("a seed", STRENGTHS, row, colour=c.MAGENTA, width=1, mode="lines", legend=False)
        | {"opacity": 0.35}
        for row in gated
    ]
    mean = c.line("mean", STRENGTHS, gated.mean(0), shared.half_widths(gated), colour=c.MAGENTA)
    figure = c.chart(
        "Test loss by gate interpolation",
        [*seeds, mean],
        "λ",
        "nats per character",
        height=HEIGHT,
        showlegend=False,
        x_axis={"range": [-0.03, 1.03]},
    )
    return c.mark_x(c.mark_y(figure, float(ungated.mean()), "trained without a gate"), strength)


def continued(prompt: str, text: str) -> str:
    """Return both as Markdown, the prompt in bold."""
    bold = prompt.rstrip()
    start = f"**{as_words(bold)}**" if bold else ""
    return f"{start}{as_words(prompt[len(bold) :] + text)}"


def next_text(probabilities: np.ndarray) -> str:
    """Say which character most probably follows the prompt."""
    best = int(probabilities.argmax())
    name = "the end of the text" if best == 0 else as_code(named(best))
    return f"Most probable next: {name}, {percent(float(probabilities[best]))}."


def loss_text(gated: np.ndarray, ungated: np.ndarray, strength: float) -> tuple[str, str]:
    """Say what scaling the gates costs: losses (S, n), and (S, 1) without a gate."""
    means = gated.mean(0)
    scaled = strength if strength < 1 else 0.0
    at = float(np.interp(scaled, STRENGTHS, means))
    says = (
        f"With its gates at λ = {scaled:g}, this model's loss is {at - means[-1]:.3f} nats higher."
    )
    return says, (
        f"Test loss at λ = {scaled:g}: {at:.3f} nats per character; as trained (λ = 1)"
        f" {means[-1]:.3f}, trained without a gate {float(ungated.mean()):.3f}."
    )

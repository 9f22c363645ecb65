"""The tab Write: a model goes on writing, character by character, with its gates dialled.

Shapes: V characters of the alphabet, n strengths, S seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.at_work import STRENGTHS, WriteRequest, probabilities_after, write_on
from gating_core.language import CHARACTERS
from ui.at_work import controls, measured, parts
from ui.common.control_table import read
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.common.words import percent
from ui.drawing import palette
from ui.drawing.characters import named
from ui.foreign import as_code, as_words
from ui.language.selection import TextSelection
from ui.limits import READ_CHARACTERS
from ui.work import jobs
from ui.work.cached_jobs import written

WHAT = "Writing"
HEIGHT_PIXELS = 190
SHOWN = 14  # characters, the most probable first


def draw_write() -> None:
    """Draw the text as it is written, the next character's probabilities, and losses over λ."""
    shared = controls.MODEL | {key: controls.TEXT[key] for key in ("typed", "tongue")}
    selection = controls.read_selection(shared, *controls.WRITE_CONTROLS.values(), gated=False)
    request = read(controls.WRITE_CONTROLS, controls.WriteSelection).request(selection)
    strength = request.strength
    now, full = (
        probabilities_after(measured.reading(selection.model, request.text, at),
                            request.temperature)
        for at in (strength, 1.0)
    )  # fmt: skip
    left, right = st.columns([7, 6])
    with left:
        _draw_writing(request)
    with right:
        st.markdown(section("at_work", "head_next"))
        parts.draw_figure(
            ("next", request), lambda: next_chart(now, full, strength), next_text(now)
        )
        sentence = _draw_losses(selection, strength)
    left.markdown(f"{sentence} {next_text(now)}")
    with st.container(horizontal=True):
        parts.draw_explanation("writing", "writing", temperature=f"{request.temperature:g}",
                         strength=f"{strength:g}")  # fmt: skip
        parts.draw_csv("Losses", lambda: losses_csv(measured.table()))
        parts.draw_csv("Next", lambda: next_csv(now, full, strength))


def _draw_writing(request: WriteRequest) -> None:
    """Draw the text so far, while a job writes it."""
    st.markdown(section("at_work", "head_written"))
    job = written(measured.WRITING, write_on, request)
    with jobs.dock(measured.WRITING, request):
        jobs.draw_end(job, WHAT, job.items)
    room = READ_CHARACTERS + 1 - len(request.text)

    def draw_text(items: list[str]) -> None:
        with st.container(key="written"):
            st.markdown(continued(request.text, "".join(items)))

    jobs.watch(job, draw_text, what=WHAT, share=lambda items: len(items) / room)
    with st.container(horizontal=True):
        st.button("Write another", icon=":material/refresh:", key="write_another",
                  on_click=controls.DRAW.move_on)  # fmt: skip
        if job.needs_click:
            jobs.draw_again(measured.WRITING, "Write again", "play_arrow", "write_again")


def _draw_losses(selection: TextSelection, strength: float) -> str:
    """Draw losses over λ of all seeds, and return the sentence; a model without a gate has none."""
    seeds = measured.seeds(selection.name)
    without, gated = (
        losses(*(measured.over_seeds(name, f"strengths.{part}", seeds)
                 for part in ("sums", "counts")))
        for name in (UNGATED, selection.name)
    )  # fmt: skip
    if selection.name == UNGATED:
        st.caption(section("at_work", "no_gate_to_dial"))
        return f"Over the held-out verses: {float(without.mean()):.3f} nats a character."
    sentence = loss_text(gated, without, strength)
    st.markdown(section("at_work", "head_losses"))
    parts.draw_figure(("losses", selection.name, strength),
                lambda: loss_chart(gated, without, strength), sentence)  # fmt: skip
    return sentence


def losses(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean loss of a character in nats, (S, n), from sums (S, n, N) over N texts."""
    return sums.sum(-1) / counts.sum(-1)[..., None]


# --- Charts ---------------------------------------------------------------------------------------


def next_chart(probabilities: np.ndarray, full: np.ndarray, strength: float) -> go.Figure:
    """Draw the most probable next characters (V,), and what they have at full gates."""
    best = np.argsort(-probabilities, kind="stable")[:SHOWN]
    labels = [named(int(number)) for number in best]
    bars = {
        "type": "bar", "x": [*range(len(best))], "y": 100 * probabilities[best],
        "name": f"λ = {strength:g}", "marker": {"color": parts.MAGENTA}, "customdata": labels,
        "hovertemplate": "“%{customdata}”: %{y:.2f} %<extra></extra>",
    }  # fmt: skip
    marks = {
        "type": "scatter", "mode": "markers", "x": [*range(len(best))], "y": 100 * full[best],
        "name": "λ = 1", "marker": {"symbol": "line-ew-open", "size": 14, "color": parts.GREY,
                                    "line": {"width": 2, "color": parts.GREY}},
        "hovertemplate": "λ = 1: %{y:.2f} %<extra></extra>",
    }  # fmt: skip
    return go.Figure({"data": [bars, marks] if strength < 1 else [bars], "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 46, "r": 8, "t": 24, "b": 26},
        "legend": parts.LEGEND | {"x": 1, "xanchor": "right"},
        "xaxis": {"tickvals": [*range(len(best))], "ticktext": labels, "tickangle": 0,
                  "tickfont": {"family": "monospace"}},
        "yaxis": {"rangemode": "tozero", "title": {"text": "probability, %", "standoff": 4}},
    }})  # fmt: skip


def loss_chart(gated: np.ndarray, ungated: np.ndarray, strength: float) -> go.Figure:
    """Draw the loss of every seed (S, n) at each strength, and of models without a gate (S, 1)."""
    line = {
        "type": "scatter", "mode": "lines+markers", "x": STRENGTHS, "y": gated.mean(0),
        "line": {"color": parts.MAGENTA, "width": 2.5}, "marker": {"size": 6}, "showlegend": False,
        "hovertemplate": "λ = %{x}: %{y:.3f} nats<extra></extra>", **parts.error_bars(gated),
    }  # fmt: skip
    seeds = [{
        "type": "scatter", "mode": "lines", "x": STRENGTHS, "y": row, "opacity": 0.35,
        "line": {"color": parts.MAGENTA, "width": 1}, "hoverinfo": "skip", "showlegend": False,
    } for row in gated]  # fmt: skip
    without = float(ungated.mean())
    return go.Figure({"data": [*seeds, line], "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 46, "r": 8, "t": 24, "b": 36},
        "xaxis": {"range": [-0.03, 1.03], "title": {"text": "λ, strength of all gates",
                                                    "standoff": 2}},
        "yaxis": {"title": {"text": "nats a character", "standoff": 4}},
        "shapes": [
            parts.level(without, line={"dash": "dash", "width": 1.5, "color": parts.GREY},
                  label={"text": "trained without a gate", "textposition": "start",
                         "yanchor": "bottom", "font": {"size": 10}}),
            {"type": "line", "yref": "paper", "x0": strength, "x1": strength, "y0": 0, "y1": 1,
             "line": {"dash": "dot", "width": 1.5, "color": palette.PLANE}},
        ],
    }})  # fmt: skip


# --- Sentences ------------------------------------------------------------------------------------


def continued(beginning: str, written: str) -> str:
    """Return both as Markdown, the beginning in bold."""
    bold = beginning.rstrip()
    start = f"**{as_words(bold)}**" if bold else ""
    return f"{start}{as_words(beginning[len(bold) :] + written)}"


def next_text(probabilities: np.ndarray) -> str:
    """Say which character most probably follows the beginning."""
    best = int(probabilities.argmax())
    name = "the end of the text" if best == 0 else as_code(named(best))
    return f"Most probable next: {name}, {percent(float(probabilities[best]))}."


def loss_text(gated: np.ndarray, ungated: np.ndarray, strength: float) -> str:
    """Say what turning the gates down costs: losses (S, n), and (S, 1) without a gate."""
    means, without = gated.mean(0), float(ungated.mean())
    of, others = "Loss over the held-out verses", f"Trained without a gate: {without:.3f}."
    full = f"{means[-1]:.3f} nats a character"
    if strength == 1:
        return f"{of}: {full}. With all gates left out: {means[0]:.3f}. {others}"
    at = float(np.interp(strength, STRENGTHS, means))
    return f"{of} at λ = {strength:g}: **{at:.3f} nats a character**. At λ = 1: {full}. {others}"


def losses_csv(models: parts.Models) -> Iterator[Sequence[object]]:
    """Yield a row for every model: its loss at each strength."""
    yield "model", "seed", *(f"λ = {strength:g}" for strength in STRENGTHS)
    for (name, seed), arrays in models.items():
        (row,) = losses(arrays["strengths.sums"][None], arrays["strengths.counts"][None])
        padding = [""] * (len(STRENGTHS) - len(row))
        yield TITLES.get(name, name), seed, *padding, *row.tolist()


def next_csv(
    probabilities: np.ndarray, full: np.ndarray, strength: float
) -> Iterator[Sequence[object]]:
    """Yield a row for every character: its probability after the beginning."""
    yield "character", f"λ = {strength:g}", "λ = 1"
    for number, character in enumerate(CHARACTERS):
        name = named(number) if number == 0 else character
        yield name, float(probabilities[number]), float(full[number])

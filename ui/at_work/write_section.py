"""The tab Write: a model goes on writing, character by character, with its gates dialled."""

from __future__ import annotations

import numpy as np
import streamlit as st

from gating_core.at_work import WriteRequest, probabilities_after
from ui.at_work import measured, write_picture, write_words
from ui.at_work.controls import DRAW, MODEL, TEXT, WRITE_CONTROLS, draw_front, resolved
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.at_work.request import WriteSelection
from ui.common.control_table import read
from ui.common.language_models import UNGATED
from ui.common.lessons import section
from ui.language.selection import TextSelection
from ui.limits import READ_CHARACTERS
from ui.work import jobs

WHAT = "Writing"


def draw_write() -> None:
    """Draw the text as it is written, the next character's probabilities, and losses over λ."""
    draw_front([*MODEL.values(), TEXT["typed"], TEXT["tongue"], *WRITE_CONTROLS.values()])
    selection = resolved(read(MODEL | TEXT, TextSelection))
    request = read(WRITE_CONTROLS, WriteSelection).request(selection)
    model, text = selection.model, request.text
    now, full = (
        probabilities_after(measured.reading(model, text, at), request.temperature)
        for at in (request.strength, 1.0)
    )
    left, right = st.columns([7, 6])
    with left:
        _draw_writing(request)
    with right:
        st.markdown(section("at_work", "head_next"))
        strength = request.strength
        draw_figure(("next", request), lambda: write_picture.next_chart(now, full, strength),
                    write_words.next_text(now))  # fmt: skip
        sentence = _draw_losses(selection, strength)
    left.markdown(f"{sentence} {write_words.next_text(now)}")
    with st.container(horizontal=True):
        draw_explanation("writing", "writing", temperature=f"{request.temperature:g}",
                         strength=f"{request.strength:g}")  # fmt: skip
        draw_csv("Losses", lambda: write_words.losses_csv(measured.table()))
        draw_csv("Next", lambda: write_words.next_csv(now, full, request.strength))


def _draw_writing(request: WriteRequest) -> None:
    """Draw the text so far, while a job writes it."""
    st.markdown(section("at_work", "head_written"))
    job = measured.written(request)
    with jobs.dock(measured.WRITING, request):
        jobs.draw_end(job, WHAT, job.items)
    room = READ_CHARACTERS + 1 - len(request.text)
    jobs.watch(job, lambda items: _draw_text(request.text, items), what=WHAT,
               share=lambda items: len(items) / room)  # fmt: skip
    with st.container(horizontal=True):
        st.button("Write another", icon=":material/refresh:", key="write_another",
                  on_click=DRAW.move_on)  # fmt: skip
        if job.needs_click:
            jobs.draw_again(measured.WRITING, "Write again", "play_arrow", "write_again")


def _draw_text(beginning: str, items: list[str]) -> None:
    with st.container(key="written"):
        st.markdown(write_words.continued(beginning, "".join(items)))


def _draw_losses(selection: TextSelection, strength: float) -> str:
    """Draw losses over λ of all seeds, and return the sentence; a model without a gate has none."""
    seeds = measured.seeds(selection.name)
    without = _losses(UNGATED, seeds)
    if selection.name == UNGATED:
        st.caption(section("at_work", "no_gate_to_dial"))
        return f"Over the held-out verses: {float(without.mean()):.3f} nats a character."
    gated = _losses(selection.name, seeds)
    sentence = write_words.loss_text(gated, without, strength)
    st.markdown(section("at_work", "head_losses"))
    draw_figure(("losses", selection.name, strength),
                lambda: write_picture.loss_chart(gated, without, strength), sentence)  # fmt: skip
    return sentence


def _losses(name: str, seeds: list[int]) -> np.ndarray:
    sums, counts = (measured.over_seeds(name, f"strengths.{part}", seeds)
                    for part in ("sums", "counts"))  # fmt: skip
    return write_picture.losses(sums, counts)

"""The button under a picture that explains it: what it shows, its formula, how to misread it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui.common.lessons import section


def explain(what: str, text: str, below: Callable[[], None] | None = None) -> None:
    """Draw the button under a figure that unfolds ``text``, and what is to be drawn ``below``."""
    key = f"explain_{what.replace(' ', '_')}"
    with st.popover(f"Explain this plot: {what}", icon=":material/help:", key=key):
        st.markdown(text)
        if below is not None:
            below()


def beats(drawn: str, formula: str, look_for: str, misread: str) -> str:
    """Join the four paragraphs of an explanation."""
    return (
        f"**What is drawn.** {drawn}\n\n**The formula, with the numbers on the screen.** {formula}"
        f"\n\n**What to look for.** {look_for}\n\n**How one could misread it.** {misread}"
    )


def draw_explanation(page: str, what: str, lesson: str, **fields: object) -> None:
    """Draw the button that unfolds the four paragraphs of a section of the lesson."""
    explain(what, beats(*section(page, lesson, **fields).split("\n\n")))

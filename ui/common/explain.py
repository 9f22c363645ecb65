"""The explanation of a plot: four paragraphs behind one button."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st


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

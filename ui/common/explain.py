"""How is a plot explained? Four beats, behind one button under every figure."""

from __future__ import annotations

import streamlit as st


def explain(what: str, text: str) -> None:
    """The button under a figure, and what it unfolds."""
    key = f"explain_{what.replace(' ', '_')}"
    with st.popover(f"Explain this plot: {what}", icon=":material/help:", key=key):
        st.markdown(text)


def beats(drawn: str, formula: str, look_for: str, misread: str) -> str:
    return (
        f"**What is drawn.** {drawn}\n\n**The formula, with the numbers on the screen.** {formula}"
        f"\n\n**What to look for.** {look_for}\n\n**How one could misread it.** {misread}"
    )

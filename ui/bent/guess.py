"""The tab Which is flat?: two trained surfaces, grey until the visitor has guessed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import PAIR_DIM, load_pair
from ui.bent.shadows import draw_shadows, percent, shadow_pair
from ui.common.formatting import plus_minus
from ui.common.lessons import explain, section
from ui.common.links import link_value, put_in_link
from ui.common.page import draw_finding
from ui.common.take_along import File, csv_text, offered
from ui.components.pair import Pair
from ui.work.cache import cached

SHOWN = {"left": "price on K", "right": "no price"}  # of `load_pair`
FLAT = "left"
EYE = np.radians([285, 25]).tolist()  # both surfaces are broad, and no fold is seen end-on
GUESS, VIEW_KEY = "flat_guess", "flat_pair"


@cached()
def picture(guessed: bool) -> Pair:
    """Return both shadows, in grey before the guess and in colours of K after it."""
    shadows = {side: load_pair()[name] for side, name in SHOWN.items()}
    return replace(shadow_pair(shadows, guessed), eye=EYE, headlit=True)


def draw() -> None:
    """Draw the question, both surfaces, and what is known of them once it is answered."""
    guess = link_value(GUESS, lambda text: text if text in SHOWN else None, None)
    models = [load_pair()[name] for name in SHOWN.values()]
    if guess is None:
        draw_finding(section("bent", "question"), lead=section("bent", "shadow", dim=PAIR_DIM))
        for column, name in zip(st.columns(2), SHOWN, strict=True):
            column.button(
                f"{name.title()} is flat",
                key=f"guess_{name}",
                on_click=partial(answer, name),
                icon=":material/touch_app:",
                width="stretch",
                type="primary",
            )
    else:
        draw_finding(section("bent", "found"), lead=section("bent", "paid"))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(section("bent", "right" if guess == FLAT else "wrong"), width="content")
            st.button("Ask me again", key="guess_again", on_click=answer, icon=":material/undo:")
    verdicts = [verdict(name, guess is not None) for name in SHOWN.values()]
    note = section("bent", "curve", dim=PAIR_DIM)
    draw_shadows(picture(guess is not None), VIEW_KEY, "pair", verdicts, note)
    seed, count = models[0].seed, len(models[0].totals)
    explain("the pair", section("bent", "pair", seed=seed, count=count))
    offered().name = "curved_or_bent"
    offered().files["Both models in numbers"] = File("pair.csv", table)


def answer(name: str = "") -> None:
    """Put a guess into the link, or take it back; a callback."""
    put_in_link(**{GUESS: name})


def verdict(name: str, guessed: bool) -> tuple[str, str]:
    """Return what is large and what is small above the surface of a model of `load_pair`."""
    model = load_pair()[name]
    accuracy = f"test accuracy {percent(model.accuracy)}"
    if not guessed:  # the page has asked
        return "", accuracy
    total, bending = (
        plus_minus(float(x.value), float(x.error)) for x in (model.total, model.bending)
    )
    words = "Nearly flat inside" if name == SHOWN[FLAT] else "Curved"
    return f"{words}: total |K| = {total}", f"{accuracy}, total bending ∫‖II‖² dA = {bending}"


def table(line: str) -> str:
    """Return the numbers of both models as CSV, below a ``line``."""
    names = {side: load_pair()[name] for side, name in SHOWN.items()}
    rows: list[tuple[object, ...]] = [(f"# {line}",), ("quantity", *names)]
    for title, of in {
        "price": lambda side, _: SHOWN[side],
        "seed": lambda _, model: model.seed,
        "test accuracy": lambda _, model: model.accuracy,
        "total |K|": lambda _, model: float(model.total.value),
        "error of total |K|": lambda _, model: float(model.total.error),
        "total bending": lambda _, model: float(model.bending.value),
        "error of total bending": lambda _, model: float(model.bending.error),
    }.items():
        rows.append((title, *(of(side, model) for side, model in names.items())))
    return csv_text(rows)

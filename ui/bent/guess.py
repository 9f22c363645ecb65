"""The tab Which is flat?: two trained surfaces, grey until the visitor has guessed."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import PAIR_DIM, PricedModel, load_pair
from ui.common.explanations import explain
from ui.common.formatting import plus_minus, short
from ui.common.lessons import section
from ui.common.links import link_value
from ui.common.take_along import File, csv_text, offered
from ui.components.pair import Pair, Side, draw_pair
from ui.drawing.colours import scale_of
from ui.drawing.first_view import NO_SEGMENTS, best_eye, scale_share
from ui.work.cache import cached

SHOWN = {"left": "price on K", "right": "no price"}  # of `load_pair`
FLAT = "left"
GUESS, VIEW_KEY = "flat_guess", "flat_pair"
GREY = 0.5  # the middle of the scale


@cached()
def picture(guessed: bool) -> Pair:
    """Return both shadows, in grey before the guess and in colours of K after it."""
    models = [load_pair()[name] for name in SHOWN.values()]
    scale = scale_of("curvature", [model.gaussian for model in models])
    low, high = scale.ends
    return Pair(
        sides=tuple(
            side_of(name, model, scale_share(model.gaussian, scale) if guessed else None)
            for name, model in zip(SHOWN, models, strict=True)
        ),
        labels=[""],
        places=[1.0],
        eye=best_eye([model.places for model in models]),
        scale=scale.colours,
        ends=(f"K = {short(low)}", short(high)) if guessed else ("", ""),
    )


def side_of(name: str, model: PricedModel, shares: np.ndarray | None) -> Side:
    """Return one shadow with its decision boundary."""
    grey = np.full_like(model.gaussian, GREY)
    return Side(
        name=name.capitalize(),
        short=name,
        values=model.places[None],
        shares=(grey if shares is None else shares)[None],
        signed=model.height[None],
        gaussian=model.gaussian[None],
        error=np.zeros_like(grey)[None],
        flat=[False],
        corners=None,
        lines=NO_SEGMENTS,
        cut=True,
    )


def draw() -> None:
    """Draw the question, both surfaces, and what is known of them once it is answered."""
    guess = link_value(GUESS, parse_guess, None)
    if guess is None:
        st.markdown(section("bent", "question"))
    else:
        st.markdown(section("bent", "right" if guess == FLAT else "wrong"))
    models = [load_pair()[name] for name in SHOWN.values()]
    draw_pair(
        picture(guess is not None),
        key=VIEW_KEY,
        scene="pair",
        frame=0,
        point=None,
        verdicts=[[verdict(model, guess is not None)] for model in models],
        findings=[("", "")],
        quantity="K",
        names=("x₁", "x₂"),
        note="",
        maps=False,
        on_leave=lambda *_: None,
    )
    if guess is None:
        for column, name in zip(st.columns(2), SHOWN, strict=True):
            column.button("This one is flat", key=f"guess_{name}", on_click=partial(answer, name),
                          icon=":material/touch_app:", width="stretch")  # fmt: skip
    else:
        st.button("Ask me again", key="guess_again", on_click=answer, icon=":material/undo:")
    seed = models[0].seed
    st.caption(section("bent", "shadow", dim=PAIR_DIM, seed=seed, count=len(models[0].totals)))
    explain("the pair", section("bent", "pair"))
    offered().name = "curved_or_bent"
    offered().files["Both models in numbers"] = File("pair.csv", table)


def parse_guess(text: str) -> str | None:
    """Return a side of the picture; ``None`` for any other word."""
    return text if text in SHOWN else None


def answer(name: str = "") -> None:
    """Put a guess into the link, or take it back; a callback."""
    if name:
        st.query_params[GUESS] = name
    else:
        st.query_params.pop(GUESS, None)


def verdict(model: PricedModel, guessed: bool) -> tuple[str, str]:
    """Return what is large and what is small above a surface."""
    accuracy = f"test accuracy {100 * model.accuracy:.1f}\u00a0%"
    if not guessed:
        return accuracy, f"D = {PAIR_DIM}"
    total, bending = (
        plus_minus(float(x.value), float(x.error)) for x in (model.total, model.bending)
    )
    return (
        f"total |K| = {total}",
        f"{accuracy}, total bending ∫‖II‖² dA = {bending}, D = {PAIR_DIM}",
    )


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

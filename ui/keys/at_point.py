"""The closed form of K with the numbers of one point, beside K by jets."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from gating_core.theory import KeysAtPoint, keys_at
from ui.common.formatting import plus_minus, short
from ui.common.lessons import section
from ui.common.take_along import offer_notebook
from ui.components.keys import FourKeys
from ui.keys.four_keys import with_mode
from ui.work.cache import cached

MIDDLE = (0.0, 0.0)  # of the chart


@cached()
def numbers(model: FourKeys) -> KeysAtPoint:
    """Evaluate the closed form and the jets at the marked point, or in the middle of the chart."""
    return keys_at(model.keys, model.biases, model.values, model.at or MIDDLE)


def draw(mode: str, model: FourKeys) -> None:
    """Draw the formula, its numbers, and the comparison with jets."""
    if mode == "none":
        st.subheader("Why three values are flat", anchor=False)
        st.markdown(section("keys", "three"))
        return
    st.subheader("The closed form, with the numbers of a point", anchor=False)
    st.latex(section("keys", "closed_form"))
    result = numbers(with_mode(mode, model))
    u, v = model.at or MIDDLE
    where = f"At ({short(u)}, {short(v)})" + ("" if model.at else ", the middle of the chart")
    st.markdown(
        section(
            "keys",
            "numbers",
            where=where,
            weights=row(result.weights),
            w=row(result.barycentric),
            m=row(result.m),
            determinant=short(result.determinant),
            quadratic=short(result.quadratic),
        )
    )
    st.markdown(f"**{comparison(result)}**")
    offer_notebook(
        "The surface of four keys",
        f"four_keys_{mode}",
        code_text(with_mode(mode, model)),
        len(model.values[0]),
        (result.closed, result.closed_error),
        (u, v),
    )


def code_text(model: FourKeys) -> tuple[str, str]:
    """Return an import and lines that make the surface of ``model`` from the library."""
    keys = f"keys, biases = {model.keys}, {model.biases}\nvalues = {model.values}"
    return (
        "from gating_core.theory import KeySurface",
        f"{keys}\nsurface = KeySurface(keys, biases, values)",
    )


def row(numbers: Iterable[float]) -> str:
    """Format numbers, one after the other."""
    return ", ".join(map(short, numbers))


def comparison(result: KeysAtPoint) -> str:
    """Compare K by the closed form with K by jets, each with its bound."""
    if result.sign is None:
        return "The keys or the values lie on one line: there is no surface, and K has no value."
    closed = plus_minus(result.closed, result.closed_error)
    jet = plus_minus(result.jet, result.jet_error)
    agrees = abs(result.closed - result.jet) <= result.closed_error + result.jet_error
    verdict = "They agree within their bounds." if agrees else "They **disagree**: one is wrong."
    return f"K by the closed form: {closed}. K by jets: {jet}. {verdict}"

"""*What fooled us*: seven pictures that lie, each with the number that does not."""

from __future__ import annotations

import streamlit as st

from ui.common.explain import beats, explain
from ui.manifold.controls import MANIFOLD, apply_request
from ui.manifold.fooled.cases import FOOLED, Case
from ui.manifold.fooled.makers import Fooled
from ui.work import pool
from ui.work.cache import cached


@cached("Looking twice …")
def made(name: str) -> Fooled:
    """A case's picture and number."""
    return pool.POOL.call(FOOLED[name].make)


def draw_fooled() -> None:
    """One case of the gallery, and the choice among them."""
    name = MANIFOLD["fooled"].draw(st)
    case, found = FOOLED[name], made(name)
    st.subheader(case.title, anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        _draw_picture(name, found, case)
    with right:
        _draw_number(name, found, case)


def _draw_picture(name: str, found: Fooled, case: Case) -> None:
    st.markdown(f"**The picture says:** {found.lie}.")
    st.plotly_chart(
        found.figure,
        alt=f"{case.title}. The picture says: {found.lie}. The number says: {found.number_name}"
        f" {found.number}.",
        key=f"fooled_{name}",
        config={"displayModeBar": False},
    )
    explain("the picture that lies", explanation(found, case))


def _draw_number(name: str, found: Fooled, case: Case) -> None:
    st.markdown("**The number says:**")
    st.metric(found.number_name, found.number)
    st.caption(found.doubt)
    for line in case.why:
        st.markdown(line)
    if case.request is not None:
        st.button(
            "Show this model on the page", icon=":material/visibility:", key=f"fooled_show_{name}",
            on_click=apply_request, args=(case.request,),
        )  # fmt: skip


def explanation(found: Fooled, case: Case) -> str:
    """The four beats; the last one is the lie itself."""
    misread = f"As if it said: {found.lie}. {' '.join(case.why)}"
    return beats(found.drawn, found.formula, found.look_for, misread)

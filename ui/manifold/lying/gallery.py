"""The gallery of lying pictures at the foot of the page."""

from __future__ import annotations

import streamlit as st

from ui.common.explain import beats, explain
from ui.manifold.controls import MANIFOLD, apply_request
from ui.manifold.lying.cases import LYING, LyingPicture, lying_picture
from ui.work import pool
from ui.work.cache import cached


@cached("Computing the picture and the number …")
def computed(name: str) -> LyingPicture:
    """The picture and the number of a case."""
    return pool.POOL.call(lying_picture, name)


def draw_lying_pictures() -> None:
    """One case, and the choice among all."""
    name = MANIFOLD["fooled"].draw(st)
    lie = computed(name)
    st.subheader(lie.title, anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**The picture says:** {lie.lie}.")
        alt = f"{lie.title}. The picture says: {lie.lie}. The number says: {lie.number_name}"
        st.plotly_chart(
            lie.figure, alt=f"{alt} {lie.number}.", key=f"lying_{name}",
            config={"displayModeBar": False},
        )  # fmt: skip
        misread = f"It seems to say: {lie.lie}. {' '.join(lie.reasons)}"
        explain("the misleading picture", beats(lie.drawn, lie.formula, lie.look_for, misread))
    with right:
        st.markdown("**The number says:**")
        st.metric(lie.number_name, lie.number)
        st.caption(lie.doubt)
        for reason in lie.reasons:
            st.markdown(reason)
        if (request := LYING[name].request) is not None:
            st.button(
                "Show this model on the page", icon=":material/visibility:",
                key=f"lying_show_{name}", on_click=apply_request, args=(request,),
            )  # fmt: skip

"""Manifold: the output surfaces of an attention layer without and with a gate."""

import streamlit as st

from ui.common.page import page

TITLE = "Manifold"

with page(
    TITLE,
    question="What shape do the outputs fill?",
    lead="A random model is shown twice: left without a gate, right the same weights with a gate.",
):
    from ui.common.links import LINK, checked_link
    from ui.manifold import error_analysis, handles, inspect, misleading, shared, surface

    with checked_link(TITLE):
        front, colouring, drag, slots = shared.draw_front()
        tabs = st.tabs(shared.TABS, key="tab", on_change="rerun", **LINK)
        shown = next(tab for tab in tabs if tab.open)
        with shown:
            stage = st.container()
            more, view, folded = shared.draw_more()
        errors = shown is tabs[-1]
        with tabs[-1]:
            metric = shared.draw_metric(more["model_dim"])
        dragged = shared.read_link(more["model_dim"])
        result = shared.fetch(
            shared.ManifoldRequest(**front, **more, **dragged, metric=metric),
            shared.ManifoldView(colouring, **view, inspect=shown is tabs[1]),
            dials=not errors and not handles.is_dragging(),
        )
        shared.draw_notes(result, slots, folded)
        gallery = st.expander(
            "Seven misleading pictures, and the numbers that correct them",
            key="gallery",
            on_change="rerun",
            **LINK,
        )
        if not errors:
            with stage:
                if drag:
                    handles.draw_beside(result, lambda: surface.draw_view(result))
                else:
                    surface.draw_view(result)
        with shown:
            draw = (
                error_analysis.draw
                if errors
                else inspect.draw
                if shown is tabs[1]
                else surface.draw
            )
            draw(result)
        if gallery.open:
            with gallery:
                misleading.draw()

"""Manifold: what shape do the outputs of an attention layer fill, and how sure is that?"""

import streamlit as st

from ui.common.page import page

with page(
    "Manifold",
    question="What shape do the outputs fill?",
    lead="Random models, looked at closely: left without a gate, right the same weights with one.",
):
    from ui.common.link_check import warn_about_link
    from ui.manifold.controls import (
        MANIFOLD,
        Asked,
        asked_look,
        asked_request,
        front_controls,
        metric_controls,
        more_controls,
    )
    from ui.manifold.fooled.gallery import draw_fooled
    from ui.manifold.parts import draw_doubt, draw_inspect, draw_see, fetch, put_notes

    warn_about_link(MANIFOLD)
    slots = front_controls()
    see, inspect, doubt = MANIFOLD["tab"].draw(st)
    with next(tab for tab in (see, inspect, doubt) if tab.open):
        stage = st.container()
        with MANIFOLD["more"].draw(st) as unfolded:
            slots |= more_controls()
    with doubt:
        metric = metric_controls()
    request = asked_request(metric)
    look = asked_look(request.depth, bool(inspect.open))
    found = fetch(Asked(request, look, slots, dials=not doubt.open))
    put_notes(found, bool(unfolded.open))
    gallery = MANIFOLD["gallery"].draw(st)
    if see.open:
        with see:
            draw_see(found, stage)
    if inspect.open:
        with inspect:
            draw_inspect(found, stage)
    if doubt.open:
        with doubt:
            draw_doubt(found)
    if gallery.open:
        with gallery:
            draw_fooled()

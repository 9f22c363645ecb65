"""Manifold: what shape do the outputs of an attention layer fill, and how sure is that?"""

import streamlit as st

from ui.common.page import page

with page(
    "Manifold",
    question="What shape do the outputs fill?",
    lead="A random model is shown twice: left without a gate, right the same weights with a gate.",
):
    from ui.common.link_check import warn_about_link
    from ui.manifold.controls import (
        MANIFOLD,
        front_controls,
        metric_controls,
        more_controls,
        read_request,
        read_view,
    )
    from ui.manifold.doubt import draw_doubt
    from ui.manifold.parts import draw_inspect, draw_lying_pictures, draw_see, fetch, put_notes

    warn_about_link(MANIFOLD)
    slots = front_controls()
    see, inspect, doubt = MANIFOLD["tab"].draw(st)
    with next(tab for tab in (see, inspect, doubt) if tab.open):
        stage = st.container()
        with MANIFOLD["more"].draw(st) as unfolded:
            slots |= more_controls()
    with doubt:
        metric = metric_controls()
    request = read_request(metric)
    view = read_view(request.depth, bool(inspect.open))
    result = fetch(request, view, dials=not doubt.open)
    put_notes(result, slots, bool(unfolded.open))
    gallery = MANIFOLD["gallery"].draw(st)
    if see.open:
        with see:
            draw_see(result, stage)
    if inspect.open:
        with inspect:
            draw_inspect(result, stage)
    if doubt.open:
        with doubt:
            draw_doubt(result.resolved, result.variants)
    if gallery.open:
        with gallery:
            draw_lying_pictures()

"""Manifold: what shape do the outputs of an attention layer fill, and how sure is that?"""

import streamlit as st

from ui.common.link_check import warn_about_link
from ui.common.page import begin, end
from ui.manifold.controls import (
    MANIFOLD,
    TABS,
    Asked,
    asked_look,
    asked_request,
    front_controls,
    metric_controls,
    more_controls,
)
from ui.manifold.fooled.gallery import draw_fooled
from ui.manifold.parts import draw_doubt, draw_inspect, draw_see, fetch, put_notes
from ui.work import runtime  # noqa: F401  (first: it settles threads and memory for the process)

begin("Manifold")
st.title("What shape do the outputs fill?", anchor=False)
st.markdown(
    "Random models, looked at closely: left without a gate, right the same weights with one."
)
warn_about_link("manifold", MANIFOLD)
slots: dict = {}
front = front_controls(slots)
with st.expander("More: source, heads, normalisation, seed, scale", key="more",
                 bind="query-params", on_change="rerun") as unfolded:  # fmt: skip
    more = more_controls(slots)
see, inspect, doubt = st.tabs(TABS, key="tab", bind="query-params", on_change="rerun")
with doubt:
    metric = metric_controls(int(more["dim"]))
request = asked_request(front, more, metric)
look = asked_look(front, more, request.depth, bool(inspect.open))
found = fetch(Asked(request, look, slots))
put_notes(found, bool(unfolded.open))
gallery = st.expander("What fooled us: seven pictures that lie, and the numbers that do not",
                      key="gallery", bind="query-params", on_change="rerun")  # fmt: skip
if see.open:
    with see:
        draw_see(found)
if inspect.open:
    with inspect:
        draw_inspect(found)
if doubt.open:
    with doubt:
        draw_doubt(found)
if gallery.open:
    with gallery:
        draw_fooled()
end("Manifold")

"""Decision boundary: a playground that trains sixteen seeds of two models and scrubs in time."""

import streamlit as st

from ui.common.link_check import warn_about_link
from ui.common.page import begin, end
from ui.playground import training
from ui.playground.controls import (
    PLAYGROUND,
    asked_setting,
    front_controls,
    last_good_setting,
    more_controls,
)
from ui.playground.own_points import draw_own, own_data
from ui.playground.parts import draw_buttons, draw_film, draw_inside, draw_numbers, draw_take
from ui.work import jobs

begin("Decision boundary")
st.title("Where does it draw the line?", anchor=False)
st.markdown(
    "Two kinds of attention learn the same points from the same start, many seeds each. Play"
    " the run, drag it back, draw points of your own."
)
warn_about_link("playground", PLAYGROUND)
front = front_controls()
with st.expander("More: data, model, training, picture", key="setup", bind="query-params"):
    more = more_controls()
with st.expander("Your own data: draw, upload, paste", key="own", bind="query-params"):
    draw_own()
setting = last_good_setting(*asked_setting(front, more, own_data()))
wished = training.wish(front["who"] or "best")
job = training.fetch(setting, wished)
jobs.watch(
    job,
    lambda items: draw_film(training.shown_of(job), more, wished),
    what=training.what,
    share=training.share_of,
)
shown = training.numbers_of(job)
if shown is not None:
    draw_buttons()
    draw_numbers(shown, wished, shown.run.setting == setting)
    looking = st.expander("Looking inside: every weight and gate", key="looking",
                          bind="query-params", on_change="rerun")  # fmt: skip
    if looking.open:
        with looking:
            draw_inside(shown, wished)
    st.subheader("Take it with you", anchor=False)
    draw_take(shown, wished)
end("Decision boundary")

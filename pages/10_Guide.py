"""The page Guide: what the pictures show, how it is measured, what it does not say."""

from ui.common.page import page

with page("Guide"):
    from ui.common.guide import draw_contents, draw_topics

    draw_contents()
    draw_topics()

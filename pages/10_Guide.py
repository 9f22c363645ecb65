"""The page Guide: what the pictures show, how it is measured, what it does not say."""

from ui.common.page import page

with page("Guide", question="How to read the pictures", pictures=False):
    from ui.guide.topics import draw_contents, draw_topics

    draw_contents()
    draw_topics()

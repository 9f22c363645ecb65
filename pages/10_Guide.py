"""How to read the pictures: what is drawn, what is measured, what it does not say."""

from ui.common.page import page

with page("Guide", question="How to read the pictures", pictures=False):
    from ui.guide.topics import draw_contents, draw_topics

    draw_contents()
    draw_topics()

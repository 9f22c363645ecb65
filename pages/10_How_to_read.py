"""How to read the pictures: what is drawn, what is measured, what it does not say."""

from ui.common.page import page

with page("How to read it", question="How to read the pictures", pictures=False):
    from ui.how_to_read.topics import draw_contents, draw_topics

    draw_contents()
    draw_topics()

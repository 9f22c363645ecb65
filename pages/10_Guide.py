"""The page Guide: what the pictures show, how it is measured, what it does not say."""

from ui.common.page import draw_finding, page

with page("Guide"):
    from ui.common.guide import draw_contents, draw_topics
    from ui.common.lessons import section

    draw_finding(section("guide", "finding"))
    draw_contents()
    draw_topics()

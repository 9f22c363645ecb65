"""The first page: does this attention layer curve space? Flat beside curved, within seconds."""

from ui.common.lessons import section
from ui.common.page import page

TITLE = "Flat or curved?"

with page(TITLE, lead=section("landing", "lead")):
    from ui.common.links import checked_link
    from ui.landing.page import draw

    with checked_link(TITLE):
        draw()

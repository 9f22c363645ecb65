"""The page Which keys curve: four keys to drag, which alone decide the sign of K."""

from ui.common.page import page

TITLE = "Which keys curve?"

with page(
    TITLE,
    lead="Without a gate, four keys decide: key 4 in **green** makes a **dome**, in **violet** a"
    " **saddle**.",
):
    from ui.common.links import checked_link
    from ui.keys import four_keys

    with checked_link(TITLE):
        mode, model = four_keys.draw()
        four_keys.draw_point(mode, model)
        four_keys.draw_proof(mode)
        four_keys.draw_five()

"""The page Which keys curve: four keys to drag, which alone decide the sign of K."""

from ui.common.page import page

TITLE = "Which keys curve?"

with page(
    TITLE,
    lead="Without a gate, four keys decide: key 4 in **green** makes a **dome**, in **violet** a"
    " **saddle**.",
):
    from ui.common.links import checked_link
    from ui.keys import at_point, five_keys, four_keys, proof

    with checked_link(TITLE):
        mode, model = four_keys.draw()
        at_point.draw(mode, model)
        proof.draw(mode)
        five_keys.draw()

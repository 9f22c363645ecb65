"""Does the landing page say of what its picture is?"""

from dataclasses import replace

from gating_core.experiments.comparison.setting import FIRST_LOOK
from ui.landing.words import stale_text


def test_a_picture_that_is_out_of_date_says_of_what_it_is():
    assert stale_text(FIRST_LOOK, FIRST_LOOK) == ""
    text = stale_text(FIRST_LOOK, replace(FIRST_LOOK, task="xor", depth=4))
    assert text.startswith("Still circle, 1 layer, sigmoid gate. Xor, 4 layers, sigmoid gate is")
    assert stale_text(FIRST_LOOK, replace(FIRST_LOOK, seed=9)).startswith("Still seed 32. Seed 9 ")

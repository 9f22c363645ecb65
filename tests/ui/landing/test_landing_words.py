"""Does the landing page say of what its picture is?"""

from dataclasses import replace

from gating_core.experiments.comparison.setting import FIRST_SETTING
from ui.landing.words import stale_text


def test_a_picture_that_is_out_of_date_says_of_what_it_is():
    assert stale_text(FIRST_SETTING, FIRST_SETTING) == ""
    text = stale_text(FIRST_SETTING, replace(FIRST_SETTING, task="xor", depth=4))
    assert text == "Still showing circle, 1 layer. Xor, 4 layers is on its way."
    text = stale_text(FIRST_SETTING, replace(FIRST_SETTING, seed=9))
    assert text == "Still showing seed 32. Seed 9 is on its way."
    assert stale_text(
        FIRST_SETTING, replace(FIRST_SETTING, weight_decay=0.0)
    )  # never without a word

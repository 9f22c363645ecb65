"""Do the sections on data fit the screen, go on as jobs, and stop when the visitor says so?"""

import pytest

from .looking import assert_charts_on_a_phone, assert_told_on_the_first_screen
from .visiting import await_charts, become_phone, follow_link, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

DATA = "experts_tab=Sample+efficiency"
CURVES = "experts_tab=Learning+curves"


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Mixture_of_experts?{DATA}", await_charts)
    return visitor


def test_the_first_screens_hold_charts_and_their_sentence(desk):
    for query, text in ((DATA, "Experts are learned with"), (CURVES, "No significant difference")):
        follow_link(desk, f"/Mixture_of_experts?{query}")
        assert_told_on_the_first_screen(desk, text, ".st-key-control-row")


@pytest.mark.soak  # long
def test_what_is_not_there_yet_is_learned_and_can_be_cancelled(desk):
    follow_link(desk, f"/Mixture_of_experts?{DATA}&routing=learned&repeats=32&teacher_tokens=4")
    desk.get_by_text("Nothing has been computed for this selection").wait_for()
    cancel = desk.get_by_role("button", name="Cancel")
    cancel.wait_for()
    cancel.click()
    desk.get_by_text("was cancelled after").wait_for()
    desk.get_by_role("button", name="Learn", exact=True).wait_for()
    await_charts(desk)


@pytest.mark.soak  # long
def test_a_phone_has_charts_below_each_other_and_scrolls_only_down(desk):
    become_phone(desk)
    for query in (DATA, CURVES):
        follow_link(desk, f"/Mixture_of_experts?{query}")
        await_charts(desk)
        assert_charts_on_a_phone(desk)

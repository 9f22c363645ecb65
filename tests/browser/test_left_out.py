"""Does the page Left out fit the screen, follow what is typed, and hold on a phone?"""

import pytest

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import assert_charts_on_a_phone, assert_on_the_first_screen
from .visiting import await_charts, become_phone, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

EVICTION = "tab_left_out=Eviction"
TOP = tuple(f".st-key-left_out_top_{name}" for name in ("weights", "bounds", "losses"))
EVICTED = tuple(
    f".st-key-left_out_evict_{name}" for name in ("strip", "reading", "gate", "protect")
)
CORRECTED = tuple(f".st-key-left_out_correct_{name}" for name in ("slow", "head", "change"))
MAPS = (".st-key-left_out_linear_maps", ".st-key-left_out_linear_state")
FIRST_SCREENS = {  # the sentence and the charts of states; others stand below
    "": ("The last query, k =", TOP),
    "left_from=slow+tokens": ("The last query, k =", TOP),
    EVICTION: ("One by one:", EVICTED),
    "tab_left_out=Correction": ("On tokens that vary slowly", CORRECTED),
    "tab_left_out=Linear": ("cosine with softmax attention", MAPS),
}
LABELS = """() => [...document.querySelectorAll('.st-key-left_out_evict_strip .xtick text')]
  .map(label => label.textContent).join('')"""


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Left_out", lambda page: await_charts(page, 6))
    return visitor


def test_the_first_screens_hold_pictures_and_their_sentence(desk):
    for query, (text, charts) in FIRST_SCREENS.items():
        follow_link(desk, f"/Left_out?{query}")
        sentence = desk.get_by_text(text).first
        sentence.wait_for()
        await_charts(desk, 6)
        assert_on_the_first_screen(desk, "h1", ".st-key-front-1", *charts)
        box = sentence.bounding_box()
        assert box["y"] + box["height"] < 900, query
        if SOAK or not query:  # axe takes as long as all the rest
            assert_accessible(desk)


def test_more_keys_leave_less_out(desk):
    follow_link(desk, "/Left_out?top_keys=3")
    desk.get_by_text("k = 3 of 81").first.wait_for()
    desk.locator(".st-key-top_keys input[type=range]").press("ArrowRight")
    desk.get_by_text("k = 4 of 81").first.wait_for()
    assert "top_keys=4" in desk.url


def test_back_undoes_one_change_of_a_control(desk):
    follow_link(desk, "/Left_out?top_keys=5")
    desk.get_by_text("k = 5 of 81").first.wait_for()
    keys = desk.locator(".st-key-top_keys input[type=range]")
    for k in (6, 7):
        keys.press("ArrowRight")
        desk.get_by_text(f"k = {k} of 81").first.wait_for()
    desk.get_by_role("tab", name="Eviction").click()
    desk.get_by_text("One by one:").first.wait_for()
    settle(desk)  # the link has lost what the other tab's controls held
    steps = desk.evaluate("history.length")
    for k in (7, 6, 5):
        desk.go_back()
        desk.get_by_text(f"k = {k} of 81").first.wait_for()
        assert keys.input_value() == str(k)
    desk.go_forward()
    desk.get_by_text("k = 6 of 81").first.wait_for()
    assert desk.evaluate("history.length") == steps


def test_kept_keys_stand_above_what_is_typed(desk):
    follow_link(desk, f"/Left_out?{EVICTION}")
    await_charts(desk, 6)
    box = desk.get_by_label("Text", exact=True)
    box.fill("¡Oh, sí! En el principio creó Dios")
    box.press("Enter")
    desk.wait_for_function(f"({LABELS})().startsWith('¶¡Oh,␣sí!␣En')")


@pytest.mark.soak  # long
def test_a_phone_has_everything_in_one_column_and_scrolls_only_down(desk):
    become_phone(desk)
    for query in ("", EVICTION):
        follow_link(desk, f"/Left_out?{query}")
        await_charts(desk, 6)
        assert_charts_on_a_phone(desk)
        assert_accessible(desk)

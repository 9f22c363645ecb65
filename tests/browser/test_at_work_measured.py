"""Do the tabs of At work that show what was measured fit the screen and the phone?"""

import pytest

from .looking import assert_dark, assert_on_the_first_screen, assert_scrolls_only_down
from .visiting import DESK, PHONE, follow_link, open_page, resize, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

TABS = {"Rank": "Of all effective ranks none", "Confidence": "With the gate, paired over",
        "Wiring": "Loss after equal steps"}  # fmt: skip
CHARTS = {"Rank": 2, "Confidence": 3, "Wiring": 8}


def await_charts(page, count):
    page.wait_for_function(
        "count => document.querySelectorAll('.stPlotlyChart .main-svg').length >= count", arg=count
    )
    settle(page)


@pytest.fixture(scope="module")
def desk(browser, served, watch):
    with open_page(browser, watch, **DESK) as page:
        visit(page, watch, f"{served.url}/At_work?tab_at_work=Rank", settle)
        yield page


def test_charts_and_their_sentence_fit_the_first_screen(desk):
    for tab, text in TABS.items():
        follow_link(desk, f"/At_work?tab_at_work={tab}")
        sentence = desk.get_by_text(text).first
        sentence.wait_for()
        await_charts(desk, CHARTS[tab])
        for width, height in ((1400, 900), (1366, 768)):
            resize(desk, width, height)
            assert_on_the_first_screen(desk, "h1", "[data-testid=stPlotlyChart]")
            box = sentence.bounding_box()
            assert box["y"] + box["height"] < height, tab
        resize(desk, 1400, 900)


def test_another_head_is_explained_without_measuring_again(desk):
    follow_link(desk, "/At_work?tab_at_work=Rank&ranked_head=2.3")
    desk.get_by_text("Without a gate head 2.3 is one map").wait_for()


def test_a_phone_shows_them_below_each_other_and_scrolls_only_down(browser, served, watch):
    with open_page(browser, watch, **PHONE) as page:
        visit(page, watch, f"{served.url}/At_work?tab_at_work=Wiring", settle)
        await_charts(page, CHARTS["Wiring"])
        assert_dark(page)
        assert_scrolls_only_down(page)

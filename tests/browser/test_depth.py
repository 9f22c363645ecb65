"""Does the Depth page draw, follow its layers, fit its screen and a phone, in a real browser?"""

import pytest

from .accessibility import assert_accessible
from .looking import (
    assert_dark,
    assert_drawn,
    assert_on_the_first_screen,
    assert_scrolls_only_down,
)
from .visiting import (
    PHONE,
    await_view,
    become_phone,
    follow_link,
    resize,
    scroll_to_top,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

FIRST = "/Depth"
ALIGNED = "/Depth?stacked=aligned+gates"
COMPARISON = "/Depth?tab_depth=Comparison"  # takes some seconds to measure
SENTENCE = ".st-key-finding"
STRIP = ".gc-pair-strip"
CHARTS = "[data-testid=stPlotlyChart]"
SHOWN = ".gc-pair-strip [aria-pressed=true]"


def await_charts(page):
    """Wait for three charts, and the end of the script."""
    page.wait_for_function(f"document.querySelectorAll('{CHARTS} .xtitle').length >= 3")
    settle(page)


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + FIRST)
    return visitor


def assert_is_seen(page, selector):
    box = page.locator(selector).first.bounding_box()
    assert box["y"] + box["height"] <= page.viewport_size["height"]


@pytest.mark.soak  # long
def test_the_first_screen_holds_replay_curve_and_sentence(desk):
    assert_on_the_first_screen(
        desk,
        "h1",
        ".st-key-control-row",
        ".gc-pair-play",
        ".gc-pair-space",
        ".gc-pair-map canvas",
        STRIP,
        ".gc-pair-curve",
    )
    assert_is_seen(desk, SENTENCE)
    assert_accessible(desk)
    assert_drawn(desk.locator(".gc-pair-space").first)
    resize(desk, 1366, 768)
    assert_on_the_first_screen(desk, ".gc-pair-space", ".gc-pair-bar")
    resize(desk, 1400, 900)


@pytest.mark.soak
def test_a_click_on_a_column_goes_to_its_layer_into_the_link_and_the_curve_ends_there(desk):
    for layer in (3, 8):
        desk.locator(f"{STRIP} button").nth(layer - 1).click()
        desk.locator(f"{SHOWN}[title='Layer {layer} of 8']").wait_for()
        settle(desk)
        assert f"after={layer}" in desk.url
        assert f"After layer {layer} of 8" in desk.locator(".gc-pair-finding").inner_text()
        columns = desk.locator(".gc-pair-column").all()
        assert [column.is_visible() for column in columns] == [n < layer for n in range(8)]


@pytest.mark.soak  # long
def test_three_charts_in_a_row_stand_on_the_first_screen_and_lead_to_their_stacks(desk):
    follow_link(desk, COMPARISON)
    await_charts(desk)
    boxes = [chart.bounding_box() for chart in desk.locator(CHARTS).all()]
    assert len(boxes) == 3
    assert len({round(box["y"]) for box in boxes}) == 1
    assert_is_seen(desk, SENTENCE)
    assert_texts_are_whole(desk)
    desk.get_by_role("button", name="Layer by layer").first.click()
    await_view(desk)
    assert "stacked=aligned" in desk.url


def assert_texts_are_whole(page):
    """No title, number or name of a chart reaches beyond its drawing."""
    cut = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stPlotlyChart] .main-svg text')]
          .filter(text => {
            const here = text.getBoundingClientRect(), whole = text.ownerSVGElement.parentElement
              .getBoundingClientRect();
            return here.width && (here.left < whole.left - 1 || here.right > whole.right + 1
              || here.top < whole.top - 1 || here.bottom > whole.bottom + 1);
          }).map(text => text.textContent)"""
    )
    assert not cut


@pytest.mark.soak  # long
def test_a_phone_scrolls_only_down_and_shows_the_surface_at_once(desk):
    become_phone(desk)
    follow_link(desk, ALIGNED)
    await_view(desk)
    assert_dark(desk)
    assert_accessible(desk)
    assert_scrolls_only_down(desk)
    assert_drawn(desk.locator(".gc-pair-space").first)
    scroll_to_top(desk)
    scene = desk.locator(".gc-pair-space").first.bounding_box()
    seen = PHONE["viewport"]["height"] - scene["y"]
    assert seen > scene["height"] / 2  # most of it, without scrolling
    assert desk.locator(".st-key-control-row").bounding_box()["y"] > scene["y"]
    assert_texts_are_whole(desk)
    follow_link(desk, COMPARISON)
    await_charts(desk)
    assert_texts_are_whole(desk)
    assert_scrolls_only_down(desk)

"""Does the Depth page draw, follow its layers, fit its screen and a phone, in a real browser?"""

import pytest

from .accessibility import assert_accessible
from .looking import (
    assert_dark,
    assert_drawn,
    assert_nothing_is_cropped,
    assert_on_the_first_screen,
    assert_scrolls_only_down,
)
from .visiting import (
    DESK,
    PHONE,
    await_view,
    become_phone,
    follow_link,
    open_page,
    resize,
    scroll_to_top,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

TRAINED = "/Depth?stacked=trained+stacks"
ALIGNED = "/Depth?stacked=aligned+gates"
FIRST_LAYER = "&after=1"  # the sheet is largest: later ones stand in the same box
SENTENCE = "text=/^Total absolute curvature: exponent/"
EVERY = f"{TRAINED}&every=true"  # takes some seconds to measure
STRIP = ".gc-wide .gc-plane"
DOCK = "[class*=st-key-dock-]"
FRAME = "document.querySelector('.gc-view').dataset.frame"
CHART_DRAWN = "document.querySelector('[data-testid=stPlotlyChart] .main-svg') !== null"
AWAIT_FRAME = "frame => document.querySelector('.gc-view').dataset.frame === frame"


CHARTS = "[data-testid=stPlotlyChart]"


def await_charts(page):
    """Wait for three charts, and the end of the script."""
    page.wait_for_function(
        "document.querySelectorAll('[data-testid=stPlotlyChart] .xtitle').length >= 3"
    )
    settle(page)


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + TRAINED)
    visitor.wait_for_function(CHART_DRAWN)
    return visitor


def test_the_first_screen_holds_chart_replay_strip_and_sentence(desk):
    assert_on_the_first_screen(
        desk, "h1", ".st-key-front-1", "[data-testid=stPlotlyChart]", ".gc-play", ".gc-scene",
        ".gc-plane", ".gc-reading", STRIP,
    )  # fmt: skip
    box = desk.locator(SENTENCE).first.bounding_box()
    assert box["y"] + box["height"] <= DESK["viewport"]["height"]
    assert_accessible(desk)


def test_the_surface_is_drawn_and_whole(desk):
    assert_drawn(desk.locator(".gc-scene").first)
    assert_nothing_is_cropped(desk)


def test_a_click_on_a_small_map_goes_to_its_layer_and_into_the_link(desk):
    desk.locator(STRIP).scroll_into_view_if_needed()
    settle(desk)
    layers = desk.evaluate(
        f"""() => {{
          const {{ xaxis }} = document.querySelector('{STRIP}')._fullLayout;
          return [3, 8].map(layer => xaxis._offset + xaxis.d2p(layer));
        }}"""
    )
    box = desk.locator(STRIP).bounding_box()
    for across, layer in zip(layers, (3, 8), strict=True):
        desk.mouse.click(box["x"] + across, box["y"] + box["height"] / 3)
        desk.wait_for_function(AWAIT_FRAME, arg=f"{layer - 1}")
        settle(desk)
        assert f"after={layer}" in desk.url
        assert f"After layer {layer} of 8" in desk.locator(".gc-reading").inner_text()


@pytest.mark.parametrize("state", [TRAINED, pytest.param(ALIGNED, marks=pytest.mark.soak)])
def test_a_low_screen_holds_the_strip_of_maps_and_the_sentence(desk, state):
    resize(desk, 1366, 768)
    follow_link(desk, state)
    await_view(desk)
    assert_on_the_first_screen(desk, ".gc-scene", STRIP, ".gc-reading")


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (1366, 768)])
def test_three_pictures_in_a_row_with_their_sentences_stand_on_the_first_screen(
    desk, width, height
):
    resize(desk, width, height)
    follow_link(desk, "/Depth")
    await_charts(desk)
    boxes = [chart.bounding_box() for chart in desk.locator(CHARTS).all()]
    assert len(boxes) == 3
    assert len({round(box["y"]) for box in boxes}) == 1
    for words in ("four times", "Random gates", "cannot show a difference"):
        box = desk.locator(f"text=/{words}/").last.bounding_box()
        assert box["y"] + box["height"] <= height
    assert_texts_are_whole(desk)


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
@pytest.mark.parametrize("width", [900, 390])
def test_narrow_screens_crop_nothing(desk, width):
    resize(desk, width, 900)
    follow_link(desk, "/Depth")
    await_charts(desk)
    assert_texts_are_whole(desk)
    assert_scrolls_only_down(desk)
    follow_link(desk, ALIGNED)
    await_view(desk)
    desk.wait_for_function(CHART_DRAWN)
    assert_texts_are_whole(desk)


@pytest.mark.soak  # long
def test_other_stacks_come_by_their_link_and_stay_on_the_screen(browser, served, watch):
    with open_page(browser, watch, **DESK) as page:
        visit(page, watch, served.url + ALIGNED + FIRST_LAYER)
        page.wait_for_selector("text=theory 2")
        settle(page)
        assert page.evaluate(FRAME) == "0"
        assert_drawn(page.locator(".gc-scene").first)
        assert_nothing_is_cropped(page)
        assert_on_the_first_screen(page, STRIP)


@pytest.mark.soak  # long
def test_a_phone_scrolls_only_down(desk):
    become_phone(desk)
    follow_link(desk, ALIGNED)
    await_view(desk)
    assert_dark(desk)
    assert_accessible(desk)
    assert_scrolls_only_down(desk)
    assert_drawn(desk.locator(".gc-scene").first)
    scroll_to_top(desk)
    chart = desk.locator("[data-testid=stPlotlyChart]").bounding_box()
    seen = PHONE["viewport"]["height"] - chart["y"]
    assert seen > chart["height"] / 2  # most of a picture, without scrolling


@pytest.mark.soak  # long
def test_a_job_and_its_end_move_no_picture(browser, served, watch):
    with open_page(browser, watch, **DESK) as page:

        def boxes():
            return [page.locator(part).first.bounding_box() for part in (".gc-scene", STRIP)]

        def assert_dock_moves_nothing():
            page.wait_for_selector(".gc-view[data-n]")
            assert boxes() == [pytest.approx(box, abs=1) for box in before]
            dock = page.locator(DOCK).bounding_box()
            assert dock["y"] + dock["height"] < DESK["viewport"]["height"]

        visit(page, watch, served.url + TRAINED)
        before = boxes()
        visit(page, watch, served.url + EVERY, lambda page: page.wait_for_selector(DOCK))
        assert_dock_moves_nothing()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Measuring all stacks was cancelled").wait_for()
        settle(page)
        assert_dock_moves_nothing()
        page.get_by_role("button", name="Measure").click()
        page.get_by_text("Measuring all stacks was cancelled").wait_for(state="detached")
        page.wait_for_selector(DOCK, state="detached")
        settle(page)
        assert boxes() == [pytest.approx(box, abs=1) for box in before]

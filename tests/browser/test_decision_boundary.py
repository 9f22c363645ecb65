"""Decision boundary trains, scrubs, plays, takes own points, and gives things away."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import TimeoutError

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import (
    MARKERS,
    WATCH_FRAMES,
    assert_drawn,
    assert_on_the_first_screen,
    assert_scrolls_only_down,
    extents,
)
from .pointing import place, point_at, surface_spots
from .visiting import (
    become_phone,
    follow_link,
    open_page,
    resize,
    scroll_to_top,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Decision_boundary?seeds=2&steps=50&points=64"
WIDE = {"viewport": {"width": 800, "height": 1400}}
UNFOLDED = f"{ADDRESS}&setup=true&own=true&looking=true"
LONG = "/Decision_boundary?steps=4000&seeds=12&from=tokens&slots=4"
# A new run is followed until then.
PLAYED = "document.querySelector('.gc-play').innerText.includes('Play')"
STATE = "document.querySelector('.gc-view').__gc"
SCENES = """() => [...document.querySelectorAll('.gc-scene')]
  .map(div => [...div.data[0].x].slice(0, 200))"""
NOW = "() => document.querySelector('.gc-wide .gc-plane').data.at(-1).x[0]"
MEASURED = """() => {
  const totals = [...document.querySelectorAll('.gc-columns .gc-caption')];
  return totals.length === 2 && totals.every(({ innerText: text }) =>
    text.includes('total curvature') && !text.includes('being measured'))
    && !document.body.innerText.includes('the previous run, until');
}"""


@pytest.fixture(scope="module")
def wide(visitor, served, watch):
    """A visitor with a wide window, shared by the tests that leave the page usable."""
    visitor.set_viewport_size(WIDE["viewport"])
    visit(visitor, watch, served.url + ADDRESS, await_run)
    return visitor


@pytest.fixture(scope="module")
def phone(wide):
    """The same visitor, now with a phone and everything unfolded."""
    become_phone(wide)
    follow_link(wide, UNFOLDED)
    wide.wait_for_selector(".gc-draw", state="attached")  # behind another tab, perhaps
    await_run(wide)
    return wide


def await_run(page):
    """Wait for the end of a run: then there is a table, and nothing polls."""
    page.wait_for_selector(".gc-view[data-n]")
    page.get_by_text("Training time, all seeds").wait_for()
    page.wait_for_function(MEASURED)
    page.wait_for_function(PLAYED)
    settle(page)


def frame(page):
    return int(page.locator(".gc-view").get_attribute("data-frame"))


def last_frame(page):
    return page.evaluate(f"{STATE}.header.frames") - 1


def show_last(page):
    page.locator(".gc-scrub").focus()
    page.keyboard.press("End")
    page.wait_for_selector(f".gc-view[data-frame='{last_frame(page)}']")
    settle(page)


def serial(page):
    return page.evaluate(f"{STATE}.header.serial")


def await_another(page, before):
    page.wait_for_function(f"before => {STATE}.header.serial !== before", arg=before)
    await_run(page)


def test_scrubbing_back_shows_the_past_without_the_server(wide):
    show_last(wide)
    after, url = wide.evaluate(SCENES), wide.url
    wide.locator(".gc-scrub").focus()
    wide.keyboard.press("Home")
    wide.wait_for_selector(".gc-view[data-frame='0']")
    settle(wide)
    assert wide.locator(".gc-frame").inner_text() == "step 0 · epoch 0"
    for then, now in zip(wide.evaluate(SCENES), after, strict=True):
        assert np.abs(np.subtract(then, now)).max() > 1e-3
    assert wide.evaluate(NOW) == 0
    assert wide.url == url
    show_last(wide)
    assert wide.evaluate(SCENES) == after
    assert wide.evaluate(NOW) == 50
    last = last_frame(wide)
    for wanted, way in ((last - 1, "back"), (last - 2, "back"), (last - 1, "forward")):
        wide.get_by_label(f"One step {way}").click()
        wide.wait_for_selector(f".gc-view[data-frame='{wanted}']")
    for _ in range(2):  # the second goes nowhere
        wide.get_by_label("One step forward").click()
        settle(wide)
        assert frame(wide) == last


SIZES = """selector => [...document.querySelectorAll(`.gc-columns ${selector}`)].map(div => {
  const { width, height } = div.getBoundingClientRect();
  const across = div._fullLayout.xaxis?._length ?? width;
  return [width, height, across];
})"""


@pytest.mark.soak  # long
def test_one_screen_tells_it_and_a_map_is_as_large_as_its_sheet(wide):
    """Without scrolling: question, controls, Play, both surfaces and planes, and the sentence."""
    assert wide.locator(".gc-frame").inner_text() == "step 50 · epoch 50"
    parts = (".gc-bar", ".gc-columns .gc-scene", ".gc-columns .gc-plane", ".gc-reading")
    assert wide.locator(", ".join(parts)).count() == 6
    assert_accessible(wide)
    try:
        for size in ((1400, 900), (1366, 768)):
            resize(wide, *size)
            assert_on_the_first_screen(wide, "h1", ".st-key-who", *parts)
            sheets, maps = (wide.evaluate(SIZES, f".gc-{kind}") for kind in ("scene", "plane"))
            for extent, sheet, plane in zip(extents(wide), sheets, maps, strict=True):
                drawn = np.max(np.ptp(extent, axis=1) / 2 * sheet[:2])
                assert 0.7 < plane[2] / drawn < 1.5  # without labels, and without numbers
    finally:
        resize(wide, 800, 1400)


PANELS = 4  # two sheets, two planes


def assert_marked(page, spot):
    """Every picture has a mark at this point of the chart, and at no other."""
    marks = page.evaluate(MARKERS)[:PANELS]
    assert [len(mark) for mark in marks] == [2] * PANELS  # x and y of one point
    axis = np.linspace(-1, 1, 31)
    for plane in marks[1::2]:
        assert plane == pytest.approx([axis[spot[1]], axis[spot[0]]], abs=1e-6)


@pytest.mark.parametrize("side", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_what_the_pointer_is_at_is_marked_in_all_pictures_without_the_server(wide, side):
    show_last(wide)
    resize(wide, 1400, 900)
    try:
        runs = wide.evaluate("window.testScript.runs")
        plane = wide.locator(".gc-columns .gc-plane").nth(side)
        point_at(plane, 0.6, 0.3)
        wide.wait_for_function(f"{STATE}.hover !== null")
        wide.wait_for_function(f"({MARKERS})()[0].length === 2")
        assert_marked(wide, wide.evaluate(f"{STATE}.hover"))
        wide.mouse.move(1, 1)
        wide.wait_for_function(f"({MARKERS})().slice(0, {PANELS}).every(mark => !mark.length)")
        for spot in surface_spots(
            wide.locator(".gc-columns .gc-scene").nth(side)
        ):  # behind a fold another point is meant
            wide.mouse.move(*spot, steps=3)
            try:
                wide.wait_for_function(f"{STATE}.hover !== null", timeout=2_000)
                break
            except TimeoutError:
                continue
        wide.wait_for_function(f"({MARKERS})()[1].length === 2")
        assert_marked(wide, wide.evaluate(f"{STATE}.hover"))
        wide.mouse.move(1, 1)
        wide.wait_for_function(f"({MARKERS})().slice(0, {PANELS}).every(mark => !mark.length)")
        assert wide.evaluate("window.testScript.runs") == runs
        point_at(plane, 0.6, 0.3)
        wide.wait_for_function(f"{STATE}.hover !== null")  # what a click marks
        wide.mouse.click(*place(plane, 0.6, 0.3))
        wide.wait_for_function(f"{STATE}.pick !== null")
        wide.mouse.move(1, 1)
        settle(wide)
        assert_marked(wide, wide.evaluate(f"{STATE}.pick"))
    finally:
        wide.evaluate(f"() => {{ {STATE}.pick = null; }}")
        resize(wide, 800, 1400)


@pytest.mark.soak  # long
def test_the_timeline_is_linear_in_steps_and_a_click_on_a_curve_goes_there(wide):
    show_last(wide)
    scrub = wide.locator(".gc-scrub")
    assert (scrub.get_attribute("min"), scrub.get_attribute("max")) == ("0", "50")
    curves = wide.locator(".gc-wide .gc-plane")
    curves.scroll_into_view_if_needed()
    settle(wide)
    spot = wide.evaluate("""() => {
      const div = document.querySelector('.gc-wide .gc-plane');
      const { left, top, height } = div.getBoundingClientRect();
      const { xaxis } = div._fullLayout;
      return [left + xaxis._offset + xaxis.d2p(24.6), top + height / 2];
    }""")
    wide.mouse.click(*spot)
    wide.wait_for_function(f"{STATE}.frame < {STATE}.header.frames - 1")
    settle(wide)
    steps = np.array(wide.evaluate(f"{STATE}.header.places"))
    nearest = steps[np.abs(steps - 24.6).argmin()]
    assert wide.evaluate(NOW) == nearest
    assert float(scrub.input_value()) == nearest
    before = frame(wide)
    scrub.focus()
    wide.keyboard.press("ArrowLeft")
    wide.wait_for_selector(f".gc-view[data-frame='{before - 1}']")
    settle(wide)
    assert wide.evaluate(NOW) == steps[steps < nearest][-1]
    show_last(wide)


@pytest.mark.soak  # long
def test_a_click_on_the_strip_picks_a_seed(wide):
    before = serial(wide)
    wide.locator(".st-key-seed_strip").scroll_into_view_if_needed()
    settle(wide)
    wide.locator(".st-key-seed_strip .gc-dot:not(.gc-shown)").first.click()
    await_another(wide, before)
    wide.wait_for_url(lambda url: "picked_seed=" in url and "who=picked" in url)
    seed = re.search(r"picked_seed=(\d+)", wide.url)[1]
    assert wide.locator(".gc-heading").first.inner_text() == f"no gate · seed {seed}"


def await_lesson(page):
    """Wait for another page and its pictures: once it is left, the server has them no more."""
    page.get_by_role("heading", name="How to read the pictures").wait_for()
    settle(page)
    page.wait_for_function("[...document.images].every(image => image.complete)")


@pytest.mark.soak  # long
def test_whoever_comes_back_finds_the_page_as_it_was(wide):
    chosen = wide.get_by_role("combobox", name="Seed shown")
    chosen.scroll_into_view_if_needed()
    settle(wide)  # scrolling would close the list
    chosen.click()
    wide.get_by_role("option", name="worst right").click()
    wide.wait_for_url(lambda url: "who=worst+right" in url)
    settle(wide)
    before, link = serial(wide), wide.url
    wide.get_by_test_id("stPageLink").filter(has_text="Guide").click()
    await_lesson(wide)
    wide.go_back()
    wide.wait_for_url(lambda url: "who=worst+right" in url)
    await_run(wide)
    assert serial(wide) == before
    assert sorted(wide.url.split("?")[1].split("&")) == sorted(link.split("?")[1].split("&"))


@pytest.mark.soak
def test_a_new_run_is_followed_from_its_first_step(wide):
    """And the pictures come into view: the button stands far below them."""
    wide.emulate_media(reduced_motion="no-preference")
    try:
        before = serial(wide)
        wide.evaluate(WATCH_FRAMES)
        wide.get_by_role("button", name="New seeds").click()
        await_another(wide, before)
        frames = wide.evaluate("window.testFrames")  # the first ones of the run before
        seen = [*dict.fromkeys(frames[frames.index(0) :])]
        assert seen == sorted(seen)
        assert seen[-1] == frame(wide) == last_frame(wide)
        assert len(seen) > 5
        assert wide.locator(".gc-columns .gc-scene").first.bounding_box()["y"] >= 0
    finally:
        wide.emulate_media(reduced_motion="reduce")
        scroll_to_top(wide)


@pytest.mark.soak  # long
def test_a_small_multiple_is_enlarged_by_a_click(wide):
    wide.get_by_text("Attention weights and gates").click()
    small = wide.locator(".st-key-inside_small_left .js-plotly-plot")
    small.wait_for()
    settle(wide)
    small.scroll_into_view_if_needed()
    wide.mouse.click(*place(small.locator(".heatmaplayer image").nth(1), 0.5, 0.5))
    wide.locator(".st-key-inside_large .js-plotly-plot").wait_for()
    assert wide.locator(".st-key-inside_large .js-plotly-plot .heatmaplayer image").count() == 1
    wide.get_by_role("button", name="Show all").click()
    small.wait_for()
    settle(wide)


@pytest.mark.soak  # long
def test_on_a_phone_pictures_stand_below_each_other_and_the_keyboard_reaches_everything(phone):
    assert_scrolls_only_down(phone)
    sheet, plane = (
        phone.locator(f".gc-columns .gc-{kind}").first.bounding_box() for kind in ("scene", "plane")
    )
    assert plane["y"] >= sheet["y"] + sheet["height"]
    assert plane["width"] == pytest.approx(sheet["width"], abs=1)
    assert sheet["width"] >= 300
    assert_drawn(phone.locator(".gc-columns .gc-scene").first)
    if SOAK:  # axe takes as long as all the rest
        assert_accessible(phone)
    phone.locator(".gc-play").focus()  # first of what is in the view
    wanted = {
        "gc-scrub",
        "gc-scene",
        "Train on",
        "Back to step 0",
        "New seeds",
    }
    reached = set()
    for _ in range(120):
        phone.keyboard.press("Tab")
        text = phone.evaluate(
            "(e => e.className + ' ' + (e.innerText ?? ''))(document.activeElement)"
        )
        reached |= {word for word in wanted if word in text}
        if reached == wanted:
            break
    assert reached == wanted, json.dumps(sorted(wanted - reached))


@pytest.mark.soak  # long
def test_who_looks_at_the_past_stays_there_while_the_run_grows(phone):
    before = serial(phone)
    follow_link(phone, LONG)
    # The picture may be made anew meanwhile.
    phone.wait_for_function(f"before => ({STATE}?.header.serial ?? before) !== before", arg=before)
    phone.wait_for_function(f"{STATE}?.wired && {STATE}.header.frames > 2")
    phone.locator(".gc-scrub").focus()
    phone.keyboard.press("Home")
    phone.wait_for_selector(".gc-view[data-frame='0']")
    known = last_frame(phone)
    phone.wait_for_function(f"known => {STATE}.header.frames > known + 1", arg=known)
    assert frame(phone) == 0


SLOW = """() => {
  const {fetch} = window;
  window.asked = [];
  window.fetch = async (address, ...rest) => {
    if (!String(address).endsWith('.bin')) return fetch(address, ...rest);
    const ask = {address, from: performance.now(), to: Infinity};
    window.asked.push(ask);
    await new Promise(resolve => { setTimeout(resolve, 2000); });
    const answer = await fetch(address, ...rest);
    ask.to = performance.now();
    return answer;
  };
}"""

ANSWERED = "() => window.asked.filter(ask => ask.to < Infinity).length > 2"


@pytest.mark.soak  # long
def test_a_slow_browser_gets_the_newest_film_that_it_can_while_the_run_grows(
    browser, served, watch
):
    with open_page(browser, watch, **WIDE) as page:
        page.add_init_script(f"({SLOW})()")
        visit(
            page,
            watch,
            f"{served.url}{LONG}&seed=7",
            lambda page: page.wait_for_selector(".gc-view"),
        )
        page.wait_for_function(ANSWERED)
        asked = page.evaluate("window.asked")
    assert all(before["to"] <= after["from"] for before, after in pairwise(asked))
    assert len({ask["address"] for ask in asked}) == len(asked)

"""Decision boundary trains, scrubs, plays, and stays where its visitor looks."""

import re

import numpy as np
import pytest

from .pointing import place, point_at
from .visiting import (
    resize,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Decision_boundary?seeds=2&steps=50&points=64"
WIDE = {"viewport": {"width": 800, "height": 1400}}
STATE = "document.querySelector('.gc-pair').__gc"
PLACES = f"() => {STATE}.views.map(view => [...view.scene.places])"
LAST = f"{STATE}.header.places.length - 1"
MEASURED = """() => {
  const totals = [...document.querySelectorAll('.gc-pair-more')];
  return totals.length === 2 && totals.every(({ textContent: text }) =>
    text.includes('total curvature') && !text.includes('being measured'))
    && !document.body.innerText.includes('the previous run, until');
}"""


@pytest.fixture(scope="module")
def wide(visitor, served, watch):
    """A visitor with a wide window, shared by the tests that leave the page usable."""
    visitor.set_viewport_size(WIDE["viewport"])
    visit(visitor, watch, served.url + ADDRESS, await_run)
    return visitor


def await_run(page):
    """Wait for the end of a run: then there is a table, and nothing polls."""
    page.wait_for_selector(".gc-pair[data-n]")
    page.get_by_text("Training time, all seeds").wait_for()
    page.wait_for_function(MEASURED)
    page.wait_for_function(f"!{STATE}.playing")
    settle(page)


def go_to(page, key):
    """Press a key on the timeline, and wait for all that follows."""
    page.locator(".gc-pair-strength").focus()
    page.keyboard.press(key)
    settle(page)


def frame(page):
    return page.evaluate(f"{STATE}.frame")


def await_another(page, before):
    page.wait_for_function(f"before => {STATE}.shown !== before", arg=before)
    await_run(page)


def test_scrubbing_back_shows_the_past_and_the_strip_goes_where_it_says(wide):
    go_to(wide, "End")
    after = wide.evaluate(PLACES)
    go_to(wide, "Home")
    assert wide.locator(".gc-pair-lambda").inner_text() == "Step 0, epoch 0"
    for then, now in zip(wide.evaluate(PLACES), after, strict=True):
        assert np.abs(np.subtract(then, now)).max() > 1e-3
    button = wide.locator(".gc-pair-strip button").nth(3)
    button.click()
    settle(wide)
    assert button.get_attribute("aria-pressed") == "true"
    assert (
        wide.locator(".gc-pair-lambda")
        .inner_text()
        .startswith(f"Step {button.inner_text().strip()},")
    )
    go_to(wide, "ArrowRight")
    go_to(wide, "End")
    assert wide.evaluate(PLACES) == after
    assert frame(wide) == wide.evaluate(LAST)
    # The plane divides what is drawn of the flat surface's plane between the classes.
    heights = wide.evaluate(f"""() => {{
      const state = {STATE};
      const [a, b, c, d] = state.sides[0].at('Planes', state.frame);
      const above = ([x, y, z]) => a * x + b * y + c * z + d;
      return state.views[0].scene.ground.map(({{ corners }}) => corners.map(above));
    }}""")
    assert sum(map(len, heights)) == 8
    for side, own in zip((-1, 1), heights, strict=True):
        assert np.isclose(own, 0, atol=1e-6).sum() == 2
        assert (side * np.array(own) > -1e-6).all()


@pytest.mark.parametrize("side", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_what_the_pointer_is_at_is_read_of_both_without_the_server(wide, side):
    resize(wide, 1400, 900)
    try:
        runs = wide.evaluate("window.testScript.runs")
        plane = wide.locator(".gc-pair-map canvas").nth(side)
        point_at(plane, 0.6, 0.3)
        wide.wait_for_function(f"{STATE}.hover !== null")
        told = wide.locator(".gc-pair-reading").inner_text()
        assert re.search(r"no gate p\(class 1\) = .*sigmoid gate p\(class 1\) = ", told)
        assert told.count(", K = ") == 2
        assert wide.evaluate("window.testScript.runs") == runs
        wide.mouse.click(*place(plane, 0.6, 0.3))
        wide.mouse.move(1, 1)
        settle(wide)
        assert wide.locator(".gc-pair-reading").inner_text() == told
        point_at(plane, 0.02, 0.99)  # beside the map: no point
        wide.mouse.click(*place(plane, 0.02, 0.99))
        settle(wide)
        assert wide.evaluate(f"{STATE}.point") is None
    finally:
        resize(wide, 800, 1400)


@pytest.mark.soak  # long
def test_a_click_on_the_strip_of_seeds_picks_one(wide):
    before = wide.evaluate(f"{STATE}.shown")
    wide.locator(".st-key-seed_strip").scroll_into_view_if_needed()
    settle(wide)
    wide.locator(".st-key-seed_strip .gc-dot:not(.gc-shown)").first.click()
    await_another(wide, before)
    wide.wait_for_url(lambda url: "picked_seed=" in url and "who=picked" in url)
    seed = re.search(r"picked_seed=(\d+)", wide.url)[1]
    assert wide.locator(".gc-pair-name").first.inner_text() == f"no gate · seed {seed}"

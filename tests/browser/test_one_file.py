"""The landing page in one file: opened from disk, without a network, with the core's numbers."""

import numpy as np
import pytest

from gating_core.experiments.comparison import (
    STRENGTHS,
    cut_of,
    load_preset,
    load_sweep,
    measure_pair,
)
from ui.common import formatting as common
from ui.landing import __main__ as writer

from .accessibility import assert_accessible
from .looking import (
    CAMERAS,
    TURNED,
    assert_drawn,
    assert_nothing_is_cropped,
    assert_stacked,
)
from .visiting import BEARABLE_WARNINGS, DESK, PHONE, open_page

MOST_BYTES = 7_000_000
LAST = len(STRENGTHS) - 1
# Of every scene the vertices of its surface, as they are drawn.
VERTICES = """() => [...document.querySelectorAll('.gc-scene')].map(({ data: [{ x, y, z }] }) =>
  [x, y, z].map(part => Array.from(part)))"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("dist") / "page.html"
    writer.write(path)
    assert path.stat().st_size < MOST_BYTES
    return path


def wait_for_frame(page, frame):
    page.wait_for_selector(f".gc-view[data-frame='{frame}']")


def test_from_disk_it_turns_plays_and_shows_the_numbers_of_the_core(browser, file):
    run, sweep = load_preset("circle"), load_sweep("circle")
    pair = measure_pair("own", run, sweep, "circle")
    requested, problems = [], []
    with open_page(browser, offline=True, **DESK) as page:
        page.on("request", lambda request: requested.append(request.url))
        page.on("pageerror", lambda error: problems.append(error.stack))
        page.on("console", lambda message: problems.append(message.text))
        page.goto(file.as_uri())
        wait_for_frame(page, LAST)
        for scene in page.locator(".gc-scene").all():
            assert_drawn(scene)
        assert_nothing_is_cropped(page)

        scrub = page.get_by_role("slider", name="Timeline")
        scrub.press("Home")
        wait_for_frame(page, 0)
        for _ in range(5):
            scrub.press("ArrowRight")
        wait_for_frame(page, 5)
        for frame in (5, LAST):
            assert_numbers(page, pair, sweep, frame)
            scrub.press("End")
            wait_for_frame(page, LAST)

        before = page.evaluate(CAMERAS)
        page.locator(".gc-scene").first.focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(TURNED, arg=before)
        first, second = page.evaluate(CAMERAS)  # both turn
        assert first["eye"] == pytest.approx(second["eye"])

        page.get_by_role("button", name="no gate").click()
        wait_for_frame(page, 0)
        page.keyboard.press("Tab")
        page.locator(".gc-scene").first.focus()
        page.keyboard.press(" ")
        wait_for_frame(page, LAST)
    assert requested == [file.as_uri()]
    assert not [text for text in problems if not any(words in text for words in BEARABLE_WARNINGS)]


def assert_numbers(page, pair, sweep, frame):
    """Sentences and surfaces are those of the core at this strength."""
    assert page.inner_text(".gc-frame") == f"λ = {STRENGTHS[frame]:.2f}"
    models = {pair.left: 0, pair.right: frame}
    for (model, at), caption in zip(models.items(), page.locator(".gc-caption").all(), strict=True):
        shown = f"Shown, seed {model.seed}: {common.percent(model.test_accuracy[at])}"
        assert shown in caption.inner_text()
    total = common.final_total_text(sweep.total.at(frame), flat=False)
    assert total in page.locator(".gc-caption").nth(1).inner_text()
    cut = cut_of(pair.right.frames.margin[frame], pair.right.data.axis)
    assert page.inner_text(".gc-reading").endswith(f"cuts it in {cut.text}.")
    for (model, at), drawn in zip(models.items(), page.evaluate(VERTICES), strict=True):
        points = model.frames.values[at].reshape(-1, 3).astype(np.float32)
        vertices = np.array(drawn, dtype=np.float32).T
        np.testing.assert_array_equal(vertices[: len(points)], points)  # those of cuts follow


@pytest.mark.soak  # long
def test_on_a_phone_it_is_dark_and_its_button_makes_it_light(browser, file):
    with open_page(browser, **PHONE) as page:
        page.goto(file.as_uri())
        wait_for_frame(page, LAST)
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(19, 18, 23)"
        width = PHONE["viewport"]["width"]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert_stacked(page)
        assert_accessible(page)
        drawn = page.locator(".gc-view").get_attribute("data-n")
        page.get_by_role("button", name="Light colours").click()
        page.wait_for_function("n => document.querySelector('.gc-view').dataset.n > n", arg=drawn)
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        assert_accessible(page)

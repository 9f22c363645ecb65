"""The landing page in one file: opened from disk, without a network, with the core's numbers."""

import numpy as np
import pytest

from gating_core.experiments.comparison import STRENGTHS, cut_of, load_preset, load_sweep
from ui.common import formatting as common
from ui.landing import __main__ as writer
from ui.landing.pair import pair_of
from ui.landing.picture import measure_pair

from .accessibility import assert_accessible
from .looking import assert_drawn
from .visiting import BEARABLE_WARNINGS, DESK, PHONE, open_page

MOST_BYTES = 3_000_000
LAST = len(STRENGTHS) - 1
STATE = "document.querySelector('.gc-pair').__gc"
PAINTED = "() => document.querySelector('.gc-pair[data-n] canvas[data-n]')"
AT = f"frame => Math.abs({STATE}?.frame - frame) < 1e-9 && !{STATE}.playing"
CAMERAS = f"() => {STATE}.views.map(view => view.painted)"
PLACES = f"() => {STATE}.views.map(view => [...view.scene.places])"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("dist") / "page.html"
    writer.write(path)
    assert path.stat().st_size < MOST_BYTES
    return path


def wait_for_frame(page, frame):
    page.wait_for_function(PAINTED)
    page.wait_for_function(AT, arg=frame)


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
        for scene in page.locator(".gc-pair-space").all():
            assert_drawn(scene)

        scrub = page.get_by_role("slider")
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
        page.locator(".gc-pair-space").first.focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(f"old => ({CAMERAS})().every(now => now !== old[0])", arg=before)
        first, second = page.evaluate(CAMERAS)  # both turn
        assert first == second

        scrub.press("Home")
        wait_for_frame(page, 0)
        page.locator(".gc-pair-space").first.focus()
        page.keyboard.press(" ")
        wait_for_frame(page, LAST)
    assert requested == [file.as_uri()]
    assert not [text for text in problems if not any(words in text for words in BEARABLE_WARNINGS)]


def assert_numbers(page, pair, sweep, frame):
    """Sentences and surfaces are those of the core at this strength."""
    assert page.inner_text(".gc-pair-lambda") == f"Gate λ = {STRENGTHS[frame]:.2f}"
    models = {pair.left: 0, pair.right: frame}
    for (model, at), text in zip(models.items(), page.locator("figcaption").all(), strict=True):
        shown = f"Seed {model.seed}: {common.percent(model.test_accuracy[at])} test accuracy"
        assert shown in text.inner_text()
    total = common.final_total_text(sweep.total.at(frame), flat=False)
    assert total in page.locator("figcaption").nth(1).inner_text()
    cut = cut_of(pair.right.frames.margin[frame], pair.right.data.axis)
    assert f"cut in {cut.text}" in page.locator(".gc-pair-verdict").nth(1).inner_text()
    sides = pair_of(pair)[0].sides
    for side, at, drawn in zip(sides, (0, frame), page.evaluate(PLACES), strict=True):
        points = side.values[at].ravel().astype(np.float32)
        np.testing.assert_array_equal(np.array(drawn, dtype=np.float32), points)


@pytest.mark.soak  # long
def test_on_a_phone_it_is_dark_and_its_button_makes_it_light(browser, file):
    with open_page(browser, **PHONE) as page:
        page.goto(file.as_uri())
        wait_for_frame(page, LAST)
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(18, 19, 23)"
        width = PHONE["viewport"]["width"]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        drawn = page.locator(".gc-pair").get_attribute("data-n")
        page.get_by_role("button", name="Light colours").click()
        page.wait_for_function("n => document.querySelector('.gc-pair').dataset.n > n", arg=drawn)
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        assert_accessible(page)

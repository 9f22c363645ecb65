"""A lesson of *Learn* in a browser: from the question to what is ticked off, by hand or keys."""

import math
import re
from itertools import combinations

import pytest

from ui.learn.lessons import lessons

from .looking import assert_dark, assert_scrolls_only_down
from .visiting import PHONE, open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

KEYS = "document.querySelector('.gc-keys').__gc"
SEEN = "[...document.images].filter(x => x.naturalWidth > 99 && x.alt.length > 20).length"
STAGE = "document.querySelector('.gc-stage').__gc"


def await_stage(page):
    page.wait_for_selector(".gc-stage-space[data-n]")
    settle(page)


def await_keys(page):
    page.wait_for_selector(".gc-keys[data-n]")
    settle(page)


def commit(page, choice):
    page.get_by_text(choice, exact=True).click()
    page.locator(".st-key-learn_commit button:enabled").click()


def test_from_the_question_to_what_is_ticked_off_at_a_desk(visitor, served, watch):
    lesson = lessons()["keys"]
    visit(visitor, watch, f"{served.url}/Learn?lesson=keys", await_keys)
    assert not visitor.locator(".gc-keys-sentence").is_visible()
    commit(visitor, lesson.choices[3])
    visitor.wait_for_function(f"!{KEYS}.held && !{KEYS}.playing")
    settle(visitor)
    assert "guess=keys-4" in visitor.url
    assert visitor.locator(".gc-keys").get_attribute("data-sign") == "1"
    side = visitor.locator(".st-key-learn_side")
    assert f"The answer: {lesson.choices[lesson.correct]}" in visitor.inner_text("body")
    assert side.get_by_role("radio").count() == 0
    visitor.locator(".gc-key[data-key='3']").focus()
    visitor.keyboard.down("ArrowUp")  # from inside through key 1, beyond its corner
    for _ in range(40):
        visitor.keyboard.down("ArrowUp")
    visitor.keyboard.up("ArrowUp")
    visitor.wait_for_url(lambda url: "done=keys" in url)
    settle(visitor)
    assert "Done." in side.inner_text()


def test_keys_stand_apart_in_a_box_with_a_name_and_the_proof_is_seen_edge_on(
    visitor, served, watch
):
    visit(visitor, watch, f"{served.url}/Learn?lesson=hull", await_keys)
    assert visitor.locator(".gc-keys-caption").first.is_visible()
    dots = [dot.bounding_box() for dot in visitor.locator(".gc-key-dot").all()[:3]]
    for one, other in combinations(dots, 2):
        assert math.hypot(one["x"] - other["x"], one["y"] - other["y"]) > 4 * one["width"]
    assert visitor.evaluate(f"{KEYS}.view.scene.places.every(Number.isNaN)")  # it would answer
    values = [value.bounding_box() for value in visitor.locator(".gc-keys-value:visible").all()]
    assert [order_of(dots, side) for side in "xy"] == [order_of(values, side) for side in "xy"]
    visit(visitor, watch, f"{served.url}/Learn?lesson=hull&guess=hull-3", await_keys)
    assert not visitor.evaluate(f"{KEYS}.view.scene.places.some(Number.isNaN)")
    visit(visitor, watch, f"{served.url}/Learn?lesson=flat&guess=flat-3", await_keys)
    names = [name.bounding_box() for name in visitor.locator(".gc-keys-value:visible").all()]
    box = visitor.locator(".gc-keys-space").bounding_box()
    assert len(names) == 3
    assert max(name["y"] for name in names) - min(name["y"] for name in names) < 2
    for name in names:
        assert box["x"] <= name["x"]
        assert name["x"] + name["width"] <= box["x"] + box["width"]


def order_of(boxes, side):
    """Return which are level, left to right or from above."""
    places = [round(box[side] + box["width"] / 2) for box in boxes]
    return [sorted({*places}).index(place) for place in places]


@pytest.mark.soak  # long
def test_the_gate_opens_once_the_guess_is_committed_on_a_dark_phone(browser, served, watch):
    with open_page(browser, watch, **PHONE | {"reduced_motion": "no-preference"}) as page:
        visit(page, watch, f"{served.url}/Learn?lesson=multiply", await_stage)
        assert_dark(page)
        assert_scrolls_only_down(page)
        assert not page.locator(".gc-stage-square").is_visible()
        assert page.locator(".gc-stage-play").is_disabled()
        commit(page, lessons()["multiply"].choices[2])
        page.wait_for_function(f"{STAGE}.playing && {STAGE}.strength > 0.1")
        page.wait_for_function(f"{STAGE}.strength === 1 && !{STAGE}.playing")
        settle(page)
        assert (
            page.locator(".gc-stage-sentence")
            .inner_text()
            .startswith("Gate on: curved. The plane cuts a")
        )
        verdict = page.get_by_text(f"Right: {lessons()['multiply'].choices[2]}").bounding_box()
        assert verdict["y"] + verdict["height"] < 664  # above the bars of a phone's browser


@pytest.mark.soak
@pytest.mark.parametrize("name", ["Handout", "Answer key"])
def test_handout_and_answers_are_printed_without_a_network(
    browser, visitor, served, watch, tmp_path, name
):
    visit(visitor, watch, f"{served.url}/Learn", settle)
    with visitor.expect_download() as download:
        visitor.get_by_role("button", name=name).click()
    file = tmp_path / "lessons.html"
    download.value.save_as(file)
    requested = []
    with open_page(browser, offline=True) as page:
        page.on("request", lambda request: requested.append(request.url))
        page.goto(file.as_uri())
        assert page.evaluate(SEEN) == len(lessons())
        assert [url for url in requested if not url.startswith("data:")] == [file.as_uri()]
        assert (pages_of(page.pdf(prefer_css_page_size=True)) == 1) == (name == "Answer key")


def pages_of(pdf):
    return len(re.findall(rb"/Type */Page\b", pdf))


@pytest.mark.soak  # long
def test_a_class_goes_by_keys_from_the_first_lesson_to_the_last(browser, served, watch):
    with open_page(browser, watch, viewport={"width": 1400, "height": 900}) as page:
        visit(page, watch, f"{served.url}/Learn", settle)
        for name, lesson in lessons().items():
            page.wait_for_function(
                "t => document.querySelector('h1')?.textContent === t", arg=lesson.title
            )
            settle(page)
            page.locator("body").press("Tab")
            tab_to(page, ".st-key-learn_question input")
            page.keyboard.press("Space")
            settle(page)
            tab_to(page, ".st-key-learn_commit button")
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url, guess=f"{name}-{lesson.order[0] + 1}": guess in url)
            settle(page)
            if name != [*lessons()][-1]:
                tab_to(page, ".st-key-learn_next button")
                page.keyboard.press("Enter")


def tab_to(page, selector):
    """Press Tab until the focus is there."""
    there = "selector => document.activeElement?.matches(selector)"
    for _ in range(80):
        if page.evaluate(there, selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")

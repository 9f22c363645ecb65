"""Manifold in a real browser: one camera, a point in all pictures, a strength that is kept."""

import re

import pytest

from .pointing import SCROLLED, place, swipe
from .visiting import become_desk, become_phone, scroll_to_top, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

STATE = "document.querySelector('.gc-pair').__gc"
CAMERA = f"() => {STATE}.views[0].painted"


def await_pair(page):
    """Wait for the pictures, and for all strengths of the gate."""
    page.wait_for_function(
        "() => document.querySelector('.gc-pair')?.__gc?.header?.places.length > 2",
        timeout=60_000,
    )
    settle(page)


@pytest.fixture
def page(visitor, served, watch):
    become_desk(visitor)
    visit(visitor, watch, f"{served.url}/Manifold", await_pair)
    yield visitor
    visitor.locator(".gc-pair-space").first.press("Home")  # a page keeps its camera in its link
    visitor.wait_for_url(lambda url: "camera=" not in url)


def test_both_surfaces_turn_together(page):
    page.locator(".gc-pair-space").first.focus()
    page.keyboard.press("ArrowLeft")
    settle(page)
    painted = page.evaluate(f"() => {STATE}.views.map(view => view.painted)")
    assert painted[0] == painted[1]
    page.get_by_role("button", name="Edge-on").click()
    assert page.evaluate(f"() => {STATE}.views[1].camera.elevation") == 0


@pytest.mark.soak  # long
def test_the_wheel_and_a_finger_scroll_past_a_surface(page):
    space = page.locator(".gc-pair-space").first
    camera, middle = page.evaluate(CAMERA), place(space, 0.5, 0.5)
    page.mouse.move(*middle)
    page.mouse.wheel(0, 60)
    settle(page)
    assert page.evaluate(SCROLLED) > 0
    assert page.evaluate(CAMERA) == camera
    page.keyboard.down("Control")
    page.mouse.wheel(0, 60)
    page.keyboard.up("Control")
    page.wait_for_function(f"old => ({CAMERA})() !== old", arg=camera)
    become_phone(page)
    settle(page)
    scroll_to_top(page)
    camera, (x, y) = page.evaluate(CAMERA), place(space, 0.5, 0.5)
    swipe(page, (x, y), (x, y - 120), steps=8)
    page.wait_for_function(f"{SCROLLED} > 60")
    assert page.evaluate(CAMERA) == camera


def test_a_click_marks_the_point_in_every_picture_and_in_the_link(page):
    page.locator(".gc-pair-map[data-side=right] canvas").click(position={"x": 120, "y": 90})
    settle(page)
    assert re.search(r"point=\d+\.\d+", page.url)
    assert "K = " in page.locator(".gc-pair-reading").inner_text()
    page.get_by_text("At the marked point").first.wait_for(timeout=30_000)


def test_the_gate_is_dragged_without_python_and_kept_in_the_link(page):
    page.locator(".gc-pair-strength").fill("0")
    page.locator(".gc-pair-strength").dispatch_event("change")
    settle(page)
    assert "lambda=0" in page.url
    assert "Flat" in page.locator(".gc-pair-verdict").nth(1).inner_text()


def knob_of(page, corner):
    knob = page.locator(".gc-pair-knob").nth(corner)
    if not knob.is_visible():
        page.get_by_role("button", name="Values", exact=True).click()
    return knob


@pytest.mark.parametrize("edge_on", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_a_dragged_value_moves_the_flat_surface_at_once_and_the_rest_when_it_is_let_go(
    page, edge_on
):
    if edge_on != (page.evaluate(f"() => {STATE}.views[0].camera.elevation") == 0):
        page.get_by_role("button", name="Edge-on").click()
    knob = knob_of(page, 2)
    box = knob.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y + 30, steps=4)
    page.wait_for_function("() => document.querySelector('.gc-pair-stale')")
    assert "when you let go" in page.locator(".gc-pair-later").inner_text()
    page.mouse.up()
    page.wait_for_function("() => !document.querySelector('.gc-pair-stale')", timeout=30_000)
    settle(page)
    assert "values=" in page.url
    assert "Flat" in page.locator(".gc-pair-verdict").nth(0).inner_text()
    page.get_by_role("button", name="The seed's own values").click()
    page.wait_for_function("() => !location.search.includes('values')", timeout=30_000)


def test_a_knob_hears_the_arrow_keys(page):
    knob_of(page, 0).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('values')", timeout=30_000)

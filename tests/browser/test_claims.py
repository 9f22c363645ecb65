"""Findings and the chart that decides stand on the first screen of a real browser."""

import pytest

from .accessibility import assert_accessible
from .looking import assert_dark, assert_on_the_first_screen, assert_scrolls_only_down
from .visiting import DESK, PHONE, become_phone, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

CHART = "[data-testid=stPlotlyChart]"
DRAWN = f"document.querySelector('{CHART} .scatterlayer .point') !== null"
FINDINGS = "[class*=st-key-claim] [role=radiogroup]"


def await_chart(page):
    """Wait for the chart, its points, and the end of the script."""
    page.wait_for_function(DRAWN)
    settle(page)


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, f"{served.url}/Claims", await_chart)
    return visitor


def test_the_first_screen_holds_question_findings_chart_and_verdict(desk):
    assert_on_the_first_screen(desk, "h1", FINDINGS, CHART)
    box = desk.locator("text=/^✓ supported: Adding instead/").first.bounding_box()
    assert box["y"] < DESK["viewport"]["height"]
    assert desk.locator(f"{FINDINGS} label").count() == 7
    assert_accessible(desk)


def test_another_claim_is_one_click_away_and_stands_in_the_link(desk):
    desk.locator(f"{FINDINGS} label", has_text="C5").first.click()
    desk.wait_for_url("**/Claims?*claim=C5*")
    await_chart(desk)
    assert desk.locator("text=/The rule of C5, criteria v1, preregistered/").count() == 1


def test_a_click_on_a_point_opens_the_model_behind_it(desk, served, watch):
    visit(desk, watch, f"{served.url}/Claims?claim=C5", await_chart)
    box = desk.locator(f"{CHART} .scatterlayer .point").first.bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    desk.mouse.move(*place)
    desk.mouse.click(*place)
    link = desk.get_by_role("link", name="This model on Decision boundary")
    link.wait_for()
    assert "picked_seed=" in link.get_attribute("href")
    assert "data=linear" in link.get_attribute("href")


@pytest.mark.parametrize(
    "claim", ["C3", *(pytest.param(c, marks=pytest.mark.soak) for c in ("C6", "C7"))]
)
def test_a_phone_scrolls_only_down(desk, served, watch, claim):
    become_phone(desk)
    visit(desk, watch, f"{served.url}/Claims?claim={claim}", await_chart)
    assert_dark(desk)
    assert_accessible(desk)
    assert_scrolls_only_down(desk)
    box = desk.locator(CHART).first.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["viewport"]["width"]

"""Do verdicts and the picture that decides stand on the first screen of a real browser?"""

import pytest

from .accessibility import assert_accessible
from .looking import assert_dark, assert_on_the_first_screen, assert_scrolls_only_down
from .visiting import DESK, PHONE, become_phone, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

CHART = "[data-testid=stPlotlyChart]"
DRAWN = f"document.querySelector('{CHART} .scatterlayer .point') !== null"
TABLE = ".gc-rows"
SENTENCE = "text=/Gated models are significantly/"


def await_chart(page):
    """Wait for the picture, its points, and the end of the script."""
    page.wait_for_function(DRAWN)
    settle(page)


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, f"{served.url}/Claims", await_chart)
    return visitor


def test_the_first_screen_holds_question_table_rule_picture_and_sentence(desk):
    assert_on_the_first_screen(
        desk, "h1", "[class*=st-key-front-]", TABLE, CHART, "[class*=st-key-explain_]"
    )
    for words in (SENTENCE, "text=/The rule of C4, second edition, written/"):
        box = desk.locator(words).first.bounding_box()
        assert box["y"] + box["height"] <= DESK["viewport"]["height"]
    assert desk.locator(f"{TABLE} tbody tr").count() == 7
    assert_accessible(desk)


def test_another_claim_is_one_click_away_and_stands_in_the_link(desk):
    desk.get_by_role("radio", name="C1").or_(desk.get_by_role("button", name="C1")).first.click()
    desk.wait_for_url("**/Claims?*claim=C1*")
    await_chart(desk)
    assert "512" not in desk.locator(CHART).inner_text()
    assert desk.locator("text=/The rule of C1, first edition, written/").count() == 1


def test_a_row_of_the_table_chooses_its_claim_by_click_and_by_keys(desk):
    row = desk.locator(f"{TABLE} tbody tr", has_text="C5 No better")
    row.locator("td").nth(1).click()
    desk.wait_for_url("**/Claims?*claim=C5*")
    await_chart(desk)
    assert desk.locator("text=/The rule of C5, first edition, written/").count() == 1
    assert row.get_attribute("aria-current") == "true"
    row.get_by_role("button").focus()
    desk.keyboard.press("Tab")
    desk.keyboard.press("Enter")
    desk.wait_for_url("**/Claims?*claim=C6*")
    await_chart(desk)
    (chosen,) = desk.locator(f"{TABLE} [aria-current]").all()
    assert chosen.inner_text().startswith("C6 ")
    assert desk.evaluate("document.activeElement.textContent").startswith("C6 ")


def test_a_click_on_a_point_opens_the_model_behind_it(desk, served, watch):
    visit(desk, watch, f"{served.url}/Claims?claim=C5", await_chart)
    point = desk.locator(f"{CHART} .scatterlayer .point").first
    box = point.bounding_box()
    desk.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    desk.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    link = desk.get_by_role("link", name="This model on Decision boundary")
    link.wait_for()
    assert "picked_seed=" in link.get_attribute("href")
    assert "data=linear" in link.get_attribute("href")
    assert desk.locator("text=/of its new points right/").count() == 1


@pytest.mark.parametrize("claim", ["C3", "C6"])
def test_the_second_edition_is_whole_and_stands_beside_the_first(desk, served, watch, claim):
    visit(desk, watch, f"{served.url}/Claims?claim={claim}", await_chart)
    assert_on_the_first_screen(desk, TABLE, CHART, "[class*=st-key-explain_]")
    box = desk.locator("text=/^First edition \\(23 November 2026/").first.bounding_box()
    assert box["y"] + box["height"] <= DESK["viewport"]["height"]
    cells = desk.locator(f"{TABLE} tbody td:nth-child(n + 3)").all()
    assert all(cell.bounding_box()["height"] < 90 for cell in cells)
    assert desk.evaluate(
        f"[...document.querySelectorAll('{TABLE} td:nth-child(n + 3)')].every("
        "x => x.scrollWidth <= x.clientWidth + 1)"
    )


@pytest.mark.parametrize(
    "claim", ["C3", *(pytest.param(c, marks=pytest.mark.soak) for c in ("C6", "C7"))]
)
def test_a_phone_scrolls_only_down(desk, served, watch, claim):
    become_phone(desk)
    visit(desk, watch, f"{served.url}/Claims?claim={claim}", await_chart)
    assert_dark(desk)
    assert_accessible(desk)
    assert_scrolls_only_down(desk)
    chart, table = (desk.locator(each).first.bounding_box()["y"] for each in (CHART, TABLE))
    assert chart < table
    for left, right in desk.evaluate(
        f"[...document.querySelectorAll('{TABLE}, {CHART}')]"
        ".map(x => x.getBoundingClientRect()).map(x => [x.left, x.right])"
    ):
        assert left >= 0
        assert right <= PHONE["viewport"]["width"]

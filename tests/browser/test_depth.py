"""Depth in a real browser: layers are followed, and charts lead to their stacks."""

import pytest

from .visiting import (
    await_view,
    follow_link,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

FIRST = "/Depth"
COMPARISON = "/Depth?tab_depth=Comparison"  # takes some seconds to measure
STRIP = ".gc-pair-strip"
CHARTS = "[data-testid=stPlotlyChart]"
SHOWN = ".gc-pair-strip [aria-pressed=true]"

# Titles, numbers and names of charts that reach beyond their drawing.
CUT = """() => [...document.querySelectorAll('[data-testid=stPlotlyChart] .main-svg text')]
  .filter(text => {
    const here = text.getBoundingClientRect(), whole = text.ownerSVGElement.parentElement
      .getBoundingClientRect();
    return here.width && (here.left < whole.left - 1 || here.right > whole.right + 1
      || here.top < whole.top - 1 || here.bottom > whole.bottom + 1);
  }).map(text => text.textContent)"""


def await_charts(page):
    """Wait for three charts, and the end of the script."""
    page.wait_for_function(f"document.querySelectorAll('{CHARTS} .xtitle').length >= 3")
    settle(page)


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + FIRST)
    return visitor


@pytest.mark.soak
def test_a_click_on_a_column_goes_to_its_layer_into_the_link_and_the_curve_ends_there(desk):
    for layer in (3, 8):
        desk.locator(f"{STRIP} button").nth(layer - 1).click()
        desk.locator(f"{SHOWN}[title='Layer {layer} of 8']").wait_for()
        settle(desk)
        assert f"after={layer}" in desk.url
        assert f"After layer {layer} of 8" in desk.locator(".gc-pair-finding").inner_text()
        assert desk.locator(".gc-pair-seeds .gc-pair-column").is_visible() == (layer == 8)
        columns = desk.locator(f"{STRIP} button .gc-pair-column").all()
        assert [column.is_visible() for column in columns] == [n < layer for n in range(8)]


@pytest.mark.soak  # long
def test_three_charts_in_a_row_stand_on_the_first_screen_and_lead_to_their_stacks(desk):
    follow_link(desk, COMPARISON)
    await_charts(desk)
    boxes = [chart.bounding_box() for chart in desk.locator(CHARTS).all()]
    assert len(boxes) == 3
    assert len({round(box["y"]) for box in boxes}) == 1
    assert not desk.evaluate(CUT)
    desk.get_by_role("button", name="Layer by layer").first.click()
    await_view(desk)
    assert "stacked=aligned" in desk.url

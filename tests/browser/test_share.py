"""A teacher's link, opened by somebody else; and present mode, as it is read from the last row."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.profiles import SOAK
from ui.common.bar import PAGES, address

from .accessibility import assert_accessible
from .looking import assert_scrolls_only_down
from .test_keys import await_keys
from .visiting import PHONE, await_view, open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

KEYS = "/Which_keys_curve"
HIDDEN, LOCKED = ".st-key-five_keys", ".st-key-fourth"
CAMERA = """() => {
  const { azimuth, elevation } = document.querySelector('.gc-keys').__gc.view.camera;
  return [azimuth, elevation];
}"""
POPOVER = "[data-testid=stPopoverBody]"
LEAST_PIXELS = 20.0
# Every text on the screen with its height in pixels: in SVG, with the scale of its drawing.
TEXTS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let text; (text = walker.nextNode());) {
    const node = text.parentElement;
    const range = document.createRange();
    range.selectNodeContents(text);
    const { width, height, top, bottom } = range.getBoundingClientRect();
    const { fontFamily, fontSize, clipPath } = getComputedStyle(node);
    if (!text.data.trim() || width < 2 || height < 2 || bottom < 0 || top > innerHeight) continue;
    if (fontFamily.includes('Material') || clipPath !== 'none') continue;  // icons; read aloud
    if (!node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const { c, d } = node.ownerSVGElement ? node.getScreenCTM() : { c: 0, d: 1 };
    const scale = Math.hypot(c, d);  // also of what is turned
    found.push([scale * parseFloat(fontSize), text.data.trim().slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""
ADDRESSES = [address(title) for title in PAGES]
PRESENTED = ADDRESSES if SOAK else ["Which_keys_curve"]


def choose(page, label, option):
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option).first.click()
    page.keyboard.press("Escape")
    settle(page)


@pytest.mark.soak
def test_a_link_with_a_hidden_and_a_locked_control_is_opened_by_somebody_else(
    browser, served, watch, visitor
):
    visit(visitor, watch, f"{served.url}{KEYS}?fourth=sink+logit", await_keys)
    visitor.locator(".gc-keys-space").focus()
    visitor.keyboard.press("ArrowLeft")
    visitor.wait_for_url(lambda url: "camera=" in url)
    camera = visitor.evaluate(CAMERA)
    visitor.get_by_role("button", name="Share").click()
    visitor.locator(POPOVER).get_by_text("The address holds").wait_for()
    settle(visitor)
    assert_accessible(visitor, POPOVER)
    choose(visitor, "Hide controls", "Five keys: where the theorem ends")
    choose(visitor, "Lock controls", "Fourth slot")
    link = visitor.locator(f"{POPOVER} code").first.inner_text().strip()
    query = parse_qs(urlsplit(link).query)
    assert (query["hide"], query["lock"]) == (["five_keys"], ["fourth"])
    assert query["fourth"] == ["sink logit"]
    with open_page(browser, watch, **PHONE) as page:
        visit(page, watch, link, await_keys)
        assert page.evaluate(CAMERA) == pytest.approx(camera, abs=1e-3)
        assert not page.locator(HIDDEN).is_visible()
        locked = page.locator(f"{LOCKED} input")
        assert [each.is_disabled() for each in locked.all()] == 3 * [True]
        assert page.get_by_role("radio", name="sink logit").is_checked()
        assert_scrolls_only_down(page)
        page.get_by_role("button", name="Simplified view · show all controls").click()
        page.wait_for_url(lambda url: "hide=" not in url and "lock=" not in url)
        settle(page)
        assert page.locator(HIDDEN).is_visible()
        assert locked.first.is_enabled()
        assert page.get_by_role("radio", name="sink logit").is_checked()
        assert page.get_by_role("button", name="Simplified view").count() == 0


@pytest.mark.parametrize("address", PRESENTED)
def test_nothing_is_smaller_than_twenty_pixels_in_present_mode(visitor, served, watch, address):
    visit(visitor, watch, f"{served.url}/{address}?present=1", settle)
    texts = visitor.evaluate(TEXTS)
    assert len(texts) > 3
    assert texts[0][0] >= LEAST_PIXELS, texts[:9]
    assert not visitor.get_by_test_id("stTopNav").is_visible()


def test_the_surface_is_larger_in_present_mode(visitor, served, watch):
    def height():
        await_view(visitor)
        return visitor.locator(".gc-pair-space").first.bounding_box()["height"]

    link = f"{served.url}/Manifold?present=1"
    visit(visitor, watch, link, lambda page: page.locator(".st-key-turns").wait_for())
    presented = height()
    visitor.get_by_role("button", name="End").click()
    visitor.locator(".st-key-sharing").wait_for()
    settle(visitor)
    assert presented > 1.15 * height()


@pytest.mark.soak  # long
def test_a_clicker_leads_to_pages_and_presets_wherever_focus_is(visitor, served, watch):
    visit(visitor, watch, served.url + KEYS, settle)
    visitor.keyboard.press("PageDown")  # not in present mode: it scrolls
    visitor.get_by_role("button", name="Present").click()
    visitor.wait_for_url(lambda url: "present=1" in url)
    settle(visitor)
    visitor.locator(".gc-keys-biases input").first.focus()
    visitor.keyboard.press("PageUp")  # no preset has been opened: the page before
    visitor.wait_for_url(lambda url: "/Which_gates_curve" in url and "present=1" in url)
    settle(visitor)
    visitor.keyboard.press("PageDown")
    visitor.wait_for_url(lambda url: "case=sphere" in url and "present=1" in url)
    settle(visitor)
    visitor.get_by_role("button", name="End").click()
    visitor.wait_for_url(lambda url: "present" not in url)
    settle(visitor)
    assert visitor.get_by_test_id("stTopNav").is_visible()

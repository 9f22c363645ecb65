"""The bar above all pages leads to each, and back to what was left there; on a phone too."""

import pytest

from ui.common.bar import GUIDE, PAGES, address, beside

from .visiting import PHONE, open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")
MENUS = [x for x in dict.fromkeys(row.group for row in PAGES.values()) if x]


def entries(page, menu):
    """The pages in a menu, which is open afterwards."""
    page.get_by_test_id("stTopNav").get_by_role("button", name=menu).click()
    found = page.get_by_test_id("stTopNavDropdownLink")
    found.first.wait_for()
    return found


def test_menus_name_all_pages_and_lead_back_to_what_was_left(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Which_keys_curve?fourth=sink+logit", settle)
    for menu in MENUS:
        found = entries(visitor, menu).all_inner_texts()
        assert [x.strip() for x in found] == [x for x, row in PAGES.items() if row.group == menu]
        visitor.keyboard.press("Escape")
    bar = visitor.get_by_test_id("stTopNav")
    marked = bar.locator("p").evaluate_all(
        "all => all.filter(p => getComputedStyle(p).textDecorationLine === 'underline')"
        ".map(p => p.innerText)"
    )
    assert marked == ["Explore"]  # where this page stands
    entries(visitor, "Evidence").filter(has_text="Claims").click()
    visitor.wait_for_url("**/Claims*")
    settle(visitor)
    entries(visitor, "Explore").filter(has_text="Which keys curve?").click()
    visitor.wait_for_url("**/Which_keys_curve?fourth=sink+logit")
    settle(visitor)
    visitor.get_by_role("link", name="Next question").click()
    visitor.wait_for_url(f"**/{address(beside('Which keys curve?')[1][1])}*")


def test_on_a_phone_a_button_opens_it(browser, served, watch):
    with open_page(browser, watch, **PHONE) as phone:
        visit(phone, watch, f"{served.url}/Which_keys_curve", settle)
        phone.get_by_test_id("stHeader").get_by_role("button").first.click()
        links = phone.get_by_test_id("stSidebarNavLink")
        links.first.wait_for()
        assert links.count() == len(PAGES) - 1
        assert links.evaluate_all("all => all.map(a => new URL(a.href).pathname.slice(1))") == [
            address(title) for title in PAGES if title != GUIDE
        ]
    with open_page(browser, watch, **PHONE) as phone:  # a menu left open covers no other visit
        visit(phone, watch, f"{served.url}/Which_keys_curve", settle)
        assert phone.get_by_test_id("stSidebar").bounding_box()["x"] < 0

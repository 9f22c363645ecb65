"""The page Efficient attention fits the screen, goes back step by step, and holds on a phone."""

import pytest

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import assert_charts_on_a_phone, assert_on_the_first_screen
from .visiting import await_charts, become_phone, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

PAGE = "/Efficient_attention"
EVICTION = "method=KV-cache+eviction"
FIRST_SCREENS = {  # the finding and the charts of tabs; others stand below
    "": ("A gate reduces the Δ loss", ("top_k_losses", "top_k_weights")),
    EVICTION: ("Δ loss of keeping 16 of 96 keys", ("eviction_gate", "eviction_policies")),
    "method=Delta+correction": ("At a window of 16", ("delta_losses", "delta_change")),
    "method=Linear+and+hybrid": ("With a window of 16", ("linear_conversions", "linear_state")),
}
LABELS = """() => [...document.querySelectorAll('.st-key-chart_eviction_kept .xtick text')]
  .map(label => label.textContent).join('')"""


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    visit(visitor, watch, f"{served.url}{PAGE}", lambda page: await_charts(page, 6))
    return visitor


def test_the_first_screens_hold_a_finding_and_its_picture(desk):
    for query, (text, charts) in FIRST_SCREENS.items():
        follow_link(desk, f"{PAGE}?{query}")
        finding = desk.get_by_text(text).first
        finding.wait_for()
        await_charts(desk, 6)
        boxes = (f".st-key-chart_{name}" for name in charts)
        assert_on_the_first_screen(desk, "h1", ".st-key-input-row", *boxes)
        if SOAK or not query:  # axe takes as long as all the rest
            assert_accessible(desk)


def test_back_undoes_one_change_of_a_control(desk):
    follow_link(desk, f"{PAGE}?top_k=5")
    desk.get_by_text("k = 5 of 81").first.wait_for()
    keys = desk.locator(".st-key-top_k input[type=range]")
    for k in (6, 7):
        keys.press("ArrowRight")
        desk.get_by_text(f"k = {k} of 81").first.wait_for()
        assert f"top_k={k}" in desk.url
    desk.get_by_role("tab", name="KV-cache eviction").click()
    desk.get_by_text("Δ loss of keeping 16 of 96 keys").first.wait_for()
    settle(desk)  # the link has lost what the other tab's controls held
    steps = desk.evaluate("history.length")
    for k in (7, 6, 5):
        desk.go_back()
        desk.get_by_text(f"k = {k} of 81").first.wait_for()
        assert keys.input_value() == str(k)
    desk.go_forward()
    desk.get_by_text("k = 6 of 81").first.wait_for()
    assert desk.evaluate("history.length") == steps


def test_kept_keys_stand_above_what_is_typed(desk):
    follow_link(desk, f"{PAGE}?{EVICTION}")
    await_charts(desk, 7)
    box = desk.get_by_label("Text", exact=True)
    box.fill("¡Oh, sí! En el principio creó Dios")
    box.press("Enter")
    desk.wait_for_function(f"({LABELS})().startsWith('¶¡Oh,␣sí!␣En')")


@pytest.mark.soak  # long
def test_a_phone_has_everything_in_one_column_and_scrolls_only_down(desk):
    become_phone(desk)
    for query in ("", EVICTION):
        follow_link(desk, f"{PAGE}?{query}")
        await_charts(desk, 6)
        assert_charts_on_a_phone(desk)
        assert_accessible(desk)

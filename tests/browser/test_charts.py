"""Pages of charts in a real browser: first screens, phones, clicks on points, *Cancel*, *Back*."""

import pytest

from .accessibility import assert_accessible
from .looking import assert_charts_on_a_phone, assert_on_the_first_screen
from .visiting import await_charts, become_desk, become_phone, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

CHART = "[data-testid=stPlotlyChart]"
POINTS = f"{CHART} .scatterlayer .point"
CONTROLS = ".st-key-control-row"
LEARNED, CURVES = (
    f"/Mixture_of_experts?experts_tab={tab}" for tab in ("Sample+efficiency", "Learning+curves")
)
EFFICIENT, MODELS, STEERING = "/Efficient_attention", "/Language_models", "/Steering"


def charts(*names: str) -> tuple[str, ...]:
    return tuple(f".st-key-chart_{name}" for name in names)


# What opens a screen, how it begins to say what was found, how many charts there are until nothing
# more is drawn, and what is seen without scrolling. The others are looked at in `make soak`.
SCREENS = (
    ("/Claims", "3 supported, 4 partly;", 0, *(f".st-key-claim_C{n}" for n in range(1, 10))),
    (EFFICIENT, "A gate reduces the Δ loss", 2, ".st-key-input-row",
     *charts("top_k_losses", "top_k_weights")),
    (MODELS, "Yes, if heads are to keep few keys", 0, "table"),
    (STEERING, "one feature changes the language", 2, ".gc-key", *charts("steer_none")),
    (LEARNED, "Experts are learned with", 2, CONTROLS, CHART),
    (CURVES, "No significant difference", 1, CONTROLS, CHART),
    (f"{EFFICIENT}?method=KV-cache+eviction", "Δ loss of keeping 16 of 96 keys", 1,
     *charts("eviction_gate")),
    (f"{EFFICIENT}?method=Delta+correction", "At a window of 16", 1,
     *charts("delta_losses")),
    (f"{EFFICIENT}?method=Linear+and+hybrid", "With a window of 16", 1,
     *charts("linear_conversions")),
    (f"{MODELS}?lm_sinks_of=language+models", "on the first token's share of", 2),
    (f"{MODELS}?measure=Rank%2C+sparsity%2C+calibration", "The gate increases the effective", 3),
    (f"{MODELS}?measure=Block+topology", "The effect of A1 on the loss is", 6),
    (f"{MODELS}?measure=Generate", "Test loss", 2),
    (f"{STEERING}?steering_tab=Features", "the languages", 1, CHART, ".gc-examples"),
)  # fmt: skip


@pytest.fixture
def desk(visitor):
    """The visitor, at a desk again."""
    become_desk(visitor)
    return visitor


def open_charts(page, watch, url, count):
    visit(page, watch, url, lambda page: await_charts(page, count))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen[0])
def test_the_first_screen_holds_the_finding_and_its_picture(desk, served, watch, screen):
    address, text, count, *selectors = screen
    open_charts(desk, watch, served.url + address, count)
    assert_on_the_first_screen(desk, "h1", *selectors)
    finding, *picture = [desk.get_by_text(text).first, desk.locator(CHART).first][: 1 + bool(count)]
    for part in (finding, *picture):
        part.wait_for()
        box = part.bounding_box()
        assert box["y"] + box["height"] < desk.viewport_size["height"]
    assert_accessible(desk)


@pytest.mark.soak  # long
def test_another_claim_is_one_click_away_and_a_click_on_a_point_opens_its_model(
    desk, served, watch
):
    open_charts(desk, watch, f"{served.url}/Claims?claim=C4", 1)
    desk.locator(".st-key-claim_C5 summary").press("Enter")
    desk.wait_for_url("**/Claims?claim=C5")
    desk.locator(".st-key-claim_C4 details:not([open])").wait_for()
    await_charts(desk, 1)
    click(desk, POINTS)
    link = desk.get_by_role("link", name="This model on Decision boundary")
    link.wait_for()
    assert "picked_seed=" in link.get_attribute("href")
    assert "data=linear" in link.get_attribute("href")


@pytest.mark.soak  # long
def test_a_click_chooses_a_feature(desk, served, watch):
    open_charts(desk, watch, f"{served.url}{STEERING}?steering_tab=Features", 1)
    desk.get_by_text("Feature 2 separates").wait_for()
    click(desk, ".st-key-chart_features_order .scatterlayer .point")
    desk.get_by_text("Feature 2 separates").wait_for(state="detached")
    settle(desk)
    assert "steering_feature=" in desk.url


def click(page, selector):
    """Move to the middle of the first one, and click."""
    part = page.locator(selector).first
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*place)
    page.mouse.click(*place)


@pytest.mark.soak  # long
def test_a_text_is_written_letter_by_letter_and_can_be_stopped(desk, served, watch):
    open_charts(desk, watch, served.url + STEERING, 2)
    follow_link(desk, f"{STEERING}?steering_text=The+king+&steering_draw=5&steering_strength=5")
    desk.get_by_role("button", name="Cancel").click()
    desk.get_by_text("Generating was cancelled after").wait_for()
    desk.get_by_text("of 60 characters").first.wait_for()  # the run before may still show it, too
    desk.get_by_role("button", name="Generate again").click()
    desk.get_by_text("unsteered English.").nth(1).wait_for()
    assert desk.locator(".gc-text").nth(1).inner_text().startswith("The king")


def test_back_undoes_one_change_of_a_control(desk, served, watch):
    open_charts(desk, watch, f"{served.url}{EFFICIENT}?top_k=5", 2)
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


@pytest.mark.parametrize(("address", "count"), [("/Claims?claim=C3", 1), *(
    pytest.param(address, count, marks=pytest.mark.soak) for address, count in (
        (LEARNED, 2), (CURVES, 1), (EFFICIENT, 2), (f"{EFFICIENT}?method=KV-cache+eviction", 1),
        (f"{MODELS}?lm_sinks_of=language+models", 2), (STEERING, 2),
        (f"{MODELS}?measure=Rank%2C+sparsity%2C+calibration", 3),
        (f"{MODELS}?measure=Block+topology", 6),
        (f"{STEERING}?steering_tab=Features", 1),
    )
)])  # fmt: skip
def test_a_dark_phone_has_charts_below_each_other_before_controls_and_scrolls_only_down(
    visitor, served, watch, address, count
):
    become_phone(visitor)
    open_charts(visitor, watch, served.url + address, count)
    assert_charts_on_a_phone(visitor)
    assert_accessible(visitor)

"""The wall of a real model's heads: what the browser computes and draws, and what a hand can do."""

import json
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch

from gating_core.checkpoints import head_map, principal_plane
from gating_core.geometry import square_grid
from gating_core.real_heads import (
    TEXTS,
    keys_of,
    shipped_charts,
    shipped_layers,
    shipped_text,
)

from .looking import assert_on_the_first_screen, assert_scrolls_only_down, pixels
from .pointing import swipe
from .scripts import COUNT_SENT, in_browser
from .visiting import PHONE, open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Real_heads?heads_tab=Heads"
MOBY = next(iter(TEXTS))
WINDOW, OPENED, MARK = ".gc-window", ".gc-heads-opened", ".gc-mark"
WEIGHTS = """heads => heads.map(({ scores, prescribed, points }) => {
  const n = scores.length / 3;
  return points.map(([u, v]) => Array.from(weightsAt({ n, scores, prescribed }, u, v)));
})"""
SHARES = """heads => heads.map(({ scores }) => {
  const shares = new Array(scores.length / 3).fill(0);
  cellsOf({ n: shares.length, scores }).forEach(({ key, share }) => { shares[key] = share; });
  return shares;
})"""


def await_heads(page):
    page.wait_for_selector(".gc-heads[data-n]")
    settle(page)


def linked(page, name):
    return parse_qs(urlsplit(page.url).query).get(name, [None])[0]


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + ADDRESS, await_heads)
    return visitor


# --- Mathematics ----------------------------------------------------------------------------------


def test_javascript_computes_the_weights_of_python_at_a_thousand_points(desk):
    text, charts = shipped_text(MOBY), shipped_charts(MOBY, False)
    keys = keys_of(text.tokens, False)
    asked, exact = [], []
    for number in range(0, 60, 3):
        layer, head = divmod(number, 12)
        draw = torch.Generator().manual_seed(number)
        points = 2 * torch.rand(50, 2, generator=draw, dtype=torch.float64) - 1
        asked.append(
            {
                "scores": charts.scores[layer, head].ravel().tolist(),
                "points": points.tolist(),
            }
        )
        plane = principal_plane(text.states[layer])
        found = head_map(shipped_layers()[layer], text.states[layer], head, plane, keys=keys)
        exact.append(found.weights(points).numpy())
    drawn = np.array(in_browser(desk, "heads", WEIGHTS, asked))
    assert drawn.shape == (20, 50, len(keys))
    np.testing.assert_allclose(drawn, exact, atol=2e-6)  # scores are sent in single precision


def test_prescribed_weights_are_read_as_they_are(desk):
    draw = np.random.default_rng(1)
    scores, points = draw.normal(size=(3, 5)), draw.uniform(-1, 1, (7, 2))
    asked = {"scores": scores.ravel().tolist(), "prescribed": True, "points": points.tolist()}
    weights = in_browser(desk, "heads", WEIGHTS, [asked])[0]
    np.testing.assert_allclose(weights, scores[0] + points @ scores[1:], atol=1e-12)


def test_cells_cover_the_chart_as_the_largest_weights_do(desk):
    charts = shipped_charts(MOBY, False)
    heads = [charts.scores[i] for i in ((0, 2), (1, 11), (4, 0))]
    found = in_browser(desk, "heads", SHARES, [{"scores": x.ravel().tolist()} for x in heads])
    grid = square_grid(301).points.numpy()
    for shares, scores in zip(found, heads, strict=True):
        assert sum(shares) == pytest.approx(1, abs=1e-9)
        top = (scores[0] + grid @ scores[1:]).argmax(-1)
        counted = np.bincount(top, minlength=len(shares)) / len(grid)
        np.testing.assert_allclose(shares, counted, atol=0.01)
        assert (np.array(shares) > 0.02).sum() > 2


# --- The hand -------------------------------------------------------------------------------------


@pytest.mark.soak  # long
def test_a_word_lights_its_panes_in_all_windows(desk):
    glass = desk.locator(".gc-heads-glass")
    before = pixels(glass)
    desk.locator(".gc-token", has_text="sail").first.hover()
    settle(desk)
    lit = pixels(glass)
    assert lit.mean() < 0.8 * before.mean()
    assert (lit.max(-1) > 120).mean() > 0.01
    desk.mouse.move(5, 5)
    settle(desk)
    assert np.abs(pixels(glass) - before).mean() < 1


def test_a_click_opens_a_head_whose_mark_shades_the_text_without_the_server(desk, served, watch):
    desk.locator("[data-head='0.2']").click()
    desk.wait_for_url(lambda url: "heads_head=1.3" in url)
    settle(desk)
    assert_on_the_first_screen(
        desk,
        ".gc-heads-text",
        ".gc-heads-chart",
        ".gc-heads-space",
        ".gc-heads-numbers",
        ".gc-heads-hint",
    )
    assert desk.locator(".gc-heads-numbers tbody tr").count() == 5
    desk.evaluate(COUNT_SENT)
    box = desk.locator(".gc-heads-chart").bounding_box()
    said = set()
    desk.mouse.move(box["x"] + 0.65 * box["width"], box["y"] + 0.41 * box["height"])
    desk.mouse.down()
    for across, down in ((0.2, 0.2), (0.85, 0.3), (0.5, 0.9)):
        desk.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"], steps=4)
        desk.wait_for_function("!document.querySelector('.gc-heads').__gc.drawing")
        said.add(desk.locator(".gc-heads-sentence").inner_text())
        shaded = desk.locator(".gc-token").evaluate_all(
            "chips => new Set(chips.map(chip => chip.style.backgroundColor)).size"
        )
        assert shaded > 10
    assert len(said) == 3
    assert desk.evaluate("window.testSent") == 0
    desk.mouse.up()
    desk.wait_for_url(lambda url: "heads_at=" in url)
    settle(desk)
    at = json.loads(f"[{linked(desk, 'heads_at')}]")
    assert at == pytest.approx([0.0, -0.8], abs=0.02)
    assert (
        desk.locator(".gc-heads-aloud").text_content()
        == desk.locator(".gc-heads-sentence").inner_text()
    )
    visit(desk, watch, desk.url, await_heads)
    assert desk.locator(OPENED).count() == 1


@pytest.mark.soak  # long
def test_the_open_head_is_shown_on_a_plane_through_three_words_that_are_chosen(desk, served, watch):
    visit(
        desk, watch, f"{served.url}{ADDRESS}&heads_head=1.3&heads_plane=three+tokens", await_heads
    )
    large = desk.locator(".gc-heads-over circle[r='5']")
    desk.wait_for_function(
        "document.querySelectorAll('.gc-heads-over circle[r=\"5\"]').length == 3"
    )
    box = desk.locator(".gc-heads-chart").bounding_box()
    dot = large.first.bounding_box()
    at = (dot["x"] + dot["width"] / 2 - box["x"]) / box["width"]
    assert at == pytest.approx((1 - 0.75) / 2, abs=0.01)
    before = desk.locator(".gc-heads-hint").inner_text()
    desk.get_by_label("Its three tokens").click()
    desk.keyboard.press("Backspace")
    desk.get_by_text("Choose three tokens").wait_for()
    desk.keyboard.type("sail")
    desk.keyboard.press("Enter")
    desk.wait_for_url(lambda url: "heads_three=" in url)
    settle(desk)
    assert "“sail”" in desk.locator(".gc-heads-hint").inner_text() != before
    # The next head is measured on that plane; meanwhile the one on the screen is dimmed.
    waits = "document.querySelector('.gc-heads').dataset.stale"
    step = "document.querySelector('.gc-heads-step[data-step=\"1\"]').click()"
    dimmed = desk.evaluate(f"() => {{ {step}; return {waits}; }}")
    assert dimmed == "true"
    desk.wait_for_function(f"!{waits}")
    settle(desk)
    assert_on_the_first_screen(desk, ".gc-heads-text", ".gc-heads-chart", ".gc-heads-numbers")


@pytest.mark.soak  # long
def test_keys_move_over_the_wall_open_a_head_and_go_back(desk, served, watch):
    visit(desk, watch, served.url + ADDRESS, await_heads)
    desk.locator("[data-head='0.0']").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        desk.keyboard.press(key)
    desk.wait_for_url(lambda url: "heads_head=2.3" in url)
    settle(desk)
    assert desk.locator(".gc-heads-title").inner_text() == "Layer 2, head 3"
    desk.locator(MARK).focus()
    before = desk.locator(MARK).get_attribute("aria-valuetext")
    for _ in range(12):
        desk.keyboard.press("ArrowLeft")
    settle(desk)
    assert desk.locator(MARK).get_attribute("aria-valuetext") != before
    desk.keyboard.press("Escape")
    desk.wait_for_url(lambda url: "heads_head" not in url)
    settle(desk)
    assert desk.evaluate("document.activeElement.dataset.head") == "1.2"


@pytest.mark.soak  # long
def test_on_a_dark_phone_six_windows_stand_in_a_row_and_a_finger_moves_the_mark(
    browser, served, watch
):
    with open_page(browser, watch, **PHONE) as page:
        visit(page, watch, served.url + ADDRESS, await_heads)
        assert_scrolls_only_down(page)
        first, sixth, seventh = (page.locator(WINDOW).nth(i).bounding_box() for i in (0, 5, 6))
        assert first["y"] == sixth["y"] < seventh["y"]
        assert first["width"] > 44
        page.locator("[data-head='0.2']").click()
        page.wait_for_url(lambda url: "heads_head=1.3" in url)
        settle(page)
        assert_scrolls_only_down(page)
        page.locator(MARK).scroll_into_view_if_needed()
        box = page.locator(".gc-mark-ring").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        swipe(page, (x, y), (x - 100, y + 60))
        settle(page)
        assert json.loads(f"[{linked(page, 'heads_at')}]")[0] < 0.1

"""Does the tree follow hand and link in a real browser, with the core's own numbers?"""

import numpy as np
import pytest

from gating_core.attention import AttentionConfig, GateConfig, build_attention
from gating_core.experts import entry_tree
from tests.profiles import SOAK
from ui.experts.shared import Model

from .pointing import SCROLLED, swipe
from .visiting import become_phone, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

FIRST = Model()
PAGE = "/Mixture_of_experts"
DECOMPOSITION = f"{PAGE}?experts_tab=Decomposition"
TREE = "document.querySelector('.gc-tree')?.__gc"
AT_POINT = f"""([x, y, strength]) => {TREE}?.x[0] === x && {TREE}.x[1] === y
  && {TREE}.strength === strength"""
ENTRY = f"""() => {{
  const {{ value, outside, heads }} = {TREE}.entry;
  const terms = heads.map(head => head.experts.map(({{ projection, gate, tokens }}) =>
    tokens.map(({{ routed }}) => outside * projection * gate * routed)));
  return {{ value, outside, terms }};
}}"""
BOX = "document.querySelector('.gc-gate-box')"
DRAWINGS = "Number(document.querySelector('.gc-tree').dataset.n)"
CASES = [  # the gate's place, granularity and kind in the link, its strength, the input
    ("no gate", "channel", "sigmoid", 1.0, (0.5, -0.25)),
    ("G1", "channel", "silu", 0.35, (-1.0, 0.75)),
    ("G2", "head", "tanh", 0.8, (0.125, 1.0)),
    ("G3", "channel", "sigmoid", 0.6, (0.5, 0.5)),
    ("G4", "head", "silu", 1.0, (-0.75, -1.0)),
    ("G5", "channel", "tanh", 0.5, (0.0, 0.0)),
]


STRUCK = """() => {
  const texts = [...document.querySelectorAll('.gc-tree-plot > text, .gc-expert text')]
    .map(text => [text.textContent, text.getBBox()]);
  const onto = ({ x, y }) => texts.filter(([, box]) => x > box.x && x < box.x + box.width
    && y > box.y && y < box.y + box.height).map(([text]) => text);
  return [...new Set([...document.querySelectorAll('.gc-tree-plot path')].flatMap(path =>
    Array.from({ length: Math.ceil(path.getTotalLength()) }, (_, n) => path.getPointAtLength(n)))
    .flatMap(onto))];
}"""  # texts that a branch runs through


def await_tree(page):
    page.wait_for_selector(".gc-tree[data-n]")
    settle(page)


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, f"{served.url}{DECOMPOSITION}", await_tree)
    return visitor


def test_the_browsers_numbers_are_the_cores_and_no_branch_runs_through_one(desk):
    for place, per, kind, strength, point in CASES if SOAK else CASES[::2]:
        follow_link(
            desk,
            f"{DECOMPOSITION}&gate_at={place}&gate_per={per}&gate_kind={kind}"
            f"&gate_lambda={strength}"
            f"&input={point[0]},{point[1]}&channels=6&tokens=4&output=4",
        )
        desk.wait_for_function(AT_POINT, arg=[*point, strength])
        settle(desk)
        found = desk.evaluate(ENTRY)
        granularity = {"channel": "elementwise", "head": "headwise"}[per]
        gate = None if place == "no gate" else GateConfig(kind, granularity, place, strength)
        config = AttentionConfig(
            "tokens", model_dim=6, heads=2, value_count=4, output_projection=True, gate=gate
        )
        tree = entry_tree(build_attention(config, (FIRST.seed,)), point, 3)
        np.testing.assert_allclose(found["terms"], tree.terms, rtol=1e-12, err_msg=place)
        assert found["outside"] == pytest.approx(tree.outside, rel=1e-12)
        assert found["value"] == pytest.approx(tree.value, abs=1e-14 * tree.size)
        assert desk.evaluate(STRUCK) == []


@pytest.mark.soak  # long
def test_the_tree_follows_hand_and_slider_without_a_run(desk):
    follow_link(desk, f"{DECOMPOSITION}&channels=8&head_count=4&tokens=6")  # the largest
    desk.wait_for_function("document.querySelectorAll('.gc-expert').length === 8")
    settle(desk)
    assert desk.evaluate(STRUCK) == []
    runs = desk.evaluate("window.testScript.runs")
    slider = desk.locator(".gc-tree input")
    slider.evaluate("input => { input.value = 0.3; input.dispatchEvent(new Event('input')); }")
    desk.get_by_text("Gate interpolation λ = 0.30", exact=True).wait_for()
    assert desk.evaluate("window.testScript.runs") == runs
    slider.evaluate("input => input.dispatchEvent(new Event('change'))")
    desk.wait_for_url("**gate_lambda=0.3*")
    settle(desk)

    handle = desk.locator(".gc-tree-hit").bounding_box()
    across, down = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    before = desk.evaluate(DRAWINGS)
    runs = desk.evaluate("window.testScript.runs")
    desk.mouse.move(across, down)
    desk.mouse.down()
    desk.mouse.move(across + 60, down + 30, steps=10)
    desk.wait_for_function(f"{DRAWINGS} > {before} && !{TREE}.drawing")
    assert desk.evaluate("window.testScript.runs") == runs
    desk.mouse.up()
    desk.wait_for_url("**input=*")
    settle(desk)
    linked = [float(x) for x in desk.url.split("input=")[1].split("&")[0].split("%2C")]
    assert desk.evaluate(f"{TREE}.x") == pytest.approx(linked, abs=1e-3)


def test_arrow_keys_and_links_move_the_input_within_its_pad(desk, served, watch):
    visit(desk, watch, f"{served.url}{DECOMPOSITION}&input=0.5,-0.25", await_tree)
    handle = desk.locator(".gc-tree-handle")
    assert handle.get_attribute("aria-valuetext") == "x₁ 0.50, x₂ −0.25"
    handle.focus()
    for key in ("ArrowRight", "Shift+ArrowUp"):
        desk.keyboard.press(key)
    for _ in range(40):  # a key held down
        desk.keyboard.down("ArrowDown")
    desk.keyboard.up("ArrowDown")
    desk.wait_for_url(lambda url: url.endswith("-1"))
    settle(desk)
    assert handle.get_attribute("aria-valuetext").endswith("x₂ −1.00")  # and no further
    assert desk.evaluate("document.activeElement.getAttribute('aria-label')") == "x"
    follow_link(desk, f"{DECOMPOSITION}&input=0.25,0.5")
    desk.locator('[aria-valuetext="x₁ 0.25, x₂ 0.50"]').wait_for()


@pytest.mark.soak  # long
def test_an_expert_is_followed_by_hover_click_and_keys_and_in_the_link(desk):
    follow_link(desk, DECOMPOSITION)
    desk.wait_for_function("document.querySelectorAll('.gc-expert').length === 4")
    settle(desk)
    formula = desk.locator(".gc-tree-formula")
    desk.locator('[data-expert="1.2"]').hover()
    assert formula.inner_text().startswith("Expert 2 of head 1: Wₒ")
    desk.locator('[data-expert="2.1"]').click()
    desk.wait_for_url("**expert=2.1")
    desk.mouse.move(5, 5)
    assert formula.inner_text().startswith("Expert 1 of head 2: Wₒ")
    followed = desk.locator(".gc-followed")
    assert followed.get_attribute("data-expert") == "2.1"
    assert followed.get_attribute("aria-pressed") == "true"
    desk.locator('[data-expert="1.1"]').focus()
    desk.keyboard.press("Enter")
    desk.wait_for_url("**expert=1.1")
    settle(desk)
    desk.keyboard.press("Enter")
    desk.wait_for_function("!location.href.includes('expert=')")
    boxes = {}
    for place in ("G2", "G1", "G5"):
        desk.locator(".st-key-gate_at").get_by_text(place, exact=True).click()
        desk.wait_for_function(f"{BOX}.querySelector('text').textContent === 'gate {place}'")
        settle(desk)
        boxes[place] = desk.locator(".gc-gate-box rect").bounding_box()["x"]
    assert boxes["G2"] < boxes["G1"] < boxes["G5"]


@pytest.mark.soak  # long
def test_a_finger_moves_the_input_and_scrolls_beside_it(desk, served, watch):
    become_phone(desk)
    visit(desk, watch, f"{served.url}{DECOMPOSITION}", await_tree)
    hit = desk.locator(".gc-tree-hit")
    hit.scroll_into_view_if_needed()
    box = hit.bounding_box()
    assert box["width"] >= 24
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    swipe(desk, (x, y), (x + 60, y + 30))
    desk.wait_for_url("**input=*")
    settle(desk)
    scrolled = desk.evaluate(SCROLLED)
    swipe(desk, (x - 60, y), (x - 60, y - 120))
    desk.wait_for_function(f"{SCROLLED} > {scrolled} + 50")

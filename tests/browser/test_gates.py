"""Does the page of gates draw, follow its slider and its tiles, and fit a screen and a phone?"""

import math
import re

import numpy as np
import pytest

from .accessibility import assert_accessible
from .looking import (
    assert_drawn,
    assert_nothing_at_the_edge,
    assert_nothing_is_cropped,
    assert_on_the_first_screen,
    assert_scrolls_only_down,
)
from .pointing import place
from .visiting import PHONE, await_charts, become_phone, resize, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Which_gates_curve"
STATE = "document.querySelector('.gc-view').__gc"
SENTENCE = ".gc-reading"
READOUT = "document.querySelector('.gc-readout').textContent"

# Of the words, and of the button that they stand on: red, green and blue, 0 to 255.
COLOURS = """words => [getComputedStyle(words).color,
  getComputedStyle(words.closest('button')).backgroundColor]
  .map(colour => colour.match(/[0-9.]+/g).slice(0, 3).map(Number))"""

# What stands at the axes of a scene.
NAMES = """div => {
  const { labels, labelEnable } = div._fullLayout.scene._scene.axesOptions;
  return labels.map((name, place) => labelEnable[place] ? name : "");
}"""


def contrast(*colours):
    """The ratio of the luminances of two colours (WCAG 2.1, "contrast ratio")."""
    light = np.array(colours) / 255
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722] + 0.05)
    return high / low


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + ADDRESS)
    return visitor


@pytest.mark.soak
def test_the_first_screen_holds_all_tiles_and_the_open_gate(desk):
    assert_on_the_first_screen(
        desk, "h1", ".st-key-gates_desk img", ".gc-play", ".gc-scene", ".gc-plane", SENTENCE
    )
    assert_drawn(desk.locator(".gc-scene").first)
    assert_nothing_is_cropped(desk)
    assert_accessible(desk)
    said = (
        "the surface is positively curved, proved on the whole chart: K = 1/r² = 1/0.8² = 1.5625."
    )
    assert said in desk.locator(SENTENCE).inner_text()


@pytest.mark.soak  # long
def test_the_numbers_of_the_formula_follow_the_pointer(desk, served, watch):
    """Of g = u exp(v), a gate where u > 0: det Hess(1/g) = exp(-2v) / u⁴."""
    visit(desk, watch, f"{served.url}{ADDRESS}?case=own&formula=u*exp(v)&mark=30.45")
    said = desk.locator(".gc-readout").first
    marked = (
        "At (0.5, 0): g = 0.5 · det Hess(1/g) = 16 · K by the formula = (2)⁴ · (16) / (36)² = 0.198"
        " · K measured = 0.198"
    )
    assert said.inner_text().startswith(marked)
    panel = desk.locator(".gc-plane").first
    desk.mouse.move(*place(panel, 0.6, 0.3))
    desk.wait_for_function(f"{STATE}.hover !== null")
    row, column = desk.evaluate(f"{STATE}.hover")
    u, v = (-1 + 2 * index / 60 for index in (column, row))
    assert u > 0
    hessian = math.exp(-2 * v) / u**4
    normal = math.exp(-2 * v) * (u**-4 + u**-2 * (1 + (2 + v) ** 2))
    law = u**-4 * math.exp(-4 * v) * hessian / normal**2
    desk.wait_for_function(f"!{READOUT}.startsWith('At (0.5, 0)')")
    text = said.inner_text()
    numbers = re.findall(r"(?:/ \(|= )([\d.]+)(?=\)²| ·)", text)
    assert [float(x) for x in numbers[1:5]] == pytest.approx([hessian, normal, law, law], rel=5e-3)
    desk.mouse.move(*place(panel, 0.4, 0.3))
    desk.wait_for_function(f"{READOUT}.includes('K by the formula = not known')")
    desk.mouse.move(1, 1)
    desk.wait_for_function(f"{STATE}.hover === null")
    assert said.inner_text().startswith(marked)


# At every frame from now on: the sentence, its opacity, what is said to be coming.
WATCH_SENTENCE = """() => {
  window.testFrames = [];
  const look = () => {
    const sentence = document.querySelector('.gc-reading');
    let opacity = 1;
    for (let node = sentence; node; node = node.parentElement) {
      opacity *= Number(getComputedStyle(node).opacity);
    }
    const note = document.querySelector('[data-testid=stSpinner]')?.innerText ?? '';
    window.testFrames?.push([sentence.textContent, opacity, note]);
    if (window.testFrames) requestAnimationFrame(look);
  };
  look();
}"""


def test_the_gate_before_is_dimmed_while_another_is_measured_and_it_is_said_which(
    desk, served, watch
):
    visit(desk, watch, f"{served.url}{ADDRESS}?case=own&formula=1/(3%2Bu)")
    before = desk.locator(SENTENCE).text_content()
    desk.evaluate(WATCH_SENTENCE)
    box = desk.get_by_test_id("stTextInputField")
    box.fill("1 / (1 + exp(tanh(1.5*u) * tanh(1.5*v) + sin(3*u)))")
    box.press("Enter")
    another = "before => document.querySelector('.gc-reading').textContent !== before"
    desk.wait_for_function(another, arg=before)
    settle(desk)
    frames = desk.evaluate("() => { const seen = testFrames; testFrames = null; return seen; }")
    dimmed = [opacity < 0.5 for sentence, opacity, _ in frames if sentence == before]
    assert dimmed[-1]  # until the other is there
    assert any(note.startswith("your own formula: measuring") for *_, note in frames)
    assert frames[-1][1:] == [1, ""]


def test_a_long_formula_stays_off_the_colours_and_arrays_on_their_way_dim_their_picture(
    desk, served, watch
):
    visit(desk, watch, f"{served.url}{ADDRESS}?case=learned")
    formula = desk.locator(".st-key-gates_front p:has(.katex)").bounding_box()
    colours = desk.get_by_role("radiogroup", name="Colour").bounding_box()
    assert formula["x"] + formula["width"] <= colours["x"]
    view = desk.locator(".gc-view")
    assert view.evaluate("view => getComputedStyle(view).opacity") == "1"
    view.evaluate("view => { view.dataset.stale = 'true'; }")
    assert view.evaluate("view => getComputedStyle(view).opacity") == "0.3"
    view.evaluate("view => { delete view.dataset.stale; }")


@pytest.mark.soak  # long
def test_numbers_and_names_of_axes_are_whole(desk, served, watch):
    """Where each strength has a box of its own, so that axes are drawn; after one without axes."""
    visit(desk, watch, f"{served.url}{ADDRESS}")
    scene = desk.locator(".gc-scene").first
    assert scene.evaluate(NAMES) == ["", "", ""]
    visit(desk, watch, f"{served.url}{ADDRESS}?case=own&formula=0.01*exp(0.3*u*v)")
    for width, height in ((1400, 900), (1366, 768), (390, 844)):
        resize(desk, width, height)
        assert scene.evaluate(NAMES) == ["y<sub>1</sub>", "y<sub>2</sub>", "y<sub>3</sub>"]
        assert_drawn(scene)
        assert_nothing_at_the_edge(scene)


@pytest.mark.soak  # long
def test_a_phone_shows_gallery_and_picture_first_and_scrolls_only_down(desk, served, watch):
    become_phone(desk)
    visit(desk, watch, f"{served.url}{ADDRESS}?case=ruled")
    assert_scrolls_only_down(desk)
    visit(desk, watch, f"{served.url}{ADDRESS}?maps=true")
    await_charts(desk, 3)
    assert_scrolls_only_down(desk)
    visit(desk, watch, f"{served.url}{ADDRESS}?tab_gates=Gate+design&target=saddle")
    desk.get_by_text("K, fitted − exact").wait_for()
    await_charts(desk, 2)
    assert_scrolls_only_down(desk)
    visit(desk, watch, f"{served.url}{ADDRESS}?case=ruled")
    links = desk.locator(".st-key-pages a").evaluate_all(
        "all => all.filter(link => link.offsetWidth)"
        ".map(link => [link.getBoundingClientRect().x, link.innerText.trim()])"
    )
    assert min(links)[1] == "Which gates curve?"  # the page one is on
    chosen = desk.get_by_role("button", name="ruled").locator("p")
    assert contrast(*chosen.evaluate(COLOURS)) > 4.5  # WCAG 2.1, level AA
    assert_accessible(desk)
    scene = desk.locator(".gc-scene").first
    box = scene.bounding_box()
    assert box["y"] + box["height"] < PHONE["viewport"]["height"]
    assert desk.locator(".st-key-tiles_case").bounding_box()["y"] < box["y"]
    assert_drawn(scene)

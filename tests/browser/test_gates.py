"""Does the page of gates draw, follow its slider and its tiles, and fit a screen and a phone?"""

import pytest

from .looking import assert_drawn
from .visiting import settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Which_gates_curve"
STATE = "document.querySelector('.gc-pair').__gc"
ALL_THERE = f"() => {STATE}?.header?.places.length > 4"
SENTENCE, SPACE = ".gc-pair-finding", ".gc-pair-space"


# How far each arrow misses the line from its point to the origin.
MISSED = f"""(() => {{
  const {{ header, views: [view] }} = {STATE};
  const {{ lines }} = view.scene;
  const {{ segments }} = lines.find(({{ wide, alpha }}) => wide === 1.4 && alpha === 0.7);
  const {{ origin }} = header.sides[0];
  const at = i => Array.from(segments.slice(i, i + 3)).map((x, k) => x - origin[k]);
  return Array.from({{ length: segments.length / 18 }}, (_, n) => {{
    const [[a, b, c], [x, y, z]] = [at(18 * n), at(18 * n + 3)];
    return Math.hypot(b * z - c * y, c * x - a * z, a * y - b * x);
  }});
}})()"""


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + ADDRESS)
    return visitor


def test_it_plays_and_a_click_reads_k_bend_and_gate_and_stays_in_the_link(desk, served, watch):
    """Of g = u exp(v), a gate where u > 0: det Hess(1/g) = exp(-2v) / u⁴."""
    visit(desk, watch, f"{served.url}{ADDRESS}?case=own&formula=u*exp(v)&level=0.5&mark=30.45")
    desk.wait_for_function(ALL_THERE)
    settle(desk)
    said = desk.locator(".gc-pair-reading")
    assert said.inner_text().startswith("At u = 0.50, v = 0.00: K = ")
    assert ", g = 0.75" in said.inner_text()  # half of 0.5, half of 1
    missed = desk.evaluate(MISSED)
    assert 0 < len(missed) < 9  # none where u < 0, which is no gate
    assert max(missed) < 1e-6
    desk.get_by_role("button", name="Play").click()
    desk.wait_for_function(f"() => {STATE}.frame === 20 && !{STATE}.playing")
    settle(desk)
    assert "level" not in desk.url
    assert "K = 0.1975" in said.inner_text()  # 16 · 2⁴ / 36²
    for canvas in desk.locator(".gc-pair-map canvas:visible").all():
        box = canvas.bounding_box()
        canvas.click(position={"x": 0.4 * box["width"], "y": 0.3 * box["height"]})
        desk.wait_for_function("() => !location.search.includes('mark=30.45')")
        assert "K = undetermined" in said.inner_text()  # u < 0
        settle(desk)
    hole = desk.evaluate(f"() => {STATE}.sides[0].at('', 20).some(Number.isNaN)")
    assert hole
    assert_drawn(desk.locator(SPACE).first)


# At every frame from now on: the sentence, its opacity, what is said to be coming.
WATCH_SENTENCE = """() => {
  window.testFrames = [];
  const look = () => {
    const sentence = document.querySelector('.gc-pair-finding');
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
    another = "before => document.querySelector('.gc-pair-finding').textContent !== before"
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
    view = desk.locator(".gc-pair")
    assert view.evaluate("view => getComputedStyle(view).opacity") == "1"
    view.evaluate("view => { view.dataset.stale = 'true'; }")
    assert view.evaluate("view => getComputedStyle(view).opacity") == "0.3"
    view.evaluate("view => { delete view.dataset.stale; }")

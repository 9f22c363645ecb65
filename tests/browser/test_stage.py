"""The stage of the landing page: it asks, it lifts, and what a visitor cuts is what Python says."""

import re

import numpy as np
import pytest

from gating_core.experiments.comparison import load_preset, load_sweep
from gating_core.geometry import square_grid
from ui.landing.picture import measure_stage

from .accessibility import assert_accessible
from .looking import assert_dark, assert_on_the_first_screen, assert_scrolls_only_down, pixels
from .pointing import SCROLLED, move_fingers, swipe
from .scripts import COUNT_SENT, in_browser
from .visiting import PHONE, open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

SIZE = 31
# After each frame: the sentence, what else is said, and whether the painted surface lies flat, with
# no plane.
SAID = """(look => look(look))(look => {
  const view = document.querySelector('.gc-stage-space')?.gcView;
  if (view && !view.seen) {
    const { paint } = view.painter;
    view.painter.paint = (scene, lens) => { view.seen = scene; paint(scene, lens); };
  }
  if (view?.seen) setTimeout(() => {
    const { places, sheets } = view.seen;
    const isAsked = !sheets.length && places.every((x, i) => i % 3 < 2 || !(Math.abs(x) > 1e-6));
    const said = [document.querySelector('.gc-stage-sentence').textContent,
      document.body.innerText, isAsked];
    if (String((window.__said ??= []).at(-1)) !== String(said)) window.__said.push(said);
  });
  requestAnimationFrame(() => look(look));
})"""
NEW = "localStorage.removeItem('gc-stage-asked')"  # as if the visitor had never been here
RING = (
    "Gate on: curved. The plane cuts a closed ring."
    " The fitted plane classifies 94.0 % of 1,000 test points correctly"
)
SENTENCE, LAMBDA = ".gc-stage-sentence", ".gc-stage-lambda"
STATE = "document.querySelector('.gc-stage').__gc"
TRIANGLE = f"""(({{ view: {{ scene, project, canvas }} }}) => [
  scene.ground[0].corners.map(place => project(place).slice(0, 2)),
  [canvas.clientWidth, canvas.clientHeight]])({STATE})"""
# Of planes through a surface between its two ends: accuracy, segments of the cut, loops and arcs.
CUT = """({ size, surfaces, testValues, labels, planes }) => planes.map(numbers => {
  const strength = numbers.shift();
  const at = values => frameOf(Float64Array.from(values), values.length / 2, strength);
  const places = at(surfaces);
  const plane = planeOf(numbers, middleOf(places));
  const field = fieldOf(plane, places);
  return { right: rightOf(fieldOf(plane, at(testValues)), labels),
    cut: cutOf(field, size, places), kinds: cutKinds(field, size) };
})"""
TILTED = """([ends, angle]) => {
  const plane = planeOf([0, 0, 1, -0.25], [0.1, 0.2, 0.3]);
  return ends.reduce((sum, end) => tilted(sum, end, angle), plane);
}"""


def cells_of_one_side(side):
    """Count connected parts of equal sign; neighbours along edges of the mesh's triangles."""
    size = len(side)
    seen = np.zeros_like(side, dtype=bool)
    parts = 0
    for start in np.ndindex(side.shape):
        if seen[start]:
            continue
        parts += 1
        waiting = [start]
        seen[start] = True
        while waiting:
            row, column = waiting.pop()
            for down, across in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1)):
                r, c = row + down, column + across
                inside = 0 <= r < size and 0 <= c < size
                if inside and not seen[r, c] and side[r, c] == side[row, column]:
                    seen[r, c] = True
                    waiting.append((r, c))
    return parts


def test_cut_and_accuracy_of_random_planes_are_those_that_python_computes(visitor):
    scene = measure_stage(load_preset("circle"), load_sweep("circle"), square_grid(SIZE))
    random = np.random.default_rng(0)
    planes = np.column_stack([random.random(60).round(2), random.normal(size=(60, 4))])
    planes[:, 4] /= 5
    planes[:5, 0] = 0
    planes[40:, 0] = 1
    planes[40:, 1:] = scene.planes[-1] + random.normal(size=(20, 4)) / 30  # rings, mostly
    planes[:, 1:4] /= np.linalg.norm(planes[:, 1:4], axis=1, keepdims=True)
    planes[-1] = [1, *scene.planes[-1]]
    found = in_browser(
        visitor,
        "stage",
        CUT,
        {
            "size": SIZE,
            "surfaces": scene.surfaces.ravel().tolist(),
            "planes": planes.tolist(),
            "testValues": scene.test_values.ravel().tolist(),
            "labels": scene.test_labels.tolist(),
        },
    )
    loops = 0
    for (strength, *normal, offset), each in zip(planes.tolist(), found, strict=True):
        grid, data = (
            (1 - strength) * ends[0] + strength * ends[1]
            for ends in (scene.surfaces, scene.test_values)
        )
        assert each["right"] == ((data @ normal + offset > 0) == scene.test_labels).sum()
        side = grid @ normal + offset
        cut = np.reshape(each["cut"], (-1, 3))
        assert (cut @ normal + offset) == pytest.approx(0, abs=1e-12)
        assert bool(len(cut)) == (min(side.ravel()) <= 0 < max(side.ravel()))
        rim = np.concatenate([side[0, :-1], side[:-1, -1], side[-1, :0:-1], side[:0:-1, 0]]) > 0
        arcs = (rim != np.roll(rim, 1)).sum() // 2
        parts = cells_of_one_side(side > 0)
        kinds = each["kinds"]
        assert (kinds["arcs"], kinds["loops"]) == (arcs, parts - 1 - arcs)
        if strength == 0:
            assert each["kinds"]["loops"] == 0  # a flat surface
        loops += each["kinds"]["loops"]
    assert loops > 3
    assert found[-1]["kinds"] == {"arcs": 0, "loops": 1, "small": 0}  # the fitted plane's ring


def test_a_ring_between_the_points_of_the_grid_is_found(visitor):
    """Planes that a surface eight times as fine says to cut it, or to miss it, within a cell."""
    run, sweep = load_preset("circle"), load_sweep("circle")
    coarse, fine = (
        measure_stage(run, sweep, square_grid(n)).surfaces for n in (SIZE, 8 * SIZE - 7)
    )
    random = np.random.default_rng(0)
    planes = []
    for normal in random.normal(size=(80, 3)):
        normal /= np.linalg.norm(normal)
        height = coarse[1] @ normal
        row, column = np.unravel_index(height.argmax(), height.shape)
        if {row, column} & {0, SIZE - 1}:
            continue
        gap = (fine[1] @ normal).max() - height.max()
        if gap == 0:  # the finer mesh has no higher point
            continue
        planes += [[1, *normal, -height.max() - share * gap] for share in (0.5, 2)]
    found = in_browser(
        visitor,
        "stage",
        CUT,
        {
            "size": SIZE,
            "surfaces": coarse.ravel().tolist(),
            "planes": planes,
            "testValues": [0] * 6,
            "labels": [0],
        },
    )
    assert len(found) >= 10
    assert [each["kinds"] for each in found] == [
        {"arcs": 0, "loops": 0, "small": small} for small in (1, 0)
    ] * (len(found) // 2)


def test_a_plane_turned_all_the_way_round_is_itself(visitor):
    whole = in_browser(visitor, "stage", TILTED, [["a", "b", "a"], 2 * np.pi])
    assert whole["normal"] == pytest.approx([0, 0, 1], abs=1e-12)
    half = in_browser(visitor, "stage", TILTED, [["a"], np.pi / 2])
    assert half["normal"] == pytest.approx([-1, 0, 0], abs=1e-12)
    assert half["a"] == pytest.approx([0, 0, 1], abs=1e-12)
    turned = in_browser(visitor, "stage", TILTED, [["a", "b"], 0.3])
    axes = np.array([turned["a"], turned["b"], turned["normal"]])
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.dot(turned["normal"], turned["centre"]) == pytest.approx(
        np.dot(turned["normal"], [0.1, 0.2, 0.25])
    )


# --- The hand -------------------------------------------------------------------------------------


def await_stage(page):
    page.wait_for_selector(".gc-stage-space[data-n]")
    settle(page)


def text(page, selector):
    return page.locator(selector).inner_text()


def drag(page, knob, across, down):
    box = page.locator(f".gc-plane-{knob}").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across, y + down, steps=5)
    page.wait_for_function(f"!{STATE}.drawing")


@pytest.fixture(scope="module")
def scene():
    return measure_stage(load_preset("circle"), load_sweep("circle"), square_grid(41))


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk who has come by a link, so that nothing is asked."""
    visit(visitor, watch, f"{served.url}/?strength=0", await_stage)
    return visitor


def test_a_first_visitor_is_asked_before_anything_is_shown_and_a_returning_one_is_not(
    browser, served, watch
):
    window = {"viewport": {"width": 1400, "height": 900}}
    with open_page(browser, watch, **window) as page:
        page.add_init_script(NEW)
        visit(page, watch, served.url, await_stage)
        box = page.locator(".gc-stage-stack").bounding_box()
        assert box["width"] >= 640
        assert_on_the_first_screen(
            page, "h1", SENTENCE, ".gc-stage-question", ".gc-stage-space",
            ".st-key-task", ".st-key-picture",
        )  # fmt: skip
        for later in (".gc-stage-square", ".st-key-stage_numbers p", ".gc-stage-play"):
            assert not page.locator(later).first.is_visible()
        assert_the_other_state_stands_beside(page, "Gate on: the plane cuts a closed ring")
        for size in ({"width": 1000, "height": 900}, window["viewport"]):
            spots, canvas = page.evaluate(TRIANGLE)
            assert np.min(spots) > 0
            assert (np.max(spots, 0) < canvas).all()
            page.set_viewport_size(size)
            settle(page)
        assert page.locator(".gc-stage-name:visible").all_text_contents() == ["v₁", "v₂", "v₃"]
        assert page.locator(".gc-plane-knob:visible").count() == 0
        assert text(page, SENTENCE).startswith("Gate off. The surface is flat.")
        assert_accessible(page)
        page.get_by_role("button", name="No", exact=True).click()
        page.wait_for_function(f"{STATE}.strength === 1")
        settle(page)
        assert text(page, SENTENCE) == f"{RING}, 65.0 % with the gate off."
        assert text(page, ".gc-stage-answer").startswith("Right: a plane meets a flat surface")
        assert_on_the_first_screen(page, ".gc-stage-square", ".gc-plane-knob", SENTENCE)
        assert_the_other_state_stands_beside(page, "Gate off: the plane cuts a straight line")
        picture = pixels(page.locator(".gc-stage-stack"))
        rows = (np.abs(picture - picture[0, 0]).sum(-1) > 30).any(1)
        assert rows.mean() > 0.8  # no empty band above or below
    with open_page(browser, watch, **window) as page:
        visit(page, watch, served.url, await_stage)
        assert not page.locator(".gc-stage-question").is_visible()
        assert text(page, LAMBDA) == "1.00"


def assert_the_other_state_stands_beside(page, words):
    """With its cut, in black, between two classes."""
    assert text(page, ".gc-stage-still-words") == words
    still = pixels(page.locator(".gc-stage-still"))
    red, _, blue = np.moveaxis(still[..., :3].astype(int), -1, 0)
    assert (still[..., :3].max(-1) < 60).any()
    assert min((red > blue + 80).mean(), (blue > red + 40).mean()) > 0.02


def test_a_preset_answers_the_question_and_overtakes_what_plays(browser, served, watch):
    """Whatever asks for a state, a preset, a step of present mode or Back, is shown."""
    with open_page(browser, watch, reduced_motion="no-preference") as page:
        page.add_init_script(NEW)
        page.add_init_script(SAID)
        visit(page, watch, f"{served.url}/?present=1", await_stage)
        page.locator(".gc-stage-question").wait_for()
        sentences, words, asked = zip(*page.evaluate("window.__said"), strict=True)
        assert sentences[0] == f"{RING}."  # on which the page opens
        assert sentences[-1].startswith("Gate off. The surface is flat.")
        assert asked == tuple(bool(re.search("Gate off|Yes", each)) for each in words)
        assert asked == tuple(sorted(asked))
        shown = []
        for part in ("strength=0", "strength=1", "task=xor", "task=linear"):
            page.get_by_role("button", name="Next").click()
            page.wait_for_url(lambda url, part=part: part in url)
            settle(page)
            assert not page.locator(".gc-stage-question").is_visible()
            shown.append(text(page, LAMBDA))
        assert shown == ["0.00", "1.00", "1.00", "1.00"]
        page.goto(f"{served.url}/?present=1&strength=1")
        await_stage(page)
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"0 < {STATE}.strength && {STATE}.strength < 0.5")
        page.get_by_role("button", name="Next").click()
        page.wait_for_url(lambda url: "task=xor" in url)  # the preset after the one shown
        settle(page)
        assert text(page, LAMBDA) == "1.00"
        assert page.evaluate(f"{STATE}.playing") is False


def test_the_question_is_asked_of_the_first_example_alone(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Guide", settle)
    visitor.evaluate(NEW)
    visit(visitor, watch, f"{served.url}/?task=linear", await_stage)
    assert not visitor.locator(".gc-stage-question").is_visible()
    assert text(visitor, LAMBDA) == "1.00"


def test_no_plane_cuts_a_ring_from_the_flat_surface_and_python_counts_the_same_points(desk, scene):
    desk.evaluate(COUNT_SENT)
    for knob, across, down in (("move", 40, 30), ("a", -30, 50), ("b", 30, -40)):
        before = desk.evaluate("window.testSent")
        drag(desk, knob, across, down)
        assert desk.evaluate("window.testSent") == before  # the server is asked on release
        assert text(desk, SENTENCE).startswith(
            ("Gate off. Flat:", "Gate off. The plane misses the flat")
        )
        desk.mouse.up()
        desk.wait_for_url(lambda url: "plane=" in url)
        settle(desk)
    numbers = re.search(r"plane=([^&]*)", desk.url)[1].replace("%2C", ",").split(",")
    *normal, offset = map(float, numbers)
    right = (scene.test_values[0] @ normal + offset > 0) == scene.test_labels
    assert text(desk, SENTENCE).endswith(
        f" Your plane classifies {100 * right.mean():.1f} % of 1,000 test points correctly, the"
        " fitted plane 65.0 %."
    )
    assert "Your plane" in desk.locator(".gc-stage-aloud").text_content()


@pytest.mark.soak  # long
def test_keys_move_the_plane_turn_the_picture_and_the_button_fits_it_again(desk, served, watch):
    visit(desk, watch, f"{served.url}/?strength=1", await_stage)
    before = text(desk, SENTENCE), pixels(desk.locator(".gc-stage-space"))
    desk.locator(".gc-plane-a").focus()
    for _ in range(8):
        desk.keyboard.press("ArrowUp")
    desk.wait_for_url(lambda url: "plane=" in url)
    settle(desk)
    assert "Your plane" in text(desk, SENTENCE)
    desk.get_by_role("button", name="Fit plane").click()
    desk.wait_for_url(lambda url: "plane=" not in url)
    settle(desk)
    assert text(desk, SENTENCE) == before[0]
    desk.locator(".gc-stage-space").focus()
    drawn = desk.evaluate("document.querySelector('.gc-stage-space').dataset.n")
    desk.keyboard.press("ArrowLeft")
    desk.wait_for_function(f"document.querySelector('.gc-stage-space').dataset.n > {drawn}")
    assert (np.abs(pixels(desk.locator(".gc-stage-space")) - before[1]).sum(-1) > 60).mean() > 0.01


@pytest.mark.soak  # long
def test_the_gate_opens_by_keys_and_pauses_at_a_fitted_strength(browser, served, watch):
    with open_page(browser, watch, reduced_motion="no-preference") as page:
        visit(page, watch, f"{served.url}/?strength=0", await_stage)
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"{STATE}.strength > 0.1")
        page.get_by_role("button", name="Pause").click()
        page.wait_for_url(lambda url: "strength=0" not in url or "strength=0." in url)
        settle(page)
        strength = float(text(page, LAMBDA))
        assert 0 < strength <= 1
        assert 20 * strength == pytest.approx(round(20 * strength))
        page.locator(".gc-stage-space").focus()
        page.keyboard.press("Space")
        page.wait_for_function(f"{STATE}.strength === 1 && !{STATE}.playing")
        page.wait_for_url(lambda url: "strength=1" in url)
        settle(page)


def assert_above_the_bars(page, *selectors):
    """On a phone whose browser's bars leave 664 pixels, these are on the first screen."""
    for selector in selectors:
        for box in (each.bounding_box() for each in page.locator(selector).all()):
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 664


@pytest.mark.soak  # long
def test_a_finger_moves_the_plane_and_scrolls_beside_it_on_a_dark_phone(browser, served, watch):
    with open_page(browser, watch, **PHONE) as page:
        page.add_init_script(NEW)
        visit(page, watch, served.url, await_stage)
        assert_dark(page)
        assert_scrolls_only_down(page)
        assert_above_the_bars(page, ".gc-stage-question button")
        page.get_by_role("button", name="Show me").click()
        page.wait_for_function(f"{STATE}.strength === 1")
        settle(page)
        assert_above_the_bars(page, ".gc-stage-square", ".gc-stage-strength", ".gc-stage-play")
        box = page.locator(".gc-plane-move").bounding_box()
        start = box["x"] + 13, box["y"] + 13
        swipe(page, start, (start[0] + 20, start[1] + 40))
        page.wait_for_url(lambda url: "plane=" in url)
        assert page.evaluate(SCROLLED) == 0
        settle(page)
        box = page.locator(".gc-stage-space").bounding_box()
        distance = f"{STATE}.view.camera.distance"
        first, (x, y) = page.evaluate(distance), (box["x"] + 60, box["y"] + 180)
        move_fingers(page, ((x, y), (x - 10, y + 5)), ((x + 30, y), (x + 40, y - 5)))
        assert page.evaluate(distance) == pytest.approx(first * 30 / np.hypot(50, 10), rel=0.02)
        assert page.evaluate(SCROLLED) == 0
        edge = box["x"] + box["width"] - 20, box["y"] + box["height"] - 20  # no knob is there
        swipe(page, edge, (edge[0], edge[1] - 150))
        page.wait_for_function(f"{SCROLLED} > 50")

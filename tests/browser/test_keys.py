"""Do keys that are dragged in the browser give what Python computes, without asking the server?"""

import json
import re

import numpy as np
import pytest
import torch

from gating_core.theory import four_key_curvature, key_sign, random_keys
from ui.common.charts import italic
from ui.keys.four_keys import FIRST

from .looking import assert_scrolls_only_down, pixels
from .pointing import SCROLLED, swipe
from .scripts import COUNT_SENT, in_browser
from .visiting import PHONE, open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Which_keys_curve"
SENTENCE = ".gc-keys-sentence"
# Of models with their points: K with its bound, and the sign.
MEASURED = """models => models.map(({ points, ...model }) => ({
  sign: signOfKeys(model.keys).sign,
  points: points.map(([u, v]) => {
    const { K, error } = curvatureOf(model, outputAt(model, u, v));
    return [K, error];
  }),
}))"""


# Of models: how many of `count` planes cut a closed ring, and whether the first one does.
RINGS = """({ models, count }) => models.map(model => {
  const surface = sampled(model);
  const { places, normals } = surface;
  const normal = normalNumbers(1);
  const rings = plane => Boolean(closedPart(fieldOf(plane, places), SIZE));
  const planes = Array.from({ length: count }, (_, n) => {
    const i = Math.floor(n * SIZE * SIZE / count);
    const around = n % 2 ? vertexOf(normals, i) : [0, 0, 0];  // half are nearly tangent planes
    const across = unit([0, 1, 2].map(k => around[k] + (n % 2 ? 0.05 : 1) * normal()));
    return planeOf([...across, -dot(across, vertexOf(places, i))], [0, 0, 0]);
  });
  return [planes.filter(rings).length, rings(firstCut(surface))];
})"""

# Of texts: what a component makes of them, the second time they are set, and its variables.
TYPESET = """async texts => {
  const node = element('p', {}, make('text'), element('q', { translate: false }, 'K'));
  keepTypeset(node);
  const found = [];
  for (const text of texts) {
    for (const again of [text, text]) node.firstChild.textContent = again;
    await null; // observers come first
    const said = [...node.querySelectorAll('.gc-var')].map(part => part.textContent);
    found.push([node.firstChild.textContent, said]);
  }
  return found;
}"""
VARIABLES = {
    "x": ["x"],
    "a dome, K > 0": ["K"],
    "Y[1] at x₁ −0.60, v₃ 20 %, λ = 0.5": ["Y", "x", "v", "λ"],
    "total ∫|K| dA": ["K", "dA"],
    "(u, v, 1)": ["u", "v"],
    "A and B: top-k keeps a KV cache; the gate’s G1 took 3 s of a 3-D view": [],
}


def await_keys(page):
    page.wait_for_selector(".gc-keys-space[data-n]")
    settle(page)


def test_variables_stand_in_italics_and_the_texts_stay(desk):
    found = in_browser(desk, "keys", TYPESET, [*VARIABLES])
    assert found == [[*said] for said in VARIABLES.items()]
    for text, said in VARIABLES.items():  # and in charts
        assert re.findall("<i>(.*?)</i>", italic(text)) == said


def centre(page, number):
    box = page.locator(f".gc-key[data-key='{number - 1}'] .gc-key-dot").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def sign(page):
    return page.locator(".gc-keys").get_attribute("data-sign")


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + ADDRESS, await_keys)
    return visitor


# --- Mathematics ----------------------------------------------------------------------------------


def test_javascript_computes_what_python_does_at_a_thousand_points(desk):
    models, exact = [], []
    for seed in range(100):
        layer = random_keys(4, seed)
        points = 2 * torch.rand(10, 2, generator=torch.Generator().manual_seed(seed)).double() - 1
        arguments = layer.keys, layer.biases, layer.values, points
        names = ("keys", "biases", "values", "points")
        models.append({name: x.tolist() for name, x in zip(names, arguments, strict=True)})
        exact.append(four_key_curvature(*arguments))
    found = in_browser(desk, "keys", MEASURED, models)
    assert [each["sign"] for each in found] == [each.sign for each in exact]
    direct, bound = np.moveaxis(np.array([each["points"] for each in found]), -1, 0)
    gaussian = np.stack([each.gaussian for each in exact])
    error = np.stack([each.gaussian_error for each in exact])
    assert gaussian.size == 1000
    assert (np.abs(direct - gaussian) <= bound + error).all()
    assert np.median(bound / np.abs(gaussian)) < 1e-9  # else agreement would show nothing


def test_percentages_of_weights_sum_to_100_and_are_rounded(desk):
    random = np.random.default_rng(0)
    weights = [random.dirichlet(np.full(n, scale)) for n in range(1, 9) for scale in (0.1, 1, 9)]
    weights += [np.full(n, 1 / n) for n in (3, 6, 7)] + [np.array([0.3651, 0.1951, 0.4398])]
    found = in_browser(
        desk, "keys", "all => all.map(percentsOf)", [each.tolist() for each in weights]
    )
    for shares, texts in zip(weights, found, strict=True):
        percents = np.array([0 if text == "< 1 %" else int(text[:-2]) for text in texts])
        assert percents.sum() == 100
        assert np.abs(percents - 100 * shares).max() < 1
        order = np.lexsort((percents, shares))
        assert (np.diff(percents[order]) >= 0).all()


@pytest.mark.soak  # long
def test_a_key_that_is_put_on_a_line_is_on_it_exactly(desk):
    """Also on a line through a key that was put on another one: by rational arithmetic."""
    function = """seed => {
      const normal = normalNumbers(seed);
      return Array.from({ length: 200 }, () => {
        const [a, b, c] = [0, 1, 2].map(() => onLattice([normal(), normal()]));
        const near = (p, q, t) => p.map((x, i) => x + t * (q[i] - x) + 0.01 * normal());
        const fourth = snapped(near(a, b, Math.abs(normal()) / 4), [a, b, c]);
        const third = snapped(near(a, fourth, 0.5), [a, b, fourth]);
        return [[a, b, c, fourth], [a, b, third, fourth], [signOfKeys([a, b, c, fourth]).sign]];
      });
    }"""
    once = twice = 0
    for first, second, (found,) in in_browser(desk, "keys", function, 5):
        once += key_sign(first).sign == 0
        twice += key_sign(second).sign in (0, None)
        assert found == key_sign(first).sign
    assert once > 180
    assert twice > 150


def test_a_plane_cuts_a_ring_out_of_every_dome_and_out_of_no_saddle(desk):
    """By theorem; here 100 planes each, on the mesh that is drawn."""
    names = ("keys", "biases", "values")
    layers = [random_keys(4, seed) for seed in range(24)]
    models = [{name: getattr(layer, name).tolist() for name in names} for layer in layers]
    found = in_browser(desk, "keys", RINGS, {"models": models, "count": 100})
    signs = [key_sign(layer.keys).sign for layer in layers]
    assert {*signs} == {1, -1}
    for (rings, first), sign in zip(found, signs, strict=True):
        assert first == (sign > 0)
        assert sign > 0 or not rings


def test_the_dashed_ring_stands_where_the_sign_is_the_other_one(desk):
    layers = [random_keys(4, seed).keys.clamp(-3.9, 3.9).tolist() for seed in range(100)]
    function = "all => all.map(keys => keysAcross(keys, 3))"
    found = list(zip(layers, in_browser(desk, "keys", function, layers), strict=True))
    assert sum(across is None for _, across in found) < 10  # no such place in the square
    for keys, across in found:
        if across:
            assert across[:3] == keys[:3]
            assert key_sign(across).sign == -key_sign(keys).sign
            assert np.abs(across).max() <= 4


# --- The hand -------------------------------------------------------------------------------------


def test_a_key_dragged_over_an_edge_turns_the_dome_at_once_and_costs_the_server_nothing(
    desk, served, watch
):
    sent = []
    desk.evaluate(COUNT_SENT)
    (x, y), (_, edge) = centre(desk, 4), centre(desk, 3)
    desk.mouse.move(x, y)
    desk.mouse.down()
    before = desk.evaluate("window.testSent")
    for share in (0.5, 1.0, 1.25):
        desk.mouse.move(x, y + share * (edge - y), steps=5)
        desk.wait_for_function("!document.querySelector('.gc-keys').__gc.drawing")
        sent.append(sign(desk))
    assert sent == ["1", "0", "-1"]
    assert "convex position: a saddle everywhere" in desk.locator(SENTENCE).inner_text()
    assert desk.evaluate("window.testSent") == before
    assert desk.locator(".gc-keys-aloud").text_content() == ""
    desk.mouse.up()
    desk.wait_for_url(lambda url: "keys=" in url)
    settle(desk)
    assert "saddle" in desk.locator(".gc-keys-aloud").text_content()
    visit(desk, watch, desk.url, await_keys)
    assert sign(desk) == "-1"


def test_the_ring_that_a_plane_cuts_opens_where_the_dome_becomes_a_saddle(desk, served, watch):
    visit(desk, watch, served.url + ADDRESS, await_keys)
    assert not desk.locator(".gc-plane-move").is_visible()
    button = desk.get_by_role("button", name="Cut with a plane")
    button.click()
    desk.wait_for_url(lambda url: "cut=" in url)
    settle(desk)
    assert "The plane cuts a closed ring." in desk.locator(SENTENCE).inner_text()
    link = desk.url
    desk.locator(".gc-plane-move").focus()
    desk.keyboard.press("ArrowUp")
    desk.wait_for_url(lambda url: "cut=" in url and url != link)
    desk.get_by_role("slider", name="Key 4").focus()
    for _ in range(20):
        desk.keyboard.press("ArrowDown")
    desk.wait_for_url(lambda url: "keys=" in url)
    settle(desk)
    said = desk.locator(SENTENCE).inner_text()
    assert "open curve" in said
    assert said.endswith("No plane cuts a closed ring: that needs K > 0.")
    button.click()
    desk.wait_for_url(lambda url: "cut=" not in url)
    settle(desk)
    assert desk.locator(SENTENCE).inner_text().startswith("The four keys are in convex position")


@pytest.mark.soak  # long
def test_arrow_keys_reach_the_line_the_button_goes_back_and_draws_do_not_break_the_sign(
    desk, served, watch
):
    visit(desk, watch, served.url + ADDRESS, await_keys)
    key = desk.get_by_role("slider", name="Key 4")
    key.focus()
    for _ in range(14):
        desk.keyboard.press("ArrowDown")
    assert sign(desk) == "0"
    assert "Keys 2, 3 and 4 lie on one line: K = 0" in desk.locator(SENTENCE).inner_text()
    desk.keyboard.press("Shift+ArrowDown")
    desk.wait_for_function("document.querySelector('.gc-keys').dataset.sign === '-1'")
    settle(desk)
    desk.get_by_role("button", name="First keys").click()
    desk.wait_for_function("document.querySelector('.gc-keys').dataset.sign === '1'")
    desk.wait_for_url(lambda url: "keys=" not in url)
    settle(desk)
    desk.get_by_role("button", name="Try to break it").click()
    said = desk.locator(".gc-keys-broken").inner_text()
    assert "K > 0 at 14,400 of 14,400 points" in said or "rounding bound (grey)" in said
    assert "K < 0" not in said
    assert desk.locator(".gc-keys-tiles").is_visible()


@pytest.mark.soak  # long
def test_a_value_and_a_bias_move_the_surface_and_not_its_sign(desk, served, watch):
    visit(desk, watch, served.url + ADDRESS, await_keys)
    start = pixels(desk.locator(".gc-keys-space"))
    box = desk.locator(".gc-keys-value[data-value='3']").bounding_box()
    desk.mouse.move(box["x"] + 10, box["y"] + 10)
    desk.mouse.down()
    desk.mouse.move(box["x"] + 60, box["y"] + 90, steps=4)
    desk.mouse.up()
    desk.wait_for_url(lambda url: "values=" in url)
    slider = desk.locator(".gc-keys-biases input").first
    slider.focus()
    desk.keyboard.press("PageUp")
    desk.wait_for_url(lambda url: "biases=" in url)
    settle(desk)
    assert sign(desk) == "1"
    assert (np.abs(pixels(desk.locator(".gc-keys-space")) - start).sum(-1) > 60).mean() > 0.02


@pytest.mark.soak  # long
def test_a_click_on_the_surface_marks_a_point_whose_numbers_stand_below(desk, served, watch):
    visit(desk, watch, served.url + ADDRESS, await_keys)
    box = desk.locator(".gc-keys-space").bounding_box()
    place = desk.evaluate("""() => {
      const { view, surface } = document.querySelector('.gc-keys').__gc;
      const inside = 41 * 10 + 25;  // of the outline, too: at its edge a rounded pixel misses
      return view.project(surface.places.slice(3 * inside, 3 * inside + 3));
    }""")
    desk.mouse.click(box["x"] + place[0], box["y"] + place[1])
    desk.wait_for_url(lambda url: "at=" in url)
    settle(desk)
    u, v = json.loads("[" + desk.url.split("at=")[1].split("&")[0].replace("%2C", ",") + "]")
    assert (u, v) == pytest.approx((0.25, -0.5), abs=0.01)
    found = four_key_curvature(FIRST.keys, FIRST.biases, FIRST.values, [[u, v]]).gaussian.item()
    assert f"K = {found:.3g}" in desk.locator(".gc-keys-point").inner_text()
    assert f"K by the closed form: {found:.4f}"[:-2] in desk.inner_text("body")


@pytest.mark.soak  # long
def test_a_finger_moves_a_key_and_scrolls_beside_it_on_a_dark_phone(browser, served, watch):
    with open_page(browser, watch, **PHONE) as page:
        visit(page, watch, served.url + ADDRESS, await_keys)
        assert_scrolls_only_down(page)
        x, y = centre(page, 4)
        swipe(page, (x, y), (x, y + 90))
        page.wait_for_function("document.querySelector('.gc-keys').dataset.sign === '-1'")
        assert page.evaluate(SCROLLED) == 0
        box = page.locator(".gc-keys-space").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + 0.8 * box["height"]
        swipe(page, middle, (middle[0], middle[1] - 150))
        page.wait_for_function(f"{SCROLLED} > 50")

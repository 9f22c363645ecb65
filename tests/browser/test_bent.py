"""Do islands in the browser follow the plane and agree with the library? The saddle has none."""

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison import EXAMPLES, cut_example, first_plane, sample_example
from gating_core.geometry import square_grid

from .looking import pixels
from .scripts import COUNT_SENT, in_browser
from .visiting import settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Curved_or_bent?bent_tab=Islands"
SPACE, SENTENCE = ".gc-islands-space", ".gc-islands-sentence"
SHIFTS = (-0.7, -0.65, -0.6, -0.5, -0.2, 0.0, 0.2, 1.0, 9.0)  # of the first plane
SMALL = 0.6  # radius of an island of a few cells
# Of planes: what the theorem needs of the highest island, and what the vertices say.
FOUND = """({ surface: { values, ...rest }, planes }) => planes.map(plane => {
  const surface = { values: Float64Array.from(values), ...rest };
  const places = placesOf(surface, 0);
  const cut = planeOf(plane, [0, 0, 0]);
  const island = islandOf(surface, fieldOf(cut, places), cut.normal);
  return island && [island.height, island.sphere, island.needed, island.measured.total, island.top];
})"""


def await_islands(page):
    page.wait_for_selector(f"{SPACE}[data-n]")
    settle(page)


def closed(page):
    return page.locator(".gc-islands").get_attribute("data-closed") == "true"


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that leave the page usable."""
    visit(visitor, watch, served.url + ADDRESS, await_islands)
    return visitor


@pytest.mark.parametrize("name", ["gated layer", "flat torus"])
def test_the_browser_finds_the_islands_that_the_library_finds(desk, name):
    """The library measures on finer grids: heights agree to a hundredth, totals to a tenth.

    Of small islands, too, the browser says no more than what is needed.
    """
    surface, function = sample_example(name, square_grid(41)), EXAMPLES[name]().function
    sent = {field: np.asarray(x).ravel().tolist() for field, x in vars(surface).items()}
    sent |= {"size": 41, "dim": surface.values.shape[-1]}
    x, y, z, offset = first_plane(name)
    draw = np.random.default_rng(0)
    planes = [[x, y, z, offset + shift] for shift in SHIFTS]
    for normal in draw.normal([x, y, z], 0.15, (6, 3)):
        planes.append([*normal / np.linalg.norm(normal), offset])
    found = in_browser(desk, "islands", FOUND, {"surface": sent, "planes": planes})
    exact = [cut_example(name, plane) for plane in planes]
    assert [x is None for x in found] == [x is None for x in exact]
    assert None in exact and sum(x is not None for x in exact) > 4  # noqa: PT018
    for island, told in zip(filter(None, exact), filter(None, found), strict=True):
        height, sphere, needed, total, top = told
        small = island.radius < SMALL
        assert height == pytest.approx(island.height, rel=0.02)
        # R² / 2H. The summit is a vertex, up to half a cell off: R to three hundredths, R² to six.
        if not small:
            assert sphere == pytest.approx(island.sphere_radius, rel=0.07)
        summit = torch.from_numpy(surface.values.reshape(-1, surface.values.shape[-1])[top])
        boundary = function(island.boundary)
        radius = float(torch.linalg.vector_norm(boundary - summit, dim=-1).max())
        assert 0.85 < needed["H"] * radius**2 / (1.98 * height) <= 1
        if island.needed_total is not None:
            assert total == pytest.approx(float(island.positive.value), rel=0.1)
            assert needed["K"] == pytest.approx(needed["H"] ** 2)
            most = 2 * np.pi * (1 - np.sqrt(1 - (height / radius) ** 2))
            assert 0.85 < needed["total"] / most <= 1


def test_of_what_may_fold_nothing_is_needed(desk):
    surface = sample_example("gated layer", square_grid(41))
    sent = {field: np.asarray(x).ravel().tolist() for field, x in vars(surface).items()}
    sent |= {"size": 41, "dim": 3, "thin": [1] * 41**2}
    ((*_, needed, _, _),) = in_browser(
        desk, "islands", FOUND, {"surface": sent, "planes": [[*first_plane("gated layer")]]}
    )
    assert needed == {"K": None, "total": None, "H": None}


def test_keys_lift_the_plane_off_the_hill_without_the_server_and_a_button_puts_it_back(
    desk, served, watch
):
    desk.evaluate(COUNT_SENT)
    desk.locator(".gc-plane-move").focus()
    desk.keyboard.down("ArrowUp")
    for _ in range(60):
        desk.keyboard.down("ArrowUp")  # as a key that is held
    desk.wait_for_function("document.querySelector('.gc-islands').dataset.closed === 'false'")
    assert desk.evaluate("window.testSent") == 0
    desk.keyboard.up("ArrowUp")
    desk.wait_for_url(lambda url: "island_plane=" in url)
    settle(desk)
    assert "No closed part" in desk.inner_text("body")
    visit(desk, watch, desk.url, await_islands)
    assert not closed(desk)
    desk.get_by_role("button", name="First plane").click()
    desk.wait_for_url(lambda url: "island_plane=" not in url)
    settle(desk)
    assert closed(desk)


def test_a_thousand_planes_cut_no_island_out_of_the_saddle(desk, served, watch):
    for name, fewest, most in (("saddle", 0, 0), ("flat+torus", 20, 990)):
        visit(desk, watch, f"{served.url}{ADDRESS}&island_surface={name}", await_islands)
        desk.get_by_role("button", name="Try 1,000 random planes").click()
        tried = int(desk.locator(".gc-islands").get_attribute("data-tried"))
        assert fewest <= tried <= most
        assert f"{tried} of 1,000" in desk.locator(".gc-islands-tried").inner_text()


def test_the_shadow_turns_its_loop_stays_closed_and_the_plane_hides(desk, served, watch):
    visit(desk, watch, f"{served.url}{ADDRESS}&island_surface=flat+torus", await_islands)
    before = pixels(desk.locator(SPACE))
    dial = desk.locator(".gc-islands-turn")
    dial.focus()
    desk.keyboard.press("End")
    desk.wait_for_url(lambda url: "island_turn=90" in url)
    settle(desk)
    assert closed(desk)
    assert desk.locator(".gc-plane-knob:visible").count() == 0
    assert dial.get_attribute("aria-valuetext") == "90 degrees, a saddle"
    assert (np.abs(pixels(desk.locator(SPACE)) - before).sum(-1) > 60).mean() > 0.05


PAIR, POINT = ".gc-pair[data-n]:not([data-stale])", ".st-key-chart_price_price .point"


def await_pair(page):
    page.wait_for_selector(PAIR)
    settle(page)


def test_a_guess_by_keyboard_colours_both_surfaces(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Curved_or_bent", await_pair)
    grey = pixels(visitor.locator(PAIR))
    assert np.median(np.ptp(grey.reshape(-1, 3), axis=1)) < 12
    visitor.get_by_role("button", name="Left is flat").focus()
    visitor.keyboard.press("Enter")
    visitor.get_by_text("You found it.").wait_for()
    assert "flat_guess=left" in visitor.url


def test_a_click_on_a_point_shows_its_two_surfaces_and_so_does_the_keyboard(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Curved_or_bent?bent_tab=Price", await_pair)
    before = visitor.locator(PAIR).inner_text()
    box = visitor.locator(POINT).first.bounding_box()  # elementwise, D = 3, no price
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    visitor.mouse.move(*place)
    visitor.mouse.click(*place)
    visitor.wait_for_url(lambda url: "price_gate=elementwise%2C+D+%3D+3" in url)
    await_pair(visitor)
    assert "price_paid=no+price" in visitor.url
    clicked = visitor.locator(PAIR).inner_text()
    assert clicked != before
    visitor.get_by_role("combobox", name="trained with").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        visitor.keyboard.press(key)
    visitor.wait_for_url(lambda url: "price_paid=no+price" not in url)
    await_pair(visitor)
    assert visitor.locator(PAIR).inner_text() not in (before, clicked)

"""Does the Manifold page link its panels in a real browser: point, click, turn, drag, undo?"""

import re
from contextlib import suppress

import numpy as np
import pytest
from playwright.sync_api import TimeoutError

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import (
    CAMERAS,
    MARKERS,
    assert_dark,
    assert_drawn,
    assert_nothing_is_cropped,
    assert_on_the_first_screen,
    assert_same_camera,
    assert_scrolls_only_down,
    assert_stacked,
    extents,
)
from .pointing import click_until_marked, place, surface_spots
from .visiting import (
    PHONE,
    await_view,
    become_phone,
    follow_link,
    resize,
    scroll_to_top,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

ADDRESS = "/Manifold"
WIDE = {"viewport": {"width": 900, "height": 1500}}
COARSE = f"{ADDRESS}?grid=31"  # a quarter of the points, for whoever drags and turns
SLOW_TO_MEASURE = f"{ADDRESS}?dim=8&n=8&seed=77"  # as far as 21 strengths go
LOOKING_CLOSELY = f"{COARSE}&tab=Inspect&point=15.10"
GRID = 31
TURN = np.radians(8)
SLIDER = ".gc-scrub"
STATE = "document.querySelector('.gc-view').__gc"
ARRAY = f"""name => {{
  const {{ values, framed, size }} = {STATE}.arrays[name];
  const from = framed ? {STATE}.frame * size : 0;
  return [...values.subarray(from, from + size)];
}}"""  # of the shown frame
EDGES = """selector => [...document.querySelectorAll(selector)].map(node => {
  const { top, bottom } = node.getBoundingClientRect();
  return [top, bottom];
})"""
READOUTS = "() => [...document.querySelectorAll('.gc-readout')].map(node => node.textContent)"
FITTED = """() => [...document.querySelectorAll('.gc-scene, .gc-plane')].every(
  ({ clientWidth, clientHeight, _fullLayout }) =>
    clientWidth && Math.abs(clientWidth - _fullLayout.width) <= 1
    && Math.abs(clientHeight - _fullLayout.height) <= 1)"""  # a place may be half a pixel wider
# How far the middle of each name is from its point, and how wide it is, all in pixels.
# The sheet loses all but one of its triangles, and the pointer moves before that is drawn.
POINT_WHILE_REPLACED = """async (div, [x, y]) => {
  const Plotly = await window.__gcPlotly;
  const one = name => [div.data[0][name].slice(0, 1)];
  const drawn = Plotly.restyle(div, { i: one('i'), j: one('j'), k: one('k') }, [0]);
  const move = new MouseEvent('mousemove', { clientX: x, clientY: y });
  div.querySelector('canvas').dispatchEvent(move);
  await drawn;
}"""
# How far each scene's markers stand before their surface, on the way to the viewer, by axis.
LIFTS = f"""() => {STATE}.header.columns.map(({{ panels: [{{ layout }}] }}) =>
  ['x', 'y', 'z'].map(axis => {{
    const [low, high] = layout[`${{axis}}axis`].range;
    return 0.02 * {STATE}.camera().eye[axis] * (high - low) / layout.aspectratio[axis];
  }}))"""


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    """A visitor at a desk, shared by the tests that go to links of their own."""
    visit(visitor, watch, served.url + ADDRESS)
    return visitor


@pytest.fixture(scope="module")
def wide(desk, served, watch):
    """The same visitor, now with a high window, shared by the tests that leave the page usable."""
    desk.set_viewport_size(WIDE["viewport"])
    visit(desk, watch, served.url + COARSE)
    return desk


@pytest.fixture(scope="module")
def phone(wide):
    """The same visitor, now with a phone and a dark colour scheme, looking closely at a link."""
    become_phone(wide)
    follow_link(wide, LOOKING_CLOSELY)
    wide.wait_for_function(
        "document.querySelector('.gc-view')?.__gc?.header.pick?.join() === '15,10'"
    )
    await_view(wide)
    return wide


def array(page, name):
    return np.array(page.evaluate(ARRAY, name), dtype=float)


def parameter(page, name):
    found = re.search(rf"[?&]{name}=([^&]*)", page.url)
    return found and found[1]


def point_of(url):
    found = re.search(r"[?&]point=(\d+)\.(\d+)", url)
    return found and (int(found[1]), int(found[2]))


def open_tab(page, name):
    page.get_by_role("tab", name=name).click()
    first = name == "Surface"
    page.wait_for_url(lambda url: ("tab=" not in url) if first else f"tab={name.split()[0]}" in url)
    settle(page)
    if name != "Error analysis":
        panels = 3 if first else 6  # a flat side has no map where nothing else is inspected
        page.wait_for_function(
            "count => document.querySelector('.gc-view')?.__gc?.plots.length === count", arg=panels
        )
        await_view(page)


def assert_marked(page, row, column):
    """Every panel has its marker at this point of the grid, and no other."""
    markers = page.evaluate(MARKERS)
    left = page.evaluate(f"{STATE}.header.columns[0].panels.length")
    axis = np.linspace(-1, 1, GRID)
    lifts = page.evaluate(LIFTS)
    own = (markers[:left], markers[left:])
    for side, (scene, *maps), lift in zip(("left", "right"), own, lifts, strict=True):
        chart, triangle = maps[:1], maps[1:]
        assert chart == [pytest.approx([axis[column], axis[row]], abs=1e-6)] * len(chart)
        at = row * GRID + column
        for i, letter in enumerate("xy"):
            values = array(page, f"{side}_{letter}")
            wanted = values[at] + lift[i]
            assert scene[i] == pytest.approx(wanted, abs=1e-4 * np.ptp(values))
            if triangle:
                spots = array(page, f"{side}_simplex_{letter}")
                assert triangle[0][i] == pytest.approx(spots[at], abs=1e-6)


def press_slider(page, key, wanted):
    """Wait for the server's answer: the link knows of the key before."""
    page.locator(SLIDER).focus()
    page.keyboard.press(key)
    page.locator(".gc-frame", has_text=f"λ = {wanted}").wait_for()
    page.wait_for_url(lambda url: f"lambda={wanted}" in url)
    settle(page)


# --- Surface ---


SIZES = {"desk": (1400, 900), "wide": (1920, 1080), "narrow": (900, 900), "phone": (390, 844)}
# Each model with the sizes that it is looked at in, one after another.
AXES_SHOWN = "document.querySelector('.gc-scene')._fullLayout.scene.xaxis.showticklabels"
MODELS = {
    "": ("desk", "wide", "narrow", "phone"),
    "?layers=4&grid=31": ("phone",),
    "?dim=16&n=8&grid=31": ("desk",),
    "?chart=weights&n=8&dim=8&grid=31": ("desk", "phone"),
}


def go_to(page, link):
    """Follow the page's link to another model and wait for its picture."""
    # A view may be made anew meanwhile: for a moment it has no state.
    header = f"JSON.stringify({STATE}?.header)"
    seen = page.evaluate(header)
    follow_link(page, ADDRESS + link)
    page.wait_for_function(f"seen => ({header} ?? seen) !== seen", arg=seen)
    await_view(page)


def pixel(page, chart, x, y):
    """The pixel of a place in the coordinates of the n-th chart."""
    return page.evaluate(
        """([n, x, y]) => {
          const div = document.querySelectorAll('.gc-plane')[n];
          const { xaxis, yaxis } = div._fullLayout;
          const { left, top } = div.getBoundingClientRect();
          return [left + xaxis._offset + xaxis.d2p(x), top + yaxis._offset + yaxis.d2p(y)];
        }""",
        [chart, x, y],
    )


def point_at_the_surface(page, scene):
    """Move the pointer until it is on the surface; the pixel where that is."""
    scene.scroll_into_view_if_needed()
    spots = surface_spots(scene)
    for spot in spots[len(spots) // 2 :]:
        page.mouse.move(*spot, steps=3)
        with suppress(TimeoutError):  # behind a fold
            page.wait_for_function(f"{STATE}.hover !== null", timeout=2_000)
            return spot
    pytest.fail("the surface is nowhere")


def test_one_screen_tells_it_all(desk):
    """At 1400 x 900, without scrolling: question, controls, tabs, pictures, λ, sentence, scale."""
    assert_on_the_first_screen(
        desk,
        "h1",
        ".st-key-kind",
        ".st-key-layers",
        ".st-key-chart",
        ".st-key-by",
        "[role=tablist]",
        ".gc-play",
        SLIDER,
        ".gc-edge",
        ".gc-scene",
        ".gc-plane",
        ".gc-reading",
        ".gc-legend",
    )
    assert (desk.locator(".gc-scene").count(), desk.locator(".gc-plane").count()) == (2, 1)
    for scene in desk.locator(".gc-scene").all():
        assert scene.bounding_box()["height"] >= 340
        assert_drawn(scene)
    assert_accessible(desk)


@pytest.mark.soak  # long
def test_no_model_is_cropped_at_any_width(desk):
    for link, sizes in MODELS.items():
        if link:
            go_to(desk, link)
        for size in sizes:
            resize(desk, *SIZES[size])
            # Where nothing is drawn of the box, only what is in it must be seen.
            boxed = desk.evaluate(AXES_SHOWN)
            farthest = np.abs(extents(desk, *["the box"] * boxed)).max()
            assert 0.5 < farthest < 1, (link, size)  # nor far away


@pytest.mark.soak  # long
def test_pictures_have_the_size_of_their_places_when_these_change_without_the_window(desk):
    """A page may give a view its width after it was drawn: Plotly would stay 700 pixels wide."""
    resize(desk, *SIZES["desk"])
    for width in ("50%", "100%"):
        desk.evaluate("width => { document.querySelector('.gc-view').style.width = width }", width)
        desk.wait_for_function(FITTED)


@pytest.mark.soak  # long
def test_pointing_at_what_is_not_known_says_so(desk):
    """Plotly would write "NaN"; here a point of the right-hand chart whose K nobody knows."""
    go_to(desk, "?layers=8&model=0&grid=31")
    resize(desk, 900, 1500)
    unknown = np.isnan(array(desk, "right_gaussian")).reshape(31, 31)
    row, column = np.argwhere(unknown)[unknown.sum() // 2].tolist()
    desk.evaluate("document.querySelectorAll('.gc-plane')[0].scrollIntoView()")
    axis = array(desk, "axis").tolist()
    desk.mouse.move(*pixel(desk, 0, axis[column], axis[row]))
    desk.wait_for_function(f"{STATE}.hover?.join() === '{row},{column}'")
    desk.wait_for_function("document.querySelector('.gc-plane .hovertext')")
    (hover,) = desk.locator(".gc-plane .hovertext").all_text_contents()
    assert "K = not known" in hover
    assert "K = not known" in desk.evaluate(READOUTS)[1]
    assert "K = 0 ·" in desk.evaluate(READOUTS)[0]
    desk.mouse.move(1, 1)


@pytest.mark.soak  # long
def test_pointing_at_a_picture_that_is_being_replaced_is_no_error(desk):
    """Plotly answers from the picture before: `nothing_goes_wrong` would see its error."""
    go_to(desk, "?grid=31")
    resize(desk, *SIZES["desk"])
    scene = desk.locator(".gc-scene").nth(1)
    scene.scroll_into_view_if_needed()
    across, down = point_at_the_surface(desk, scene)
    scene.evaluate(POINT_WHILE_REPLACED, (across + 2, down))
    desk.mouse.move(1, 1)
    go_to(desk, "?layers=4&grid=31")


# --- Where the handles stand ---

HANDLES = (".gc-pad", ".st-key-pair", ".st-key-handles_undo", ".st-key-handles_reset")


@pytest.mark.soak  # long
def test_handles_and_what_they_move_stand_in_one_view_or_below_each_other(desk):
    """At 1400 x 900, without scrolling: λ, both sides with chart and weights, both pads, undo."""
    resize(desk, *SIZES["desk"])
    go_to(desk, "?tab=Inspect&handles=true&grid=31")
    assert_on_the_first_screen(
        desk,
        "[role=tablist]",
        ".gc-play",
        SLIDER,
        ".gc-scene",
        ".gc-plane",
        ".gc-reading",
        *HANDLES,
    )
    for selector, count in ((".gc-scene", 2), (".gc-plane", 4), (".gc-pad", 2)):
        assert desk.locator(selector).count() == count
    for scene in desk.locator(".gc-scene").all():
        box = scene.bounding_box()
        assert min(box["width"], box["height"]) >= 290
    chart, triangle = (
        np.ptp([pixel(desk, place, x, 0) for x in ends], axis=0)[0]
        for place, ends in ((0, (-1, 1)), (1, (0, 1)))
    )
    assert min(chart, triangle) >= 120  # pixels
    assert_nothing_is_cropped(desk)
    resize(desk, *SIZES["phone"])  # where there is no room beside the pictures
    ((_, end),) = desk.evaluate(EDGES, ".gc-view")
    assert all(start >= end for start, _ in desk.evaluate(EDGES, ".gc-pad"))
    assert_scrolls_only_down(desk)
    assert all(pad.bounding_box()["width"] >= 300 for pad in desk.locator(".gc-pad").all())


# --- Surface, closely ---


def test_the_surface_the_sentence_and_the_total_follow_the_slider_while_it_is_dragged(wide):
    before = array(wide, "right_z")
    track = wide.locator(SLIDER).bounding_box()
    height = track["y"] + track["height"] / 2
    wide.mouse.move(track["x"] + track["width"] - 8, height)
    wide.mouse.down()
    try:
        wide.mouse.move(track["x"] + track["width"] / 2, height, steps=3)
        wide.wait_for_selector(".gc-view[data-frame='10']")
        assert parameter(wide, "lambda") is None  # Python has not heard of it
        assert "gate at λ = 0.50" in wide.locator(".gc-reading").inner_text()
        assert "total curvature" in wide.locator(".gc-caption").nth(1).inner_text()
        assert not np.allclose(array(wide, "right_z"), before)
    finally:
        wide.mouse.up()
    wide.wait_for_url(lambda url: "lambda=0.5" in url)
    settle(wide)
    wide.locator(".gc-end").nth(1).click()
    wide.wait_for_url(lambda url: "lambda=" not in url)
    settle(wide)
    np.testing.assert_array_equal(array(wide, "right_z"), before)


@pytest.mark.soak  # long
def test_after_playing_a_new_model_stands_at_its_own_strength(wide):
    """At first it has one frame, mostly: what was said of the model before is not meant."""
    wide.wait_for_function(f"{STATE}.header.frames === 21 && {STATE}.wired")
    wide.locator(".gc-play").click()
    wide.wait_for_function(f"{STATE}.playing && {STATE}.frame > 0 && {STATE}.frame < 20")
    wide.wait_for_function(f"!{STATE}.playing && {STATE}.frame === 20")
    settle(wide)
    before = wide.evaluate(f"{STATE}.header.scene")
    follow_link(wide, SLOW_TO_MEASURE)
    wide.wait_for_function(f"before => ({STATE}?.header.scene ?? before) !== before", arg=before)
    wide.wait_for_function(f"{STATE}?.header.frames === 21")
    await_view(wide)
    assert wide.locator(".gc-view").get_attribute("data-frame") == "20"
    assert wide.locator(".gc-frame").inner_text() == "λ = 1.00"
    go_to(wide, COARSE.removeprefix(ADDRESS))


@pytest.mark.parametrize("gated", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_edge_on_flat_sheets_are_lines(wide, gated):
    """With a gate at G2 both are flat in planes of their own, and each side has its own camera."""
    if gated:
        go_to(wide, "?position=G2&grid=31")
    home = wide.evaluate(CAMERAS)[0]
    wide.locator(".gc-edge").click()
    settle(wide)
    cameras = wide.evaluate(CAMERAS)
    for side, camera in zip(("left", "right"), cameras[: 1 + gated], strict=False):
        view = from_centre(camera)
        sheet = np.stack([array(wide, f"{side}_{x}") for x in "xyz"], -1)
        normal = np.linalg.svd(sheet - sheet.mean(0), full_matrices=False)[2][2]
        assert abs(view @ normal) < 1e-3 * np.linalg.norm(view)
    apart = np.abs(from_centre(cameras[0]) - from_centre(cameras[1])).max()
    assert (apart > 1e-2) == gated
    wide.locator(".gc-edge").click()
    settle(wide)
    for camera in wide.evaluate(CAMERAS):
        assert_same_camera(camera, home)
    if gated:
        go_to(wide, COARSE.removeprefix(ADDRESS))


def test_pointing_at_a_chart_moves_the_marker_everywhere_and_leaving_takes_it_away(wide):
    assert wide.evaluate(MARKERS) == [[]] * 3
    assert wide.evaluate(READOUTS) == ["", ""]
    plane = wide.locator(".gc-plane").first
    for across in (0.45, 0.6):
        wide.mouse.move(*place(plane, across, 0.4))
        wide.wait_for_function(f"{STATE}.hover !== null")
        settle(wide)
        row, column = wide.evaluate(f"{STATE}.hover")
        assert_marked(wide, row, column)
        left, right = wide.evaluate(READOUTS)
        u, v = np.linspace(-1, 1, GRID)[[column, row]]
        for text, side in ((left, "left"), (right, "right")):
            said = [float(x.replace("−", "-")) for x in re.findall(r"[−\d][\d.e+−-]*", text)]
            assert said[:2] == pytest.approx([u, v], abs=6e-3)
            k = array(wide, f"{side}_gaussian")[row * GRID + column]
            assert said[2] == pytest.approx(k, rel=6e-3)
    wide.mouse.move(1, 1)
    wide.wait_for_function(f"{STATE}.hover === null")
    settle(wide)
    assert wide.evaluate(MARKERS) == [[]] * 3
    assert point_of(wide.url) is None


@pytest.mark.soak  # long
def test_pointing_at_a_surface_and_leaving_it_does_not_stop_it(wide):
    """The marker comes and goes while Plotly draws: that once ended a scene's drawing for good."""
    scenes = wide.locator(".gc-scene").all()
    for scene in scenes:
        point_at_the_surface(wide, scene)
        settle(wide)
        wide.mouse.move(*place(scene, 0.01, 0.01), steps=3)
        wide.wait_for_function(f"{STATE}.hover === null")
        settle(wide)
    before = [scene.screenshot() for scene in scenes]
    scenes[0].focus()
    wide.keyboard.press("ArrowRight")
    settle(wide)
    assert all(scene.screenshot() != old for scene, old in zip(scenes, before, strict=True))
    wide.keyboard.press("Home")
    settle(wide)


def from_centre(camera):
    """(3,): where the viewer stands, seen from what is looked at."""
    eye, centre = (np.array([camera[x][axis] for axis in "xyz"]) for x in ("eye", "center"))
    return eye - centre


def test_keys_turn_and_zoom_both_surfaces_and_home_goes_back(wide):
    home = wide.evaluate(CAMERAS)[0]
    scene = wide.locator(".gc-scene").nth(1)
    scene.focus()

    def press(key, times=1):
        for _ in range(times):
            wide.keyboard.press(key)
        settle(wide)
        left, right = wide.evaluate(CAMERAS)
        assert_same_camera(left, right)
        return from_centre(left)

    start = from_centre(home)
    assert press("Control+ArrowRight") == pytest.approx(start)  # the browser's key
    turned = press("ArrowRight", 3)
    angle = np.arctan2(turned[1], turned[0]) - np.arctan2(start[1], start[0])
    assert np.cos(angle) == pytest.approx(np.cos(3 * TURN), abs=1e-6)
    near = press("+", 2)
    assert np.linalg.norm(near) == pytest.approx(0.81 * np.linalg.norm(start), rel=1e-6)
    assert np.linalg.norm(press("-")) == pytest.approx(0.9 * np.linalg.norm(start), rel=1e-6)
    press("Home")
    assert_same_camera(wide.evaluate(CAMERAS)[0], home)


def test_turning_with_the_pointer_turns_both_surfaces_and_marks_nothing(wide):
    before = wide.evaluate(CAMERAS)[0]
    scene = wide.locator(".gc-scene").first
    wide.mouse.move(*place(scene, 0.4, 0.6))
    wide.mouse.down()
    wide.mouse.move(*place(scene, 0.6, 0.5), steps=6)
    wide.mouse.up()
    wide.mouse.move(1, 1)
    settle(wide)
    left, right = wide.evaluate(CAMERAS)
    assert_same_camera(left, right)
    assert left["eye"]["x"] != pytest.approx(before["eye"]["x"], abs=1e-3)
    assert point_of(wide.url) is None
    point_at_the_surface(wide, scene)  # a marker comes, and leaves the scene as it stands
    settle(wide)
    for camera in wide.evaluate(CAMERAS):
        assert_same_camera(camera, left)
    wide.mouse.move(1, 1)
    scene.focus()
    wide.keyboard.press("Home")
    settle(wide)


@pytest.mark.soak  # long
def test_a_camera_outlives_a_change_of_strength_and_of_tab(wide):
    wide.locator(".gc-scene").first.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp", "-"):
        wide.keyboard.press(key)
    settle(wide)
    camera = wide.evaluate(CAMERAS)[0]
    before = array(wide, "right_x")
    press_slider(wide, "ArrowLeft", "0.95")
    assert not np.allclose(array(wide, "right_x"), before)
    for tab in ("Inspect", "Surface"):
        open_tab(wide, tab)
        for found in wide.evaluate(CAMERAS):
            assert_same_camera(found, camera)
    wide.locator(".gc-scene").first.focus()
    wide.keyboard.press("Home")
    settle(wide)


# --- Inspect ---


def test_a_click_on_any_panel_marks_the_point_in_all_of_them_and_in_the_link(wide):
    open_tab(wide, "Inspect")
    panels = {
        "surface": wide.locator(".gc-scene").nth(1),
        "chart": wide.locator(".gc-plane").nth(0),
        "triangle": wide.locator(".gc-plane").nth(3),
    }
    seen = set()
    for name, panel in panels.items():
        panel.scroll_into_view_if_needed()
        box = panel.bounding_box()
        spots = [(0.5 + x, 0.5 + y) for x in (0, 0.07, -0.07) for y in (0, 0.06, -0.06)]
        if name == "surface":
            inside = surface_spots(panel)
            spots = [
                ((x - box["x"]) / box["width"], (y - box["y"]) / box["height"])
                for x, y in inside[len(inside) // 2 :]
            ]
        if name == "triangle":  # on the chart's image in it, away from what is marked
            rows, columns = np.divmod(np.arange(GRID**2), GRID)
            inner = (rows == 10) & (columns == 20)
            x, y = (array(wide, f"right_simplex_{x}")[inner][0] for x in "xy")
            across, down = pixel(wide, 3, float(x), float(y))
            at = (across - box["x"]) / box["width"], (down - box["y"]) / box["height"]
            spots = [at]
        row, column = click_until_marked(wide, panel, spots, point_of)
        if name == "triangle":
            assert abs(row - 10) + abs(column - 20) <= 2  # grid points lie close together there
        seen.add((row, column))
        assert_marked(wide, row, column)
        axis = np.linspace(-1, 1, GRID)
        text = f"({axis[column]:.3f}, {axis[row]:.3f})"
        wide.get_by_test_id("stTable").get_by_text(text).first.wait_for()
    assert len(seen) == 3


# --- Phone, dark, alone ---


@pytest.mark.soak  # long
def test_a_dark_phone_stacks_the_panels_scrolls_only_down_and_keeps_the_mark_of_the_link(phone):
    assert_dark(phone)
    assert_marked(phone, 15, 10)
    for tab in ("Inspect", "Error analysis", "Surface") if SOAK else ("Surface",):
        open_tab(phone, tab)
        assert_scrolls_only_down(phone)
        assert_accessible(phone)
        for part in phone.locator("[data-testid=stTable] table, .js-plotly-plot").all():
            box = part.bounding_box()
            assert box["x"] + box["width"] <= PHONE["viewport"]["width"]
    assert_stacked(phone)
    for scene in phone.locator(".gc-scene").all():
        assert_drawn(scene)
    touch = "getComputedStyle(document.querySelector('.gc-scene')).touchAction"
    assert phone.evaluate(touch) == "pan-y"  # a finger scrolls past a surface
    scroll_to_top(phone)
    scene = phone.locator(".gc-scene").first.bounding_box()
    assert scene["y"] + scene["height"] / 2 < PHONE["viewport"]["height"]  # most of it is seen

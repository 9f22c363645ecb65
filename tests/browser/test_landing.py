"""Do two models play, fit and survive late numbers in a real browser? Marks: `test_manifold`."""

import re

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from .accessibility import assert_accessible
from .looking import (
    CAMERAS,
    TURNED,
    WATCH_FRAMES,
    assert_dark,
    assert_drawn,
    assert_nothing_is_cropped,
    assert_on_the_first_screen,
    assert_same_cameras,
    assert_scrolls_only_down,
    assert_stacked,
    extents,
)
from .pointing import SCROLLED, place, swipe
from .scripts import NO_WEBGL
from .visiting import (
    PHONE,
    WAIT_MS,
    await_view,
    open_page,
    resize,
    scroll_to_top,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

LANDING, LESSON = "Flat or curved?", "Guide"
WIDE = {"viewport": {"width": 800, "height": 1500}}
PAIR = "/?picture=two+models"
COPIED = "/?strength=0.35&task=xor&picture=two+models&explore=true&colour=curvature&pick=20.30"
SLIDER = ".gc-scrub"
DOCK = "[class*=st-key-dock-]"
MOVED_BY_NOTHING = ("h1", ".st-key-task", ".gc-play", ".gc-scene")
LAST_FRAME = 20  # of λ = 0, 0.05, … 1
PAGE_CHANGES = 6  # leaving a page leaves two contexts if any: six stay, and four are allowed

# Every WebGL context that is made, held weakly: one that a closed page keeps alive is a leak.
COUNT_CONTEXTS = """() => {
  window.testContexts = [];
  const make = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    const context = make.call(this, kind, ...rest);
    if (/webgl/.test(kind) && context) window.testContexts.push(new WeakRef(context));
    return context;
  };
}"""
LIVING_CONTEXTS = "new Set(window.testContexts.map(c => c.deref()).filter(c => c)).size"
AWAIT_FRAMES = """() => {
  window.testFrames = [];
  new MutationObserver(() => {
    const view = document.querySelector('.gc-view[data-frame]');
    if (view) window.testFrames.push(Number(view.dataset.frame));
  }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ['data-n'] });
}"""

TOUCH_AT_ONCE = """() => new MutationObserver((_, observer) => {
  const view = document.querySelector('.gc-view[data-n="2"]');
  if (!view) return;
  observer.disconnect();
  view.dispatchEvent(new Event('pointerdown', { bubbles: true }));
}).observe(document.body, { subtree: true, attributes: true, attributeFilter: ['data-n'] })"""


@pytest.fixture(scope="module")
def wide(visitor, served, watch):
    """A visitor with a wide window, shared by the tests that leave the page usable."""
    visitor.set_viewport_size(WIDE["viewport"])
    visit(visitor, watch, served.url + PAIR)
    return visitor


@pytest.fixture(scope="module")
def phone(browser, served, watch):
    """A visitor with a phone and a dark colour scheme, who was sent a link."""
    with open_page(browser, watch, **PHONE) as page:
        page.add_init_script(f"({COUNT_CONTEXTS})()")
        page.goto(served.url + COPIED)
        await_view(page)
        yield page


def open_by_link(page, name):
    page.bring_to_front()  # a click waits for frames, of which others get one in a second
    page.get_by_role("link", name=name, exact=True).click()
    heading = {LANDING: "Does this attention layer", LESSON: "How to read"}[name]
    page.get_by_role("heading", name=heading).first.wait_for()


def set_strength(page, steps_from_one):
    """Move the slider with its keys and wait for the server's answer."""
    page.locator(SLIDER).focus()
    page.keyboard.press("Home")
    page.keyboard.press("End")
    for _ in range(steps_from_one):
        page.keyboard.press("ArrowLeft")
    wanted = (LAST_FRAME - steps_from_one) / LAST_FRAME
    page.wait_for_url(lambda url: strength_of(url) == pytest.approx(wanted))
    page.wait_for_selector(f".gc-view[data-frame='{LAST_FRAME - steps_from_one}']")
    settle(page)


def strength_of(url):
    """λ as the link says it; the default, 1, is not in the link."""
    found = re.search(r"[?&]strength=([\d.]+)", url)
    return float(found[1]) if found else 1.0


def test_play_sweeps_to_the_full_gate_and_hands_over_to_python(wide):
    set_strength(wide, 4)
    wide.evaluate(WATCH_FRAMES)
    wide.locator(".gc-play").click()
    wide.wait_for_selector(f".gc-view[data-frame='{LAST_FRAME}']")
    wide.wait_for_url(lambda url: strength_of(url) == 1)
    settle(wide)
    frames = wide.evaluate("window.testFrames")
    assert frames[: LAST_FRAME - 16] == [17, 18, 19, 20]
    assert set(frames[4:]) <= {LAST_FRAME}  # drawn again when Python answers
    assert "Play" in wide.locator(".gc-play").inner_text()
    assert wide.locator(SLIDER).input_value() == str(LAST_FRAME)
    wide.locator(".gc-play").click()  # and whoever moves the timeline ends it
    wide.get_by_text("Pause").wait_for()
    wide.get_by_role("button", name="no gate", exact=True).click()
    wide.get_by_text("▶ Play", exact=True).wait_for()
    settle(wide)
    assert strength_of(wide.url) == 0


@pytest.mark.soak  # long
def test_a_surface_that_is_turned_stays_whole(wide):
    """By keys once around and up, and by hand."""
    wide.locator(".gc-scene").first.focus()
    for _ in range(3):
        for key, count in (("ArrowRight", 5), ("ArrowUp", 2)):
            for _ in range(count):
                wide.keyboard.press(key)
            settle(wide)
            assert all(-1 < low < high < 1 for scene in extents(wide) for low, high in scene)
    box = wide.locator(".gc-scene").nth(1).bounding_box()
    wide.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    wide.mouse.down()
    wide.mouse.move(box["x"] + box["width"] / 2 + 120, box["y"] + 90, steps=4)
    wide.mouse.up()
    settle(wide)
    assert all(-1 < low < high < 1 for scene in extents(wide) for low, high in scene)
    wide.locator(".gc-scene").first.press("Home")
    settle(wide)
    assert_nothing_is_cropped(wide)


def test_without_webgl_one_sentence_says_so_and_maps_are_there(browser, served, watch):
    with open_page(browser, watch, viewport={"width": 1400, "height": 900}) as page:
        page.add_init_script(NO_WEBGL)
        page.goto(served.url + PAIR)
        await_view(page)
        assert page.locator(".gc-blind").count() == 2
        assert page.locator(".gc-blind").first.inner_text().startswith("This browser draws no 3-D")
        assert page.locator(".gc-error").inner_text() == ""
        assert "WebGL is not supported" not in page.locator(".gc-view").inner_text()
        before = page.locator(".gc-reading").inner_text()
        page.locator(SLIDER).press("Home")
        page.wait_for_selector(".gc-view[data-frame='0']")
        assert page.locator(".gc-reading").inner_text() != before
        assert page.locator(".gc-plane svg").count()


def test_question_controls_pictures_and_sentence_stand_on_one_screen(wide):
    for size in ((1400, 900), (1366, 768)):
        resize(wide, *size)
        assert_on_the_first_screen(
            wide,
            "h1",
            ".st-key-task",
            ".st-key-beside",
            ".st-key-colour",
            ".gc-bar button",
            SLIDER,
            ".gc-scene",
            ".gc-plane",
            ".gc-caption",
            ".gc-reading",
        )
    assert_nothing_is_cropped(wide)
    assert_accessible(wide)


@pytest.mark.soak  # long
def test_nothing_is_cropped_whatever_the_width(wide):
    group = wide.get_by_role("radiogroup", name="Task", exact=True)
    group.get_by_text("xor", exact=True).click()
    wide.locator(".gc-scene").first.focus()
    wide.keyboard.press("Home")
    for width in (390, 900, 1920, 1400):
        resize(wide, width, 900)
        assert_nothing_is_cropped(wide)


@pytest.mark.soak  # long
def test_a_job_and_its_end_move_nothing_and_the_picture_says_whose_it_is(browser, served, watch):
    """They stand in a dock, over the foot of the page, however long the page is."""
    with open_page(browser, watch, viewport={"width": 1366, "height": 768}) as page:

        def boxes():
            return [page.locator(part).first.bounding_box() for part in MOVED_BY_NOTHING]

        def assert_dock_moves_nothing():
            assert boxes() == [pytest.approx(box, abs=1) for box in before]
            dock = page.locator(DOCK).bounding_box()
            assert dock["y"] + dock["height"] < 768

        visit(page, watch, served.url + PAIR)
        before = boxes()
        page.get_by_role("radiogroup", name="Task", exact=True).get_by_text("moons").click()
        settle(page)
        assert not page.locator(DOCK).count()  # what is shipped is there
        page.goto(f"{served.url}{PAIR}&seed=4711")
        page.wait_for_selector(DOCK)
        page.wait_for_selector(".st-key-dated:has(.gc-dated) .gc-scene")
        stale = "Still showing seed 32. Seed 4711 is not ready yet."
        assert page.locator(".gc-dated").inner_text() == stale
        assert_dock_moves_nothing()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Training was cancelled").wait_for()
        settle(page)
        assert_dock_moves_nothing()
        page.get_by_role("button", name="Go on").click()
        page.get_by_text("Training was cancelled").wait_for(state="detached")
        page.wait_for_selector(DOCK, state="detached")
        settle(page)
        assert boxes() == [pytest.approx(box, abs=1) for box in before]


@pytest.mark.soak  # long
def test_it_plays_once_on_arrival_unless_motion_is_not_wanted(browser, served, watch):
    with open_page(browser, watch, reduced_motion="no-preference", **WIDE) as page:
        page.add_init_script(f"addEventListener('DOMContentLoaded', () => ({AWAIT_FRAMES})())")
        page.goto(served.url + PAIR)
        page.wait_for_selector(f".gc-view[data-frame='{LAST_FRAME}']")
        settle(page)
        frames = page.evaluate("window.testFrames")
        assert frames[0] == 0
        assert frames == sorted(frames)
        assert len(set(frames)) > 2
        assert strength_of(page.url) == 1
        page.evaluate("window.testFrames.length = 0")
        page.get_by_role("radiogroup", name="Task", exact=True).get_by_text("xor").click()
        settle(page)
        assert set(page.evaluate("window.testFrames")) == {LAST_FRAME}  # once is enough


@pytest.mark.soak  # long
def test_a_touch_stops_it_where_it_is(browser, served, watch):
    with open_page(browser, watch, reduced_motion="no-preference", **WIDE) as page:
        page.add_init_script(f"addEventListener('DOMContentLoaded', () => ({TOUCH_AT_ONCE})())")
        page.goto(served.url + PAIR)
        page.wait_for_url(lambda url: "strength=" in url)
        settle(page)
        frame = int(page.locator(".gc-view").get_attribute("data-frame"))
        assert 0 <= frame < LAST_FRAME
        assert strength_of(page.url) == pytest.approx(frame / LAST_FRAME)


@pytest.mark.soak  # long
def test_a_dark_phone_stacks_the_panels_and_scrolls_only_down(phone):
    assert_dark(phone)
    for drawn in phone.locator(".gc-scene").all():
        assert_drawn(drawn)
    assert_scrolls_only_down(phone)
    assert_accessible(phone)
    assert_stacked(phone)
    scene, plane = (
        phone.locator(f".gc-{kind}").first.bounding_box() for kind in ("scene", "plane")
    )
    assert scene["y"] < plane["y"]
    scroll_to_top(phone)
    links, title, scene = (
        phone.locator(part).first.bounding_box() for part in (".st-key-pages", "h1", ".gc-scene")
    )
    assert links["height"] < 60  # one row, which scrolls
    assert title["height"] < 80
    assert scene["y"] + scene["height"] / 2 < PHONE["viewport"]["height"]  # most of it is seen


@pytest.mark.soak  # long
def test_on_a_phone_play_stays_in_view_and_a_finger_scrolls_past_a_surface(phone):
    for panel in (".gc-plane", ".gc-scene"):
        first = phone.locator(panel).first
        first.scroll_into_view_if_needed()
        before = phone.evaluate(CAMERAS)
        assert swipe_up(phone, first) > 60, panel
        assert_same_cameras(phone, before)
    assert 0 <= phone.locator(".gc-play").bounding_box()["y"] < 100


def swipe_up(page, panel):
    """Draw a finger over the middle of a panel; how far the page has scrolled for it."""
    before = page.evaluate(SCROLLED)
    x, y = place(panel, 0.5, 0.5)
    swipe(page, (x, y), (x, y - 120), steps=8)
    settle(page)
    return page.evaluate(SCROLLED) - before


@pytest.mark.soak  # long
def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl(wide):
    resize(wide, 1400, 700)
    before = wide.evaluate(CAMERAS)
    wide.evaluate("document.activeElement.blur()")
    wide.mouse.move(*place(wide.locator(".gc-scene").first, 0.5, 0.5))
    wide.mouse.wheel(0, 120)
    settle(wide)
    assert_same_cameras(wide, before)
    assert wide.evaluate(SCROLLED) > 0
    wide.keyboard.down("Control")
    wide.mouse.wheel(0, 120)
    wide.keyboard.up("Control")
    wide.wait_for_function(TURNED, arg=before)


@pytest.mark.soak  # long
def test_changing_pages_leaves_no_webgl_contexts_behind(phone):
    for change in range(PAGE_CHANGES):
        open_by_link(phone, LANDING if change % 2 else LESSON)
        if change % 2:
            phone.wait_for_selector(".gc-view[data-n]")
    collector = phone.context.new_cdp_session(phone)
    for _ in range(5):  # finalisers may need another round
        collector.send("HeapProfiler.collectGarbage")
    assert phone.evaluate("window.testContexts.length") >= PAGE_CHANGES  # else it counts nothing
    assert phone.evaluate(LIVING_CONTEXTS) <= 4  # the shown page's, and the one's before it
    for scene in phone.locator(".gc-scene").all():
        assert_drawn(scene)


# --- The numbers of a picture come from an address of their own -----------------------------------


@pytest.mark.soak  # long
def test_numbers_that_are_gone_for_a_moment_are_asked_for_again(browser, served):
    refused = []

    def answer(route):
        if len(refused) < 2:
            refused.append(route.request.url)
            route.fulfill(status=404)
        else:
            route.continue_()

    with open_page(browser, **WIDE) as page:
        page.route("**/media/*", answer)
        page.goto(served.url + PAIR + "&task=linear")
        await_view(page)
        assert_drawn(page)
    assert len(refused) == 2


@pytest.mark.soak  # long
def test_numbers_that_do_not_come_are_said_to_be_missing_until_others_do(browser, served):
    with open_page(browser, **WIDE) as page:
        page.route("**/media/*", lambda route: route.abort())
        page.goto(served.url + PAIR)
        missing = page.get_by_text("The 3-D view could not start: its data did not load")
        missing.wait_for()
        page.unroute("**/media/*")
        page.get_by_text("xor", exact=True).first.click()
        await_view(page)
        assert_drawn(page)
        assert not missing.is_visible()


# --- Answers come late ----------------------------------------------------------------------------


@pytest.mark.soak  # long
def test_a_request_before_the_last_answer_has_come_is_answered(browser, served, watch):
    """What is shown again was shown three runs ago: longer than browsers may keep messages."""
    requests, late, sockets = [], [], []
    comes_late = False

    def connect(socket):
        sockets.append(socket)
        server = socket.connect_to_server()
        socket.on_message(lambda data: (requests.append(data), server.send(data)))
        server.on_message(lambda data: (late.append if comes_late else socket.send)(data))

    def is_over():
        kinds = [ForwardMsg.FromString(data).WhichOneof("type") for data in late]
        return "script_finished" in kinds

    def wait_until(true):
        for _ in range(WAIT_MS // 50):
            if true():
                return
            page.wait_for_timeout(50)
        pytest.fail(f"{true.__name__} did not come true in {WAIT_MS} ms")

    def choose(task):
        before = len(requests)
        page.get_by_text(task, exact=True).first.click()
        wait_until(lambda: len(requests) > before)

    with open_page(browser, watch, **WIDE) as page:
        page.route_web_socket("**/_stcore/stream", connect)
        page.goto(f"{served.url}{PAIR}&task=circle")
        await_view(page)
        first = page.inner_text(".gc-view")
        choose("xor")
        settle(page)
        comes_late = True
        choose("linear")
        wait_until(is_over)
        choose("circle")
        comes_late = False
        for data in late:
            sockets[-1].send(data)
        settle(page)
        assert_drawn(page)
        assert page.inner_text(".gc-view") == first

"""Do two models play, fit and survive late numbers in a real browser?"""

import re

import pytest

from .looking import (
    assert_drawn,
)
from .scripts import NO_WEBGL
from .visiting import (
    PHONE,
    await_view,
    open_page,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

LANDING, LESSON = "Flat or curved?", "Learn"
WIDE = {"viewport": {"width": 800, "height": 1500}}
PAIR = "/?picture=two+models"
COPIED = "/?strength=0.35&task=xor&picture=two+models&explore=true&colour=curvature&pick=20.30"
SLIDER = ".gc-pair-strength"
STATE = "document.querySelector('.gc-pair').__gc"
AT = f"frame => Math.abs({STATE}.frame - frame) < 1e-9 && !{STATE}.playing"
DOCK = "[class*=st-key-dock-]"
MOVED_BY_NOTHING = ("h1", ".st-key-task", ".gc-pair-play", ".gc-pair-space")
LAST_FRAME = 20  # of λ = 0, 0.05, … 1
PAGE_CHANGES = 6  # leaving a page leaves two contexts if any: six stay, and four are allowed

# Every WebGL context that is made, held weakly: one that a closed page neither gives back nor lets
# go is a leak, of sixteen.
COUNT_CONTEXTS = """() => {
  window.testContexts = [];
  const make = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    const context = make.call(this, kind, ...rest);
    if (/webgl/.test(kind) && context) window.testContexts.push(new WeakRef(context));
    return context;
  };
}"""
LIVING_CONTEXTS = """new Set(window.testContexts.map(c => c.deref())
  .filter(c => c && !c.isContextLost())).size"""
FRAMES = f"""() => {{
  window.testFrames = [];
  new MutationObserver(() => window.testFrames.push({STATE}.frame))
    .observe(document.querySelector('.gc-pair'), {{ attributeFilter: ['data-n'] }});
}}"""


def open_by_link(page, name):
    page.bring_to_front()  # a click waits for frames, of which others get one in a second
    page.get_by_test_id("stHeader").get_by_role("button").first.click()
    page.get_by_role("link", name=name, exact=True).click()
    heading = {LANDING: "Does this attention layer", LESSON: "Where do averages lie"}[name]
    page.get_by_role("heading", name=heading).first.wait_for()


def set_frame(page, frame):
    """Move the slider and wait for the server's answer."""
    page.locator(SLIDER).fill(str(frame))
    page.locator(SLIDER).dispatch_event("change")
    page.wait_for_url(lambda url: strength_of(url) == pytest.approx(frame / LAST_FRAME))
    settle(page)


def strength_of(url):
    """λ as the link says it: 1 if nobody has chosen one."""
    found = re.search(r"[?&]strength=([\d.]+)", url)
    return float(found[1]) if found else 1.0


def test_play_sweeps_to_the_full_gate_and_hands_over_to_python(browser, served, watch):
    """The surface is drawn between the strengths too, the words are those of the nearest one."""
    with open_page(browser, watch, reduced_motion="no-preference", **WIDE) as page:
        page.goto(f"{served.url}{PAIR}&strength=0.8")
        await_view(page)
        page.evaluate(FRAMES)
        page.locator(".gc-pair-play").click()
        page.wait_for_function(AT, arg=LAST_FRAME)
        page.wait_for_url(re.compile(r"strength=1$"))
        settle(page)
        frames = page.evaluate("window.testFrames")
        assert 16 <= frames[0] < frames[-1] == LAST_FRAME
        assert frames == sorted(frames)
        assert any(frame % 1 for frame in frames)
        assert "closed loop" in page.locator(".gc-pair-verdict").nth(1).inner_text()
        page.locator(".gc-pair-play").click()  # and whoever moves the slider ends it
        page.get_by_text("Pause").wait_for()
        set_frame(page, 0)
        page.get_by_text("▶ Play", exact=True).wait_for()
        assert "straight line" in page.locator(".gc-pair-verdict").nth(1).inner_text()


def test_without_webgl_all_of_it_is_drawn(browser, served, watch):
    with open_page(browser, watch, viewport={"width": 1400, "height": 900}) as page:
        page.add_init_script(NO_WEBGL)
        page.goto(served.url + PAIR)
        await_view(page)
        for canvas in page.locator(".gc-pair-space").all():
            assert canvas.get_attribute("data-painter") == "canvas"
            assert_drawn(canvas)
        assert page.locator(".gc-pair-error").inner_text() == ""


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
        page.wait_for_selector(".st-key-dated:has(.gc-dated) .gc-pair-space")
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
def test_it_plays_once_on_arrival(browser, served, watch):
    with open_page(browser, watch, reduced_motion="no-preference", **WIDE) as page:
        page.goto(served.url + PAIR)
        page.wait_for_selector(".gc-pair[data-n]")
        page.evaluate(FRAMES)
        page.wait_for_function(AT, arg=LAST_FRAME)
        settle(page)
        assert len(set(page.evaluate("window.testFrames"))) > 2
        assert strength_of(page.url) == 1
        page.evaluate("window.testFrames.length = 0")
        page.get_by_role("radiogroup", name="Task", exact=True).get_by_text("xor").click()
        settle(page)
        assert set(page.evaluate("window.testFrames")) == {LAST_FRAME}  # once is enough


@pytest.mark.soak  # long
def test_changing_pages_leaves_no_webgl_contexts_behind(browser, served, watch):
    with open_page(browser, watch, **PHONE) as phone:
        phone.add_init_script(f"({COUNT_CONTEXTS})()")
        phone.goto(served.url + COPIED)
        await_view(phone)
        for change in range(PAGE_CHANGES):
            open_by_link(phone, LANDING if change % 2 else LESSON)
            if change % 2:
                phone.wait_for_selector(".gc-pair[data-n]")
            phone.wait_for_function("[...document.images].every(image => image.complete)")
        collector = phone.context.new_cdp_session(phone)
        for _ in range(5):  # finalisers may need another round
            collector.send("HeapProfiler.collectGarbage")
        assert (
            phone.evaluate("window.testContexts.length") >= PAGE_CHANGES
        )  # else it counts nothing
        assert phone.evaluate(LIVING_CONTEXTS) <= 4  # the shown page's, and the one's before it
        for scene in phone.locator(".gc-pair-space").all():
            assert_drawn(scene)


@pytest.mark.soak  # long
def test_numbers_that_do_not_come_are_said_to_be_missing_until_others_do(browser, served):
    with open_page(browser, **WIDE) as page:
        page.route("**/media/*", lambda route: route.abort())
        page.goto(served.url + PAIR)
        missing = page.get_by_text("The surfaces could not be loaded: its data did not load")
        missing.wait_for()
        page.unroute("**/media/*")
        page.get_by_text("xor", exact=True).first.click()
        await_view(page)
        assert_drawn(page.locator(".gc-pair-space").first)
        assert not missing.is_visible()

"""A class in five browsers: a teacher, three students and a projector, through two questions."""

import re

import pytest
from playwright.sync_api import expect

from .accessibility import assert_accessible
from .visiting import DESK, PHONE, WAIT_MS

COMMITTED, ENDED = "Your answer has arrived", "This class has ended"
LINK = "[data-testid=stPopoverBody] [data-testid=stCode] code"
GO = ".st-key-class_go button"


@pytest.fixture
def enter(browser):
    """Open a page in a browser of its own, which has cookies of its own."""
    contexts = []

    def enter(address, **options):
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(WAIT_MS)
        page = contexts[-1].new_page()
        page.goto(address)
        return page

    yield enter
    for context in contexts:
        context.close()


def commit(phone, choice):
    phone.locator("label").nth(choice).click()
    phone.get_by_text(COMMITTED).wait_for()


def start(served, enter, count):
    """A class: its screen, its code, and phones that wait for the first question."""
    screen = enter(f"{served.url}/Learn", **DESK)
    screen.get_by_role("button", name="Start a class").click()
    screen.wait_for_url(re.compile("class="))
    screen.locator(GO).wait_for()
    code = re.search(r"class=(\w+)", screen.url)[1]
    phones = [enter(f"{served.url}/c/{code}", **PHONE) for _ in range(count)]
    for phone in phones:
        phone.get_by_text("Question 1 of").wait_for()
    return screen, code, phones


def test_a_class_guesses_and_sees_the_answer(served, enter):
    screen, _, phones = start(served, enter, 3)
    for number, phone in enumerate(phones):
        commit(phone, min(number, 1))
    first = phones[0]
    assert first.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert_accessible(first)
    first.reload()
    first.get_by_text(COMMITTED).wait_for()
    assert first.get_by_role("radio").first.is_checked()
    first.get_by_role("radio").first.press("ArrowDown")  # until the reveal it can be changed
    first.get_by_role("radio").nth(1).press("ArrowUp")
    screen.get_by_text("3 of 3 have answered").wait_for()
    screen.locator(GO).click()
    for phone in phones:
        phone.get_by_text(re.compile("Your answer (is correct|was another one)")).wait_for()
    screen.locator(GO).get_by_text("Next").wait_for()
    assert screen.evaluate(f"document.activeElement.matches('{GO}')")
    screen.get_by_text(re.compile(r"1 \(33\s%\)")).wait_for()
    screen.get_by_text(re.compile(r"2 \(67\s%\)")).wait_for()
    assert phones[0].locator("label.right").count() == 1
    letters = [x.strip()[:2] for x in phones[0].locator("label span").all_inner_texts()]
    assert letters == ["A.", "B.", "C."][: len(letters)]
    screen.get_by_text("phones cannot follow it").wait_for()  # here the server is on 127.0.0.1
    screen.get_by_role("button", name="QR code").click()
    code = screen.locator(".st-key-class_qr_whole").locator("img")
    code.wait_for()
    screen.wait_for_timeout(300)  # the popover opens
    assert code.bounding_box()["height"] > 0.6 * screen.viewport_size["height"]
    screen.keyboard.press("Escape")
    screen.locator(GO).get_by_text("Next").click()
    phones[0].get_by_text("Question 2 of").wait_for()
    screen.get_by_role("button", name="Class", exact=True).click()
    screen.get_by_role("combobox", name="Question").click()
    screen.get_by_role("option").nth(4).click()
    phones[0].get_by_text("Question 5 of").wait_for()


@pytest.mark.soak  # long
def test_a_class_has_a_projector_and_is_controlled_from_another_device(served, enter):
    screen, code, (phone,) = start(served, enter, 1)
    commit(phone, 1)
    second_tab = phone.context.new_page()
    second_tab.goto(phone.url)
    second_tab.get_by_text(COMMITTED).wait_for()
    wall = enter(f"{served.url}/Learn?class={code}", **DESK)
    wall.get_by_text("1 of 1 have answered").wait_for()
    assert wall.locator(GO).count() == 0
    screen.get_by_role("button", name="Class", exact=True).click()
    screen.get_by_role("button", name="Control on another device").click()
    link = screen.locator(LINK).inner_text()
    other = enter(link, **DESK)
    assert_accessible(other)
    other.get_by_role("button", name="Control the class").click()
    other.wait_for_url(re.compile("class="))
    assert enter("about:blank").goto(link).status == 410
    screen.locator(LINK).wait_for(state="detached")
    screen.keyboard.press("Escape")
    screen.locator(GO).click()
    screen.locator(GO).get_by_text("Next").wait_for()
    screen.reload()  # the rights are a cookie
    screen.locator(GO).get_by_text("Next").click()
    phone.get_by_text("Question 2 of").wait_for()
    commit(phone, 1)
    other.locator(GO).get_by_text("Reveal").click()
    phone.get_by_text("1 (100 %)").wait_for()
    wall.get_by_text(re.compile(r"1 \(100\s%\)")).wait_for()
    other.get_by_role("button", name="Class", exact=True).click()
    other.get_by_role("button", name="End the class").click()
    other.wait_for_url(lambda url: "lesson=flat" in url and "class=" not in url)
    phone.get_by_text(ENDED).wait_for()
    screen.get_by_text(ENDED).wait_for()


@pytest.mark.soak  # long
def test_a_forged_link_and_an_unknown_code_get_a_sentence(served, enter):
    phone = enter("about:blank", **PHONE)
    answer = phone.goto(f"{served.url}/teach/forged")
    assert answer.status == 410
    assert "has been used, or is too old" in phone.inner_text("body")
    phone.goto(f"{served.url}/c/zzzzzz")
    phone.get_by_text(f"{ENDED}, or the code is mistyped.").wait_for()
    phone.goto(f"{served.url}/Learn?class=zzzzzz")
    phone.get_by_text(ENDED).wait_for()
    phone.get_by_role("button", name="Start a class").wait_for()


ANSWERS = (  # of a proxy in place of the server
    {"status": 502, "content_type": "text/html", "body": "<html>502 Bad Gateway</html>"},
    {"status": 200, "content_type": "text/html", "body": "<html>Log in to the network</html>"},
    {"status": 410, "content_type": "text/html", "body": "<html>Gone</html>"},
    {"status": 503, "content_type": "application/json", "body": '"The server starts again."'},
    {"status": 200, "content_type": "application/json", "body": "null"},
)


def test_what_was_not_sent_is_not_shown_as_a_vote_and_what_was_counted_is(served, enter):
    screen, code, (phone, other) = start(served, enter, 2)
    for answer in ANSWERS:
        phone.route("**/vote", lambda route, _, answer=answer: route.fulfill(**answer))
        phone.locator("label").first.click()
        phone.get_by_text("Not sent. Try again.").wait_for()
        expect(phone.locator("input:checked")).to_have_count(0)
        phone.unroute("**/vote")
    other.route("**/vote", lambda route: (route.fetch(), route.abort()))
    other.locator("label").nth(1).click()
    other.get_by_text(COMMITTED).wait_for()
    screen.get_by_text("1 of 2 have answered").wait_for()
    screen.locator(GO).click()
    phone.get_by_text("This question is closed.").wait_for()
    assert phone.locator("input:checked").count() == 0
    other.get_by_text(re.compile("Your answer (is correct|was another one)")).wait_for()
    assert other.get_by_role("radio").nth(1).is_checked()
    late = enter("about:blank", **PHONE)
    late.route("**/join", lambda route: route.fulfill(**ANSWERS[0]))
    late.goto(f"{served.url}/c/{code.upper()}")
    late.get_by_text("No connection. Trying again …").wait_for()
    late.unroute("**/join")
    late.get_by_text("Question 1 of").wait_for()

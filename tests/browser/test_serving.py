"""Browser tests notice what they must: a missing browser, an error, a foreign host."""

import pytest

from .serving import without_browser
from .visiting import Watch, open_page


@pytest.mark.parametrize(
    ("chromium", "environment", "expected"),
    [
        ("/somewhere/chromium", {}, None),
        ("/somewhere/chromium", {"REQUIRE_BROWSER": "1"}, None),
        (None, {}, "skip"),
        (None, {"REQUIRE_BROWSER": ""}, "skip"),
        (None, {"REQUIRE_BROWSER": "0"}, "skip"),
        (None, {"REQUIRE_BROWSER": "1"}, "fail"),
    ],
)
def test_a_missing_browser_skips_or_fails(chromium, environment, expected):
    instead = without_browser(chromium, environment)
    assert (instead and instead[0]) == expected
    assert instead is None or ("chromium" in instead[1] and "REQUIRE_BROWSER" in instead[1])


@pytest.mark.parametrize(
    ("event", "script", "problem"),
    [
        ("console", "console.error('spilt')", "console error: spilt"),
        ("console", "console.warn('Too many contexts')", "console warning: Too many contexts"),
        ("pageerror", "setTimeout(() => { throw new Error('oh') })", "page error: oh"),
        # Another loopback address, where nobody listens: foreign to us, yet not off the machine.
        ("request", "new Image().src = 'http://127.0.0.2:9/x'", "left the machine: http://127.0"),
        ("websocket", "new WebSocket('ws://127.0.0.2:9/')", "left the machine: ws://127.0.0.2"),
    ],
)
def test_the_watch_notices(browser, event, script, problem):
    watch = Watch()
    with open_page(browser, watch) as page:
        with page.expect_event(event):
            page.evaluate(f"() => {{ {script} }}")
        assert any(found.startswith(problem) for found in watch.problems), watch.problems

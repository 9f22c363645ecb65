"""Browser tests notice what they must: an error, a foreign host."""

import pytest

from .visiting import Watch, open_page


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

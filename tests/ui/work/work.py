"""Work of the jobs in tests: counts that a test lets on, stops, and sees closed."""

import threading
import time
from itertools import count

DEADLINE_SECONDS = 30.0  # on a machine with much else to do
TICK_SECONDS = 0.01


def await_true(condition):
    end = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        tick()


def press(app, label):
    next(button for button in app.button if button.label == label).click()
    return app.run()


def labels(app):
    return [button.label for button in app.button]


def tick():
    """A little work, as far as the clock can tell."""
    threading.Event().wait(TICK_SECONDS)


class Work:
    """Counts from 0 for ever; with ``step`` each item must be let on. It says when it is closed."""

    def __init__(self, step=False):
        self.let_on = threading.Semaphore(0) if step else None
        self.began, self.closed = threading.Event(), threading.Event()

    def __call__(self):
        self.began.set()
        try:
            for item in count():
                if self.let_on is None:
                    tick()
                else:
                    assert self.let_on.acquire(timeout=DEADLINE_SECONDS)
                yield item
        finally:
            self.closed.set()


def failing():
    yield "kept"
    yield "too"
    raise ZeroDivisionError("the count went astray")


def living():
    """The threads of jobs that have not ended."""
    return [thread for thread in threading.enumerate() if thread.name == "job"]


class Clock:
    """Time that passes only when a test changes ``now``."""

    def __init__(self):
        self.now = 1.0

    def monotonic(self):
        return self.now

"""What stands in for the workers of a job until a test lets them go?"""

import threading
from contextlib import contextmanager


class Held:
    """What computes waits until it is let go; it counts what it was asked for."""

    def __init__(self):
        self.asked, self.go = [], threading.Event()

    def __call__(self, function, about, *more, rank=None):
        self.asked.append(about)
        while not self.go.wait(0.01):
            yield None
        yield (yield from function(about, *more))


@contextmanager
def held_in(module, monkeypatch):
    """Nothing is known to ``module``, its pages wait for no job, and its jobs for the test."""
    module._known.clear()
    held = Held()
    monkeypatch.setattr(module, "together", held)
    monkeypatch.setattr(module, "AT_ONCE_SECONDS", 0.01)
    yield held
    held.go.set()
    module._known.clear()

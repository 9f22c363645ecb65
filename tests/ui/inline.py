"""A pool that computes in the calling thread; arguments and items are packed as ever."""

import inspect
import threading
from contextlib import contextmanager

from ui.work.job import WAITING
from ui.work.messages import Receiver, Sender, packed, unpacked
from ui.work.pool import Pool, Rank


class Inline(Pool):
    """Without worker processes; `busy` ones can be feigned."""

    def __init__(self):
        super().__init__(size=2)
        self._others = 0

    def warm(self):
        """There is nothing to start."""

    def stream(self, function, *arguments, rank=Rank.FIRST, wait=0.0):
        while self._others and rank != Rank.VIEW:
            threading.Event().wait(0.01)
            yield WAITING
        yield None
        sender, receiver = Sender(), Receiver()
        result = function(*unpacked(packed(arguments)))
        if inspect.isgenerator(result):
            returned = []
            for item in watched(result, returned):
                yield None if item is None else receiver.unpack(sender.pack(item))
            (result,) = returned
        yield None if result is None else receiver.unpack(sender.pack(result))

    @property
    def crowded(self):
        return self._others > 0

    @contextmanager
    def busy(self):
        """Others hold all processes: what is not needed to draw a page waits."""
        self._others += 1
        try:
            yield
        finally:
            self._others -= 1


def watched(generator, returned):
    """Its items; what it returns is put into ``returned``."""
    returned.append((yield from generator))

"""A pool that computes in the calling thread; arguments and items are packed as ever."""

import threading
from contextlib import contextmanager, suppress
from functools import partial

from gating_core.progress import Cancelled
from ui.work import job
from ui.work.job import WAITING
from ui.work.messages import Receiver, Sender, packed, unpacked
from ui.work.pool import Pool, Rank
from ui.work.worker import items_of


class Inline(Pool):
    """Without worker processes; `busy` ones can be feigned."""

    def __init__(self):
        super().__init__(size=2)
        self._others = 0

    def warm(self):
        """There is nothing to start."""

    def stream(self, function, *arguments, rank=Rank.FIRST, wait=0.0):
        while self._others and rank > Rank.BRIEF:
            threading.Event().wait(0.01)
            yield WAITING
        yield None
        sender, receiver, shares = Sender(), Receiver(), []
        with suppress(Cancelled):
            for item in items_of(function, unpacked(packed(arguments)), partial(report, shares)):
                yield from shares
                shares.clear()
                yield None if item is None else receiver.unpack(sender.pack(item))

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


def report(shares, share):
    """Note a share, to be sent before the next item; raise in a job that was cancelled."""
    if any(x._thread is threading.current_thread() and x.stopping for x in list(job._running)):
        raise Cancelled
    if share is not None:
        shares.append(share)

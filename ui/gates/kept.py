"""How does a page come to what takes a second or more? In a job, and then it is kept for all.

    found, job = SHAPED.fetch(request, lambda: together(fit_shape, request))
    if job is not None:
        SHAPED.watch(job)

A visitor who cancels is asked before the same is begun again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import cachetools
import streamlit as st

from ui.work import jobs, pool
from ui.work.job import Job, Place, State
from ui.work.turns import TURNS

AT_ONCE_SECONDS = 0.5  # what an idle machine has by then need not be drawn twice

T = TypeVar("T")


@dataclass(eq=False)
class Kept(Generic[T]):
    """Results of one kind, at most ``most`` of them; ``what`` is what its progress is called."""

    key: str
    what: str
    most: int
    expected: tuple[type[Exception], ...] = ()
    _found: cachetools.LRUCache[Hashable, T] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._found = cachetools.LRUCache(self.most)

    def known(self, wanted: Hashable) -> T | None:
        """What is there already."""
        with self._lock:
            return self._found.get(wanted)

    def fetch(
        self, wanted: Hashable, compute: Callable[[], Iterator[Any]]
    ) -> tuple[T | None, Job | None]:
        """What is ``wanted``, or the job that makes it.

        ``compute`` yields shares done as floats, and the result last.
        """
        again = st.session_state.pop(self._again, False)
        found, job = self.known(wanted), jobs.current(self.key)
        if found is not None:
            if job is not None and job.about != wanted:
                job.cancel()  # of what was asked for before
            return found, None
        if job is None or job.about != wanted or self._goes_on(job, again):
            job = jobs.start(self.key, lambda: self._work(wanted, compute), about=wanted,
                             expected=self.expected, newest=(float,))  # fmt: skip
            if not pool.POOL.crowded:
                with TURNS.aside():
                    job.join(AT_ONCE_SECONDS)
        found = self.known(wanted)
        return found, None if found is not None else job

    def watch(self, job: Job) -> None:
        """How far it is, or how it ended; the page is run again at the end."""
        if job.state is State.DONE:  # since the page began to be drawn
            st.rerun()
        if job.over:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.info(jobs.end_text(job, self.what, []))
                again = {self._again: True}
                st.button("Go on", icon=":material/play_arrow:", key=f"{self._again}_button",
                          on_click=st.session_state.update, args=(again,))  # fmt: skip
        jobs.watch(job, lambda items: None, what=self.what, share=_share, ends=False)

    @property
    def _again(self) -> str:
        return f"{self.key}_again"

    def _goes_on(self, job: Job, again: bool) -> bool:
        return job.over and (again or not (job.declined or job.state is State.FAILED))

    def _work(self, wanted: Hashable, compute: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        for item in compute():
            if item is None or isinstance(item, float | Place):
                yield item
            else:
                with self._lock:
                    self._found[wanted] = item


def _share(items: list[Any]) -> float:
    return next((item for item in reversed(items) if isinstance(item, float)), 0.0)

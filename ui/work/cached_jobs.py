"""How does a page come to what takes a second or more? In a job, and then it is kept for all.

    SHAPED = CachedJobs("shape", lambda request: shared_stream(fit_shape, request), CACHE)

    found, job = SHAPED.fetch(request)
    if job is not None:
        SHAPED.watch(job, "Fitting a shape")

A visitor who cancels is asked before the same is begun again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from ui.work import jobs, pool
from ui.work.cache import Cache
from ui.work.job import Job, QueuePosition, State
from ui.work.semaphore import SCRIPTS

AT_ONCE_SECONDS = 0.5  # what an idle machine has by then need not be drawn twice

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Made:
    """A result on its way to the page that asked for it: the shelf may have no room for it."""

    key: Any
    item: Any


@dataclass(eq=False)
class CachedJobs(Generic[K, T]):
    """Results of one kind on a ``shelf``, each under what it is made from.

    ``make`` yields shares done as floats, and the result last; ``expected`` are its errors that
    are meant for visitors. ``name`` is what its jobs are called: a session has one at a time.
    """

    name: str
    make: Callable[[K], Iterator[Any]]
    shelf: Cache
    expected: tuple[type[Exception], ...] = ()

    def known(self, wanted: Iterable[K]) -> dict[K, T]:
        """What is there already."""
        found = self.shelf.find((self.name, key) for key in wanted)
        return {key: item for (_, key), item in found.items()}

    def fetch(self, wanted: K) -> tuple[T | None, Job | None]:
        """What is ``wanted``, or the job that makes it."""
        found, job = self.fetch_all((wanted,))
        return found.get(wanted), job

    def fetch_all(self, wanted: tuple[K, ...]) -> tuple[dict[K, T], Job | None]:
        """What there is of all that is ``wanted``, and the job that makes the rest, if any."""
        again = st.session_state.pop(self._again, False)
        job = jobs.current(self.name)
        found = self._found(wanted, job)
        whole = len(set(wanted))
        if len(found) < whole and (job is None or job.about != wanted or _goes_on(job, again)):
            job = jobs.start(self.name, lambda: self._work(wanted), about=wanted,
                             expected=self.expected, newest=(float,))  # fmt: skip
            if not pool.POOL.crowded:
                with SCRIPTS.released():
                    job.join(AT_ONCE_SECONDS)
            found = self._found(wanted, job)
        if len(found) < whole:
            return found, job
        if job is not None and (job.over or job.about != wanted):
            job.forget()  # it is shown now, or of what was asked for before
        return found, None

    def watch(
        self,
        job: Job,
        what: str,
        *,
        again: str = "Go on",
        beside: bool = True,
        draw: Callable[[], None] | None = None,
    ) -> None:
        """How far ``job`` is, or how it ended; the page is run again at the end.

        After an end without all results a button, ``again``, goes on; how it ended is said
        ``beside`` it, or below. ``draw`` draws what there is meanwhile, in place of a bar.
        """
        if job.state is State.DONE:  # since the page began to be drawn
            st.rerun()
        kept = list(self.known(job.about))  # type: ignore[arg-type]
        if job.over:
            with st.container(horizontal=True, vertical_alignment="center"):
                if beside:
                    jobs.draw_end(job, what, kept)
                pressed = {self._again: True}
                st.button(again, icon=":material/play_arrow:", key=f"{self._again}_button",
                          on_click=st.session_state.update, args=(pressed,))  # fmt: skip
        jobs.watch(job, lambda items: draw() if draw else None, what=what,
                   share=None if draw else jobs.share_of, ends=False)  # fmt: skip
        if job.over and not beside:
            jobs.draw_end(job, what, kept)

    @property
    def _again(self) -> str:
        return f"{self.name}_again"

    def _found(self, wanted: tuple[K, ...], job: Job | None) -> dict[K, T]:
        """What is there, and what this visitor's ``job`` has for them, who need not wait twice."""
        mine = job.items if job is not None and job.about == wanted else []
        made = {item.key: item.item for item in mine if isinstance(item, _Made)}
        return made | self.known(wanted)

    def _work(self, wanted: tuple[K, ...]) -> Iterator[Any]:
        found = self.known(wanted)
        yield from map(_Made, found, found.values())
        missing = [key for key in wanted if key not in found]
        for place, key in enumerate(missing):
            if ready := self.known((key,)):  # another visitor's job has come to it first
                yield _Made(key, ready[key])
                continue
            for item in self.make(key):
                if isinstance(item, float):
                    yield (place + item) / len(missing)
                elif item is None or isinstance(item, QueuePosition):
                    yield item
                else:
                    self.shelf.put((self.name, key), item)
                    yield _Made(key, item)
                    yield (place + 1) / len(missing)


def _goes_on(job: Job, again: bool) -> bool:
    """Whether a job that is over is to be started again: a visitor who cancelled it is asked."""
    return job.over and (again or not (job.declined or job.state is State.FAILED))

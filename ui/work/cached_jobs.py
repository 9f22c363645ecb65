"""Results that take a second or more: made in a job of the visitor, cached for all visitors.

    SHAPED = CachedJobs("shape", lambda request: shared_stream(fit_shape, request), CACHE)

    result, job = SHAPED.fetch(request)
    if job is not None:
        SHAPED.watch(job, "Fitting a shape")

    job = written("writing", write_on, request)  # a text that appears step by step

After a visitor has cancelled a job, only a click starts it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import streamlit as st

from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, Cache
from ui.work.job import WAITING, Job, State
from ui.work.run_stops import wait_for
from ui.work.semaphore import SCRIPTS
from ui.work.shared import shared_stream

PACE_SECONDS = 0.03  # between two steps of a text, so that they can be read as they come
AT_ONCE_SECONDS = 0.5  # a page waits so long for its job: an idle machine may be done by then

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Partial:
    """A part of a result that grows: ``make`` yields it, the page shows it, no cache has it.

    ``key`` is the request; `CachedJobs` fills it in.
    """

    item: Any
    key: Any = None


@dataclass(frozen=True, eq=False)
class _Result:
    """A result among a job's items: the page shows it even if the cache has no room for it."""

    key: Any
    item: Any


@dataclass(eq=False)
class CachedJobs(Generic[K, T]):
    """Results of one kind, in ``cache`` under their requests.

    ``make`` yields shares done as floats, perhaps a growing result as `Partial`, and the result
    last; ``expected`` are its errors whose text is meant for visitors. A session has one job called
    ``name`` at a time.
    """

    name: str
    make: Callable[[K], Iterator[Any]]
    cache: Cache
    expected: tuple[type[Exception], ...] = ()

    def cached(self, requests: Iterable[K]) -> dict[K, T]:
        """Return the results that are cached already."""
        cached = self.cache.find((self.name, key) for key in requests)
        return {key: item for (_, key), item in cached.items()}

    def so_far(self, requests: Iterable[K]) -> dict[K, T]:
        """Return what there is of the results: those that are cached, the others as they grow."""
        job = jobs.current(self.name)
        items = job.items if job is not None else []
        grown = {each.key: each.item for each in items if isinstance(each, Partial | _Result)}
        cached = self.cached(requests := tuple(requests))
        return {key: grown[key] for key in requests if key in grown} | cached

    def fetch(self, request: K) -> tuple[T | None, Job | None]:
        """Return the result, or the job that makes it."""
        results, job = self.fetch_all((request,))
        return results.get(request), job

    def fetch_all(self, requests: tuple[K, ...]) -> tuple[dict[K, T], Job | None]:
        """Return the results that are there, and the job that makes the others, if any."""
        job = jobs.current(self.name)
        again = jobs.clicked_again(self.name)
        results = self._results(requests, job)
        whole = len(set(requests))
        if len(results) < whole and (
            job is None or job.about != requests or jobs.starts_again(job, again)
        ):
            job = jobs.start(
                self.name,
                lambda: self._work(requests),
                about=requests,
                expected=self.expected,
                newest=(float, Partial),
            )
            if not pool.POOL.crowded:
                with SCRIPTS.released():
                    wait_for(job.join, AT_ONCE_SECONDS)
            results = self._results(requests, job)
        if len(results) < whole:
            return results, job
        if job is not None and (job.over or job.about != requests):
            job.forget()
        return results, None

    def watch(
        self,
        job: Job,
        what: str,
        *,
        again: str = "Go on",
        beside: bool = True,
        draw: Callable[[], None] | None = None,
        bar: bool = False,
    ) -> None:
        """Show how far ``job`` is, or how it ended; run the page again at the end.

        After an end without all results, the button ``again`` starts the rest; the sentence about
        that end stands ``beside`` the button, or below. ``draw`` draws the results so far, in place
        of a ``bar`` or with one.
        """
        if job.state is State.DONE:  # since the page began to be drawn
            st.rerun()
        results = list(self.so_far(cast("tuple[K, ...]", job.about)))
        if job.over:
            with st.container(horizontal=True, vertical_alignment="center"):
                if beside:
                    jobs.draw_end(job, what, results)
                jobs.draw_again(self.name, again, "play_arrow", f"{self.name}_again_button")
        jobs.watch(
            job,
            lambda items: draw() if draw else None,
            what=what,
            share=None if draw and not bar else jobs.share_of,
        )
        if job.over and not beside:
            jobs.draw_end(job, what, results)

    def _results(self, requests: tuple[K, ...], job: Job | None) -> dict[K, T]:
        """Cached results, and those that this visitor's ``job`` has made for these requests."""
        items = job.items if job is not None and job.about == requests else []
        made = {item.key: item.item for item in items if isinstance(item, _Result)}
        return made | self.cached(requests)

    def _work(self, requests: tuple[K, ...]) -> Iterator[Any]:
        cached = self.cached(requests)
        yield from map(_Result, cached, cached.values())
        missing = [key for key in requests if key not in cached]
        for index, key in enumerate(missing):
            if ready := self.cached((key,)):  # made by another visitor's job meanwhile
                yield _Result(key, ready[key])
                continue
            for item in self.make(key):
                if isinstance(item, float):
                    yield (index + item) / len(missing)
                elif item is None or item is WAITING:
                    yield item
                elif isinstance(item, Partial):
                    yield Partial(item.item, key)
                else:
                    self.cache.put((self.name, key), item)
                    yield _Result(key, item)
                    yield (index + 1) / len(missing)


def written(
    name: str, write: Callable[..., Any], request: Hashable, shipped: Sequence[Any] = ()
) -> Job:
    """Return the job ``name`` that writes: a new one, unless this text is written or was stopped.

    ``write`` yields the steps of a request; those that are ``shipped`` are there at once.
    """
    job = jobs.current(name)
    again = jobs.clicked_again(name)
    if job is not None and job.about == request and not again:
        return job
    key = name, request
    if steps := shipped or NUMBERS_CACHE.find([key]).get(key):
        return jobs.have(name, list(steps), about=request)
    return jobs.start(name, lambda: _write(name, write, request), about=request)


def _write(name: str, write: Callable[..., Any], request: Hashable) -> Iterator[Any]:
    steps = []
    for item in shared_stream(write, request):
        yield item
        if item is not None and item is not WAITING:
            steps.append(item)
            time.sleep(PACE_SECONDS)
    NUMBERS_CACHE.put((name, request), tuple(steps))

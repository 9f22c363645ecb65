"""A load test: many visitors use one served app at once, and one before them alone."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial

from tests.load.figures import Record, watch_memory
from tests.load.requests import Boundary, Landing, Ledger, Manifold
from tests.load.session import Session, Wrong
from tests.load.visitors import PAUSE_SECONDS, STAYS, Looker, Trainer, Visitor, kind_of

ARRIVAL_SECONDS = 5.0  # within which all open the link
REPEATED = 2  # requests of each page
QUICK = (0.0, 0.2)  # seconds between two steps of a visitor alone


@dataclass
class Load:
    """The result: alone and in the crowd, and memory as (seconds, megabytes)."""

    alone: Record = field(default_factory=Record)
    crowd: Record = field(default_factory=Record)
    samples: list[tuple[float, float]] = field(default_factory=list)


async def hold(
    url: str,
    process: int,
    count: int,
    seconds: float,
    rounds: int = 2,
    required: frozenset[str] = frozenset(),
    pause: tuple[float, float] = PAUSE_SECONDS,
    stays: tuple[int, int] = STAYS,
) -> Load:
    """Let one visitor of either kind visit ``rounds`` times alone, then ``count`` at once.

    These go on for so many ``seconds``, or until every ``required`` action was done. In the end
    some of their requests are repeated by one visitor: the numbers must be the same.
    """
    load, ledger = Load(crowd=Record(required=required)), Ledger()
    async with Session(url) as first:  # imports what pages need
        await first.open()
    everybody = count + 2  # so that no seed of those who come alone is requested again
    for kind, number in ((Looker, count), (Trainer, count + 1)):
        alone = kind(url, number, everybody, float("inf"), load.alone, ledger, QUICK)
        for _ in range(rounds):
            await alone.visit()
    watch = asyncio.create_task(watch_memory(process, load.samples))
    end = time.monotonic() + seconds
    crowd = [
        kind_of(number)(url, number, everybody, end, load.crowd, ledger, pause, stays)
        for number in range(count)
    ]
    await asyncio.gather(*(_arrive(visitor, count) for visitor in crowd))
    watch.cancel()
    await _repeat(url, load.crowd, ledger)
    return load


async def _arrive(visitor: Visitor, count: int) -> None:
    await asyncio.sleep(ARRIVAL_SECONDS * visitor.number / count)
    await visitor.stay()


async def _repeat(url: str, record: Record, ledger: Ledger) -> None:
    for kind in (Landing, Manifold, Boundary):
        of_kind = [x for x in ledger.numbers if isinstance(x, kind)]
        for request in [x for x in of_kind if not getattr(x, "table", None)][-REPEATED:]:
            try:
                async with Session(url, request.address, request.link) as session:
                    await session.open(request.wrong)
                    if isinstance(request, Boundary):
                        await session.until(partial(request.unfinished, session))
                    ledger.compare(request, session)
            except (Wrong, LookupError) as error:
                record.crossed.append(f"repeated alone: {error}")

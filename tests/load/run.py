"""How do many visitors use one served app at once, and one before them alone?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from tests.load import memory
from tests.load.asking import Film, Landing, Ledger, Manifold
from tests.load.figures import Record
from tests.load.looking import Looker
from tests.load.session import Session
from tests.load.tab import Wrong
from tests.load.training import Trainer
from tests.load.visitor import Visitor

T = TypeVar("T")

TRAINING_SHARE = 3  # one in three trains
ARRIVAL_SECONDS = 5.0  # within which all open the link
ASKED_AGAIN = 2  # of each page
QUICK = (0.0, 0.2)  # seconds between two steps of somebody alone


@dataclass
class Found:
    """What a run has shown: alone and in the crowd, and memory by time."""

    alone: Record = field(default_factory=Record)
    crowd: Record = field(default_factory=Record)
    samples: list[tuple[float, float]] = field(default_factory=list)

    @property
    def slope(self) -> memory.Slope | None:
        """How memory grows; nothing of a run that was too short to say."""
        return memory.slope(self.samples)


def visitors(url: str, count: int, end: float, record: Record, ledger: Ledger) -> list[Visitor]:
    """``count`` of them, one in three of whom trains."""
    kinds = [Trainer if i % TRAINING_SHARE == TRAINING_SHARE - 1 else Looker for i in range(count)]
    return [kind(url, number, count, end, record, ledger) for number, kind in enumerate(kinds)]


def in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns; in a thread where a browser has a loop, there is no second one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def hold(
    url: str,
    process: int,
    count: int,
    seconds: float,
    rounds: int = 2,
    wanted: frozenset[str] = frozenset(),
) -> Found:
    """Let one visitor of either kind go ``rounds`` times round alone, then ``count`` together.

    These go on for so many ``seconds``, or until every action that is ``wanted`` was done. In the
    end somebody asks alone for some of what they had asked for: the numbers must be the same.
    """
    found, ledger = Found(crowd=Record(wanted=wanted)), Ledger()
    async with Session(url) as first:  # imports what pages need
        await first.open()
    everybody = count + 2  # no seed of those who come alone is asked for again
    for kind, number in ((Looker, count), (Trainer, count + 1)):
        lone = kind(url, number, everybody, float("inf"), found.alone, ledger, QUICK)
        for _ in range(rounds):
            await lone.visit()
    watch = asyncio.create_task(memory.watch(process, found.samples))
    end = time.monotonic() + seconds
    crowd = visitors(url, everybody, end, found.crowd, ledger)[:count]
    await asyncio.gather(*(_arrive(visitor, count) for visitor in crowd))
    watch.cancel()
    await _ask_again(url, found.crowd, ledger)
    return found


async def _ask_again(url: str, record: Record, ledger: Ledger) -> None:
    """A stranger, alone, opens the last links: nobody was told anything else."""
    for kind in (Landing, Manifold, Film):
        asked = [x for x in ledger.told if isinstance(x, kind) and not getattr(x, "table", None)]
        for question in asked[-ASKED_AGAIN:]:
            try:
                async with Session(url, kind.address, question.link) as session:
                    await session.open(question.wrong)
                    if isinstance(question, Film):
                        await session.until(partial(question.unfinished, session))
                    ledger.compare(question, session)
            except (Wrong, LookupError) as error:
                record.crossed.append(f"asked again alone: {error}")


async def _arrive(visitor: Visitor, count: int) -> None:
    await asyncio.sleep(ARRIVAL_SECONDS * visitor.number / count)
    await visitor.stay()

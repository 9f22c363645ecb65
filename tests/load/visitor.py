"""Who visits? Somebody with a number, seeds of their own, pauses, and a book of what they met."""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass, field

from tests.load.asking import Asked, Crossed, Ledger
from tests.load.figures import FIRST_PAINT, Record
from tests.load.session import Expect, Session
from tests.load.tab import Wrong

PAUSE_SECONDS = (1.0, 4.0)  # between two steps
ERROR_CHARACTERS = 2000  # of an error: a page says what was asked for, and what it shows


@dataclass
class Visitor(ABC):
    """Visitor ``number`` of ``count``, who goes on until ``end`` (`time.monotonic`)."""

    url: str
    number: int
    count: int
    end: float
    record: Record
    ledger: Ledger
    pause: tuple[float, float] = PAUSE_SECONDS
    turn: int = 0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)

    @property
    def is_over(self) -> bool:
        """Whether the time is up, or everything has been seen by somebody."""
        return time.monotonic() > self.end or self.record.complete

    @abstractmethod
    async def visit(self) -> None:
        """Once through everything that this visitor does."""

    async def stay(self) -> None:
        """Visit again and again; whatever goes wrong is written down, and a new tab opened."""
        while not self.is_over:
            try:
                await self.visit()
            except Over:
                return
            except Crossed as error:
                self.record.crossed.append(f"visitor {self.number}: {error}")
            except (Wrong, OSError, LookupError, StopIteration) as error:
                self.record.errors[f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]] += 1

    async def step(self, action: str, done: Awaitable[float], view: bool = False) -> float:
        """Think, do something and write down how long the page took; `Over` once time is up."""
        await asyncio.sleep(self.random.uniform(*self.pause))
        seconds = await done
        self.record.add(action, seconds, view)
        if self.is_over:
            raise Over
        return seconds

    async def paint(self, session: Session, expect: Expect) -> None:
        """Open the tab's page."""
        self.record.add(FIRST_PAINT, await session.open(expect))

    def compare(self, asked: Asked, session: Session) -> None:
        """Compare the numbers with what others were told."""
        self.ledger.compare(asked, session)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def own(self, largest: int, block: int = 1) -> int:
        """The next number, at most ``largest``, that begins a ``block`` no other visitor has."""
        self.turn += 1
        places = largest // (block * self.count) * self.count
        return block * ((self.number + self.count * self.turn) % places)


class Over(Exception):
    """The time is up."""

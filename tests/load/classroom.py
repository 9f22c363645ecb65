"""A class: a teacher in a tab of Streamlit's, and students' phones that poll plain HTTP."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.load.figures import late
from tests.load.session import Session
from tests.served import ask

POLL_SECONDS = 1.5  # of student.js, a tenth more or less
KEPT_SECONDS = 4.0  # uvicorn closes what was quiet for five
SECONDS = 2.0  # the goal, from a click to the screens, and from a vote to the count
THINKING_SECONDS = 3.0  # within which all vote
SCREENS_SECONDS = 30.0  # then a phone is lost
COUNT = re.compile(r"(\d+) of \d+ have answered")


@dataclass
class Class:
    """What a class met: seconds from a click to each screen, and from each vote to the count."""

    students: int
    questions: int = 0
    to_screens: list[float] = field(default_factory=list)
    to_count: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        seconds = {"click to screens": self.to_screens, "vote to count": self.to_count}
        return f"a class of {self.students}, {self.questions} questions: " + "; ".join(
            f"{name} p95 {late(values):.2f} s, at most {max(values):.2f} s ({len(values):,})"
            for name, values in seconds.items()
            if values
        )

    @property
    def goals(self) -> dict[str, bool]:
        """Return each goal, and whether it is reached."""
        clicks, votes = 2 * self.questions - 1, self.questions
        whole = len(self.to_screens) == clicks * self.students
        return {
            "class: nothing lost, every vote counted once": not self.errors
            and whole
            and len(self.to_count) == votes * self.students,
            f"class: click to screens, 95 % below {SECONDS:g} s": bool(self.to_screens)
            and late(self.to_screens) < SECONDS,
            f"class: vote to count, 95 % below {SECONDS:g} s": bool(self.to_count)
            and late(self.to_count) < SECONDS,
        }


@dataclass(eq=False)
class Phone:
    """A student's phone, whose connection is kept as a browser keeps it."""

    host: str
    code: str
    record: Class
    state: dict[str, Any] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)  # version: when it was on the screen
    cookie: str = ""
    quiet: float = 0.0

    def __post_init__(self) -> None:
        self._turn = asyncio.Lock()

    async def ask(self, path: str, body: object = None) -> int:
        """Send a request, take what is to be shown, and return the status."""
        async with self._turn:
            if time.perf_counter() - self.quiet > KEPT_SECONDS:
                self._back, self._to = await asyncio.open_connection(*self.host.split(":"))
            text = b"" if body is None else json.dumps(body).encode()
            head = (
                f"{'GET' if body is None else 'POST'} /c/{self.code}{path} HTTP/1.1\r\n"
                f"Host: {self.host}\r\nCookie: {self.cookie}\r\nContent-Length: {len(text)}\r\n\r\n"
            )
            self._to.write(head.encode() + text)
            answer = (await self._back.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"(?i)content-length: (\d+)", answer)
            content = await self._back.readexactly(int(length[1])) if length else b""
            self.quiet = time.perf_counter()
        if cookie := re.search(r"(?i)set-cookie: ([^;]+)", answer):
            self.cookie = cookie[1]
        status = int(answer.split(" ", 2)[1])
        if status == 200 and content.startswith(b"{"):
            self.state = json.loads(content)
            self.seen.setdefault(self.state["version"], time.perf_counter())
        elif status >= 400:
            self.record.errors.append(f"{status} {content[:60]!r} at {path}")
        return status

    async def follow(self) -> None:
        """Join, and poll until cancelled."""
        await self.ask("")
        await self.ask("/join", {})
        while True:
            await asyncio.sleep(POLL_SECONDS * random.uniform(0.9, 1.1))
            await self.ask(f"/state?since={self.state['version']}")


async def hold_class(url: str, students: int, most: int = 100) -> Class:
    """Let a class answer all lessons, ``most`` at most, from the first one on."""
    record, host = Class(students), urlsplit(url).netloc
    async with Session(url, "Learn") as session:
        await session.open()
        await session.press(session.page.widget("class_start"), lambda s: "")
        await session.until(lambda: "" if session.page.has("leave") else "no class was started")
        (leave,) = json.loads(session.page.widget("leave").message.json)
    status, _, headers = await asyncio.to_thread(ask, url, "GET", leave["path"])
    assert status == 303
    cookie = next(iter(SimpleCookie(headers["set-cookie"]).values()))
    code = parse_qs(urlsplit(headers["location"]).query)["class"][0]
    link = {"class": [code]}
    async with Session(url, "Learn", link, cookies={cookie.key: cookie.value}) as teacher:
        await teacher.open(lambda s: "")
        phones = [Phone(host, code, record) for _ in range(students)]
        following = [asyncio.create_task(phone.follow()) for phone in phones]
        await _until(lambda: all(phone.state for phone in phones))
        count = phones[0].state["count"]
        record.questions = min(most, count)
        for index in range(record.questions):
            await _ask(teacher, phones, index, record, index + 1 == record.questions)
        for task in following:
            task.cancel()
        for error in await asyncio.gather(*following, return_exceptions=True):
            if not isinstance(error, asyncio.CancelledError):
                record.errors.append(repr(error))
        await teacher.press(teacher.page.widget("class_end"), lambda s: "")
        await teacher.until(lambda: "" if teacher.page.has("class_start") else "the class goes on")
    return record


async def _ask(
    teacher: Session, phones: list[Phone], index: int, record: Class, last: bool
) -> None:
    """Let all vote, some of them twice; reveal; go on unless this is the ``last`` question."""
    sent, counts = list[float](), list[tuple[int, float]]()
    votes = dict[Phone, int]()

    async def vote(phone: Phone) -> None:
        await asyncio.sleep(random.uniform(0, THINKING_SECONDS))
        choices = len(phone.state["choices"])
        votes[phone] = random.randrange(choices)
        sent.append(time.perf_counter())
        await phone.ask("/vote", {"question": index, "choice": votes[phone]})
        if random.random() < 0.2:
            await phone.ask("/vote", {"question": index, "choice": (votes[phone] + 1) % choices})

    def counted() -> str:
        found = [int(match[1]) for text in teacher.page.progress if (match := COUNT.match(text))]
        counts.extend((number, time.perf_counter()) for number in found)
        return "" if found and found[0] == len(phones) else f"{found} have answered"

    await asyncio.gather(teacher.until(counted), *map(vote, phones))
    for place, at in enumerate(sorted(sent)):  # on the screen when the count is above its place
        record.to_count.append(next(when for number, when in counts if number > place) - at)
    await _click(teacher, phones, record)
    expected = defaultdict(int)
    for phone, choice in votes.items():
        expected[choice] += 1
        if phone.state["mine"] != choice:
            record.errors.append(f"a vote for {choice} became {phone.state['mine']}")
    found = phones[0].state["distribution"]
    if found != [expected[i] for i in range(len(found))]:
        record.errors.append(f"question {index}: {found} instead of {dict(expected)}")
    if not last:
        await _click(teacher, phones, record)


async def _click(teacher: Session, phones: list[Phone], record: Class) -> None:
    """Press the one button, and wait until all phones show what it does."""
    version = max(phone.state["version"] for phone in phones) + 1
    began = time.perf_counter()
    await teacher.press(teacher.page.widget("class_go"), lambda s: "")
    await _until(lambda: all(version in phone.seen for phone in phones))
    record.to_screens += [phone.seen[version] - began for phone in phones if version in phone.seen]
    await teacher.until(lambda: "" if _is_calm(teacher) else "the picture follows")


def _is_calm(teacher: Session) -> bool:
    return not teacher.drawing and teacher.page.has("class_go")


async def _until(holds: Any) -> None:
    end = time.perf_counter() + SCREENS_SECONDS
    while not holds() and time.perf_counter() < end:
        await asyncio.sleep(0.05)

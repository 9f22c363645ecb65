"""`python -m tests.load --sessions 30 --minutes 15`: visitors at once on an app of its own.

They open pages, drag pictures, move controls, train, upload and vote. What a page shows follows
from its link: whoever comes to the same link by whatever way must read the same texts, charts and
tables, and be sent the same arrays. Last come the figures, and the goals for two quiet cores.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from http.cookies import SimpleCookie
from itertools import zip_longest
from math import cos, sin
from operator import itemgetter
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import psutil
from scipy.stats import theilslopes

from tests.browser.serving import serve
from tests.served import ask
from tests.tab import Node, Tab, Value, Wrong

ARRIVAL_SECONDS = 5.0  # within which all open the link
PAUSE_SECONDS, QUICK = (1.0, 4.0), (0.0, 0.1)  # between two steps
STEPS = 6  # on a page
TRAINING_SHARE = 3  # one visitor in three trains
TRAINERS_AT_ONCE = 11
SECOND_LOOK_SECONDS = 10.0  # for a run that comes after the one that was waited for
SETTLE_SECONDS = 60.0  # for one who is alone
REPEATED = 20  # links that one visitor opens again in the end
LOOK_SECONDS = 5.0  # for what is still computed; then a visitor goes on without a look
ERROR_LETTERS, EXCERPT = 1000, 300

# The controls that visitors move, by page: of those that are there. A number is drawn from its
# range, a choice from what is offered, unless it is given here.
PAGES: dict[str, dict[str, Sequence[str] | None]] = {
    "": {"picture": None, "task": None, "beside": None, "colour": None},
    "Manifold": {"model": None, "kind": ("sigmoid", "silu", "tanh"), "layers": ("1", "2", "3"),
                 "tab": ("Surface", "Error analysis")},
    "Which_gates_curve": {"tint": None},
    "Which_keys_curve": {"fourth": None},
    "Depth": {"stacked": None, "quantity": None},
    "Claims": {"rows": None},
    "Mixture_of_experts": {"gate_at": None, "model_seed": None,
                           "experts_tab": ("Identifiability", "Decomposition")},
    "Real_heads": {"heads_text": None, "heads_tab": ("Curvature", "Heads")},
    "Language_models": {"lm_text": None, "measure": ("Rank, sparsity, calibration", "Decision")},
    "Efficient_attention": {
        "top_k": None, "sample_text": None, "delta_gamma": None, "evict_budget": None,
        "method": ("Top-k", "KV-cache eviction", "Delta correction", "Linear and hybrid")},
    "Steering": {"steering_text": None, "steering_tab": ("Steer", "Features")},
    "Guide": {},
}  # fmt: skip
BOUNDARY, BOUNDARY_STEPS, SEEDS = "Decision_boundary", "400", 16
VIEW, OWN, TRAINING, FIRST_PICTURE = (
    "views",
    "computed for one visitor",
    "trainings",
    "first pictures of eleven trainings",
)


# --- What is noted --------------------------------------------------------------------------------


# Of a training, which whoever trains again measures anew.
TIMES = re.compile(r"[\d.]+ s \(together\)")
Link = tuple[str, str]  # the page, and what is in its link, in one order


@dataclass
class Record:
    """Record of what visitors met: seconds by row, errors, pages by link, memory."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    crossed: list[str] = field(default_factory=list)
    pages: dict[Link, list[tuple[str, bytes, str]]] = field(default_factory=dict)
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, megabytes

    @contextlib.contextmanager
    def noting(self, who: str) -> Any:
        """Note whatever goes wrong within."""
        try:
            yield
        except Crossed as error:
            self.crossed.append(f"{who}: {error}")
        except (Wrong, OSError, LookupError, StopIteration) as error:
            self.errors[f"{type(error).__name__}: {error}"[:ERROR_LETTERS]] += 1

    def compare(self, link: Link, read: Iterable[tuple[str, object]]) -> None:
        """Raise `Crossed` unless everybody with this link has read the same, element by element."""
        texts = [(key, TIMES.sub("", repr(x))) for key, x in read]
        here = [(key, blake2b(text.encode()).digest(), text[:EXCERPT]) for key, text in texts]
        for before, now in zip_longest(self.pages.setdefault(link, here), here):
            if before is None or now is None or before[:2] != now[:2]:
                raise Crossed(f"{link}: {before} to one, {now} to another visitor")


class Crossed(Wrong):
    """The page shows what somebody else has requested."""


def link_of(tab: Tab) -> Link:
    """The page and the link of a tab."""
    return tab.hash, urlencode(sorted(tab.link.items()), doseq=True)


# --- What a visitor does --------------------------------------------------------------------------


@dataclass
class Visitor:
    """Visitor ``number`` of ``count``, who goes on until ``end`` (`time.monotonic`)."""

    url: str
    number: int
    count: int
    end: float
    record: Record
    pause: tuple[float, float] = PAUSE_SECONDS

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)
        self.trainings = 0

    async def stay(self) -> None:
        """Visit one page after the other, each in a new tab, or train again and again."""
        await asyncio.sleep(ARRIVAL_SECONDS * self.number / self.count)
        trains, pages = self.number % TRAINING_SHARE == TRAINING_SHARE - 1, [*PAGES]
        visits = self.number
        while time.monotonic() < self.end:
            with self.record.noting(f"visitor {self.number}"):
                await (self.train() if trains else self.visit(pages[visits % len(pages)]))
            visits += 1

    async def visit(self, page: str, steps: int = STEPS) -> None:
        """Open a page, drag what can be dragged, and move its controls."""
        async with Tab(self.url, page) as tab:
            await self.step(tab, tab.open(), "first paint")
            for number in range(steps):
                if time.monotonic() > self.end:
                    return
                drag = self.dragged(tab) if number % 2 else None
                keys = [key for key in PAGES[page] if tab.page.has(key)]
                if drag is not None:
                    await self.step(tab, drag)
                elif keys:
                    key = self.random.choice(keys)
                    node = tab.page.widget(key)
                    row = OWN if node.kind in ("number_input", "text_input", "text_area") else VIEW
                    value = self.value(node, PAGES[page][key])
                    await self.step(tab, tab.change(**{key: value}), row)

    async def step(self, tab: Tab, done: Awaitable[float], row: str = VIEW) -> None:
        """Pause, do something, note how long the page took, and compare what it shows."""
        await asyncio.sleep(self.random.uniform(*self.pause))
        self.record.seconds[row].append(await done)
        await self.look(tab)

    async def look(self, tab: Tab, seconds: float = LOOK_SECONDS) -> None:
        """Compare once nothing is computed any more; a run may come after the one awaited."""
        if tab.page.troubles:
            raise Wrong(f"{link_of(tab)}: {tab.page.troubles}")
        try:
            await tab.settle(seconds)
        except Wrong:
            return
        try:
            self.record.compare(link_of(tab), tab.page.shown)
        except Crossed:
            ended = tab.finished
            with contextlib.suppress(Wrong):
                await tab.until(lambda: "" if tab.finished > ended else "-", SECOND_LOOK_SECONDS)
            self.record.compare(link_of(tab), tab.page.shown)

    def value(self, node: Node, given: Sequence[str] | None) -> Value:
        """Return another value of a widget."""
        of, pick = node.message, self.random.choice
        if node.kind in ("text_input", "text_area"):
            return "Visitor " + "".join(self.random.choices("abcdefghij", k=8))
        if node.kind == "number_input":
            return float(self.random.randrange(int(of.min), int(of.max)))
        if node.kind == "slider" and not of.options:
            steps = range(round((of.max - of.min) / of.step) + 1)
            return float(pick(given or [of.min + of.step * x for x in steps]))
        options = given or [getattr(x, "content", x) for x in of.options]
        return str(pick(options))

    def dragged(self, tab: Tab) -> Awaitable[float] | None:
        """Let go of something in the first picture that can be dragged."""
        pick = self.random.randrange
        for node in tab.page.all("bidi_component"):
            told, key = node.message.bytes, node.id.rpartition("-")[2]
            header = json.loads(told) if told.startswith(b"{") else {}
            if "labels" in header:  # two surfaces
                frame = pick(len(header["labels"]))
                return tab.send(key, "left", frame=frame, point=None, corners=None)
            if "strengths" in header:  # the stage
                strength = header["strengths"][pick(len(header["strengths"]))]
                return tab.send(key, "left", strength=strength, plane=None)
            if "ranks" in header:  # the wall of heads
                head = [pick(header["layers"]), pick(header["heads"])]
                return tab.send(key, "opened", open=head, at=[0.3, 0.2])
        return None

    def seeds(self) -> int:
        """Return the first of some seeds that no other visitor has."""
        self.trainings += 1
        return SEEDS * (1 + (self.number + self.count * self.trainings) % 500)

    async def train(self) -> None:
        """Train seeds of one's own, look at two of them, and train in one of three other ways."""
        async with Tab(self.url, BOUNDARY, f"first={self.seeds()}") as tab:
            await tab.open()
            await self.trained(tab)
            for who in ("best left", "worst right"):
                await self.step(tab, tab.change(who=who))
            action = self.random.choice((self.cancel, self.go_away, self.own_table))
            await action(tab)

    async def trained(self, tab: Tab) -> float:
        """Wait for the last step, and compare what is said of it; the seconds to a picture."""
        began, picture = time.perf_counter(), list[float]()

        def wrong() -> str:
            if any("was cancelled" in text for text in tab.page.texts):
                raise Crossed("somebody else has cancelled this training")
            said = steps_of(tab)
            if said and not picture:
                picture.append(time.perf_counter() - began)
            return "" if BOUNDARY_STEPS in said else f"{[*said]}; {tab.page.progress}"

        await tab.until(wrong)
        self.record.seconds[TRAINING].append(time.perf_counter() - began)
        if "own" not in tab.link.get("data", []):  # whose table is not in its link
            try:  # the last step's text follows its picture
                await tab.settle(LOOK_SECONDS)
            except Wrong:
                return picture[0]
            self.record.compare((BOUNDARY, f"first={tab.link['first'][0]}"), steps_of(tab).items())
        return picture[0]

    async def cancel(self, tab: Tab) -> None:
        """Cancel a training once it can be, and go on with it."""
        await tab.change(first=float(self.seeds()))
        await tab.until(
            lambda: "no button" if tab.at_work and not tab.page.button("Cancel") else ""
        )
        if (button := tab.page.button("Cancel")) is None:  # it was soon over
            return
        await tab.press(button)
        await tab.until(lambda: f"{tab.page.progress}" if tab.at_work else "")
        if (button := tab.page.button("Go on")) is not None:  # else it ended as it was cancelled
            await tab.press(button)
            await self.trained(tab)

    async def go_away(self, tab: Tab) -> None:
        """Look at another page, and come back by its link."""
        await tab.change(first=float(self.seeds()))
        await self.step(tab, tab.go("Guide"))
        await tab.go(BOUNDARY)
        await self.trained(tab)

    async def own_table(self, tab: Tab) -> None:
        """Train on a table whose classes nobody else has."""
        await tab.press(tab.page.button("Own points"))
        names, count = (f"a{self.number}", f"b{self.number}"), 40 + 2 * self.number
        await tab.upload("own_file", "points.csv", table(names, count).encode())
        used = f"In use: {count} points, classes {', '.join(names)}."
        if not any(text.startswith(used) for text in tab.page.texts):
            raise Crossed(f"not in use: {used}; {tab.page.texts}")
        await self.trained(tab)


def steps_of(tab: Tab) -> dict[str, str]:
    """The numbers of the training that is shown, by its last step."""
    found = [re.match(r"(.*) \(step (\d+), ", text) for text in tab.page.texts]
    return {match[2]: match[1] for match in found if match}


def table(names: Sequence[str], count: int) -> str:
    """A file of points on a spiral, which change class."""
    rows = ["x,y,label"]
    for i in range(count):
        angle, radius = 2.4 * i, (i + 0.5) / count
        rows.append(f"{radius * cos(angle):.4f},{radius * sin(angle):.4f},{names[i % 2]}")
    return "\n".join(rows)


# --- A class --------------------------------------------------------------------------------------

POLL_SECONDS, KEPT_SECONDS = 1.5, 4.0  # of student.js; uvicorn closes what was quiet for five
THINKING_SECONDS, SCREENS_SECONDS = 3.0, 30.0  # all vote; then a phone is lost
CHANGED_MINDS = 0.2
TO_SCREENS, TO_COUNT = "a class: click to screens", "a class: vote to count"


@dataclass(eq=False)
class Phone:
    """A student's phone, whose connection is kept as a browser keeps it."""

    host: str
    code: str
    record: Record
    state: dict[str, Any] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)  # version: when it was on the screen
    cookie: str = ""
    quiet: float = 0.0

    def __post_init__(self) -> None:
        self._turn = asyncio.Lock()

    async def ask(self, path: str, body: object = None) -> None:
        """Send a request, and take what is to be shown."""
        async with self._turn:
            if time.perf_counter() - self.quiet > KEPT_SECONDS:
                self._back, self._to = await asyncio.open_connection(*self.host.split(":"))
            text = b"" if body is None else json.dumps(body).encode()
            head = (
                f"{'GET' if body is None else 'POST'} /c/{self.code}{path} HTTP/1.1\r\n"
                f"Host: {self.host}\r\nCookie: {self.cookie}\r\n"
                f"Content-Length: {len(text)}\r\n\r\n"
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
            self.record.errors[f"{status} {content[:60]!r} at {path}"] += 1

    async def follow(self) -> None:
        """Join, and poll until cancelled."""
        await self.ask("")
        await self.ask("/join", {})
        while True:
            await asyncio.sleep(POLL_SECONDS * random.uniform(0.9, 1.1))
            await self.ask(f"/state?since={self.state['version']}")


async def hold_class(url: str, students: int, record: Record, most: int = 100) -> None:
    """Let a class answer all questions, ``most`` at most; note what is lost or counted twice."""
    async with Tab(url, "Learn") as tab:
        await tab.open()
        await tab.press(tab.page.widget("class_start"))
        (leave,) = json.loads(tab.page.widget("leave").message.json)
    _, _, headers = await asyncio.to_thread(ask, url, "POST", leave["path"])
    cookie = next(iter(SimpleCookie(headers["set-cookie"]).values()))
    code = parse_qs(urlsplit(headers["location"]).query)["class"][0]
    async with Tab(url, "Learn", f"class={code}", cookies={cookie.key: cookie.value}) as teacher:
        await teacher.open()
        phones = [Phone(urlsplit(url).netloc, code, record) for _ in range(students)]
        following = [asyncio.create_task(phone.follow()) for phone in phones]
        await all_phones(phones, lambda phone: bool(phone.state))
        count = min(most, phones[0].state["count"])
        for index in range(count):
            await answer(teacher, phones, index, record)
            if index + 1 < count:
                await click(teacher, phones, record)
        for task in following:
            task.cancel()
        for error in await asyncio.gather(*following, return_exceptions=True):
            if not isinstance(error, asyncio.CancelledError):
                record.errors[f"a phone: {error!r}"] += 1
        await teacher.press(teacher.page.widget("class_end"))
        await teacher.until(lambda: "" if teacher.page.has("class_start") else "the class goes on")


async def answer(teacher: Tab, phones: list[Phone], index: int, record: Record) -> None:
    """Let all vote, some change their mind, and reveal."""
    sent, counts, votes = list[float](), list[tuple[int, float]](), dict[Phone, int]()

    async def vote(phone: Phone) -> None:
        await asyncio.sleep(random.uniform(0, THINKING_SECONDS))
        choices = len(phone.state["choices"])
        votes[phone] = random.randrange(choices)
        sent.append(time.perf_counter())
        await phone.ask("/vote", {"question": index, "choice": votes[phone]})
        if random.random() < CHANGED_MINDS:
            votes[phone] = (votes[phone] + 1) % choices
            await phone.ask("/vote", {"question": index, "choice": votes[phone]})

    def uncounted() -> str:
        found = [re.match(r"(\d+) of \d+ have answered", text) for text in teacher.page.progress]
        number = max((int(match[1]) for match in found if match), default=0)
        counts.append((number, time.perf_counter()))
        return "" if number == len(phones) else f"{number} have answered"

    await asyncio.gather(teacher.until(uncounted), *map(vote, phones))
    for place, at in enumerate(sorted(sent)):  # on the screen when the count is above its place
        record.seconds[TO_COUNT].append(next(when for n, when in counts if n > place) - at)
    await click(teacher, phones, record)
    expected, found = Counter(votes.values()), phones[0].state["distribution"]
    lost = sum(phone.state["mine"] != choice for phone, choice in votes.items())
    if lost or found != [expected[i] for i in range(len(found))]:
        record.errors[f"question {index}: {lost} lost, {found} instead of {expected}"] += 1


async def click(teacher: Tab, phones: list[Phone], record: Record) -> None:
    """Press the one button, and wait until all phones show what it does."""
    version = max(phone.state["version"] for phone in phones) + 1
    began = time.perf_counter()
    await teacher.press(teacher.page.widget("class_go"))
    await all_phones(phones, lambda phone: version in phone.seen)
    record.seconds[TO_SCREENS] += [phone.seen[version] - began for phone in phones]
    await teacher.until(lambda: "" if teacher.page.has("class_go") else "the picture follows")


async def all_phones(phones: Iterable[Phone], holds: Callable[[Phone], bool]) -> None:
    """Wait until that holds for all."""
    async with asyncio.timeout(SCREENS_SECONDS):
        while not all(map(holds, phones)):
            await asyncio.sleep(0.05)


# --- Memory and processor time --------------------------------------------------------------------

MEGABYTE = 1e6
SAMPLE_SECONDS = 5.0
WARM_UP_SECONDS = 300.0  # caches fill, and the allocator's free blocks become as many as are used
BLOCKS = 15  # whose means are nearly independent, as samples soon after one another are not
SLIGHT = 2.0  # MB a minute: in an hour less than one visitor takes


def used(process: int) -> dict[str, tuple[float, float, int]]:
    """Return megabytes, processor seconds and number of the processes of a server, by kind."""
    root, found = psutil.Process(process), dict[str, tuple[float, float, int]]()
    for one in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            kind = "server" if one == root else f"workers, {one.nice() - root.nice()} nicer"
            megabytes, seconds, number = found.get(kind, (0.0, 0.0, 0))
            megabytes += one.memory_full_info().pss / MEGABYTE
            found[kind] = megabytes, seconds + sum(one.cpu_times()[:2]), number + 1
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Growth:
    """Growth in MB a minute with its 95 % interval, and the memory before and after."""

    value: float
    low: float
    high: float
    first: float
    last: float

    @property
    def flat(self) -> bool:
        """Return whether memory does not grow, or so slowly that it does not matter."""
        return self.low <= 0 or self.value < SLIGHT

    def __str__(self) -> str:
        return (
            f"memory: {self.first:.0f} MB when warm, {self.last:.0f} MB at the end;"
            f" {self.value:+.1f} MB a minute (95 %: {self.low:+.1f} to {self.high:+.1f})"
        )


def growth(samples: Sequence[tuple[float, float]]) -> Growth | None:
    """Return the growth after the warm-up, from (seconds, megabytes).

    It is the Theil–Sen slope of the means of a few blocks; ``None`` where too little time is left.
    """
    warm = np.array([x for x in samples if x[0] >= samples[0][0] + WARM_UP_SECONDS])
    if len(warm) < 2 * BLOCKS:
        return None
    seconds, megabytes = np.array([block.mean(0) for block in np.array_split(warm, BLOCKS)]).T
    value, _, low, high = theilslopes(megabytes, seconds / 60, 0.95)
    return Growth(float(value), float(low), float(high), float(megabytes[0]), float(megabytes[-1]))


# --- Everybody, and the goals ---------------------------------------------------------------------


async def hold(
    url: str,
    process: int,
    count: int,
    seconds: float,
    students: int = 0,
    pause: tuple[float, float] = PAUSE_SECONDS,
) -> Record:
    """Let one visitor see every page, eleven train at once, then ``count`` and a class come.

    In the end one visitor follows some of their links: the pages must be the same.
    """
    record, last = Record(), time.monotonic() + seconds

    def visitor(number: int, noted: Record, pause: tuple[float, float] = QUICK) -> Visitor:
        return Visitor(url, number, count + 1 + TRAINERS_AT_ONCE, last, noted, pause)

    alone = Record(errors=record.errors, crossed=record.crossed, pages=record.pages)
    for page in PAGES:  # the server imports what they need
        with record.noting("alone"):
            await visitor(count, alone).visit(page, 1)

    async def first_picture(number: int) -> None:
        one = visitor(number, alone)
        with record.noting(f"of eleven, {number}"):
            async with Tab(url, BOUNDARY, f"first={one.seeds()}") as tab:
                opened = await tab.open()
                record.seconds[FIRST_PICTURE].append(opened + await one.trained(tab))

    numbers = range(count + 1, count + 1 + TRAINERS_AT_ONCE)
    await asyncio.gather(*map(first_picture, numbers))

    async def watch() -> None:
        while True:
            megabytes = sum(each[0] for each in used(process).values())
            record.memory.append((time.monotonic(), megabytes))
            await asyncio.sleep(SAMPLE_SECONDS)

    async def class_beside() -> None:
        if students:
            await asyncio.sleep(0.3 * seconds)
            with record.noting("a class"):
                await hold_class(url, students, record)

    last, watching = time.monotonic() + seconds, asyncio.create_task(watch())
    crowd = [visitor(number, record, pause).stay() for number in range(count)]
    await asyncio.gather(*crowd, class_beside())
    watching.cancel()
    one = visitor(count, record)
    for page, link in [*record.pages][-REPEATED:]:
        with record.noting("repeated alone"):
            async with Tab(url, BOUNDARY if page == BOUNDARY else "", link) as tab:
                tab.hash = "" if page == BOUNDARY else page
                await tab.open()
                await (one.trained(tab) if page == BOUNDARY else one.look(tab, SETTLE_SECONDS))
    return record


def late(seconds: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return float(np.percentile(seconds, 95))


# Of a row: what of it, and below how many seconds on two quiet cores.
GOALS: tuple[tuple[str, str, Callable[[Sequence[float]], float], float], ...] = (
    (VIEW, "95 %", late, 1.0),
    (TRAINING, "median", lambda x: float(np.median(x)), 4.0),
    (FIRST_PICTURE, "the last", max, 5.0),
    (TO_SCREENS, "95 %", late, 2.0),
    (TO_COUNT, "95 %", late, 2.0),
)


def told(record: Record) -> str:
    """Return the figures as a table, and what went wrong."""
    lines = [f"{'seconds':<36}{'count':>7}{'median':>9}{'95 %':>8}{'most':>8}"]
    for row, x in filter(itemgetter(1), record.seconds.items()):
        lines += [f"{row:<36}{len(x):>7}{np.median(x):>9.2f}{late(x):>8.2f}{max(x):>8.2f}"]
    lines += [f"{growth(record.memory) or 'memory: the run is too short to tell'}"]
    lines += [f"errors: {record.errors.total()}; of others' numbers: {len(record.crossed)}"]
    lines += [f"  {number} × {text}" for text, number in record.errors.most_common()]
    return "\n".join([*lines, *(f"  {text}" for text in record.crossed)])


def reached(record: Record) -> dict[str, bool]:
    """Return each goal, and whether it is reached."""
    slope, seconds = growth(record.memory), record.seconds
    timely = {
        f"{row}: {what} below {most:g} s": function(seconds[row]) < most
        for row, what, function, most in GOALS
        if seconds[row]
    }
    return timely | {
        "no error, no vote lost": not record.errors,
        "nobody sees another's numbers": not record.crossed,
        "memory does not grow": slope is None or slope.flat,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--students", type=int, default=30, help="of a class beside them, or 0")
    options = parser.parse_args()
    with serve() as served:
        seconds = 60 * options.minutes
        record = asyncio.run(
            hold(served.url, served.pid, options.sessions, seconds, options.students)
        )
        kinds = used(served.pid)
        if "Traceback" in (output := served.output()):
            record.errors[f"in the server's log: {output[output.index('Traceback') :]}"] += 1
    averages = " ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{options.sessions} visitors, {options.minutes:g} minutes, {os.cpu_count()} processors,")
    print(f"load averages at the end: {averages}\n\n{told(record)}\n")
    print(f"{'processes':<36}{'count':>7}{'s of CPU':>9}{'MB':>8}")
    for kind, (megabytes, seconds, number) in kinds.items():
        print(f"{kind:<36}{number:>7}{seconds:>9.1f}{megabytes:>8.0f}")
    goals = reached(record)
    print(*(f"{'reached' if ok else 'MISSED':<10}{goal}" for goal, ok in goals.items()), sep="\n")
    sys.exit(not all(goals.values()))


if __name__ == "__main__":
    main()

"""Visitors, page by page, and the checks by which they see that the answer is theirs.

What a page says of itself is compared with the request; its numbers, with those that all other
visitors with the same request were shown. Last comes a class: a teacher, and students' phones.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from http.cookies import SimpleCookie
from math import cos, sin
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from gating_core.characters import BREAK
from gating_core.claims import CLAIMS
from gating_core.experiments.comparison import FIRST_SETTING, LIMITS, STRENGTHS
from gating_core.lm.steering import BEGINNING
from gating_core.real_heads import PRINCIPAL, TEXTS, THREE_TOKENS, shipped_text
from gating_core.tasks import TASK_NAME
from tests.load.report import (
    COMPUTED,
    FIRST_PAINT,
    TRAINED_SECONDS,
    TRAINING,
    VIEW,
    Record,
    late,
    resident,
)
from tests.load.session import Session, Wrong, nothing_wrong
from tests.served import ask
from ui.common.language_models import text_of
from ui.decision_boundary.model import FIRST, TITLES, TYPICAL, WHO
from ui.decision_boundary.shared import SEEDS
from ui.decision_boundary.shared import VIEW_KEY as BOUNDARY_VIEW
from ui.depth.layers import VIEW as DEPTH_VIEW
from ui.depth.shared import QUANTITIES
from ui.drawing.characters import sign
from ui.experts.decomposition import TREE
from ui.experts.shared import NO_GATE, POSITIONS
from ui.experts.shared import SEEDS as EXPERTS_SEEDS
from ui.gates.frames import SPHERE as FIRST_CASE
from ui.gates.frames import STRENGTHS as GATE_STRENGTHS
from ui.gates.gallery import VIEW_KEY as GATES_VIEW
from ui.landing.page import LEFT_MODELS, TASKS
from ui.landing.pair import VIEW_KEY as LANDING_VIEW
from ui.manifold.shared import ManifoldRequest, at_strength, resolve
from ui.manifold.surface import KEY as MANIFOLD_VIEW
from ui.real_heads.shared import drawn_words

ARRIVAL_SECONDS = 5.0  # within which all open the link
PAUSE_SECONDS, QUICK = (1.0, 4.0), (0.0, 0.2)  # between two steps
REPEATED = 2  # requests of each page, by one visitor in the end
FEW = 3  # steps of one sort
TRAINING_SHARE = 3  # one visitor in three trains
GIVE_UP_SECONDS = 90.0
LEAST_ROWS = 40  # of an uploaded table
ERROR_CHARACTERS = 2000

HEADS_VIEW = "heads_wall"
STEP = re.compile(r"\bstep (\d+)\b")
TOTAL = re.compile(r"total curvature \*\*([-+.\de]+)(?: ± ([-+.\de]+))?\*\*")
QUEUE = re.compile(r"waiting .*for a free worker")
DOTS = "…"  # in place of a number that is still computed
TOP_K, EVICTION = "Top-k", "KV-cache eviction"
DELTA, LINEAR = "Delta correction", "Linear and hybrid"


# --- What is requested of each page, and shown ----------------------------------------------------


class Crossed(Wrong):
    """The page shows what somebody else has requested."""


@dataclass(frozen=True)
class Total:
    """A total curvature: first from a grid, then refined."""

    value: float
    error: float

    def agrees(self, other: Total) -> bool:
        """Return whether both can be the same number."""
        return abs(self.value - other.value) <= self.error + other.error


@dataclass(frozen=True)
class Request:
    """A request of the page at ``address``: as a link, and compared with what is shown."""

    address: ClassVar[str] = ""
    keys: ClassVar[dict[str, str]] = {}  # of the widgets and of the link, by field

    @property
    def link(self) -> dict[str, list[str]]:
        """The parameters of the link; a field of ``None`` or of no text is left to the page."""
        fields = ((key, getattr(self, name)) for name, key in self.keys.items())
        return {
            key: [f"{x:g}" if isinstance(x, float) else f"{x}"]
            for key, x in fields
            if x not in (None, "")
        }

    def wrong(self, session: Session) -> str:
        """Return what the page shows wrongly; an empty text if nothing."""
        shown = self.shown_instead(session)
        return f"requested: {self}; shown: {shown}" if shown else nothing_wrong(session)

    def shown_instead(self, session: Session) -> str:
        """Return what the page shows instead of this request; an empty text if it shows this."""
        raise NotImplementedError

    def unfinished(self, session: Session) -> str:
        """Why something is still computed; an empty text once nothing is."""
        return ""

    def numbers(self, session: Session) -> object:
        """All numbers on the page, with `DOTS` for those that are still computed."""
        return session.page.texts, [x.message.spec for x in session.page.all("plotly_chart")]


def figures_of(session: Session) -> list[dict[str, Any]]:
    """All figures of plotly."""
    return [json.loads(node.message.spec) for node in session.page.all("plotly_chart")]


def signs_of(text: str) -> list[str]:
    """The ticks of a text's characters."""
    return [sign(x) for x in BREAK + text_of(text)]


@dataclass(frozen=True)
class Landing(Request):
    task: str = "circle"
    beside: str = next(iter(LEFT_MODELS))
    colour: str = "class"
    frame: int = len(STRENGTHS) - 1
    keys = {"task": "task", "beside": "beside", "colour": "colour"}

    @property
    def link(self) -> dict[str, list[str]]:
        picture = {"picture": ["two models"], "strength": [f"{STRENGTHS[self.frame]:g}"]}
        return super().link | picture

    def shown_instead(self, session: Session) -> str:
        header = session.page.header(LANDING_VIEW)
        scene = f"{replace(FIRST_SETTING, task=self.task)} {LEFT_MODELS[self.beside]}"
        legend = header["ends"][0].startswith("class") == (self.colour == "class")
        shown = header["scene"], session.page.dated, header["frame"]
        return "" if shown == (scene, "", self.frame) and legend else f"{shown}"

    def numbers(self, session: Session) -> object:
        header = session.page.header(LANDING_VIEW)
        lines = [side["verdict"] + side["more"] for side in header["sides"]]
        choice = [text for text in session.page.texts if " is shown: of the " in text]
        return header["findings"], lines, choice


@dataclass(frozen=True)
class Manifold(Request):
    request: ManifoldRequest = field(default_factory=ManifoldRequest)
    tab: str = "Surface"
    address = "Manifold"
    keys = {"tab": "tab"}

    @property
    def link(self) -> dict[str, list[str]]:
        of = self.request
        model = {"kind": of.kind, "layers": of.depth, "lambda": f"{of.strength:g}"}
        model |= {"model": of.seed} if of.seed is not None else {}
        return super().link | {key: [f"{x}"] for key, x in model.items()}

    def shown_instead(self, session: Session) -> str:
        if self.tab == "Error analysis":  # without pictures
            tables = len(list(session.page.all("table")))
            return "" if tables == 1 else f"{tables} tables"
        header = session.page.header(MANIFOLD_VIEW)
        shown = header["scene"], header["places"][header["frame"]]
        gated = at_strength(resolve(self.request).variants[-1], 1.0)
        return "" if shown == (str(gated), self.request.strength) else f"{shown}"

    def numbers(self, session: Session) -> object:
        page = session.page
        tables = [node.message.arrow_data.data for node in page.all("table")]
        if self.tab == "Error analysis":
            return tables
        header = page.header(MANIFOLD_VIEW)  # at first of one strength, then of all
        left, right = (side["verdict"] for side in header["sides"])
        verdicts = (DOTS if DOTS in x else x for x in (left[0], right[header["frame"]]))
        return header["findings"][header["frame"]], (*verdicts,), tables


@dataclass(frozen=True)
class Gates(Request):
    case: str = FIRST_CASE
    colour: str = "K"
    strength: float = 1.0
    address = "Which_gates_curve"
    keys = {"case": "case", "colour": "tint", "strength": "level"}

    def shown_instead(self, session: Session) -> str:
        header = session.page.header(GATES_VIEW)
        shown = header["scene"], header["labels"][header["frame"]]
        return "" if shown == (self.case, f"λ = {self.strength:.2f}") else f"{shown}"

    def numbers(self, session: Session) -> object:
        header = session.page.header(GATES_VIEW)
        place, (side,) = header["frame"], header["sides"]
        return header["findings"][place], side["verdict"][place], side["more"][place]


@dataclass(frozen=True)
class Depth(Request):
    stacked: str = "aligned gates"
    quantity: str = next(iter(QUANTITIES))
    layer: int | None = None  # as the page chooses
    address = "Depth"
    keys = {"stacked": "stacked", "quantity": "quantity", "layer": "after"}

    def shown_instead(self, session: Session) -> str:
        header = session.page.header(DEPTH_VIEW)
        label = header["labels"][header["frame"]].split(" of ")[0]
        return "" if not self.layer or label == f"Layer {self.layer}" else label

    def numbers(self, session: Session) -> object:
        header = session.page.header(DEPTH_VIEW)
        return header["scene"], header["findings"], header["sides"][0]["verdict"]


@dataclass(frozen=True)
class Claims(Request):
    claim: str = "C4"  # as the page opens
    address = "Claims"
    keys = {"claim": "claim"}

    def shown_instead(self, session: Session) -> str:
        headings = [text for text in session.page.texts if re.match(r"\*\*C\d: ", text)]
        right = len(headings) == 1 and headings[0].startswith(f"**{self.claim}: ")
        return "" if right else f"{headings}"


@dataclass(frozen=True)
class Experts(Request):
    place: str = "G1"  # of the page's POSITIONS
    seed: int = 19
    tab: str = "Identifiability"
    address = "Mixture_of_experts"
    keys = {"place": "gate_at", "seed": "model_seed", "tab": "experts_tab"}

    def shown_instead(self, session: Session) -> str:
        if self.tab == "Decomposition":
            gate = json.loads(session.page.widget(TREE).message.json)[0]["gate"]
            shown = NO_GATE if gate is None else gate["place"]
            return "" if shown == self.place else shown
        name = "**Without a gate" if self.place == NO_GATE else f"**The gate ({self.place},"
        (sentence,) = [text for text in session.page.texts if "no output changes, what" in text]
        return "" if sentence.startswith(name) else sentence


@dataclass(frozen=True)
class LanguageModels(Request):
    text: str = ""  # empty: a verse
    tab: str = "Attention sinks"
    address = "Language_models"
    keys = {"tab": "measure", "text": "lm_text"}

    def shown_instead(self, session: Session) -> str:
        if self.tab != "Gate sparsity":
            return ""
        signs = figures_of(session)[0]["layout"]["xaxis"]["ticktext"]
        return "" if signs == signs_of(self.text) else f"{signs}"


@dataclass(frozen=True)
class Heads(Request):
    text: str = next(iter(TEXTS))
    head: tuple[int, int] | None = None  # layer and head, from 0
    plane: str = PRINCIPAL
    address = "Real_heads"
    keys = {"text": "heads_text", "plane": "heads_plane"}

    def shown_instead(self, session: Session) -> str:
        header = session.page.header(HEADS_VIEW)
        words = drawn_words(shipped_text(self.text).tokens.words)[0]
        own_plane = self.head is not None and self.plane != PRINCIPAL
        right = header["words"] == words and header["open"] == (self.head and [*self.head])
        right = right and (header["chart"] is not None) == own_plane
        return "" if right else f"{header['words'][:9]}, {header['open']}, {header['chart']}"

    def numbers(self, session: Session) -> object:
        header = session.page.header(HEADS_VIEW)
        return header["numbers"], header["chart"], session.page.texts


@dataclass(frozen=True)
class Steering(Request):
    beginning: str = ""  # empty: the page's own
    tab: str = "Steer"
    address = "Steering"
    keys = {"tab": "steering_tab", "beginning": "steering_text"}

    def shown_instead(self, session: Session) -> str:
        if self.tab != "Steer":
            return ""
        bold = f"<b>{self.beginning or BEGINNING}</b>"
        bodies = [node.message.body for node in session.page.all("html")]
        texts = [text for text in bodies if 'class="gc-text"' in text]
        return "" if len(texts) == 2 and all(bold in text for text in texts) else f"{texts}"

    def unfinished(self, session: Session) -> str:
        whole = any("With the steering vector" in text for text in session.page.texts)
        return "" if whole or self.tab != "Steer" else "the texts are being written"

    def numbers(self, session: Session) -> object:
        return [node.message.spec for node in session.page.all("plotly_chart")]


@dataclass(frozen=True)
class Efficient(Request):
    text: str = ""  # empty: a verse
    tab: str = TOP_K
    k: int = 8
    gamma: int = 8
    at: int = 64  # the token after which the state is shown
    address = "Efficient_attention"
    keys = {
        "text": "sample_text",
        "tab": "method",
        "k": "top_k",
        "gamma": "delta_gamma",
        "at": "linear_at",
    }

    @property
    def link(self) -> dict[str, list[str]]:
        names = (name for name in self.keys if getattr(self, name) != getattr(Efficient, name))
        return {key: x for key, x in super().link.items() if key in map(self.keys.get, names)}

    def shown_instead(self, session: Session) -> str:
        figures = figures_of(session)
        if self.tab == EVICTION:
            signs = next(
                (
                    figure["layout"]["xaxis"]["ticktext"]
                    for figure in figures
                    if figure["data"][0]["type"] == "heatmap"
                ),
                [],
            )
            return "" if signs and signs == signs_of(self.text)[: len(signs)] else f"{signs}"
        if self.tab == DELTA:
            notes = [x for figure in figures for x in figure["layout"].get("annotations", [])]
            lines = [note.get("text") for note in notes]
            return "" if f"γ = {self.gamma}" in lines else f"{lines}"
        if self.tab == LINEAR:
            titles = [figure["layout"]["title"]["text"] for figure in figures]
            shown = min(self.at, len(signs_of(self.text)) - 1)
            return "" if f"<b>Delta-rule state after token {shown}</b>" in titles else f"{titles}"
        said = " ".join(session.page.texts)
        return "" if f"k = {self.k} of" in said else said


@dataclass(frozen=True)
class Table:
    """An uploaded table: ``count`` points of two classes whose names nobody else uses."""

    owner: int
    count: int

    @property
    def names(self) -> tuple[str, str]:
        return f"a{self.owner}", f"b{self.owner}"

    @property
    def text(self) -> str:
        """The file: a spiral whose points change class."""
        rows = ["x,y,label"]
        for i in range(self.count):
            angle, radius = 2.4 * i, (i + 0.5) / self.count
            name = self.names[i % 2]
            rows.append(f"{radius * cos(angle):.4f},{radius * sin(angle):.4f},{name}")
        return "\n".join(rows)

    @property
    def used(self) -> str:
        """Return the text by which the page says that it trains on this table."""
        return f"In use: {self.count} points, classes {', '.join(self.names)}."


@dataclass(frozen=True)
class Boundary(Request):
    task: str = FIRST.task
    right: str = FIRST.variants[1]
    first: int = FIRST.seed
    count: int = FIRST.seed_count
    steps: int = FIRST.steps
    who: str = TYPICAL
    table: Table | None = None  # not in the link
    address = "Decision_boundary"
    keys = {
        "task": "data",
        "right": "right",
        "first": "first",
        "count": "seeds",
        "steps": "steps",
        "who": "who",
    }

    def shown_instead(self, session: Session) -> str:
        """Return what another run shows; nothing while there is no picture, or a stale one."""
        page = session.page
        if self.table and not any(x.startswith(self.table.used) for x in page.texts):
            return f"{page.texts}"
        if page.dated or not page.has(BOUNDARY_VIEW):
            return ""
        header = page.header(BOUNDARY_VIEW)
        headings = [column["heading"] for column in header["columns"][:2]]
        title, _, seed = headings[1].rpartition(" · seed ")
        own = title == TITLES[self.right] and 0 <= int(seed) - self.first < self.count
        return "" if own else f"{headings}, {header['readings'][-1]}"

    def unfinished(self, session: Session) -> str:
        """Why its last step is not shown yet; an empty text once it is."""
        if problem := self.wrong(session):
            raise Crossed(problem)
        if not session.page.has(BOUNDARY_VIEW):
            return "no picture yet"
        header = session.page.header(BOUNDARY_VIEW)
        step = STEP.search(header["readings"][-1])
        dated = session.page.dated
        if dated or step is None or int(step[1]) != self.steps:
            return f"{dated} {header['readings'][-1][:20]}; {session.page.progress}"
        return ""

    def numbers(self, session: Session) -> object:
        """Those of the last step: the accuracies, and the total curvatures that are numbers."""
        header, captions = session.page.header(BOUNDARY_VIEW), []
        for text in (column["captions"][-1] for column in header["columns"][:2]):
            total = (match := TOTAL.search(text)) and Total(float(match[1]), float(match[2] or 0))
            captions.append((text.split(" · ")[0], total or DOTS))
        return header["readings"][-1], captions


@dataclass
class Ledger:
    """The numbers that were shown, by request."""

    numbers: dict[Request, object] = field(default_factory=dict)

    def compare(self, request: Request, session: Session) -> None:
        """Raise `Crossed` unless all visitors with this request are shown the same numbers."""
        if request.unfinished(session):
            return
        shown = request.numbers(session)
        if not agree(before := self.numbers.setdefault(request, shown), shown):
            raise Crossed(f"{request}: {before!r} to one, {shown!r} to another visitor")
        if not_yet(before):
            self.numbers[request] = shown


def agree(one: object, other: object) -> bool:
    """Return whether two answers are the same wherever neither is still computed."""
    if not_yet(one, inside=False) or not_yet(other, inside=False):
        return True
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, Total) and isinstance(other, Total):
        return one.agrees(other)
    return one == other


def not_yet(answer: object, inside: bool = True) -> bool:
    """Return whether an answer, or one ``inside`` it, is still computed: it contains `DOTS`."""
    if isinstance(answer, list | tuple):
        return inside and any(map(not_yet, answer))
    return answer == DOTS or (isinstance(answer, bytes) and DOTS.encode() in answer)


def is_stopped(session: Session) -> bool:
    """Return whether the page says that a job was cancelled."""
    return any("was cancelled" in text for text in session.page.texts)


# --- What a visitor does --------------------------------------------------------------------------


class Over(Exception):
    """The time is up."""


@dataclass
class Visitor:
    """Visitor ``number`` of ``count``, who goes on until ``end`` (`time.monotonic`)."""

    url: str
    number: int
    count: int
    end: float
    record: Record
    ledger: Ledger
    pause: tuple[float, float] = PAUSE_SECONDS  # between two steps
    visits: int = 0
    blocks: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)
        self.request: Request = Landing()

    @property
    def is_over(self) -> bool:
        """Return whether the time is up, or everything that is required was done by somebody."""
        done = self.record.required and self.record.required <= self.record.done
        return time.monotonic() > self.end or bool(done)

    async def stay(self) -> None:
        """Visit one page after the other, each in a new tab."""
        trains = self.number % TRAINING_SHARE == TRAINING_SHARE - 1
        while not self.is_over:
            page = PAGES[(self.number + self.visits) % len(PAGES)]
            with suppress(Over):
                await self.tried(Visitor.decision_boundary if trains else page)

    async def tried(self, page: Callable[[Visitor], Awaitable[None]]) -> None:
        """Visit a page; whatever goes wrong is noted."""
        try:
            await page(self)
        except Crossed as error:
            self.record.crossed.append(f"visitor {self.number}: {error}")
        except (Wrong, OSError, LookupError, StopIteration) as error:
            self.record.errors[f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]] += 1
        self.visits += 1

    @asynccontextmanager
    async def tab(self, request: Request, row: str = VIEW) -> AsyncIterator[Session]:
        """Open a page in a new tab, and note in the end that this was done."""
        async with Session(self.url, request.address, request.link) as self.session:
            self.request = request
            await self.step(self.session.open(request.wrong), row)
            yield self.session
        self.record.done.add(request.address)

    async def step(self, done: Awaitable[float], row: str = VIEW, compared: bool = True) -> None:
        """Pause, do something, note how long the page took and compare; `Over` once time is up."""
        await asyncio.sleep(self.random.uniform(*self.pause))
        self.record.seconds[row].append(await done)
        if compared:
            self.ledger.compare(self.request, self.session)
        if self.is_over:
            raise Over

    async def set(self, row: str = VIEW, **fields: Any) -> None:
        """Move controls: ``fields`` of the request."""
        self.request = replace(self.request, **fields)
        values = {self.request.keys[name]: value for name, value in fields.items()}
        await self.step(self.session.change(self.request.wrong, **values), row)

    async def send(self, key: str, event: str, value: object, **fields: Any) -> None:
        """Do something in a linked view, which changes ``fields`` of the request."""
        self.request = replace(self.request, **fields)
        await self.step(self.session.send(key, event, value, self.request.wrong))

    def own(self, largest: int, block: int = 1) -> int:
        """Return the next number, at most ``largest``, of a ``block`` that no other visitor has."""
        self.blocks += 1
        count = largest // (block * self.count) * self.count
        return block * ((self.number + self.count * self.blocks) % count)

    def word(self) -> str:
        """A word that hardly another visitor types."""
        return "".join(self.random.choices("abcdefghij", k=8))

    async def landing(self) -> None:
        pick = self.random.choice
        async with self.tab(Landing(), FIRST_PAINT) as session:
            for _ in range(FEW):
                frame = pick(range(len(STRENGTHS)))
                left = {"frame": frame, "point": None, "corners": None}
                await self.send(LANDING_VIEW, "left", left, frame=frame)
            await self.set(beside=[*LEFT_MODELS][1])
            await self.set(colour="curvature")
            await self.set(task=pick(TASKS))
            left = self.request
            await self.step(session.change(left.wrong, explore=True))
            self.request = Manifold()
            await self.step(session.go("Manifold", self.request.wrong))
            await self.step(session.go("Guide"), compared=False)
            self.request = left
            await self.step(session.go("Flat or curved?", self.request.wrong))

    async def manifold(self) -> None:
        """A model by link that nobody else looks at, then others."""
        pick = self.random.choice

        def another() -> dict[str, Any]:
            return {"kind": pick(("sigmoid", "silu", "tanh")), "seed": self.own(LIMITS["seed"][1])}

        async def set_model(values: dict[str, Any], row: str = COMPUTED, **fields: Any) -> None:
            self.request = replace(self.request, request=replace(self.request.request, **fields))
            await self.step(session.change(self.request.wrong, **values), row)

        async with self.tab(Manifold(ManifoldRequest(**another())), COMPUTED) as session:
            for tab in ("Error analysis", "Surface"):
                await self.set(COMPUTED if tab == "Error analysis" else VIEW, tab=tab)
            depth = pick([d for d in (1, 2, 3) if d != self.request.request.depth])
            await set_model({"layers": depth}, depth=depth)
            model = another()
            await set_model({"kind": model["kind"], "model": model["seed"]}, **model)
            for _ in range(FEW):
                strengths = session.page.header(MANIFOLD_VIEW)["places"]
                if len(strengths) > 1:  # else the other strengths are still measured
                    frame = self.random.randrange(len(strengths))
                    model = replace(self.request.request, strength=strengths[frame])
                    left = {"frame": frame, "point": None, "corners": None}
                    await self.send(MANIFOLD_VIEW, "left", left, request=model)

    async def gates(self) -> None:
        async with self.tab(Gates()) as session:
            for _ in range(FEW):
                if len(session.page.header(GATES_VIEW)["labels"]) == len(
                    GATE_STRENGTHS
                ):  # else measured still
                    frame = self.random.randrange(len(GATE_STRENGTHS))
                    of = GATE_STRENGTHS[frame]
                    left = {"frame": frame, "point": None, "corners": None}
                    await self.send(GATES_VIEW, "left", left, strength=of)
            await self.set(colour="|H|")

    async def depth(self) -> None:
        stacks = ("aligned gates", "random gates", "random stacks")
        async with self.tab(Depth(stacked=self.random.choice(stacks)), COMPUTED) as session:
            await session.until(lambda: self.request.unfinished(session))
            for _ in range(FEW):
                await self.set(quantity=self.random.choice(list(QUANTITIES)))
            layer = self.random.randint(1, 3)
            await self.send(DEPTH_VIEW, "stop", {"frame": layer - 1}, layer=layer)

    async def claims(self) -> None:
        first, *others = self.random.sample(list(CLAIMS), FEW + 1)
        async with self.tab(Claims(first)):
            for claim in others:
                await self.set(claim=claim)

    async def experts(self) -> None:
        pick = self.random.choice
        places = list(POSITIONS)
        async with self.tab(Experts(pick(places), self.own(EXPERTS_SEEDS[1])), COMPUTED) as session:
            for _ in range(FEW):
                await self.set(place=pick(places))
            await self.set(tab="Decomposition")
            let_go = {"strength": 0.5, "serial": 1}
            moved = session.send(TREE, "moved", let_go, self.request.wrong)
            await self.step(moved, compared=False)

    async def real_heads(self) -> None:
        async with self.tab(Heads()):
            for serial in range(1, FEW + 1):
                head = self.random.randrange(6), self.random.randrange(12)
                opened = {"open": head, "at": (0.3, 0.2), "serial": serial}
                await self.send(HEADS_VIEW, "opened", opened, head=head)
            await self.set(text=self.random.choice([*TEXTS][1:]))
            await self.set(COMPUTED, plane=THREE_TOKENS)  # eleven surfaces are measured

    async def language_models(self) -> None:
        async with self.tab(LanguageModels()):
            for tab in ("Gate sparsity", "Attention sinks"):
                await self.set(tab=tab)
                for _ in range(FEW):
                    await self.set(text=f"Visitor {self.word()}")

    async def steering(self) -> None:
        async with self.tab(Steering()) as session:
            for _ in range(FEW):
                await self.set(COMPUTED, beginning=f"Visitor {self.word()}")
                await session.until(lambda: self.request.unfinished(session), GIVE_UP_SECONDS)
                self.ledger.compare(self.request, session)
            self.request = Steering()  # the text changes nothing of the other tabs
            for tab in ("Features", "Results"):
                await self.set(tab=tab)

    async def efficient(self) -> None:
        whole = self.random.randint
        async with self.tab(Efficient()):
            for _ in range(FEW):
                await self.set(k=whole(1, 40))
            await self.set(tab=EVICTION)
            for _ in range(FEW):
                await self.set(text=f"Visitor {self.word()} has come to read and to look")
            await self.set(tab=DELTA)
            await self.set(gamma=self.random.choice([2, 4, 16, 32]))
            await self.set(tab=LINEAR)
            for _ in range(FEW):
                await self.set(at=whole(1, 127))

    async def decision_boundary(self) -> None:
        """Train the default or own seeds, look at them, and train again in one of four ways."""
        pick, request = self.random.choice, Boundary()
        if self.visits:
            request = Boundary(
                pick(("circle", "xor", "moons", "spiral")),
                pick(("sigmoid", "silu", "headwise")),
                self.own(SEEDS[1], request.count),
            )
        action = FILMS[(self.number // TRAINING_SHARE + self.visits) % len(FILMS)]
        async with self.tab(request, FIRST_PAINT) as session:
            await self.trained()
            for who in self.random.sample(sorted(WHO), 2):
                await self.set(who=who)
            if action == "own table":
                await session.change(own=True)  # unfolds it
                table = Table(self.number, LEAST_ROWS + 2 * self.number)
                self.request = replace(self.request, task=TASK_NAME, table=table)
                content, wrong = table.text.encode(), self.request.wrong
                sent = session.upload("own_file", "points.csv", content, wrong)
                await self.step(sent, COMPUTED)
            else:
                await self.set(COMPUTED, first=self.own(SEEDS[1], request.count))
            if action == "go away":
                await self.step(session.go("Guide"), compared=False)
                await self.step(session.go("Decision boundary", self.request.wrong))
            if action != "cancel" or await self.cancelled():
                await self.trained()
        self.record.done.add(action)

    async def trained(self) -> None:
        """Wait for the last step."""
        began, queued, session = time.perf_counter(), False, self.session

        def wrong() -> str:
            nonlocal queued
            queued = queued or any(QUEUE.search(text) for text in session.page.progress)
            return self.request.unfinished(session)

        seconds = float("inf")
        try:
            await session.until(wrong, GIVE_UP_SECONDS)
            seconds = time.perf_counter() - began
            self.record.seconds[TRAINING].append(seconds)
            self.ledger.compare(self.request, session)
        except Crossed:
            raise
        except Wrong:
            pass
        self.record.queued += queued
        self.record.late += not queued and seconds > TRAINED_SECONDS

    async def cancelled(self) -> bool:
        """Cancel and go on; return whether there was something to cancel."""
        request, session = self.request, self.session
        await session.until(
            lambda: (
                ""
                if session.page.button("Cancel") or not request.unfinished(session)
                else "nothing to cancel"
            ),
            GIVE_UP_SECONDS,
        )
        if (cancel := session.page.button("Cancel")) is None:
            return False

        def still_runs(session: Session) -> str:  # not if it had just come to its end
            left = session.page.button("Stopping …") or session.page.button("Cancel")
            runs = left and left.id == cancel.id and not is_stopped(session)
            return f"{session.page.progress}" if runs else ""

        await self.step(session.press(cancel, still_runs), COMPUTED, compared=False)
        if go_on := session.page.button("Go on"):
            await self.step(session.press(go_on, request.wrong), COMPUTED)
        return go_on is not None


PAGES = (Visitor.landing, Visitor.manifold, Visitor.gates, Visitor.depth, Visitor.claims,
         Visitor.experts, Visitor.real_heads, Visitor.language_models, Visitor.steering,
         Visitor.efficient)  # fmt: skip
FILMS = ("cancel", "own table", "go away", "stay")
REQUESTS = (Landing, Manifold, Gates, Depth, Claims, Experts, Heads, LanguageModels, Steering,
            Efficient, Boundary)  # fmt: skip
EVERYTHING = frozenset({*(kind.address for kind in REQUESTS), *FILMS})


async def hold(
    url: str,
    process: int,
    count: int,
    seconds: float,
    required: frozenset[str] = frozenset(),
    pause: tuple[float, float] = PAUSE_SECONDS,
) -> Record:
    """Let one visitor see every page, then ``count`` come at once.

    These go on for so many ``seconds``, or until everything ``required`` was done. In the end some
    of their requests are repeated by one visitor: the numbers must be the same.
    """
    record, ledger = Record(required=required), Ledger()
    if not required:  # the server imports what pages need
        first = Visitor(url, count, count + 1, float("inf"), Record(), ledger, QUICK)
        for page in (*PAGES, Visitor.decision_boundary):
            await first.tried(page)
        record.errors, record.crossed = first.record.errors, first.record.crossed

    async def watch() -> None:
        while True:
            record.memory.append((time.monotonic(), resident(process)))
            await asyncio.sleep(1.0)

    async def come(visitor: Visitor) -> None:
        await asyncio.sleep(ARRIVAL_SECONDS * visitor.number / count)
        await visitor.stay()

    watching, end = asyncio.create_task(watch()), time.monotonic() + seconds
    await asyncio.gather(
        *(come(Visitor(url, n, count + 1, end, record, ledger, pause)) for n in range(count))
    )
    watching.cancel()
    for kind in (Landing, Manifold, Boundary):
        of_kind = [x for x in ledger.numbers if isinstance(x, kind)]
        for request in [x for x in of_kind if not getattr(x, "table", None)][-REPEATED:]:
            try:
                async with Session(url, request.address, request.link) as session:
                    await session.open(request.wrong)
                    if kind is Boundary:
                        await session.until(lambda s=session, r=request: r.unfinished(s))
                    ledger.compare(request, session)
            except (Wrong, LookupError) as error:
                record.crossed.append(f"repeated alone: {error}")
    return record


# --- A class --------------------------------------------------------------------------------------

POLL_SECONDS = 1.5  # of student.js, a tenth more or less
KEPT_SECONDS = 4.0  # uvicorn closes what was quiet for five
CLASS_SECONDS = 2.0  # the goal, from a click to the screens, and from a vote to the count
THINKING_SECONDS = 3.0  # within which all vote
SCREENS_SECONDS = 30.0  # then a phone is lost
COUNT = re.compile(r"(\d+) of \d+ have answered")


@dataclass
class Class:
    """Record of a class: seconds from a click to each screen, and from each vote to the count."""

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
            f"class: click to screens, 95 % below {CLASS_SECONDS:g} s": bool(self.to_screens)
            and late(self.to_screens) < CLASS_SECONDS,
            f"class: vote to count, 95 % below {CLASS_SECONDS:g} s": bool(self.to_count)
            and late(self.to_count) < CLASS_SECONDS,
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
    status, _, headers = await asyncio.to_thread(ask, url, "POST", leave["path"])
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
    """Let all vote, some change their mind; reveal; go on unless this is the ``last`` question."""
    sent, counts = list[float](), list[tuple[int, float]]()
    votes = dict[Phone, int]()

    async def vote(phone: Phone) -> None:
        await asyncio.sleep(random.uniform(0, THINKING_SECONDS))
        choices = len(phone.state["choices"])
        votes[phone] = random.randrange(choices)
        sent.append(time.perf_counter())
        await phone.ask("/vote", {"question": index, "choice": votes[phone]})
        if random.random() < 0.2:
            votes[phone] = (votes[phone] + 1) % choices
            await phone.ask("/vote", {"question": index, "choice": votes[phone]})

    def counted() -> str:
        found = [int(match[1]) for text in teacher.page.progress if (match := COUNT.match(text))]
        counts.extend((number, time.perf_counter()) for number in found)
        return "" if found and found[0] == len(phones) else f"{found} have answered"

    await asyncio.gather(teacher.until(counted), *map(vote, phones))
    for place, at in enumerate(sorted(sent)):  # on the screen when the count is above its place
        record.to_count.append(next(when for number, when in counts if number > place) - at)
    await _click(teacher, phones, record)
    expected = Counter(votes.values())
    for phone, choice in votes.items():
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
    await teacher.until(lambda: "" if teacher.page.has("class_go") else "the picture follows")


async def _until(holds: Any) -> None:
    end = time.perf_counter() + SCREENS_SECONDS
    while not holds() and time.perf_counter() < end:
        await asyncio.sleep(0.05)

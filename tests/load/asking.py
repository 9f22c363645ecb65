"""What does a visitor ask a page for, and how do they see that the answer is theirs?

What pages say of themselves is compared with what was asked; what they say in numbers, with what
everybody else was told who asked for the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import cos, sin
from typing import ClassVar, Protocol

from gating_core.experiments.comparison import FIRST_LOOK, STRENGTHS
from tests.load.session import Session, nothing_wrong
from tests.load.tab import Wrong
from ui.claims.request import StudyRequest as ClaimRequest
from ui.decision_boundary.controls import VIEW_KEY as FILM
from ui.decision_boundary.names import TITLES
from ui.decision_boundary.request import FIRST, TYPICAL
from ui.depth.controls import VIEW_KEY as DEPTH_VIEW
from ui.depth.controls import WORDS as QUANTITIES
from ui.gates.controls import VIEW_KEY as GATES_VIEW
from ui.gates.request import SPHERE as FIRST_CASE
from ui.landing.controls import LEFT_SIDES, VIEW_KEY
from ui.manifold.parts import VIEW_KEY as MANIFOLD_VIEW
from ui.manifold.request import Request

STEP = re.compile(r"Step (\d+)\b")
CLAIM = ClaimRequest().claim
CLAIM_HEADING = re.compile(r"\*\*C\d: ")
TOTAL = re.compile(r"total curvature \*\*([-+.\de]+)(?: ± ([-+.\de]+))?\*\*")
QUEUE = re.compile(r"number \d+ in the queue")


class Crossed(Wrong):
    """What is shown is somebody else's."""


class Asked(Protocol):
    """What can be asked of a page."""

    address: ClassVar[str]

    @property
    def link(self) -> dict[str, list[str]]:
        """What a link to it says."""

    def wrong(self, session: Session) -> str:
        """What of the page is not what was asked for."""

    def told(self, session: Session) -> object:
        """All numbers that are said."""


DOTS = "…"


@dataclass(frozen=True)
class Total:
    """A total curvature as it is said: first from a grid, then refined."""

    value: float
    error: float

    def agrees(self, other: Total) -> bool:
        """Whether both can be the same number."""
        return abs(self.value - other.value) <= self.error + other.error


@dataclass
class Ledger:
    """What everybody was told, by what they had asked for."""

    told: dict[Asked, object] = field(default_factory=dict)

    def compare(self, asked: Asked, session: Session) -> None:
        """The same question has the same answer, as far as it is there already."""
        told = asked.told(session)
        if not agree(before := self.told.setdefault(asked, told), told):
            raise Crossed(f"{asked}: {before!r} to one, {told!r} to another visitor")
        if not_yet(before):
            self.told[asked] = told


def agree(one: object, other: object) -> bool:
    """Whether two answers are the same wherever neither says that it is still worked out."""
    if not_yet(one, inside=False) or not_yet(other, inside=False):
        return True
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, Total) and isinstance(other, Total):
        return one.agrees(other)
    return one == other


def _of_caption(text: str) -> tuple[str, Total | str]:
    """What the film's caption says of accuracy, and of total curvature if that is a number."""
    found = TOTAL.search(text)
    return text.split(" · ")[0], Total(float(found[1]), float(found[2] or 0)) if found else DOTS


def not_yet(answer: object, inside: bool = True) -> bool:
    """Whether an answer, or one ``inside`` it, is still worked out: a dot dot dot, in any table."""
    if isinstance(answer, list | tuple):
        return inside and any(map(not_yet, answer))
    return answer == DOTS or (isinstance(answer, bytes) and DOTS.encode() in answer)


@dataclass(frozen=True)
class Landing:
    """What is asked of the landing page."""

    task: str = "circle"
    beside: str = "gate taken out"
    colour: str = "class"
    frame: int = len(STRENGTHS) - 1
    address: ClassVar[str] = ""

    @property
    def link(self) -> dict[str, list[str]]:
        """What a link to it says."""
        said = {"task": self.task, "beside": self.beside, "colour": self.colour}
        return {key: [x] for key, x in said.items()} | {"strength": [f"{STRENGTHS[self.frame]:g}"]}

    def wrong(self, session: Session) -> str:
        """What of the page is not what was asked for."""
        header = session.page.header(VIEW_KEY)
        scene = f"{replace(FIRST_LOOK, task=self.task)} {LEFT_SIDES[self.beside]}"
        legend = header["legend"]["low"].startswith("class") == (self.colour == "class")
        found = (header["scene"] == scene, header["stale"] == "", header["frame"] == self.frame)
        if not (all(found) and legend):
            return f"asked for {self}; shown: {header['scene']}, frame {header['frame']}"
        return nothing_wrong(session)

    def told(self, session: Session) -> object:
        """All numbers that are said."""
        header = session.page.header(VIEW_KEY)
        lines = [line for column in header["columns"] for line in column["captions"]]
        choice = [text for text in session.page.texts if text.startswith("Shown is seed")]
        return header["readings"], lines, choice


@dataclass(frozen=True)
class Manifold:
    """What is asked of the Manifold page."""

    request: Request = field(default_factory=Request)
    tab: str = "See"
    address: ClassVar[str] = "Manifold"

    @property
    def link(self) -> dict[str, list[str]]:
        """What a link to it says."""
        asked = self.request
        said = {"kind": asked.kind, "model": asked.seed, "layers": asked.depth,
                "lambda": f"{asked.strength:g}", "tab": self.tab}  # fmt: skip
        return {key: [str(x)] for key, x in said.items()}

    def wrong(self, session: Session) -> str:
        """What of the page is not what was asked for."""
        if self.tab == "Doubt":  # which has no pictures
            found = len(list(session.page.all("table")))
            return nothing_wrong(session) if found == 2 else f"{found} tables of doubts"
        header = session.page.header(MANIFOLD_VIEW)
        scene = str(replace(self.request, strength=1.0))
        label = header["frame_labels"][header["frame"]]
        if header["scene"] != scene or label != f"λ = {self.request.strength:.2f}":
            return f"asked for {self}; shown: {header['scene']}, {label}"
        return nothing_wrong(session)

    def told(self, session: Session) -> object:
        """All numbers that are said; in captions stand those of the picture before, too."""
        page = session.page
        tables = [node.message.arrow_data.data for node in page.all("table")]
        if self.tab == "Doubt":
            return tables
        header = page.header(MANIFOLD_VIEW)  # at first of one strength, then of all
        # Of two fragments that are due one may ask for the whole page: that draws the other.
        return header["readings"][header["frame"]], page.metrics or DOTS, tables


@dataclass(frozen=True)
class Gates:
    """What is asked of the page of gates."""

    case: str = FIRST_CASE
    colour: str = "K"
    strength: float = 1.0
    address: ClassVar[str] = "Which_gates_curve"

    @property
    def link(self) -> dict[str, list[str]]:
        """What a link to it says."""
        return {"case": [self.case], "tint": [self.colour], "level": [f"{self.strength:g}"]}

    def wrong(self, session: Session) -> str:
        """What of the page is not what was asked for."""
        header = session.page.header(GATES_VIEW)
        label = header["frame_labels"][header["frame"]]
        if header["scene"] != self.case or label != f"λ = {self.strength:.2f}":
            return f"asked for {self}; shown: {header['scene']}, {label}"
        return nothing_wrong(session)

    def told(self, session: Session) -> object:
        """All numbers that are said of this strength, at first the only one."""
        header = session.page.header(GATES_VIEW)
        return [texts[header["frame"]] for texts in (header["readings"],
                                                     header["columns"][0]["captions"])]  # fmt: skip


@dataclass(frozen=True)
class Depths:
    """What is asked of the page of depth."""

    stacked: str = "aligned gates"
    quantity: str = next(iter(QUANTITIES))
    layer: int = 0  # as the page chooses
    address: ClassVar[str] = "Depth"

    @property
    def link(self) -> dict[str, list[str]]:
        """What a link to it says."""
        said = {"stacked": self.stacked, "quantity": self.quantity, "after": self.layer}
        return {key: [str(x)] for key, x in said.items()}

    def wrong(self, session: Session) -> str:
        """What of the page is not what was asked for."""
        header = session.page.header(DEPTH_VIEW)
        label = header["frame_labels"][header["frame"]].split(" of ")[0]
        if self.layer and not header["stale"] and label != f"layer {self.layer}":
            return f"asked for {self}; shown: {label}"
        return nothing_wrong(session)

    def unfinished(self, session: Session) -> str:
        """Why another stack is shown still; nothing once it is measured."""
        return session.page.header(DEPTH_VIEW)["stale"]

    def told(self, session: Session) -> object:
        """All numbers that are said of the stack."""
        header = session.page.header(DEPTH_VIEW)
        if header["stale"]:
            return DOTS
        return header["scene"], header["readings"], header["columns"][0]["captions"]


@dataclass(frozen=True)
class Claims:
    """What is asked of the page of claims."""

    claim: str = CLAIM
    address: ClassVar[str] = "Claims"

    @property
    def link(self) -> dict[str, list[str]]:
        """What a link to it says."""
        return {"claim": [self.claim]}

    def wrong(self, session: Session) -> str:
        """What of the page is not what was asked for."""
        (heading,) = [text for text in session.page.texts if CLAIM_HEADING.match(text)]
        if not heading.startswith(f"**{self.claim}: "):
            return f"asked for {self}; shown: {heading}"
        return nothing_wrong(session)

    def told(self, session: Session) -> object:
        """Evidence and verdict of all claims, the rule of this one, and what is said of it."""
        (table,) = session.page.all("bidi_component")
        (figure,) = session.page.all("plotly_chart")
        return table.message.json, session.page.texts, figure.message.spec


@dataclass(frozen=True)
class Table:
    """A table of one's own: ``count`` points of two classes whose names nobody else uses."""

    owner: int
    count: int

    @property
    def names(self) -> tuple[str, str]:
        return f"a{self.owner}", f"b{self.owner}"

    @property
    def text(self) -> str:
        """As a file: a circle and what lies round it."""
        rows = ["x,y,label"]
        for i in range(self.count):
            angle, radius = 2.4 * i, (i + 0.5) / self.count
            name = self.names[i % 2]
            rows.append(f"{radius * cos(angle):.4f},{radius * sin(angle):.4f},{name}")
        return "\n".join(rows)

    @property
    def used(self) -> str:
        """How the page says that it learns these points."""
        return f"In use: {self.count} points, classes {', '.join(self.names)}."


@dataclass(frozen=True)
class Film:
    """What is asked of the Decision boundary page."""

    task: str = FIRST.task
    right: str = FIRST.variants[1]
    first: int = FIRST.seed
    count: int = FIRST.seed_count
    steps: int = FIRST.steps
    who: str = TYPICAL
    table: Table | None = None  # of one's own
    address: ClassVar[str] = "Decision_boundary"

    @property
    def link(self) -> dict[str, list[str]]:
        """What a link to it says, a table apart."""
        said = {"data": self.task, "right": self.right, "first": self.first,
                "seeds": self.count, "steps": self.steps, "who": self.who}  # fmt: skip
        return {key: [str(x)] for key, x in said.items()}

    def owns(self, seed: int) -> bool:
        return self.first <= seed < self.first + self.count

    def wrong(self, session: Session) -> str:
        """What of the film is not what was asked for; nothing is wrong while there is none."""
        if self.table and not any(x.startswith(self.table.used) for x in session.page.texts):
            return f"asked for {self.table.used}; shown: {session.page.texts}"
        if not session.page.has(FILM):
            return nothing_wrong(session)
        header = session.page.header(FILM)
        if header["stale"]:  # the run before, which says so
            return nothing_wrong(session)
        reading, headings = header["readings"][-1], [c["heading"] for c in header["columns"][:2]]
        title, _, seed = headings[1].rpartition(" · seed ")
        if title != TITLES[self.right] or not self.owns(int(seed)):
            return f"asked for {self}; shown: {headings}, {reading}"
        return nothing_wrong(session)

    def unfinished(self, session: Session) -> str:
        """Why its last step is not shown yet; nothing once it is."""
        if problem := self.wrong(session):
            raise Crossed(problem)
        if not session.page.has(FILM):
            return "no picture yet"
        header = session.page.header(FILM)
        step = STEP.search(header["readings"][-1])
        if header["stale"] or step is None or int(step[1]) != self.steps:
            return f"{header['stale']} {header['readings'][-1][:20]}; {session.page.progress}"
        return ""

    def told(self, session: Session) -> object:
        """All that is said of the last step; who cancels the first run has no picture of it."""
        if not session.page.has(FILM):
            return DOTS
        header = session.page.header(FILM)
        if header["stale"]:
            return DOTS
        captions = [column["captions"][-1] for column in header["columns"][:2]]
        return header["readings"][-1], [_of_caption(text) for text in captions]


def is_placed(session: Session) -> bool:
    """Whether a place in the queue is shown."""
    return any(QUEUE.search(text) for text in session.page.progress)

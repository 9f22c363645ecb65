"""What visitors request of each page, and how they see that the answer is theirs.

What a page says of itself is compared with the request; its numbers, with those that all other
visitors with the same request were shown.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from math import cos, sin
from typing import Any, ClassVar

from gating_core.experiments.comparison import FIRST_SETTING, STRENGTHS
from gating_core.language import BREAK
from gating_core.real_heads import PRINCIPAL, TEXTS, shipped_text
from gating_core.steering import BEGINNING
from tests.load.session import Session, Wrong, nothing_wrong
from ui.decision_boundary.model import FIRST, TITLES, TYPICAL
from ui.decision_boundary.shared import VIEW_KEY as BOUNDARY_VIEW
from ui.depth.layers import VIEW as DEPTH_VIEW
from ui.depth.shared import QUANTITIES
from ui.drawing.characters import sign
from ui.experts.decomposition import TREE
from ui.experts.shared import NO_GATE
from ui.gates.frames import SPHERE as FIRST_CASE
from ui.gates.gallery import VIEW_KEY as GATES_VIEW
from ui.landing.page import LEFT_MODELS
from ui.landing.pair import VIEW_KEY as LANDING_VIEW
from ui.language.selection import text_of
from ui.manifold.model import ManifoldRequest
from ui.manifold.surface import VIEW_KEY as MANIFOLD_VIEW
from ui.real_heads.shared import drawn_words

STEP = re.compile(r"\bstep (\d+)\b")
HEADS_VIEW = "heads_wall"
CLAIM = "C4"  # as the page opens
CLAIM_HEADING = re.compile(r"\*\*C\d: ")
TOTAL = re.compile(r"total curvature \*\*([-+.\de]+)(?: ± ([-+.\de]+))?\*\*")
QUEUE = re.compile(r"waiting .*for a free worker")
DOTS = "…"  # in place of a number that is still computed


class Crossed(Wrong):
    """The page shows what somebody else has requested."""


@dataclass(frozen=True)
class Total:
    """A total curvature: first from a grid, then refined."""

    value: float
    error: float

    def agrees(self, other: Total) -> bool:
        """Whether both can be the same number."""
        return abs(self.value - other.value) <= self.error + other.error


@dataclass(frozen=True)
class Request:
    """A request of the page at ``address``: as a link, and compared with what is shown."""

    address: ClassVar[str] = ""

    @property
    def link(self) -> dict[str, list[str]]:
        """The parameters of the link."""
        return {key: [str(x)] for key, x in self.parameters().items() if x is not None}

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError

    def wrong(self, session: Session) -> str:
        """What the page shows wrongly; an empty text if nothing."""
        shown = self.shown_instead(session)
        return f"requested: {self}; shown: {shown}" if shown else nothing_wrong(session)

    def shown_instead(self, session: Session) -> str:
        """What the page shows instead of this request; an empty text if it shows this."""
        raise NotImplementedError

    def numbers(self, session: Session) -> object:
        """All numbers on the page, with `DOTS` for those that are still computed."""
        raise NotImplementedError


@dataclass(frozen=True)
class Landing(Request):
    task: str = "circle"
    beside: str = next(iter(LEFT_MODELS))
    colour: str = "class"
    frame: int = len(STRENGTHS) - 1

    def parameters(self) -> dict[str, Any]:
        return {"task": self.task, "picture": "two models", "beside": self.beside,
                "colour": self.colour, "strength": f"{STRENGTHS[self.frame]:g}"}  # fmt: skip

    def shown_instead(self, session: Session) -> str:
        header = session.page.header(LANDING_VIEW)
        scene = f"{replace(FIRST_SETTING, task=self.task)} {LEFT_MODELS[self.beside]}"
        legend = header["legend"]["low"].startswith("class") == (self.colour == "class")
        shown = header["scene"], header["stale"], header["frame"]
        return "" if shown == (scene, "", self.frame) and legend else f"{shown}"

    def numbers(self, session: Session) -> object:
        header = session.page.header(LANDING_VIEW)
        lines = [line for column in header["columns"] for line in column["captions"]]
        choice = [text for text in session.page.texts if " is shown: of the " in text]
        return header["readings"], lines, choice


@dataclass(frozen=True)
class Manifold(Request):
    request: ManifoldRequest = field(default_factory=ManifoldRequest)
    tab: str = "Surface"
    address: ClassVar[str] = "Manifold"

    def parameters(self) -> dict[str, Any]:
        of = self.request
        return {"kind": of.kind, "model": of.seed, "layers": of.depth,
                "lambda": f"{of.strength:g}", "tab": self.tab}  # fmt: skip

    def shown_instead(self, session: Session) -> str:
        if self.tab == "Error analysis":  # without pictures
            tables = len(list(session.page.all("table")))
            return "" if tables == 2 else f"{tables} tables"
        header = session.page.header(MANIFOLD_VIEW)
        shown = header["scene"], header["frame_labels"][header["frame"]]
        expected = str(replace(self.request, strength=1.0)), f"λ = {self.request.strength:.2f}"
        return "" if shown == expected else f"{shown}"

    def numbers(self, session: Session) -> object:
        page = session.page
        tables = [node.message.arrow_data.data for node in page.all("table")]
        if self.tab == "Error analysis":
            return tables
        header = page.header(MANIFOLD_VIEW)  # at first of one strength, then of all
        # Of two fragments that are due one may request the whole page: that draws the other.
        return header["readings"][header["frame"]], page.metrics or DOTS, tables


@dataclass(frozen=True)
class Gates(Request):
    case: str = FIRST_CASE
    colour: str = "K"
    strength: float = 1.0
    address: ClassVar[str] = "Which_gates_curve"

    def parameters(self) -> dict[str, Any]:
        return {"case": self.case, "tint": self.colour, "level": f"{self.strength:g}"}

    def shown_instead(self, session: Session) -> str:
        header = session.page.header(GATES_VIEW)
        shown = header["scene"], header["frame_labels"][header["frame"]]
        return "" if shown == (self.case, f"λ = {self.strength:.2f}") else f"{shown}"

    def numbers(self, session: Session) -> object:
        header = session.page.header(GATES_VIEW)
        texts = header["readings"], header["columns"][0]["captions"]
        return [each[header["frame"]] for each in texts]


@dataclass(frozen=True)
class Depth(Request):
    stacked: str = "aligned gates"
    quantity: str = next(iter(QUANTITIES))
    layer: int = 0  # as the page chooses
    address: ClassVar[str] = "Depth"

    def parameters(self) -> dict[str, Any]:
        return {"stacked": self.stacked, "quantity": self.quantity, "after": self.layer or None}

    def shown_instead(self, session: Session) -> str:
        header = session.page.header(DEPTH_VIEW)
        label = header["frame_labels"][header["frame"]].split(" of ")[0]
        right = not self.layer or header["stale"] or label == f"layer {self.layer}"
        return "" if right else label

    def unfinished(self, session: Session) -> str:
        """Why another stack is still shown; an empty text once this one is measured."""
        return session.page.header(DEPTH_VIEW)["stale"]

    def numbers(self, session: Session) -> object:
        header = session.page.header(DEPTH_VIEW)
        if header["stale"]:
            return DOTS
        return header["scene"], header["readings"], header["columns"][0]["captions"]


@dataclass(frozen=True)
class Claims(Request):
    claim: str = CLAIM
    address: ClassVar[str] = "Claims"

    def parameters(self) -> dict[str, Any]:
        return {"claim": self.claim}

    def shown_instead(self, session: Session) -> str:
        headings = [text for text in session.page.texts if CLAIM_HEADING.match(text)]
        right = len(headings) == 1 and headings[0].startswith(f"**{self.claim}: ")
        return "" if right else f"{headings}"

    def numbers(self, session: Session) -> object:
        (figure,) = session.page.all("plotly_chart")
        return session.page.texts, figure.message.spec


@dataclass(frozen=True)
class Experts(Request):
    place: str = "G1"  # of the page's POSITIONS
    seed: int = 19
    tab: str = "Identifiability"
    address: ClassVar[str] = "Mixture_of_experts"

    def parameters(self) -> dict[str, Any]:
        return {"gate_at": self.place, "model_seed": self.seed, "experts_tab": self.tab}

    def shown_instead(self, session: Session) -> str:
        if self.tab == "Decomposition":
            gate = json.loads(session.page.widget(TREE).message.json)[0]["gate"]
            shown = NO_GATE if gate is None else gate["place"]
            return "" if shown == self.place else shown
        name = "**Without a gate" if self.place == NO_GATE else f"**The gate ({self.place},"
        (sentence,) = [text for text in session.page.texts if "no output changes, what" in text]
        return "" if sentence.startswith(name) else sentence

    def numbers(self, session: Session) -> object:
        figures = [node.message.spec for node in session.page.all("plotly_chart")]
        return session.page.texts, figures


@dataclass(frozen=True)
class LanguageModels(Request):
    text: str = ""  # empty: a verse
    tab: str = "Attention sinks"
    address: ClassVar[str] = "Language_models"

    def parameters(self) -> dict[str, Any]:
        return {"measure": self.tab, "lm_text": self.text or None}

    def shown_instead(self, session: Session) -> str:
        if self.tab != "Gate sparsity":
            return ""
        figures = [json.loads(node.message.spec) for node in session.page.all("plotly_chart")]
        signs = figures[0]["layout"]["xaxis"]["ticktext"]
        of = [sign(x) for x in BREAK + text_of(self.text)]
        return "" if signs == of else f"{signs}"

    def numbers(self, session: Session) -> object:
        figures = [node.message.spec for node in session.page.all("plotly_chart")]
        return session.page.texts, figures


@dataclass(frozen=True)
class Heads(Request):
    text: str = next(iter(TEXTS))
    head: tuple[int, int] | None = None  # layer and head, from 0
    plane: str = PRINCIPAL
    address: ClassVar[str] = "Real_heads"

    def parameters(self) -> dict[str, Any]:
        head = self.head and f"{self.head[0] + 1}.{self.head[1] + 1}"
        return {"heads_text": self.text, "heads_head": head, "heads_plane": self.plane}

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
    address: ClassVar[str] = "Steering"

    def parameters(self) -> dict[str, Any]:
        return {"steering_tab": self.tab, "steering_text": self.beginning or None}

    def shown_instead(self, session: Session) -> str:
        if self.tab != "Steer":
            return ""
        bold = f"<b>{self.beginning or BEGINNING}</b>"
        texts = [node.message.body for node in session.page.all("html")
                 if 'class="gc-text"' in node.message.body]  # fmt: skip
        return "" if len(texts) == 2 and all(bold in text for text in texts) else f"{texts}"

    def unfinished(self, session: Session) -> str:
        """Why the texts are not complete; an empty text once they are."""
        whole = any("With the steering vector" in text for text in session.page.texts)
        return "" if whole else "the texts are being written"

    def numbers(self, session: Session) -> object:
        if self.tab == "Steer" and self.unfinished(session):
            return DOTS
        return [node.message.spec for node in session.page.all("plotly_chart")]


TOP_K, EVICTION = "Top-k", "KV-cache eviction"
DELTA, LINEAR = "Delta correction", "Linear and hybrid"


@dataclass(frozen=True)
class Efficient(Request):
    text: str = ""  # empty: a verse
    tab: str = TOP_K
    k: int = 8
    gamma: int = 8
    at: int = 64  # the token after which the state is shown
    address: ClassVar[str] = "Efficient_attention"

    def parameters(self) -> dict[str, Any]:
        top_k = self.k if self.k != 8 else None
        return {"method": self.tab, "sample_text": self.text or None, "top_k": top_k,
                "delta_gamma": self.gamma if self.gamma != 8 else None,
                "linear_at": self.at if self.at != 64 else None}  # fmt: skip

    def shown_instead(self, session: Session) -> str:
        said = " ".join(session.page.texts)
        if self.tab == EVICTION:
            figures = [json.loads(node.message.spec) for node in session.page.all("plotly_chart")]
            signs = next((figure["layout"]["xaxis"]["ticktext"] for figure in figures
                          if figure["data"][0]["type"] == "heatmap"), [])  # fmt: skip
            of = [sign(x) for x in BREAK + text_of(self.text)]
            return "" if signs == of[: len(signs)] and signs else f"{signs}"
        if self.tab == DELTA:
            lines = [
                note.get("text")
                for node in session.page.all("plotly_chart")
                for note in json.loads(node.message.spec)["layout"].get("annotations", [])
            ]
            return "" if f"γ = {self.gamma}" in lines else f"{lines}"  # fmt: skip
        if self.tab == LINEAR:
            titles = [json.loads(node.message.spec)["layout"]["title"]["text"]
                      for node in session.page.all("plotly_chart")]  # fmt: skip
            length = len(BREAK + text_of(self.text))
            shown = min(self.at, length - 1)
            return "" if f"<b>Delta-rule state after token {shown}</b>" in titles else f"{titles}"
        return "" if f"k = {self.k} of" in said else said

    def numbers(self, session: Session) -> object:
        figures = [node.message.spec for node in session.page.all("plotly_chart")]
        return session.page.texts, figures


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
        """How the page says that it trains on this table."""
        return f"In use: {self.count} points, classes {', '.join(self.names)}."


@dataclass(frozen=True)
class Boundary(Request):
    task: str = FIRST.task
    right: str = FIRST.variants[1]
    first: int = FIRST.seed
    count: int = FIRST.seed_count
    steps: int = FIRST.steps
    who: str = TYPICAL
    table: Table | None = None
    address: ClassVar[str] = "Decision_boundary"

    def parameters(self) -> dict[str, Any]:
        """All but the table."""
        return {"data": self.task, "right": self.right, "first": self.first,
                "seeds": self.count, "steps": self.steps, "who": self.who}  # fmt: skip

    def shown_instead(self, session: Session) -> str:
        """What another run shows; nothing while there is no picture, or a stale one."""
        page = session.page
        if self.table and not any(x.startswith(self.table.used) for x in page.texts):
            return f"{page.texts}"
        header = page.header(BOUNDARY_VIEW) if page.has(BOUNDARY_VIEW) else {"stale": "all"}
        if header["stale"]:
            return ""
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
        if header["stale"] or step is None or int(step[1]) != self.steps:
            return f"{header['stale']} {header['readings'][-1][:20]}; {session.page.progress}"
        return ""

    def numbers(self, session: Session) -> object:
        """Those of the last step; a visitor who cancels the first run has no picture of it."""
        if not session.page.has(BOUNDARY_VIEW):
            return DOTS
        header = session.page.header(BOUNDARY_VIEW)
        if header["stale"]:
            return DOTS
        captions = [column["captions"][-1] for column in header["columns"][:2]]
        return header["readings"][-1], [_of_caption(text) for text in captions]


def _of_caption(text: str) -> tuple[str, Total | str]:
    """The accuracy in a caption, and the total curvature if that is a number."""
    match = TOTAL.search(text)
    total = Total(float(match[1]), float(match[2] or 0)) if match else DOTS
    return text.split(" · ")[0], total


@dataclass
class Ledger:
    """The numbers that were shown, by request."""

    numbers: dict[Request, object] = field(default_factory=dict)

    def compare(self, request: Request, session: Session) -> None:
        """Raise `Crossed` unless all visitors with this request are shown the same numbers."""
        shown = request.numbers(session)
        if not agree(before := self.numbers.setdefault(request, shown), shown):
            raise Crossed(f"{request}: {before!r} to one, {shown!r} to another visitor")
        if not_yet(before):
            self.numbers[request] = shown


def agree(one: object, other: object) -> bool:
    """Whether two answers are the same wherever neither is still computed."""
    if not_yet(one, inside=False) or not_yet(other, inside=False):
        return True
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, Total) and isinstance(other, Total):
        return one.agrees(other)
    return one == other


def not_yet(answer: object, inside: bool = True) -> bool:
    """Whether an answer, or one ``inside`` it, is still computed: it contains `DOTS`."""
    if isinstance(answer, list | tuple):
        return inside and any(map(not_yet, answer))
    return answer == DOTS or (isinstance(answer, bytes) and DOTS.encode() in answer)


def is_queued(session: Session) -> bool:
    """Return whether the page says that a job waits for a worker."""
    return any(QUEUE.search(text) for text in session.page.progress)


def is_stopped(session: Session) -> bool:
    """Whether the page says that a job was cancelled."""
    return any("was cancelled" in text for text in session.page.texts)

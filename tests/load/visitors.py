"""The visitors: each has a number, seeds of their own, pauses, and a record of what they met."""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

from gating_core.claims import CLAIMS
from gating_core.experiments.comparison import LIMITS, STRENGTHS
from gating_core.real_heads import TEXTS, THREE_TOKENS
from gating_core.tasks import TASK_NAME
from tests.load.figures import FIRST_PAINT, TRAINING, Record, Trained
from tests.load.page import Node
from tests.load.requests import (
    DELTA,
    EVICTION,
    HEADS_VIEW,
    LINEAR,
    Boundary,
    Claims,
    Crossed,
    Depth,
    Efficient,
    Experts,
    Gates,
    Heads,
    Landing,
    LanguageModels,
    Ledger,
    Manifold,
    Request,
    Steering,
    Table,
    is_queued,
    is_stopped,
)
from tests.load.session import Session, Wrong
from ui.decision_boundary.model import WHO
from ui.decision_boundary.shared import SEEDS
from ui.depth.layers import VIEW as DEPTH_VIEW
from ui.depth.shared import QUANTITIES
from ui.experts.decomposition import TREE
from ui.experts.shared import POSITIONS
from ui.experts.shared import SEEDS as EXPERTS_SEEDS
from ui.gates.frames import STRENGTHS as GATE_STRENGTHS
from ui.gates.gallery import VIEW_KEY as GATES_VIEW
from ui.landing import page as landing_page
from ui.landing.pair import VIEW_KEY as LANDING_VIEW
from ui.manifold.model import ManifoldRequest
from ui.manifold.surface import VIEW_KEY as MANIFOLD_VIEW

PAUSE_SECONDS = (1.0, 4.0)
ERROR_CHARACTERS = 2000  # of an error
KINDS = ("sigmoid", "silu", "tanh")
DEPTHS = (1, 2, 3)
STACKS = ("aligned gates", "random gates", "random stacks")
TABS = ("Surface", "Inspect", "Error analysis")
LEFT = tuple(landing_page.LEFT_MODELS)
FEW = 3  # steps on a short page
STAYS = (4, 8)

TASKS = ("circle", "xor", "moons", "spiral")
TRAINED_KINDS = ("sigmoid", "silu", "headwise")
GIVE_UP_SECONDS = 90.0
LEAST_ROWS = 40


class Over(Exception):
    """The time is up."""


@dataclass
class Visitor(ABC):
    """Visitor ``number`` of ``count``, who goes on until ``end`` (`time.monotonic`)."""

    url: str
    number: int
    count: int
    end: float
    record: Record
    ledger: Ledger
    pause: tuple[float, float] = PAUSE_SECONDS  # between two steps
    stays: tuple[int, int] = STAYS  # steps on a long page
    steps: int = 0
    blocks: int = 0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)

    @property
    def is_over(self) -> bool:
        """Whether the time is up, or every action was done by somebody."""
        return time.monotonic() > self.end or self.record.complete

    @abstractmethod
    async def visit(self) -> None:
        """Do once everything that this visitor does."""

    async def stay(self) -> None:
        """Visit again and again; whatever goes wrong is noted, and a new tab opened."""
        while not self.is_over:
            try:
                await self.visit()
            except Over:
                return
            except Crossed as error:
                self.record.crossed.append(f"visitor {self.number}: {error}")
            except (Wrong, OSError, LookupError, StopIteration) as error:
                self.record.errors[f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]] += 1

    async def step(self, action: str, done: Awaitable[float], view: bool = False) -> None:
        """Pause, do something and note how long the page took; `Over` once time is up."""
        await asyncio.sleep(self.random.uniform(*self.pause))
        self.record.add(action, await done, view)
        self.steps += 1
        if self.is_over:
            raise Over

    async def view(self, action: str, done: Awaitable[float], request: Request | None = None,
                   session: Session | None = None) -> None:  # fmt: skip
        """Do a step that shows what is cached or costs one surface; compare its numbers."""
        await self.step(action, done, view=True)
        if request is not None and session is not None:
            self.ledger.compare(request, session)

    def own(self, largest: int, block: int = 1) -> int:
        """Return the next number, at most ``largest``, of a ``block`` that no other visitor has."""
        self.blocks += 1
        count = largest // (block * self.count) * self.count
        return block * ((self.number + self.count * self.blocks) % count)


class Looker(Visitor):
    """A visitor who looks at one page after the other, a few steps each."""

    async def visit(self) -> None:
        pick, landing, manifold = self.random.choice, Landing(), Manifold()
        async with Session(self.url, landing.address, landing.link) as session:
            self.record.add(FIRST_PAINT, await session.open(landing.wrong))
            for _ in self._some():
                landing = await self._at_landing(session, landing)
            await self.view("to Manifold", session.go("Manifold", manifold.wrong))
            for _ in self._some():
                manifold = await self._at_manifold(session, manifold)
            if self.random.random() < 0.3:
                await self.view("to the lesson", session.go("Guide"))
            back = session.go("Flat or curved?", landing.wrong)
            await self.view("back to the landing page", back)
        gates = Gates()
        async with Session(self.url, gates.address, gates.link) as session:
            await self.view("to the gates", session.open(gates.wrong), gates, session)
            await self._at_gates(session, gates)
        depth = Depth(stacked=pick(STACKS))
        async with Session(self.url, depth.address, depth.link) as session:
            await self.step("to Depth", session.open(depth.wrong))
            await self._at_depth(session, depth)
        claims = Claims(pick(list(CLAIMS)))
        async with Session(self.url, claims.address, claims.link) as session:
            await self.view("to the claims", session.open(claims.wrong), claims, session)
            for _ in range(FEW):
                claims = Claims(pick([x for x in CLAIMS if x != claims.claim]))
                done = session.change(claims.wrong, claim=claims.claim)
                await self.view("claims: claim", done, claims, session)
        experts = Experts(pick(list(POSITIONS)), self.own(EXPERTS_SEEDS[1]))
        async with Session(self.url, experts.address, experts.link) as session:
            await self.step("to Mixture of experts", session.open(experts.wrong))
            self.ledger.compare(experts, session)
            await self._at_experts(session, experts)
        heads = Heads()
        async with Session(self.url, heads.address, heads.link) as session:
            await self.view("to Real heads", session.open(heads.wrong), heads, session)
            await self._at_heads(session, heads)
        models = LanguageModels()
        async with Session(self.url, models.address, models.link) as session:
            await self.view("to Language models", session.open(models.wrong), models, session)
            await self._at_language_models(session, models)
        steering = Steering()
        async with Session(self.url, steering.address, steering.link) as session:
            await self.view("to Steering", session.open(steering.wrong), steering, session)
            await self._at_steering(session, steering)
        efficient = Efficient()
        async with Session(self.url, efficient.address, efficient.link) as session:
            await self.view(
                "to Efficient attention", session.open(efficient.wrong), efficient, session
            )
            await self._at_efficient(session, efficient)
        manifold = Manifold(self._another(manifold.request))
        async with Session(self.url, manifold.address, manifold.link) as session:
            await self.step("own model by link", session.open(manifold.wrong))
            self.ledger.compare(manifold, session)
            for _ in self._some():
                manifold = await self._at_manifold(session, manifold)

    def _some(self) -> range:
        return range(self.random.randint(*self.stays))

    def _next(self, actions: tuple[str, ...]) -> str:
        return actions[(self.number + self.steps) % len(actions)]

    async def _at_landing(self, session: Session, request: Landing) -> Landing:
        pick = self.random.choice
        action = self._next(("λ", "left side", "λ", "colour", "task", "explore"))
        if action == "λ":
            new = replace(request, frame=pick(range(len(STRENGTHS))))
            done = session.send(LANDING_VIEW, "stop", {"frame": new.frame}, new.wrong)
        elif action == "left side":
            new = replace(request, beside=LEFT[1 - LEFT.index(request.beside)])
            done = session.change(new.wrong, beside=new.beside)
        elif action == "colour":
            new = replace(request, colour="class" if request.colour != "class" else "curvature")
            done = session.change(new.wrong, colour=new.colour)
        elif action == "task":
            new = replace(request, task=pick(landing_page.TASKS))
            done = session.change(new.wrong, task=new.task)
        else:
            new = request
            done = session.change(new.wrong, explore=session.link.get("explore") != ["true"])
        await self.view(f"landing: {action}", done, new, session)
        return new

    async def _at_gates(self, session: Session, request: Gates) -> None:
        for _ in range(FEW):
            if len(session.page.header(GATES_VIEW)["frame_labels"]) == 1:
                continue  # the other strengths are still measured
            frame = self.random.randrange(len(GATE_STRENGTHS))
            request = replace(request, strength=GATE_STRENGTHS[frame])
            done = session.send(GATES_VIEW, "stop", {"frame": frame}, request.wrong)
            await self.view("gates: λ", done, request, session)
        request = replace(request, colour="|H|")
        done = session.change(request.wrong, tint="|H|")
        await self.view("gates: colour", done, request, session)

    async def _at_depth(self, session: Session, request: Depth) -> None:
        await session.until(lambda: request.unfinished(session))
        self.ledger.compare(request, session)
        for _ in range(FEW):
            request = replace(request, quantity=self.random.choice(list(QUANTITIES)))
            done = session.change(request.wrong, quantity=request.quantity)
            await self.view("depth: quantity", done, request, session)
        request = replace(request, layer=self.random.randint(1, 3))
        frame = {"frame": request.layer - 1}
        done = session.send(DEPTH_VIEW, "stop", frame, request.wrong)
        await self.view("depth: layer", done, request, session)

    async def _at_experts(self, session: Session, request: Experts) -> None:
        for _ in range(FEW):
            request = replace(request, place=self.random.choice(list(POSITIONS)))
            done = session.change(request.wrong, gate_at=request.place)
            await self.view("Experts: gate", done, request, session)
        request = replace(request, tab="Decomposition")
        done = session.change(request.wrong, experts_tab=request.tab)
        await self.view("Experts: Decomposition", done, request, session)
        let_go = {"strength": 0.5, "serial": 1}
        moved = session.send(TREE, "moved", let_go, request.wrong)
        await self.view("Experts: λ", moved)

    async def _at_heads(self, session: Session, request: Heads) -> None:
        for serial in range(1, FEW + 1):
            head = self.random.randrange(6), self.random.randrange(12)
            request = replace(request, head=head)
            opened = {"open": head, "at": (0.3, 0.2), "serial": serial}
            done = session.send(HEADS_VIEW, "opened", opened, request.wrong)
            await self.view("Real heads: head", done, request, session)
        request = replace(request, text=self.random.choice([*TEXTS][1:]))
        done = session.change(request.wrong, heads_text=request.text)
        await self.view("Real heads: text", done, request, session)
        request = replace(request, plane=THREE_TOKENS)
        done = session.change(request.wrong, heads_plane=request.plane)
        await self.step("Real heads: plane", done)  # eight surfaces are measured
        self.ledger.compare(request, session)

    async def _at_language_models(self, session: Session, request: LanguageModels) -> None:
        for tab in ("Gate sparsity", "Attention sinks"):
            request = replace(request, tab=tab)
            done = session.change(request.wrong, measure=tab)
            await self.view(f"Language models: {tab}", done, request, session)
            for _ in range(FEW):
                request = replace(request, text=f"Visitor {self._word()}")
                done = session.change(request.wrong, lm_text=request.text)
                await self.view("Language models: text", done, request, session)

    async def _at_steering(self, session: Session, request: Steering) -> None:
        for _ in range(FEW):
            request = replace(request, beginning=f"Visitor {self._word()}")
            done = session.change(request.wrong, steering_text=request.beginning)
            await self.step("Steering: text", done)
            wait = partial(request.unfinished, session)
            await session.until(wait, GIVE_UP_SECONDS)
            self.ledger.compare(request, session)
        for tab in ("Features", "Results"):
            request = replace(request, tab=tab)
            done = session.change(request.wrong, steering_tab=tab)
            await self.step(f"Steering: {tab}", done)
            self.ledger.compare(replace(request, beginning=""), session)

    async def _at_efficient(self, session: Session, request: Efficient) -> None:
        for _ in range(FEW):
            request = replace(request, k=self.random.randint(1, 40))
            done = session.change(request.wrong, top_k=request.k)
            await self.view("Efficient attention: k", done, request, session)
        request = replace(request, tab=EVICTION)
        done = session.change(request.wrong, method=request.tab)
        await self.view("Efficient attention: KV-cache eviction", done, request, session)
        for _ in range(FEW):
            request = replace(request, text=f"Visitor {self._word()} has come to read and to look")
            done = session.change(request.wrong, sample_text=request.text)
            await self.view("Efficient attention: text", done, request, session)
        request = replace(request, tab=DELTA)
        done = session.change(request.wrong, method=request.tab)
        await self.view("Efficient attention: Delta correction", done, request, session)
        request = replace(request, gamma=self.random.choice([2, 4, 16, 32]))
        done = session.change(request.wrong, delta_gamma=[f"{request.gamma}"])
        await self.view("Efficient attention: γ", done, request, session)
        request = replace(request, tab=LINEAR)
        done = session.change(request.wrong, method=request.tab)
        await self.view("Efficient attention: Linear and hybrid", done, request, session)
        for _ in range(FEW):
            request = replace(request, at=self.random.randint(1, 127))
            done = session.change(request.wrong, linear_at=request.at)
            await self.view("Efficient attention: state", done, request, session)

    def _word(self) -> str:
        """A word that hardly another visitor types."""
        return "".join(self.random.choices("abcdefghij", k=8))

    async def _at_manifold(self, session: Session, request: Manifold) -> Manifold:
        # One label alone while the other strengths are measured.
        labels = (
            []
            if request.tab == "Error analysis"
            else session.page.header(MANIFOLD_VIEW)["frame_labels"]
        )
        pick, of, view = self.random.choice, request.request, False
        name = self._next(("λ", "tab", "layers", "λ", "tab", "own model"))
        match "tab" if name == "λ" and len(labels) < 2 else name:
            case "layers":
                of = replace(of, depth=pick([d for d in DEPTHS if d != of.depth]))
                new = replace(request, request=of)
                done = session.change(new.wrong, layers=float(of.depth))
            case "own model":
                new = replace(request, request=self._another(of))
                values = {"kind": new.request.kind, "model": float(new.request.seed or 0)}
                done = session.change(new.wrong, **values)
            case "tab":
                new = replace(request, tab=pick([tab for tab in TABS if tab != request.tab]))
                name, view = new.tab, new.tab != "Error analysis"
                done = session.change(new.wrong, tab=new.tab)
            case _:
                frame, view = self.random.randrange(len(labels)), True
                of = replace(of, strength=float(labels[frame].removeprefix("λ = ")))
                new = replace(request, request=of)
                done = session.send(MANIFOLD_VIEW, "stop", {"frame": frame}, new.wrong)
        await self.step(f"Manifold: {name}", done, view)
        self.ledger.compare(new, session)
        return new

    def _another(self, request: ManifoldRequest) -> ManifoldRequest:
        """A model that nobody else looks at."""
        kind = self.random.choice(KINDS)
        return replace(request, kind=kind, seed=self.own(LIMITS["seed"][1]))


class Trainer(Visitor):
    """A visitor of *Decision boundary*: first the default, then seeds of their own."""

    visits: int = 0

    async def visit(self) -> None:
        """Open a tab, train, look at other seeds, train again in one of four ways."""
        request = Boundary() if not self.visits else self._another()
        actions: tuple[Callable[[Session, Boundary], Awaitable[None]], ...] = (
            self._cancel, self._upload, self._leave, self._watch_own_seeds,
        )  # fmt: skip
        act = actions[(self.number // TRAINING_SHARE + self.visits) % len(actions)]
        self.visits += 1
        async with Session(self.url, request.address, request.link) as session:
            self.record.add(FIRST_PAINT, await session.open(request.wrong))
            await self._watch(session, request)
            for who in self.random.sample(sorted(WHO), 2):
                if who != request.who:
                    request = replace(request, who=who)
                    done = session.change(request.wrong, who=who)
                    await self.view("film: seed shown", done, request, session)
            await act(session, request)
            if self.is_over:
                raise Over

    def _another(self) -> Boundary:
        request = Boundary(self.random.choice(TASKS), self.random.choice(TRAINED_KINDS))
        return replace(request, first=self.own(SEEDS[1], request.count))

    async def _watch(self, session: Session, request: Boundary) -> None:
        """Wait for the last step."""
        began, queued = time.perf_counter(), False

        def wrong() -> str:
            nonlocal queued
            queued = queued or is_queued(session)
            return request.unfinished(session)

        try:
            await session.until(wrong, GIVE_UP_SECONDS)
        except Crossed:
            raise
        except Wrong:
            self.record.trainings.append(Trained(None, queued or is_queued(session)))
            return
        self.record.trainings.append(Trained(time.perf_counter() - began, queued))
        self.record.add(TRAINING, time.perf_counter() - began)
        self.ledger.compare(request, session)

    async def _own_seeds(self, session: Session, request: Boundary) -> Boundary:
        request = replace(request, first=self.own(SEEDS[1], request.count))
        done = session.change(request.wrong, first=float(request.first))
        await self.step("film: own seeds", done)
        return request

    async def _watch_own_seeds(self, session: Session, request: Boundary) -> None:
        await self._watch(session, await self._own_seeds(session, request))

    async def _cancel(self, session: Session, request: Boundary) -> None:
        """Begin, cancel, go on."""
        request = await self._own_seeds(session, request)
        page = session.page
        await session.until(lambda: "" if page.button("Cancel") or not request.unfinished(session)
                            else "nothing to cancel", GIVE_UP_SECONDS)  # fmt: skip
        if (cancel := page.button("Cancel")) is None:
            return
        done = session.press(cancel, lambda s: _still_runs(s, cancel))
        await self.step("film: cancel", done)
        if go_on := page.button("Go on"):
            await self.step("film: go on", session.press(go_on, request.wrong))
            await self._watch(session, request)

    async def _leave(self, session: Session, request: Boundary) -> None:
        """Begin, look at the lesson meanwhile, come back: the page is as it was left."""
        request = await self._own_seeds(session, request)
        await asyncio.sleep(self.random.uniform(*self.pause))
        await self.view("to the lesson", session.go("Guide"))
        await self.view("back to the film", session.go("Decision boundary", request.wrong))
        await self._watch(session, request)

    async def _upload(self, session: Session, request: Boundary) -> None:
        """Upload a table, and train on that."""
        table = Table(self.number, LEAST_ROWS + 2 * self.number)
        request = replace(request, task=TASK_NAME, table=table)
        await session.change(own=True)  # unfolds it
        done = session.upload("own_file", "points.csv", table.text.encode(), request.wrong)
        await self.step("film: own table", done)
        await self._watch(session, request)


TRAINING_SHARE = 3  # one visitor in three trains


def kind_of(number: int) -> type[Visitor]:
    """Return the kind of a visitor: one in `TRAINING_SHARE` trains."""
    return Trainer if number % TRAINING_SHARE == TRAINING_SHARE - 1 else Looker


def _still_runs(session: Session, cancel: Node) -> str:
    """Why a job counts as not cancelled; it does, too, if it had just come to its end."""
    if is_stopped(session):
        return ""
    left = session.page.button("Stopping …") or session.page.button("Cancel")
    return f"{session.page.progress}" if left and left.id == cancel.id else ""

"""What does a visitor do who only looks? All pages: λ, colours, own models, doubts, claims."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from gating_core.claims import CLAIMS
from gating_core.experiments.comparison import LIMITS, STRENGTHS
from tests.load.asking import Claims, Depths, Gates, Landing, Manifold
from tests.load.session import Session
from tests.load.visitor import Visitor
from ui.depth.controls import QUANTITY_WORDS as QUANTITIES
from ui.depth.controls import VIEW_KEY as DEPTH_VIEW
from ui.gates.controls import VIEW_KEY as GATES_VIEW
from ui.gates.request import STRENGTHS as GATE_STRENGTHS
from ui.landing.controls import OFFERED_TASKS, VIEW_KEY
from ui.manifold.parts import VIEW_KEY as MANIFOLD_VIEW
from ui.manifold.request import ManifoldRequest

KINDS = ("sigmoid", "silu", "tanh")
DEPTHS = (1, 2, 3)
STACKS = ("aligned gates", "random gates", "random stacks")
FEW = 3  # steps at a page of the gallery
STAYS = (4, 8)  # steps at one page


class Looker(Visitor):
    """Somebody who looks at one page after the other, and moves on after a few steps."""

    async def visit(self) -> None:
        """Open a tab, look at one page after the other, close it."""
        landing, manifold = Landing(), Manifold()
        async with Session(self.url) as session:
            await self.paint(session, landing.wrong)
            for _ in self.some():
                landing = await self._at_landing(session, landing)
            await self.step("to Manifold", session.go("Manifold", manifold.wrong), view=True)
            for _ in self.some():
                manifold = await self._at_manifold(session, manifold)
            if self.chance(0.3):
                await self.step("to the lesson", session.go("How to read it"), view=True)
            back = session.go("Flat or curved?", landing.wrong)
            await self.step("back to the landing page", back, view=True)
        async with Session(self.url, Gates.address, Gates().link) as session:
            await self.step("to the gates", session.open(Gates().wrong), view=True)
            await self._at_gates(session, Gates())
        depths = Depths(
            stacked=self.random.choice(("aligned gates", "random gates", "random stacks"))
        )
        async with Session(self.url, Depths.address, depths.link) as session:
            await self.step("to Depth", session.open(depths.wrong))
            await self._at_depth(session, depths)
        claims = Claims(self.random.choice(list(CLAIMS)))
        async with Session(self.url, Claims.address, claims.link) as session:
            await self.step("to the claims", session.open(claims.wrong), view=True)
            await self._at_claims(session, claims)
        manifold = Manifold(self._another(manifold.request))
        async with Session(self.url, "Manifold", manifold.link) as session:
            await self.step("own model by link", session.open(manifold.wrong))
            self.compare(manifold, session)
            for _ in self.some():
                manifold = await self._at_manifold(session, manifold)

    def some(self) -> range:
        """So many steps."""
        return range(self.random.randint(*STAYS))

    async def _at_landing(self, session: Session, asked: Landing) -> Landing:
        pick = self.random.choice
        action = pick(("λ", "λ", "left side", "colour", "task", "explore"))
        new = asked
        if action == "λ":
            new = replace(asked, frame=pick(range(len(STRENGTHS))))
            done = session.tell(VIEW_KEY, "stop", {"frame": new.frame}, new.wrong)
        elif action == "left side":
            other = {"gate taken out": "trained without", "trained without": "gate taken out"}
            new = replace(asked, beside=other[asked.beside])
            done = session.change(new.wrong, beside=[new.beside])
        elif action == "colour":
            new = replace(asked, colour="class" if asked.colour != "class" else "curvature")
            done = session.change(new.wrong, colour=[new.colour])
        elif action == "task":
            new = replace(asked, task=pick(OFFERED_TASKS))
            done = session.change(new.wrong, task=[new.task])
        else:
            opened = session.link.get("explore") != ["true"]
            done = session.change(new.wrong, explore=opened)
        await self.step(f"landing: {action}", done, view=True)
        self.compare(new, session)
        return new

    async def _at_gates(self, session: Session, asked: Gates) -> None:
        self.compare(asked, session)
        for _ in range(FEW):
            if len(session.page.header(GATES_VIEW)["frame_labels"]) == 1:
                continue  # the others are measured still
            place = self.random.randrange(len(GATE_STRENGTHS))
            asked = replace(asked, strength=GATE_STRENGTHS[place])
            done = session.tell(GATES_VIEW, "stop", {"frame": place}, asked.wrong)
            await self.step("gates: λ", done, view=True)
            self.compare(asked, session)
        asked = replace(asked, colour="|H|")
        await self.step("gates: colour", session.change(asked.wrong, tint=["|H|"]), view=True)
        self.compare(asked, session)

    async def _at_depth(self, session: Session, asked: Depths) -> None:
        await session.until(lambda: asked.unfinished(session))
        self.compare(asked, session)
        for _ in range(FEW):
            word = self.random.choice(list(QUANTITIES))
            asked = replace(asked, quantity=word)
            done = session.change(asked.wrong, quantity=word)
            await self.step("depth: quantity", done, view=True)
            self.compare(asked, session)
        asked = replace(asked, layer=self.random.randint(1, 3))
        frame = {"frame": asked.layer - 1}
        done = session.tell(DEPTH_VIEW, "stop", frame, asked.wrong)
        await self.step("depth: layer", done, view=True)
        self.compare(asked, session)

    async def _at_claims(self, session: Session, asked: Claims) -> None:
        self.compare(asked, session)
        for _ in range(FEW):
            asked = Claims(self.random.choice([x for x in CLAIMS if x != asked.claim]))
            done = session.change(asked.wrong, claim=[asked.claim])
            await self.step("claims: claim", done, view=True)
            self.compare(asked, session)

    async def _at_manifold(self, session: Session, asked: Manifold) -> Manifold:
        pick, request = self.random.choice, asked.request
        actions: dict[str, Callable[[], tuple[Manifold, Awaitable[float], bool]]] = {
            "own model": lambda: self._model(session, asked),
            "layers": lambda: self._layers(session, asked),
            "tab": lambda: self._tab(session, asked),
        }
        if asked.tab != "Doubt" and len(labels_of(session)) > 1:
            actions["λ"] = lambda: self._strength(session, asked)
        name = pick(sorted(actions))
        new, done, view = actions[name]()
        title = f"{new.tab}" if name == "tab" else name
        await self.step(f"Manifold: {title}", done, view=view)
        self.compare(new, session)
        return new if new.request is not request or new.tab != asked.tab else asked

    def _strength(self, session: Session, asked: Manifold) -> tuple:
        labels = labels_of(session)
        frame = self.random.randrange(len(labels))
        request = replace(asked.request, strength=float(labels[frame].removeprefix("λ = ")))
        new = replace(asked, request=request)
        return new, session.tell(MANIFOLD_VIEW, "stop", {"frame": frame}, new.wrong), True

    def _model(self, session: Session, asked: Manifold) -> tuple:
        new = replace(asked, request=self._another(asked.request))
        values = {"kind": [new.request.kind], "model": float(new.request.seed)}
        return new, session.change(new.wrong, **values), False

    def _layers(self, session: Session, asked: Manifold) -> tuple:
        depth = self.random.choice([d for d in DEPTHS if d != asked.request.depth])
        new = replace(asked, request=replace(asked.request, depth=depth))
        return new, session.change(new.wrong, layers=float(depth)), False

    def _tab(self, session: Session, asked: Manifold) -> tuple:
        new = replace(asked, tab=self.random.choice([t for t in ("See", "Inspect", "Doubt")
                                                     if t != asked.tab]))  # fmt: skip
        return new, session.change(new.wrong, tab=new.tab), new.tab != "Doubt"

    def _another(self, request: ManifoldRequest) -> ManifoldRequest:
        """A model that nobody else looks at."""
        kind = self.random.choice(KINDS)
        return replace(
            request, kind=kind, seed=self.own(LIMITS["seed"][1]), strength=request.strength
        )


def labels_of(session: Session) -> list[str]:
    """The strengths of the gate that can be played: one alone while the others are measured."""
    return session.page.header(MANIFOLD_VIEW)["frame_labels"]

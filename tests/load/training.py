"""What does a visitor do who trains? Watches to the end, cancels, leaves, brings a table."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from gating_core.tasks import TASK_NAME
from tests.load.asking import Crossed, Film, Table, is_placed
from tests.load.figures import TRAINING, Trained
from tests.load.session import Session
from tests.load.shown import Node
from tests.load.tab import Wrong
from tests.load.visitor import Over, Visitor
from ui.decision_boundary.controls import SEEDS
from ui.decision_boundary.request import WHO

TASKS = ("circle", "xor", "moons", "spiral")
GATES = ("sigmoid", "silu", "headwise")
GIVE_UP_SECONDS = 90.0
LEAST_ROWS = 40
WENT = ("cancel", "leave", "table", "seeds")  # what may be done with a run


class Trainer(Visitor):
    """Somebody at *Decision boundary*: first what everybody gets, then seeds of their own."""

    film: Film | None = None

    async def visit(self) -> None:
        """Open a tab, train, look at other seeds, train again in one of four ways."""
        self.film = Film() if self.film is None else self._another()
        film = self.film
        async with Session(self.url, "Decision_boundary", film.link) as session:
            await self.paint(session, film.wrong)
            await self._watch(session, film)
            for who in self.random.sample(sorted(WHO), 2):
                if who != film.who:
                    film = replace(film, who=who)
                    done = session.change(film.wrong, who=who)
                    await self.step("film: seed shown", done, view=True)
                    self.compare(film, session)
            await getattr(self, f"_{self.random.choice(WENT)}")(session, film)
            if self.is_over:
                raise Over

    def _another(self) -> Film:
        film = Film(self.random.choice(TASKS), self.random.choice(GATES))
        return replace(film, first=self.own(SEEDS[1], film.count))

    async def _watch(self, session: Session, film: Film) -> None:
        """Wait for the last step."""
        began, placed = time.perf_counter(), False

        def wrong() -> str:
            nonlocal placed
            placed = placed or is_placed(session)
            return film.unfinished(session)

        try:
            await session.until(wrong, GIVE_UP_SECONDS)
        except Crossed:
            raise
        except Wrong:
            self.record.trainings.append(Trained(None, placed or is_placed(session)))
            return
        self.record.trainings.append(Trained(time.perf_counter() - began, placed))
        self.record.add(TRAINING, time.perf_counter() - began)
        self.compare(film, session)

    async def _own_seeds(self, session: Session, film: Film) -> Film:
        film = replace(film, first=self.own(SEEDS[1], film.count))
        await self.step("film: own seeds", session.change(film.wrong, first=float(film.first)))
        return film

    async def _seeds(self, session: Session, film: Film) -> None:
        """Other seeds, by their control."""
        film = await self._own_seeds(session, film)
        await self._watch(session, film)

    async def _cancel(self, session: Session, film: Film) -> None:
        """Begin, cancel, go on."""
        film = await self._own_seeds(session, film)
        await session.until(lambda: "" if button(session, "Cancel") or _ended(film, session)
                            else "nothing to cancel", GIVE_UP_SECONDS)  # fmt: skip
        if (cancel := button(session, "Cancel")) is None:
            return
        done = session.press(cancel, lambda s: _unheeded(s, cancel))
        await self.step("film: cancel", done)
        if go_on := button(session, "Go on"):
            await self.step("film: go on", session.press(go_on, film.wrong))
            await self._watch(session, film)

    async def _leave(self, session: Session, film: Film) -> None:
        """Begin, look at the lesson meanwhile, come back: the page is as it was left."""
        film = await self._own_seeds(session, film)
        await asyncio.sleep(self.random.uniform(*self.pause))
        await self.step("to the lesson", session.go("How to read it"), view=True)
        done = session.go("Decision boundary", film.wrong)
        await self.step("back to the film", done, view=True)
        await self._watch(session, film)

    async def _table(self, session: Session, film: Film) -> None:
        """Bring a table, and learn that."""
        table = Table(self.number, LEAST_ROWS + 2 * self.number)
        film = replace(film, task=TASK_NAME, table=table)
        done = session.upload("own_file", "points.csv", table.text.encode(), film.wrong)
        await self.step("film: own table", done)
        await self._watch(session, film)


def button(session: Session, label: str) -> Node | None:
    """The button that says ``label``, if it is there."""
    return next((n for n in session.page.all("button") if n.message.label == label), None)


def _ended(film: Film, session: Session) -> bool:
    return not film.unfinished(session)


def _unheeded(session: Session, cancel: Node) -> str:
    """Why the button is not heeded yet; it is, too, where that work had just come to its end."""
    if is_stopped(session):
        return ""
    left = button(session, "Stopping …") or button(session, "Cancel")
    return f"{session.page.progress}" if left and left.id == cancel.id else ""


def is_stopped(session: Session) -> bool:
    """Whether the page says that a job was cancelled."""
    return any("was cancelled" in text for text in session.page.texts)

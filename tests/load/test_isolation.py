"""Does one visitor's upload, seed, job or cancel ever reach another? All at once on one server."""

import asyncio
from dataclasses import replace

import pytest

from gating_core.experiments.comparison import train_setting
from gating_core.experiments.specimen import integrate_specimen, measure_specimen
from gating_core.tasks import TASK_NAME
from tests.load import session as session_module
from tests.load.asking import Film, Manifold, Table, not_yet
from tests.load.run import in_a_thread
from tests.load.session import Session
from tests.load.tab import Wrong
from tests.load.training import button, is_stopped
from ui.decision_boundary.frame_words import readings
from ui.decision_boundary.request import FIRST
from ui.manifold.captions import best_total, total_of
from ui.manifold.request import Request, resolve

SEEDS = (3, 104, 205, 306)
REFINED_SECONDS = 60.0
SHORT = Film(first=800, count=4, steps=400)
LONG = Film(first=832, count=16, steps=4000)  # long enough to be cancelled


def together(*visits):
    """Run visits at the same time; their results."""

    async def all_of_them():
        return await asyncio.gather(*visits)

    return in_a_thread(all_of_them())


def test_an_upload_stays_with_its_visitor(served):
    """Two bring a table each, two bring none; then all move a control, and look again."""
    tables = {0: Table(0, 40), 1: Table(1, 44), 2: None, 3: None}
    brought = asyncio.Barrier(len(tables))

    def wrong(session, table):
        used = [text for text in session.page.texts if text.startswith("In use")]
        wanted = [] if table is None else [table.used]
        found = [text[: len(table.used)] if table else text for text in used]
        chosen = TASK_NAME in session.link.get("data", [])
        return "" if found == wanted and chosen == (table is not None) else f"{used} {session.link}"

    async def visit(table):
        async with Session(served.url, "Decision_boundary", replace(SHORT, first=816).link) as s:
            await s.open()
            if table is not None:
                await s.upload("own_file", "points.csv", table.text.encode(), lambda s: "")
            async with brought:
                pass
            await s.change(lambda s: wrong(s, table), noise=0.1)

    together(*map(visit, tables.values()))


def refining(session):
    """Whether a total is still refined; nothing once none is."""
    return "totals are not there yet" if not_yet(session.page.metrics) else ""


def test_a_seed_stays_with_its_visitor_and_its_numbers_are_the_cores(served):
    """Four look at a model each, all at the same time, and go on to another one."""
    asked = [Manifold(Request(seed=seed, depth=1 + n % 2)) for n, seed in enumerate(SEEDS)]
    after = [replace(x, request=replace(x.request, seed=x.request.seed + 50)) for x in asked]

    async def visit(first, second):
        async with Session(served.url, first.address, first.link) as session:
            await session.open(first.wrong)
            await session.until(lambda: refining(session), REFINED_SECONDS)
            told = session.page.metrics
            await session.change(second.wrong, model=float(second.request.seed))
            await session.until(lambda: refining(session), REFINED_SECONDS)
            return told, session.page.metrics

    found = together(*map(visit, asked, after))
    for pair, said in zip(zip(asked, after, strict=True), found, strict=True):
        for question, metrics in zip(pair, said, strict=True):
            gated = resolve(question.request).sides[1]
            measured = measure_specimen(gated, question.request.grid)
            total = best_total(measured, integrate_specimen(gated))
            assert metrics[2][1] == total_of(measured, total)
    assert len({told[2][1] for pair in found for told in pair}) > len(SEEDS)


def test_a_job_stays_with_its_visitor_and_its_numbers_are_the_cores(served):
    """Three train at the same time: all is of their own seeds, and nobody's training is ended."""
    asked = [replace(SHORT, first=SHORT.first + SHORT.count * n, right=gate)
             for n, gate in enumerate(("sigmoid", "silu", "tanh"))]  # fmt: skip

    async def visit(film):
        async with Session(served.url, film.address, film.link) as session:
            await session.open(film.wrong)

            def wrong():
                assert not is_stopped(session)
                return film.unfinished(session)

            await session.until(wrong)
            return film.told(session)[0]

    for film, said in zip(asked, together(*map(visit, asked)), strict=True):
        setting = replace(FIRST, seed=film.first, seed_count=film.count, steps=film.steps,
                          variants=("ungated", film.right))  # fmt: skip
        *_, run = train_setting(setting)
        assert said == readings(run)[-1]


def test_a_cancel_stays_with_its_visitor(served):
    """Two train; one cancels. The other's goes on, and never says a word of it."""
    cancelled = asyncio.Event()
    other = replace(LONG, first=864, steps=400)

    async def cancel():
        async with Session(served.url, LONG.address, LONG.link) as session:
            await session.open(LONG.wrong)
            await session.until(lambda: "" if button(session, "Cancel") else "nothing to cancel")
            await session.press(
                button(session, "Cancel"), lambda s: "" if is_stopped(s) else "it goes on"
            )
            cancelled.set()

    async def watch():
        async with Session(served.url, other.address, other.link) as session:
            await session.open(other.wrong)

            def wrong():
                assert not is_stopped(session)
                return other.unfinished(session)

            await cancelled.wait()
            await session.until(wrong)

    together(cancel(), watch())


def test_somebody_elses_numbers_are_noticed(served, monkeypatch):
    """The check itself: the right page with another's seed is wrong."""
    monkeypatch.setattr(session_module, "SECOND_RUN_SECONDS", 2.0)
    asked, shown = Manifold(Request(seed=SEEDS[0])), Manifold(Request(seed=SEEDS[1]))

    async def visit():
        async with Session(served.url, shown.address, shown.link) as session:
            await session.open(shown.wrong)
            with pytest.raises(Wrong, match=f"seed={SEEDS[1]}"):
                await session.change(asked.wrong, by="entropy")

    together(visit())

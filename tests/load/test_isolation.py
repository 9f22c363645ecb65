"""Isolation of concurrent visitors: uploads, seeds, jobs and cancelling stay with their own."""

import asyncio
from dataclasses import replace

import pytest

from gating_core.experiments.comparison import train_setting
from gating_core.experiments.instance import integrate_instance, measure_instance
from gating_core.tasks import TASK_NAME
from tests.load import session as session_module
from tests.load.session import Session, Wrong, in_a_thread
from tests.load.visitors import Boundary, Manifold, Table, is_stopped, not_yet
from ui.decision_boundary.film import findings
from ui.decision_boundary.model import FIRST
from ui.manifold.shared import ManifoldRequest, best_total, resolve
from ui.manifold.surface import verdict_of

SEEDS = (3, 104, 205)
REFINED_SECONDS = 60.0
SHORT = Boundary(first=800, count=4, steps=200)
LONG = Boundary(first=832, count=16, steps=4000)  # long enough to be cancelled


def at_once(*visits):
    """Run visits at the same time; return their results."""

    async def all_of_them():
        return await asyncio.gather(*visits)

    return in_a_thread(all_of_them())


def test_an_upload_stays_with_its_visitor(server):
    """Two upload a table each, two do not; then all move a control."""
    tables = {0: Table(0, 40), 1: Table(1, 44), 2: None, 3: None}
    uploaded = asyncio.Barrier(len(tables))

    def wrong(session, table):
        used = [text for text in session.page.texts if text.startswith("In use")]
        expected = [] if table is None else [table.used]
        shown = [text[: len(table.used)] if table else text for text in used]
        chosen = TASK_NAME in session.link.get("data", [])
        return (
            "" if shown == expected and chosen == (table is not None) else f"{used} {session.link}"
        )

    async def visit(table):
        async with Session(
            server.url, "Decision_boundary", replace(SHORT, first=816).link | {"own": ["true"]}
        ) as s:
            await s.open()
            if table is not None:
                await s.upload("own_file", "points.csv", table.text.encode(), lambda s: "")
            async with uploaded:
                pass
            await s.change(lambda s: wrong(s, table), noise=0.1)

    at_once(*map(visit, tables.values()))


def totals(session):
    """What stands over both surfaces, as far as totals are refined."""
    return Manifold().numbers(session)[1]


def refining(session):
    """Why a total is still refined; an empty text once none is."""
    return "totals are not there yet" if not_yet(totals(session)) else ""


@pytest.mark.soak  # long
def test_a_seed_stays_with_its_visitor_and_its_numbers_are_right(server):
    """Each looks at a model, all at the same time, and goes on to another one."""
    requests = [Manifold(ManifoldRequest(seed=seed)) for seed in SEEDS]
    after = [replace(x, request=replace(x.request, seed=x.request.seed + 50)) for x in requests]

    async def visit(first, second):
        async with Session(server.url, first.address, first.link) as session:
            await session.open(first.wrong)
            await session.until(lambda: refining(session), REFINED_SECONDS)
            first_totals = totals(session)
            await session.change(second.wrong, model=float(second.request.seed))
            await session.until(lambda: refining(session), REFINED_SECONDS)
            return first_totals, totals(session)

    shown = at_once(*map(visit, requests, after))
    for pair, both in zip(zip(requests, after, strict=True), shown, strict=True):
        for request, texts in zip(pair, both, strict=True):
            found = resolve(request.request)
            measured = measure_instance(found.variants[1], found.grid)
            refined = integrate_instance(found.variants[1])
            assert best_total(measured, refined) is not None
            assert texts[1] == verdict_of(measured, refined)[0]
    assert len({texts[1] for both in shown for texts in both}) > len(SEEDS)


def test_a_job_stays_with_its_visitor_and_its_numbers_are_right(server):
    """Three train at the same time: each sees their own seeds, and no training is cancelled."""
    requests = [
        replace(SHORT, first=SHORT.first + SHORT.count * n, right=gate)
        for n, gate in enumerate(("sigmoid", "silu", "tanh"))
    ]

    async def visit(request):
        async with Session(server.url, request.address, request.link) as session:
            await session.open(request.wrong)

            def wrong():
                assert not is_stopped(session)
                return request.unfinished(session)

            await session.until(wrong)
            return request.numbers(session)[0]

    for request, reading in zip(requests, at_once(*map(visit, requests)), strict=True):
        setting = replace(
            FIRST,
            seed=request.first,
            seed_count=request.count,
            steps=request.steps,
            variants=("ungated", request.right),
        )
        *_, run = train_setting(setting)
        assert reading == findings(run)[-1]


@pytest.mark.soak  # long
def test_a_cancel_stays_with_its_visitor(server):
    """Two train and one cancels; the other training goes on."""
    cancelled = asyncio.Event()
    other = replace(LONG, first=864, steps=400)

    async def cancel():
        async with Session(server.url, LONG.address, LONG.link) as session:
            await session.open(LONG.wrong)
            await session.until(
                lambda: "" if session.page.button("Cancel") else "nothing to cancel"
            )
            await session.press(
                session.page.button("Cancel"), lambda s: "" if is_stopped(s) else "it goes on"
            )
            cancelled.set()

    async def watch():
        async with Session(server.url, other.address, other.link) as session:
            await session.open(other.wrong)

            def wrong():
                assert not is_stopped(session)
                return other.unfinished(session)

            await cancelled.wait()
            await session.until(wrong)

    at_once(cancel(), watch())


@pytest.mark.soak  # long
def test_numbers_of_another_visitor_are_noticed(server, monkeypatch):
    """The check itself: the right page with another seed is wrong."""
    monkeypatch.setattr(session_module, "SECOND_RUN_SECONDS", 2.0)
    request, shown = (
        Manifold(ManifoldRequest(seed=SEEDS[0])),
        Manifold(ManifoldRequest(seed=SEEDS[1])),
    )

    async def visit():
        async with Session(server.url, shown.address, shown.link) as session:
            await session.open(shown.wrong)
            with pytest.raises(Wrong, match=f"seed={SEEDS[1]}"):
                await session.change(request.wrong, by="entropy")

    at_once(visit())

"""Visitors at once stay apart, and what `python -m tests.load` says follows from what it saw."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from gating_core.experiments.comparison import train_setting
from tests.load import (
    BOUNDARY,
    BOUNDARY_STEPS,
    QUICK,
    SLIGHT,
    WARM_UP_SECONDS,
    Crossed,
    Record,
    Visitor,
    growth,
    steps_of,
)
from tests.tab import Tab, in_a_thread
from ui.decision_boundary.controls import FIRST
from ui.decision_boundary.results import finding

FIRST_SEEDS, FEW = (800, 802), "seeds=2"


def test_trainings_stay_with_their_visitors_and_their_numbers_are_right(server):
    """Two train, one trains on an uploaded table, and one cancels; each sees their own run."""
    record = Record()
    visitors = [Visitor(server.url, n, 4, float("inf"), record, QUICK) for n in range(4)]

    async def train(visitor, seed):
        async with Tab(server.url, BOUNDARY, f"first={seed}&{FEW}") as tab:
            await tab.open()
            await visitor.trained(tab)
            return steps_of(tab)[BOUNDARY_STEPS]

    async def do(visitor, what):
        async with Tab(server.url, BOUNDARY, FEW) as tab:
            await tab.open()
            await what(visitor, tab)

    async def everybody():
        others = do(visitors[2], Visitor.own_table), do(visitors[3], Visitor.cancel)
        *said, _, _ = await asyncio.gather(*map(train, visitors, FIRST_SEEDS), *others)
        return said

    for seed, said in zip(FIRST_SEEDS, in_a_thread(everybody()), strict=True):
        *_, run = train_setting(replace(FIRST, seed=seed, seed_count=2))
        assert finding(run)[1].startswith(f"{said} (step {BOUNDARY_STEPS}, ")


@pytest.mark.parametrize("other", [[("a", 1)], [("a", 1), ("b", 3)], [("b", 2), ("a", 1)]])
def test_numbers_of_another_visitor_are_noticed(other):
    record, link = Record(), ("page", "seed=1")
    for _ in range(2):
        record.compare(link, [("a", 1), ("b", 2)])
    record.compare(("page", "seed=2"), other)
    with pytest.raises(Crossed, match="seed=1"):
        record.compare(link, other)


def test_a_training_that_was_measured_again_took_another_time():
    record = Record()
    for seconds in ("1.40", "0.35"):
        record.compare(("page", ""), [("", f"| no gate | {seconds} s (together) |")])


@pytest.mark.parametrize("true", [0.0, 12.0])
def test_growth_of_memory_is_found_behind_warm_up_and_noise(true):
    """A server that fills its caches first, then grows by ``true`` MB a minute."""
    seconds = np.arange(900.0)
    noise = np.random.default_rng(5).normal(0, 4, len(seconds))
    megabytes = 1500 * np.minimum(seconds / WARM_UP_SECONDS, 1) + true * seconds / 60 + noise
    samples = [*zip(seconds, megabytes, strict=True)]
    result = growth(samples)
    assert result.low <= true <= result.high
    assert result.high - result.low < 4
    assert result.flat == (true < SLIGHT)
    assert growth(samples[: int(WARM_UP_SECONDS)]) is None

"""Times of alternatives measured by turns, so that all share the machine's noise.

Every round calls each alternative once, in the same order and on the same input: A, B, C, A, B, C.
Whatever else the machine is doing then hits all of them alike, and the ratio of two times of the
same round says more than the ratio of two means.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

Input = TypeVar("Input")

FEWEST_ROUNDS = 3  # measured even where the time limit is over before


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of one number over the rounds."""

    median: float
    low: float
    high: float
    rounds: int


def spread(values: np.ndarray) -> Spread:
    """Median and quartiles of ``values`` (rounds,)."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return Spread(float(median), float(low), float(high), len(values))


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Within it, torch computes with ``count`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Within it, Python collects no garbage, so that no alternative pays for another's."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def interleaved(
    alternatives: Mapping[str, Callable[[Input], object]],
    inputs: Callable[[int], Input],
    rounds: int,
    threads: int = 1,
    limit_s: float = 20.0,
) -> dict[str, np.ndarray]:
    """Seconds (rounds,) that each of the ``alternatives`` takes, by name.

    ``inputs`` makes the input of a round from the round's number, outside the measured time; it
    should differ a little from round to round. Round 0 warms up and is thrown away. After
    ``limit_s`` seconds no further round begins, but ``FEWEST_ROUNDS`` are always measured.
    """
    seconds: dict[str, list[float]] = {name: [] for name in alternatives}
    with torch_threads(threads):
        begin = time.perf_counter()
        for number in range(rounds + 1):
            if number > FEWEST_ROUNDS and time.perf_counter() - begin > limit_s:
                break
            given = inputs(number)
            with no_garbage_collection():
                for name, alternative in alternatives.items():
                    start = time.perf_counter()
                    result = alternative(given)
                    seconds[name].append(time.perf_counter() - start)
                    del result
    return {name: np.array(taken[1:]) for name, taken in seconds.items()}

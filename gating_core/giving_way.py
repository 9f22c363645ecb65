"""How does long work let itself be stopped? It gives way: a generator that yields in between.

What it computes is its return value: ``result = yield from work``, or `drained` by whoever does
not mind waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TypeVar

import torch

from gating_core.jets import SecondOrderJet, second_order_jet

PAUSE_SECONDS = 0.1  # between two moments at which long work gives way

T = TypeVar("T")


def drained(work: Generator[None, None, T]) -> T:
    """What ``work`` returns, without giving way."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


def jet_by_parts(
    function: Callable[[torch.Tensor], torch.Tensor], points: torch.Tensor, bound: str, part: int
) -> Generator[None, None, SecondOrderJet]:
    """`second_order_jet` at ``points`` (N, k), of which ``part`` at a time."""
    found = []
    resumed = time.perf_counter()
    for some in points.split(max(part, 1)):
        found.append(second_order_jet(function, some, bound))
        if time.perf_counter() - resumed > PAUSE_SECONDS:
            yield
            resumed = time.perf_counter()
    errors = [jet.errors for jet in found if jet.errors is not None]
    return SecondOrderJet(
        torch.cat([jet.stack for jet in found], -1),
        found[0].k,
        torch.cat(errors, -1) if len(errors) == len(found) else None,
    )

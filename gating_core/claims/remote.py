"""What does a worker process do? One unit of work, from a text to rows that can be sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from gating_core.claims.rows import ModelRow, StackRow
from gating_core.claims.training import Row, unit_rows
from gating_core.claims.units import loaded
from gating_core.memory import keep_at_hand

Sent = list[dict[str, Any]]


def work_on(text: str, pause: Callable[[], None] = lambda: None) -> Sent:
    """The rows of the unit that ``text`` describes.

    ``pause`` is called several times a second, and ends the work if it raises.
    """
    keep_at_hand()
    torch.set_num_threads(1)  # models this small only wait for each other on more
    work = unit_rows(loaded(text))
    while True:
        try:
            next(work)
        except StopIteration as end:
            return [asdict(row) for row in end.value]
        pause()


def received(sent: Sent) -> list[Row]:
    """The rows that were sent."""
    return [(ModelRow if "task" in row else StackRow)(**row) for row in sent]

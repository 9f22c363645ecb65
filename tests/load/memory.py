"""How much memory do the server and its children take, and does it grow without end?"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import theilslopes

MEGABYTE = 1e6
SAMPLE_SECONDS = 1.0
# Caches fill, ended sessions are forgotten (Streamlit keeps them for two minutes), holes in the
# allocator's places come to be as many as are filled: up to five minutes with thirty visitors.
WARM_UP_SECONDS = 300.0
BLOCKS = 15  # whose means are nearly independent, as samples a second apart are not
SLIGHT = 2.0  # MB a minute: what a school's hour adds is less than one visitor takes


def processes(root: int) -> list[int]:
    """A process and all its descendants, by id."""
    found = [root]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:  # it has ended
                continue
    return found


def resident(root: int) -> float:
    """Megabytes of memory that a process and its descendants hold."""
    total = 0
    for process in processes(root):
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
    return total * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


@dataclass(frozen=True)
class Slope:
    """Growth in MB a minute with its 95 % interval, and the memory before and after."""

    value: float
    low: float
    high: float
    first: float
    last: float

    @property
    def flat(self) -> bool:
        """Whether nothing grows, or so slowly that it does not matter."""
        return self.low <= 0 or self.value < SLIGHT

    def __str__(self) -> str:
        return (
            f"memory: {self.first:.0f} MB when warm, {self.last:.0f} MB at the end;"
            f" {self.value:+.1f} MB a minute (95 %: {self.low:+.1f} to {self.high:+.1f})"
        )


def slope(samples: Sequence[tuple[float, float]]) -> Slope | None:
    """Growth after the warm-up by (seconds, megabytes): Theil–Sen, on the means of a few blocks.

    ``None`` where too little time is left to say.
    """
    warm = np.array([x for x in samples if x[0] >= samples[0][0] + WARM_UP_SECONDS])
    if len(warm) < 2 * BLOCKS:
        return None
    blocks = [block.mean(0) for block in np.array_split(warm, BLOCKS)]
    seconds, megabytes = np.array(blocks).T
    value, _, low, high = theilslopes(megabytes, seconds / 60, 0.95)
    return Slope(float(value), float(low), float(high), float(megabytes[0]), float(megabytes[-1]))


async def watch(root: int, samples: list[tuple[float, float]]) -> None:
    """Add a sample every second, until cancelled."""
    while True:
        samples.append((time.monotonic(), resident(root)))
        await asyncio.sleep(SAMPLE_SECONDS)

"""Figures of a load test: seconds of steps, trainings, errors, memory; and its goals."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import theilslopes

FIRST_PAINT, VIEW, COMPUTED, TRAINING = ROWS = (
    "first paint",
    "views",
    "computed for one visitor",
    "trainings",
)
HEAD = f"{'seconds':<26}{'count':>7}{'median':>9}{'95 %':>8}{'most':>8}"
MEDIAN_SECONDS, LATE_SECONDS = 0.5, 2.0  # the goals of a view: median, 95th percentile
FIRST_PAINT_SECONDS = 5.0
TRAINED_SECONDS = 30.0  # or the page says that it waits for a worker

MEGABYTE = 1e6
# Caches fill, Streamlit drops ended sessions after two minutes, the allocator's free blocks become
# as many as are used: up to five minutes with thirty visitors.
WARM_UP_SECONDS = 300.0
BLOCKS = 15  # whose means are nearly independent, as samples a second apart are not
SLIGHT = 2.0  # MB a minute: in an hour less than one visitor takes


@dataclass
class Record:
    """Record of what visitors met: seconds by row, trainings, errors, numbers of others, memory."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    done: set[str] = field(default_factory=set)  # pages, and what was done with a training
    required: frozenset[str] = frozenset()  # of them, after which nothing is left to do
    queued: int = 0  # trainings that were said to wait
    late: int = 0  # trainings that did not end in time, and were not said to wait
    errors: Counter[str] = field(default_factory=Counter)
    crossed: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, megabytes

    def __str__(self) -> str:
        lines = [HEAD]
        for row in ROWS:
            if x := self.seconds[row]:
                values = f"{np.median(x):>9.2f}{late(x):>8.2f}{max(x):>8.2f}"
                lines.append(f"{row:<26}{len(x):>7}{values}")
        lines += [f"trainings said to wait: {self.queued}; late without a word: {self.late}"]
        lines += [f"{growth(self.memory) or 'memory: the run is too short to tell'}"]
        lines += [f"errors: {self.errors.total()}; of others' numbers: {len(self.crossed)}"]
        lines += [f"  {count} × {text}" for text, count in self.errors.most_common()]
        return "\n".join([*lines, *(f"  {text}" for text in self.crossed)])

    @property
    def goals(self) -> dict[str, bool]:
        """Return each goal, and whether it is reached."""
        views, paints, slope = self.seconds[VIEW], self.seconds[FIRST_PAINT], growth(self.memory)
        return {
            "no error": not self.errors,
            "nobody sees another's numbers": not self.crossed,
            f"views: median below {MEDIAN_SECONDS:g} s": bool(views)
            and float(np.median(views)) < MEDIAN_SECONDS,
            f"views: 95 % below {LATE_SECONDS:g} s": bool(views) and late(views) < LATE_SECONDS,
            f"first paint below {FIRST_PAINT_SECONDS:g} s": bool(paints)
            and max(paints) < FIRST_PAINT_SECONDS,
            f"trainings end within {TRAINED_SECONDS:g} s, or say that they wait": not self.late,
            "memory does not grow": slope is None or slope.flat,
        }


def late(seconds: Iterable[float]) -> float:
    """Return the 95th percentile."""
    return float(np.percentile(list(seconds), 95))


# --- Memory ---------------------------------------------------------------------------------------


def resident(root: int) -> float:
    """Return the megabytes of memory of a process and its descendants."""
    pages, ids = 0, [root]
    for process in ids:
        try:
            for task in Path(f"/proc/{process}/task").glob("*/children"):
                ids += map(int, task.read_text().split())
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:  # it has ended
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


@dataclass(frozen=True)
class Growth:
    """Growth in MB a minute with its 95 % interval, and the memory before and after."""

    value: float
    low: float
    high: float
    first: float
    last: float

    @property
    def flat(self) -> bool:
        """Return whether memory does not grow, or so slowly that it does not matter."""
        return self.low <= 0 or self.value < SLIGHT

    def __str__(self) -> str:
        return (
            f"memory: {self.first:.0f} MB when warm, {self.last:.0f} MB at the end;"
            f" {self.value:+.1f} MB a minute (95 %: {self.low:+.1f} to {self.high:+.1f})"
        )


def growth(samples: Sequence[tuple[float, float]]) -> Growth | None:
    """Return the growth after the warm-up, from (seconds, megabytes).

    It is the Theil–Sen slope of the means of a few blocks; ``None`` where too little time is left.
    """
    warm = np.array([x for x in samples if x[0] >= samples[0][0] + WARM_UP_SECONDS])
    if len(warm) < 2 * BLOCKS:
        return None
    seconds, megabytes = np.array([block.mean(0) for block in np.array_split(warm, BLOCKS)]).T
    value, _, low, high = theilslopes(megabytes, seconds / 60, 0.95)
    return Growth(float(value), float(low), float(high), float(megabytes[0]), float(megabytes[-1]))

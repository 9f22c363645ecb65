"""What a load test measures: seconds by action, trainings, errors, memory; and its goals."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import theilslopes

MEDIAN_SECONDS, LATE_SECONDS = 0.5, 2.0  # the goals of a view: median, 95th percentile
FIRST_PAINT_SECONDS = 5.0
TRAINED_SECONDS = 30.0  # or the page says that it waits for a worker
FIRST_PAINT, TRAINING = "first paint", "training"
LATE = 95  # percent
HEAD = f"{'action':<26}{'count':>6}{'median s':>10}{'95 % s':>8}{'alone s':>9}{'ratio':>7}"

MEGABYTE = 1e6
SAMPLE_SECONDS = 1.0
# Caches fill, Streamlit drops ended sessions after two minutes, the allocator's free blocks become
# as many as are used: up to five minutes with thirty visitors.
WARM_UP_SECONDS = 300.0
BLOCKS = 15  # whose means are nearly independent, as samples a second apart are not
SLIGHT = 2.0  # MB a minute: in an hour less than one visitor takes


@dataclass(frozen=True)
class Trained:
    """A training: the seconds to its end, ``None`` without; whether it was said to wait."""

    seconds: float | None
    queued: bool

    @property
    def good(self) -> bool:
        """Whether it ended in time, or its visitor knew why not."""
        return self.queued or (self.seconds is not None and self.seconds <= TRAINED_SECONDS)


@dataclass
class Record:
    """What visitors met: seconds by action, trainings, errors, numbers of others."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    views: set[str] = field(default_factory=set)  # actions that show cached results
    trainings: list[Trained] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    crossed: list[str] = field(default_factory=list)
    required: frozenset[str] = frozenset()  # actions after which nothing is left to do

    @property
    def complete(self) -> bool:
        """Whether all required actions were done."""
        return bool(self.required) and self.required <= set(self.seconds)

    def add(self, action: str, seconds: float, view: bool = False) -> None:
        """Add one step of a visitor."""
        self.seconds[action].append(seconds)
        if view:
            self.views.add(action)

    @property
    def of_views(self) -> list[float]:
        """The seconds of all views."""
        return [x for action in self.views for x in self.seconds[action]]


def late(seconds: Iterable[float]) -> float:
    """Return the 95th percentile."""
    return float(np.percentile(list(seconds), LATE))


def table(crowd: Record, alone: Record) -> str:
    """Return a line for each action, with many visitors and alone."""
    lines = [HEAD]
    groups = [("all views", crowd.of_views, alone.of_views)]
    groups += [(name, x, alone.seconds.get(name, [])) for name, x in sorted(crowd.seconds.items())]
    for name, seconds, reference in groups:
        if seconds:
            lines.append(_line(name, seconds, reference, name in crowd.views))
    ended = [t.seconds for t in crowd.trainings if t.seconds is not None]
    queued = sum(t.queued for t in crowd.trainings)
    slowest = f", the slowest within {max(ended):.1f} s" if ended else ""
    lines += [
        f"trainings: {len(crowd.trainings)}, of which {len(ended)} ended{slowest}; {queued} were"
        " said to wait for a worker",
        f"errors: {sum(crowd.errors.values())}; of others' numbers: {len(crowd.crossed)}",
    ]
    lines += [f"  {count} × {text}" for text, count in crowd.errors.most_common()]
    lines += [f"  {text}" for text in crowd.crossed]
    return "\n".join(lines)


def _line(name: str, seconds: list[float], reference: list[float], view: bool) -> str:
    median = float(np.median(seconds))
    ends = f"{'–':>9}{'–':>7}"
    if reference:
        before = float(np.median(reference))
        ends = f"{before:>9.2f}{median / before:>7.1f}"
    title = f"  {name}" if view else name
    return f"{title:<26}{len(seconds):>6}{median:>10.2f}{late(seconds):>8.2f}{ends}"


# --- Memory ---------------------------------------------------------------------------------------


def processes(root: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
    ids = [root]
    for parent in ids:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                ids += map(int, task.read_text().split())
            except OSError:  # it has ended
                continue
    return ids


def resident(root: int) -> float:
    """Return the megabytes of memory of a process and its descendants."""
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
        """Whether memory does not grow, or so slowly that it does not matter."""
        return self.low <= 0 or self.value < SLIGHT

    def __str__(self) -> str:
        return (
            f"memory: {self.first:.0f} MB when warm, {self.last:.0f} MB at the end;"
            f" {self.value:+.1f} MB a minute (95 %: {self.low:+.1f} to {self.high:+.1f})"
        )


def slope(samples: Sequence[tuple[float, float]]) -> Slope | None:
    """Return the growth after the warm-up, from (seconds, megabytes).

    It is the Theil–Sen slope of the means of a few blocks; ``None`` where too little time is left.
    """
    warm = np.array([x for x in samples if x[0] >= samples[0][0] + WARM_UP_SECONDS])
    if len(warm) < 2 * BLOCKS:
        return None
    blocks = [block.mean(0) for block in np.array_split(warm, BLOCKS)]
    seconds, megabytes = np.array(blocks).T
    value, _, low, high = theilslopes(megabytes, seconds / 60, 0.95)
    return Slope(float(value), float(low), float(high), float(megabytes[0]), float(megabytes[-1]))


async def watch_memory(root: int, samples: list[tuple[float, float]]) -> None:
    """Add a sample every second, until cancelled."""
    while True:
        samples.append((time.monotonic(), resident(root)))
        await asyncio.sleep(SAMPLE_SECONDS)


# --- Goals ----------------------------------------------------------------------------------------


def goals(crowd: Record, slope: Slope | None) -> dict[str, bool]:
    """Return each goal, and whether it is reached."""
    views, paints = crowd.of_views, crowd.seconds[FIRST_PAINT]
    reached = {
        "no error": not crowd.errors,
        "nobody sees another's numbers": not crowd.crossed,
        f"views: median below {MEDIAN_SECONDS:g} s": bool(views)
        and float(np.median(views)) < MEDIAN_SECONDS,
        f"views: 95 % below {LATE_SECONDS:g} s": bool(views) and late(views) < LATE_SECONDS,
        f"first paint below {FIRST_PAINT_SECONDS:g} s": bool(paints)
        and max(paints) < FIRST_PAINT_SECONDS,
        f"trainings end within {TRAINED_SECONDS:g} s, or their position is shown": all(
            training.good for training in crowd.trainings
        ),
    }
    if slope is not None:
        reached["memory does not grow"] = slope.flat
    return reached

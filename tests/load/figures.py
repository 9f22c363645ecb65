"""What was measured of thirty visitors, and does it hold what was promised? One table, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tests.load.memory import Slope

MEDIAN_SECONDS, LATE_SECONDS = 0.5, 2.0  # promised for a view: median, 95th percentile
FIRST_PAINT_SECONDS = 5.0
TRAINED_SECONDS = 30.0  # or the place in the queue is shown
FIRST_PAINT, TRAINING = "first paint", "training"
LATE = 95  # percent
HEAD = f"{'action':<26}{'count':>6}{'median s':>10}{'95 % s':>8}{'alone s':>9}{'ratio':>7}"


@dataclass(frozen=True)
class Trained:
    """One training: the seconds it took to end, ``None`` if it did not; was its place shown?"""

    seconds: float | None
    placed: bool

    @property
    def kept(self) -> bool:
        """Whether it ended in time, or its visitor knew why not."""
        return self.placed or (self.seconds is not None and self.seconds <= TRAINED_SECONDS)


@dataclass
class Record:
    """What visitors met with: seconds by action, trainings, errors, what belonged to others."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    views: set[str] = field(default_factory=set)  # actions that only look at what is known
    trainings: list[Trained] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    crossed: list[str] = field(default_factory=list)
    wanted: frozenset[str] = frozenset()  # actions: all done, and there is nothing more to see

    @property
    def complete(self) -> bool:
        """Whether all that is wanted has been done."""
        return bool(self.wanted) and self.wanted <= set(self.seconds)

    def add(self, action: str, seconds: float, view: bool = False) -> None:
        """One step of a visitor."""
        self.seconds[action].append(seconds)
        if view:
            self.views.add(action)

    @property
    def of_views(self) -> list[float]:
        """The seconds of all views."""
        return [x for action in self.views for x in self.seconds[action]]


def late(seconds: Iterable[float]) -> float:
    """The 95th percentile."""
    return float(np.percentile(list(seconds), LATE))


def table(crowd: Record, alone: Record) -> str:
    """One line an action, in the crowd and alone in the same run."""
    lines = [HEAD]
    groups = [("all views", crowd.of_views, alone.of_views)]
    groups += [(name, x, alone.seconds.get(name, [])) for name, x in sorted(crowd.seconds.items())]
    for name, found, reference in groups:
        if found:
            lines.append(_line(name, found, reference, name in crowd.views))
    ended = [t.seconds for t in crowd.trainings if t.seconds is not None]
    placed = sum(t.placed for t in crowd.trainings)
    slowest = f", the slowest within {max(ended):.1f} s" if ended else ""
    lines += [
        f"trainings: {len(crowd.trainings)}, of which {len(ended)} ended{slowest}; {placed} were"
        " shown their place in the queue",
        f"errors: {sum(crowd.errors.values())}; of others' numbers: {len(crowd.crossed)}",
    ]
    lines += [f"  {count} × {text}" for text, count in crowd.errors.most_common()]
    lines += [f"  {text}" for text in crowd.crossed]
    return "\n".join(lines)


def _line(name: str, found: list[float], reference: list[float], view: bool) -> str:
    median = float(np.median(found))
    ends = f"{'–':>9}{'–':>7}"
    if reference:
        before = float(np.median(reference))
        ends = f"{before:>9.2f}{median / before:>7.1f}"
    title = f"  {name}" if view else name
    return f"{title:<26}{len(found):>6}{median:>10.2f}{late(found):>8.2f}{ends}"


def goals(crowd: Record, slope: Slope | None) -> dict[str, bool]:
    """Each promise, and whether it is kept."""
    views, paints = crowd.of_views, crowd.seconds[FIRST_PAINT]
    found = {
        "no error": not crowd.errors,
        "nobody sees another's numbers": not crowd.crossed,
        f"views: median below {MEDIAN_SECONDS:g} s": bool(views)
        and float(np.median(views)) < MEDIAN_SECONDS,
        f"views: 95 % below {LATE_SECONDS:g} s": bool(views) and late(views) < LATE_SECONDS,
        f"first paint below {FIRST_PAINT_SECONDS:g} s": bool(paints)
        and max(paints) < FIRST_PAINT_SECONDS,
        f"trainings end within {TRAINED_SECONDS:g} s, or their place is shown": all(
            training.kept for training in crowd.trainings
        ),
    }
    if slope is not None:
        found["memory does not grow"] = slope.flat
    return found

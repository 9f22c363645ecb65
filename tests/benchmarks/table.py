"""Rows of measured ratios, and the table in which they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.benchmarks.timing import Spread, spread

HEAD = (
    "process",
    "what",
    "time",
    "reference",
    "ratio (median, quartiles)",
    "against last",
    "sizes",
)
GAP = "  "
MARK = "(!)"  # slower than in the last table, or beyond the goal


@dataclass(frozen=True)
class Row:
    """One comparison: both times in words, the ratio over the rounds.

    ``process`` is the kind it was measured in. The ratio is time over reference, or, of a
    ``speed``, rate over reference. A ratio above the ``goal`` misses it.
    """

    what: str
    time: str
    reference: str
    reference_time: str
    ratio: Spread
    sizes: str
    process: str = ""
    speed: bool = False
    goal: float | None = None

    @property
    def name(self) -> str:
        """What is compared with what; two rows of one name are comparable."""
        return f"{self.process}: {self.what} / {self.reference} ({self.sizes})"

    @property
    def misses_goal(self) -> bool:
        return self.goal is not None and self.ratio.median > self.goal


def compare(
    seconds: dict[str, np.ndarray], what: str, reference: str, sizes: str, label: str = ""
) -> Row:
    """The row for the alternative ``what`` against ``reference``, both names in ``seconds``.

    The ratio is time over reference, round by round: below 1 is faster. ``label`` is printed
    instead of ``what``.
    """
    taken, against = seconds[what], seconds[reference]
    return Row(
        what=label or what,
        time=milliseconds(taken),
        reference=reference,
        reference_time=milliseconds(against),
        ratio=spread(taken / against),
        sizes=sizes,
    )


def milliseconds(seconds: np.ndarray) -> str:
    """The median of ``seconds`` (rounds,), as in "12.3 ms"."""
    return f"{significant(1e3 * float(np.median(seconds)))} ms"


def significant(number: float) -> str:
    """``number`` with three significant digits and no exponent: 0.0123, 12.3, 1,230."""
    if number >= 100:
        return f"{float(f'{number:.3g}'):,.0f}"
    return f"{number:#.3g}"


def render(rows: Sequence[Row], changes: Sequence[str]) -> str:
    """The table, one line per row, with its change, under a line of column names."""
    lines: list[tuple[str, ...]] = [HEAD]
    lines += [
        (
            row.process,
            row.what,
            row.time,
            f"{row.reference}: {row.reference_time}",
            _ratio(row),
            change,
            f"{row.sizes}; {row.ratio.rounds} rounds",
        )
        for row, change in zip(rows, changes, strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(GAP.join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _ratio(row: Row) -> str:
    low, high = significant(row.ratio.low), significant(row.ratio.high)
    mark = f" {MARK}" if row.misses_goal else ""
    return f"{significant(row.ratio.median)} ({low} to {high}){mark}"

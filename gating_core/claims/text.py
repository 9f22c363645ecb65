"""Numbers as text, with their doubt, in few digits; a dash for NaN. Tables of such texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.models import Gap

MISSING = "–"
NO_WORKERS = "0 workers connected"


@dataclass(frozen=True)
class TextTable:
    """Texts: one row of ``rows`` has as many cells as there are ``columns``."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells; the table has {len(self.columns)}")

    @classmethod
    def joined(cls, column: str, tables: Mapping[str, TextTable]) -> TextTable:
        """Return all ``tables``, which have the same columns, with their names in a first one."""
        columns = (column, *next(iter(tables.values())).columns)
        return cls(columns, tuple((name, *row) for name, of in tables.items() for row in of.rows))


def number(value: float | None, digits: int = 3) -> str:
    """Format with ``digits`` significant digits; a dash for NaN and ``None``."""
    return _text(value, f".{digits}g")


def signed(value: float, digits: int = 3) -> str:
    """Format a difference, with its sign, to ``digits`` significant digits."""
    return _text(value, f"+.{digits}g")


def fixed(value: float, places: int = 2) -> str:
    """Format with ``places`` decimal places, for correlations and slopes."""
    return _text(value, f".{places}f")


def _text(value: float | None, form: str) -> str:
    """Format with a minus sign instead of a hyphen, and powers of ten without a plus."""
    if value is None or np.isnan(value):
        return MISSING
    return format(value, form).replace("-", "−").replace("e+", "e")


def interval(low: float, high: float, digits: int = 3) -> str:
    """Both ends in brackets; a dash without one."""
    return _between(number(low, digits), number(high, digits))


def fixed_interval(low: float, high: float, places: int = 2) -> str:
    """Both ends in brackets; a dash without one."""
    return _between(fixed(low, places), fixed(high, places))


def _between(low: str, high: str) -> str:
    return MISSING if MISSING in (low, high) else f"[{low}, {high}]"


def probability(p: float) -> str:
    """Format a p-value; below 1e-4 as "< 0.0001"."""
    if np.isnan(p):
        return MISSING
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def share(value: float) -> str:
    """Format a share from 0 to 1 in per cent."""
    return MISSING if np.isnan(value) else f"{100 * value:.0f} %"


def listed(names: Iterable[str]) -> str:
    """Return names as in "one, two and three"."""
    *first, last = list(names) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, as in "1 model", "2 models"."""
    return f"{count:,} {noun}" + "s" * (count != 1)


def spans(seeds: Sequence[int]) -> str:
    """Neighbours as from – to: 0–3, 7."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def gap_lines(gaps: Iterable[Gap]) -> tuple[str, ...]:
    """Return a line for each task and variant with models that failed, and why, or are not done."""
    cells = defaultdict(list)
    for gap in gaps:
        cells[gap.task, gap.variant, bool(gap.reason)].append(gap)
    lines = []
    for (task, variant, failed), some in cells.items():
        about = f"{task}, {variant}, seed {spans([gap.seed for gap in some])}"
        lines.append(f"failed: {about}: {some[0].reason}" if failed else f"not done: {about}")
    return tuple(sorted(lines))

"""The last table, in a file beside the code, and how new ratios differ from it.

A change counts where the quartiles of today's rounds and of the last table's do not overlap.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.table import MARK, Row
from tests.benchmarks.timing import Spread

LAST = Path(__file__).with_name("last.json")
NEW = "new"


@dataclass(frozen=True)
class Table:
    """The rows of one benchmark, and on which machine and day (UTC) they were measured."""

    machine: str
    date: str
    rows: tuple[Row, ...]


def change(row: Row, before: Row | None) -> str:
    """Today's ratio over the last one, as in "x 1.03"; beyond both spreads, faster or slower.

    What is slower is marked with `MARK`; without a row ``before`` it is `NEW`.
    """
    if before is None:
        return NEW
    factor = row.ratio.median / before.ratio.median
    text = f"x {factor:.2f}"
    if row.ratio.low <= before.ratio.high and before.ratio.low <= row.ratio.high:
        return text
    return f"{text} faster" if (factor > 1) == row.speed else f"{text} slower {MARK}"


def changes(rows: Sequence[Row], before: Sequence[Row]) -> list[str]:
    """What to say of each of the ``rows``; they are matched by their names."""
    by_name = {row.name: row for row in before}
    return [change(row, by_name.get(row.name)) for row in rows]


def gone(rows: Sequence[Row], before: Sequence[Row]) -> list[str]:
    """The names of rows that were measured ``before`` and are not now."""
    names = {row.name for row in rows}
    return [row.name for row in before if row.name not in names]


def load(path: Path = LAST) -> dict[str, Table]:
    """The last table of each benchmark; none where there is no file."""
    if not path.exists():
        return {}
    written = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Table(table["machine"], table["date"], tuple(map(_row, table["rows"])))
        for name, table in written.items()
    }


def save(measured: Mapping[str, Sequence[Row]], path: Path = LAST) -> None:
    """Write the rows of each benchmark as its last; benchmarks that were not run stay."""
    today = datetime.now(UTC).date().isoformat()
    tables = load(path) | {
        name: Table(machine(), today, tuple(rows)) for name, rows in measured.items()
    }
    written = {name: _written(tables[name]) for name in sorted(tables)}
    path.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> str:
    """Processor, cores, and the versions that times depend on."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "streamlit"))
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return model[1] if model else platform.processor() or platform.machine()


def _written(table: Table) -> dict[str, Any]:
    """As JSON has it; the fifth digit of a ratio says nothing."""
    written = asdict(table)
    for row in written["rows"]:
        row["ratio"] |= {
            end: float(f"{row['ratio'][end]:.4g}") for end in ("median", "low", "high")
        }
    return written


def _row(written: dict[str, Any]) -> Row:
    return Row(**written | {"ratio": Spread(**written["ratio"])})

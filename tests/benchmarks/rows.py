"""A ratio of two times, measured in turns, and the last table that it is compared with."""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LAST = Path(__file__).with_name("last.json")
FEWEST_ROUNDS = 3  # measured even where the time limit is over before
SLOWER = "slower (!)"


class Ratio(NamedTuple):
    """The quartiles of a ratio over the rounds."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Row:
    """Our time over a peer's: below 1 we are faster.

    ``seconds`` and ``peer_seconds`` are medians, ``ratio`` is that of the times of one round.
    """

    what: str
    peer: str
    seconds: float
    peer_seconds: float
    ratio: Ratio

    @property
    def name(self) -> str:
        """Return what is compared, by which rows of two tables are matched."""
        return f"{self.what} / {self.peer}"

    def text(self, last: Ratio | None) -> str:
        """Return the row's line in the table, with its change against the ``last`` ratio."""
        low, median, high = map(digits, self.ratio)
        ours, theirs = (f"{digits(1e3 * x)} ms" for x in (self.seconds, self.peer_seconds))
        ratio = f"{median} ({low} to {high})"
        return f"{self.what:<48}{ours:>10}   {self.peer:<40}{theirs:>10}   {ratio:<26}" + change(
            self.ratio, last
        )


def row(
    seconds: Mapping[str, np.ndarray], what: str, peer: str, models: tuple[int, int] = (1, 1)
) -> Row:
    """Return the row of ``what`` against ``peer``, both names in ``seconds`` (rounds,).

    Each took so many ``models``; the row has the times of one.
    """
    ours, theirs = seconds[what] / models[0], seconds[peer] / models[1]
    ratio = Ratio(*map(float, np.quantile(ours / theirs, [0.25, 0.5, 0.75])))
    return Row(what, peer, float(np.median(ours)), float(np.median(theirs)), ratio)


def in_turns(
    measured: Mapping[str, Callable[[int], float]],
    rounds: int,
    limit_s: float = 12.0,
    warm_up: bool = True,
) -> dict[str, np.ndarray]:
    """Return the seconds (rounds,) that each function says it took in each round, by name.

    Every round calls each once, A, B, C, A, B, C, with the round's number: whatever else the
    machine is doing then hits all alike. A first round that warms up is thrown away. After
    ``limit_s`` seconds no further round begins, but ``FEWEST_ROUNDS`` are always measured.
    """
    begin, seconds = time.perf_counter(), []
    for number in range(rounds + warm_up):
        if number >= FEWEST_ROUNDS + warm_up and time.perf_counter() - begin > limit_s:
            break
        seconds.append([measure(number) for measure in measured.values()])
    return dict(zip(measured, np.array(seconds[warm_up:]).T, strict=True))


def timed(function: Callable[[Any], object], given: Callable[[int], Any]) -> Callable[[int], float]:
    """Return a function of the round that says how long ``function`` takes.

    ``given`` makes its input from the round's number, which should differ a little from round to
    round; neither that nor Python's collection of garbage is counted.
    """

    def seconds(number: int) -> float:
        value = given(number)
        gc.collect()
        gc.disable()
        try:
            begin = time.perf_counter()
            function(value)
            return time.perf_counter() - begin
        finally:
            gc.enable()

    return seconds


def digits(x: float) -> str:
    """Return a number with three significant digits and no exponent: 0.0123, 12.3, 1,230."""
    return f"{float(f'{x:.3g}'):,.0f}" if x >= 100 else f"{x:#.3g}"


# --- The last table -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Ratios by the names of their rows, and on which machine and day (UTC) they were measured."""

    machine: str
    date: str
    ratios: dict[str, Ratio]


def change(ratio: Ratio, last: Ratio | None) -> str:
    """Return the ratio over the last one, as "x 1.03"; slower or faster beyond both quartiles."""
    if last is None:
        return "new"
    factor = f"x {ratio.median / last.median:.2f}"
    if ratio.low > last.high:
        return f"{factor} {SLOWER}"
    return f"{factor} faster" if ratio.high < last.low else factor


def load(path: Path = LAST) -> Table | None:
    """Return the last table; ``None`` where there is no file."""
    if not path.exists():
        return None
    table = json.loads(path.read_text(encoding="utf-8"))
    ratios = {name: Ratio(*values) for name, values in table["ratios"].items()}
    return Table(table["machine"], table["date"], ratios)


def save(rows: list[Row], path: Path = LAST) -> None:
    """Write the ratios of all ``rows`` as the last table; their fifth digit says nothing."""
    ratios = {row.name: [float(f"{x:.4g}") for x in row.ratio] for row in rows}
    lines = ",\n".join(
        f"  {json.dumps(name, ensure_ascii=False)}: {x}" for name, x in ratios.items()
    )
    today = datetime.now(UTC).date().isoformat()
    head = f' "machine": {json.dumps(machine())},\n "date": "{today}",\n "ratios": '
    path.write_text(f"{{\n{head}{{\n{lines}\n }}\n}}\n", encoding="utf-8")


def machine() -> str:
    """Return the processor, its cores, and the versions that times depend on."""
    file = Path("/proc/cpuinfo")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    processor = model[1] if model else platform.processor() or platform.machine()
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "streamlit"))
    return f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def comparison(rows: list[Row], last: Table | None) -> list[str]:
    """Return what the end of the table says about the ``last`` one."""
    if last is None:
        return [f"No last table ({LAST.name}) to compare with: --keep writes one."]
    lines = [f"Last table: {last.date}, {last.machine}."]
    if last.machine != machine():
        lines.append(f"Another machine than this one, {machine()}: changes may be the machine's.")
    slower = [r.name for r in rows if SLOWER in change(r.ratio, last.ratios.get(r.name))]
    return lines + [f"Slower than in the last table: {name}" for name in slower]

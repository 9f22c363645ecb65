"""`python -m tests.benchmarks [NAME] [--keep]`: print the ratios of all benchmarks, or of one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tests.benchmarks.largest import GOAL_GB, GOAL_SECONDS, largest
from tests.benchmarks.last import LAST, Table, changes, gone, load, machine, save
from tests.benchmarks.measuring import BENCHMARKS, measure
from tests.benchmarks.proved_signs import proved_signs
from tests.benchmarks.table import MARK, Row, render

PROVED = "proved"  # no ratio: cells, seconds and what is left open
LARGEST = "largest"  # no ratio: seconds and memory against what one may ask
NOTES = f"""\
A ratio is time over reference, so below 1 is faster, except where a row says "speed": there it is
rate over reference, in thousands of model-examples per second, and above 1 is faster. Alternatives
took turns, round by round, on inputs that differ a little from round to round. Times are medians;
the ratio is the median, and in brackets the quartiles, of the rounds' own ratios. One thread. N
points, D model dimension, n values, L layers. Rows about a page begin with the move of its slider;
a goal takes the place of the reference. The process is a notebook's, which imports the core alone
(library), or the one that serves the pages (server). "Against last" is this ratio over that of the
last table ({LAST.name}); it says faster or slower, and {MARK} marks what is slower, where the
quartiles of both do not overlap, and ratios above a goal."""

OTHER_MACHINE = (
    "Warning: the last table is of another machine. What is against it compares two machines, not"
    " two versions of the code."
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "name", nargs="?", choices=[*BENCHMARKS, LARGEST, PROVED], help="run this one only"
    )
    parser.add_argument(
        "--keep", action="store_true", help=f"write what is measured to {LAST.name}"
    )
    options = parser.parse_args()
    if options.name == LARGEST:
        print(largest())
        print(f"\nGoal: {GOAL_SECONDS:g} s and {GOAL_GB:g} GB at most, or a sentence.")
        return
    if options.name == PROVED:
        print(proved_signs())
        return
    names = [options.name] if options.name else list(BENCHMARKS)
    measured, last = {}, load()
    for name in names:  # minutes in all: each is printed once it is there
        measured[name] = measure(name)
        print(render(measured[name], [""] * len(measured[name])), end="\n\n", flush=True)
    print(report(measured, last))
    if options.keep:
        save(measured)


def report(measured: dict[str, list[Row]], last: dict[str, Table]) -> str:
    """The table of what is ``measured``, beside the ``last`` one of the same benchmarks."""
    before = [row for name in measured if name in last for row in last[name].rows]
    rows = [row for each in measured.values() for row in each]
    parts = [render(rows, changes(rows, before)), "", NOTES, "", f"This machine: {machine()}."]
    parts += [
        f"Above its goal of {row.goal:g}: {row.what}: {row.ratio.median:.2f} {MARK}"
        for row in rows
        if row.misses_goal
    ]
    parts += [f"Gone since the last table: {name}" for name in gone(rows, before)]
    return "\n".join([*parts, *_origins([last[name] for name in measured if name in last])])


def _origins(tables: Sequence[Table]) -> list[str]:
    """When and where the last tables were measured, each once, and a warning."""
    lines = list(dict.fromkeys(f"Last table: {each.date}, {each.machine}." for each in tables))
    if any(each.machine != machine() for each in tables):
        lines.append(OTHER_MACHINE)
    return lines


if __name__ == "__main__":
    main()

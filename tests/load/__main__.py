"""`python -m tests.load --sessions 30 --minutes 15`: many visitors at once, and the goals."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from tests.browser.serving import serve
from tests.load.classroom import Class, hold_class
from tests.load.figures import goals, slope, table
from tests.load.run import Load, hold

CLASS_BEGINS = 0.3  # of the time, when visitors are everywhere

NOTES = """\
Seconds from a step to the end of the page's run. Visitors pause for 1 to 4 s between two steps; one
in three trains. Indented: views, which show cached results or cost one surface. Alone: the median
of the same step by one visitor before the others came, in this run; the ratio is of medians."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--students", type=int, default=30, help="of a class beside them, or 0")
    options = parser.parse_args()
    seconds = 60 * options.minutes
    with serve() as served:

        async def everybody() -> tuple[Load, Class | None]:
            visits = asyncio.create_task(hold(served.url, served.pid, options.sessions, seconds))
            await asyncio.sleep(CLASS_BEGINS * seconds)
            room = await hold_class(served.url, options.students) if options.students else None
            return await visits, room

        load, room = asyncio.run(everybody())
        if "Traceback" in (output := served.output()):
            load.crowd.errors[f"in the server's log: {output[output.index('Traceback') :]}"] += 1
    averages = " ".join(f"{x:.1f}" for x in os.getloadavg())
    growth = slope(load.samples)
    print(f"{options.sessions} visitors, {options.minutes:g} minutes, {os.cpu_count()} processors,")
    print(f"load averages at the end: {averages}\n")
    print(table(load.crowd, load.alone))
    print(growth or "memory: the run is too short to tell")
    reached = goals(load.crowd, growth)
    if room is not None:
        print(room, *room.errors, sep="\n")
        reached |= room.goals
    lines = (f"{'reached' if ok else 'MISSED':<10}{text}" for text, ok in reached.items())
    print("", *lines, "", NOTES, sep="\n")
    sys.exit(not all(reached.values()))


if __name__ == "__main__":
    main()

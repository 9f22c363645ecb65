"""`python -m tests.load --sessions 30 --minutes 15`: many visitors at once, and the goals."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from tests.browser.serving import serve
from tests.load.report import Record
from tests.load.visitors import Class, hold, hold_class

CLASS_BEGINS = 0.3  # of the time, when visitors are everywhere


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--students", type=int, default=30, help="of a class beside them, or 0")
    options = parser.parse_args()
    seconds = 60 * options.minutes
    with serve() as served:

        async def everybody() -> tuple[Record, Class | None]:
            visits = asyncio.create_task(hold(served.url, served.pid, options.sessions, seconds))
            await asyncio.sleep(CLASS_BEGINS * seconds)
            room = await hold_class(served.url, options.students) if options.students else None
            return await visits, room

        record, room = asyncio.run(everybody())
        if "Traceback" in (output := served.output()):
            record.errors[f"in the server's log: {output[output.index('Traceback') :]}"] += 1
    averages = " ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{options.sessions} visitors, {options.minutes:g} minutes, {os.cpu_count()} processors,")
    print(f"load averages at the end: {averages}\n\n{record}")
    reached = record.goals
    if room is not None:
        print(room, *room.errors, sep="\n")
        reached |= room.goals
    print("", *(f"{'reached' if ok else 'MISSED':<10}{x}" for x, ok in reached.items()), sep="\n")
    sys.exit(not all(reached.values()))


if __name__ == "__main__":
    main()

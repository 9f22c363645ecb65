"""`python -m tests.load --sessions 30 --minutes 15`: does the app hold up, and what gives first?"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from tests.browser.serving import serve
from tests.load.figures import goals, table
from tests.load.run import hold

NOTES = """\
Seconds from a step to the end of the page's run. Visitors think for 1 to 4 s between two steps; one
in three trains. Indented: views, which show what is known or cost one surface. Alone: the median of
the same step by one visitor before all others came, in this run; the ratio is that of medians."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=15.0)
    asked = parser.parse_args()
    with serve() as served:
        found = asyncio.run(hold(served.url, served.pid, asked.sessions, 60 * asked.minutes))
        if "Traceback" in (output := served.output()):
            found.crowd.errors[f"in the server's log: {output[output.index('Traceback') :]}"] += 1
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{asked.sessions} visitors, {asked.minutes:g} minutes, {os.cpu_count()} processors,")
    print(f"load averages at the end: {load}\n")
    print(table(found.crowd, found.alone))
    print(found.slope or "memory: too short a run to say")
    kept = goals(found.crowd, found.slope)
    print(
        "\n" + "\n".join(f"{'kept' if ok else 'NOT KEPT':<10}{text}" for text, ok in kept.items())
    )
    print(f"\n{NOTES}")
    sys.exit(not all(kept.values()))


if __name__ == "__main__":
    main()

"""`python -m tests.benchmarks [GROUP ...] [--keep]`: ratios of all groups of rows, or of some.

A ratio is our time over the peer's, so below 1 we are faster. Both took turns, round by round, on
inputs that differ a little from round to round: the ratio is the median, and in brackets the
quartiles, of the rounds' own ratios. At the end of a line stands the ratio over that of the last
table, with *faster* or *slower* where the quartiles of both do not overlap.
"""

from __future__ import annotations

import argparse
import time

from tests.benchmarks import library, pages
from tests.benchmarks.rows import LAST, comparison, load, save

GROUPS = {group.__name__: group for group in (*library.GROUPS, *pages.GROUPS)}


def main() -> None:
    """Print each row as soon as it is known, then what got slower."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--keep", action="store_true", help=f"write all ratios to {LAST.name}")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    if options.keep and options.groups:
        parser.error("--keep writes the whole table: name no group")
    begin, last, rows = time.perf_counter(), load(), []
    print(__doc__)
    for name in options.groups or GROUPS:
        for row in GROUPS[name]():
            rows.append(row)
            print(row.text(last and last.ratios.get(row.name)), flush=True)
    print(f"\n{time.perf_counter() - begin:.0f} s in all.", *comparison(rows, last), sep="\n")
    if options.keep:
        save(rows)


if __name__ == "__main__":
    main()

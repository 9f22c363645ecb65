"""`python -m tests.benchmarks [NAME]`: which ratios does this machine show today?"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tests.benchmarks.curvature_cost import curvature_cost
from tests.benchmarks.largest import GOAL_GB, GOAL_SECONDS, largest
from tests.benchmarks.memory_cost import memory_cost
from tests.benchmarks.mesh_cost import mesh_cost
from tests.benchmarks.page_speed import page_speed
from tests.benchmarks.table import Row, render
from tests.benchmarks.training_speed import training_speed

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "curvature": curvature_cost,
    "memory": memory_cost,
    "mesh": mesh_cost,
    "page": page_speed,
    "training": training_speed,
}

LARGEST = "largest"  # no ratio: seconds and memory against what one may ask
NOTES = """\
A ratio is time over reference, so below 1 is faster, except where a row says "speed": there it is
rate over reference, in thousands of model-examples per second, and above 1 is faster. Alternatives
took turns, round by round, on inputs that differ a little from round to round. Times are medians;
the ratio is the median, and in brackets the quartiles, of the rounds' own ratios. One thread unless
a row says otherwise. N points, D model dimension, n values, L layers. Rows about a page begin with
the move of its slider; a goal takes the place of the reference."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*BENCHMARKS, LARGEST],
                        help="run this one only")  # fmt: skip
    name = parser.parse_args().name
    if name == LARGEST:
        print(largest())
        print(f"\nWanted: {GOAL_SECONDS:g} s and {GOAL_GB:g} GB at most, or a sentence.")
        return
    names = [name] if name else list(BENCHMARKS)
    print(render([row for chosen in names for row in BENCHMARKS[chosen]()]))
    print()
    print(NOTES)


if __name__ == "__main__":
    main()

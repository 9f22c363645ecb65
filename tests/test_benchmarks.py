"""Does a benchmark run in its users' process, and does a slower ratio stand out?"""

import ctypes
import gc
import importlib
import sys
import threading
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from tests.benchmarks import last
from tests.benchmarks.__main__ import report
from tests.benchmarks.last import MARK, NEW, Table, change, changes, gone
from tests.benchmarks.measuring import BENCHMARKS
from tests.benchmarks.process import LIBRARY, PLAIN_SERVER, SERVER, WORKER, measured_in
from tests.benchmarks.table import Row
from tests.benchmarks.timing import Spread

# This module imports nothing of the pages: processes that a test starts import it.
BYTES = 100_000  # of an array that has its own place in the server and nowhere else
ARRAYS = 200  # some of which fit into holes


class Counts(ctypes.Structure):
    """What the GNU allocator says of itself, as in malloc.h."""

    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
                .split()]  # fmt: skip


def ratio(median: float, half: float = 0.05) -> Spread:
    return Spread(median, median - half, median + half, 12)


ROW = Row("jet", "2 ms", "mesh", "1 ms", ratio(1.0), "N 100", "library")
SPEED = replace(ROW, what="speed of training", speed=True)


def own_places(count: int) -> float:
    """The share of arrays of so many bytes that are mappings of their own, to be given back."""
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = Counts
    before = library.mallinfo2().hblks
    arrays = [np.empty(count, np.uint8) for _ in range(ARRAYS)]
    return (library.mallinfo2().hblks - before) / len(arrays)


def settings() -> tuple[bool, bool, bool, float]:
    """Whether this process has the pages' settings, two of them, and how arrays are placed."""
    importlib.import_module("gating_core")
    trims = any(thread.name == "trim" for thread in threading.enumerate())
    return "ui" in sys.modules, gc.get_freeze_count() > 0, trims, own_places(BYTES)


def import_pages() -> None:
    importlib.import_module("ui.limits")


def import_benchmarks(names: list[str]) -> None:
    for name in names:
        importlib.import_module(f"tests.benchmarks.{name}")


@pytest.fixture(autouse=True)
def plain_main_module(monkeypatch):
    """A page that a test ran before has stayed the main module, which a spawned process imports."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))


@pytest.mark.parametrize(
    ("process", "app", "trims"),
    [(LIBRARY, False, False), (WORKER, True, True), (SERVER, True, True),
     (PLAIN_SERVER, True, False)],
)  # fmt: skip
def test_a_process_is_set_up_as_its_users_is(process, app, trims):
    pages, frozen, trimming, places = measured_in(process, settings)
    assert (pages, frozen, trimming) == (app, app, trims)
    assert places > 0.5 if process == SERVER else places == 0


def test_a_benchmark_of_the_library_that_sets_up_a_page_is_refused():
    with pytest.raises(RuntimeError, match="process settings"):
        measured_in(LIBRARY, import_pages)


def test_benchmarks_of_the_library_import_no_page():
    names = [module for module, processes in BENCHMARKS.values() if LIBRARY in processes]
    measured_in(LIBRARY, import_benchmarks, names)


@pytest.mark.parametrize(
    ("row", "now", "said"),
    [
        (ROW, ratio(2.0), f"x 2.00 slower {MARK}"),
        (ROW, ratio(0.5), "x 0.50 faster"),
        (ROW, ratio(1.08), "x 1.08"),
        (ROW, ratio(0.93), "x 0.93"),
        (ROW, ratio(2.0, half=1.0), "x 2.00"),  # rounds that differ so much say nothing
        (SPEED, ratio(0.5), f"x 0.50 slower {MARK}"),
        (SPEED, ratio(2.0), "x 2.00 faster"),
    ],
)
def test_a_change_beyond_the_rounds_own_spread_is_marked(row, now, said):
    assert change(replace(row, ratio=now), row) == said


def test_rows_are_matched_by_process_names_and_sizes():
    others = [replace(ROW, process="worker"), replace(ROW, sizes="N 200"),
              replace(ROW, reference="loop")]  # fmt: skip
    assert changes([ROW, *others], [ROW]) == ["x 1.00", NEW, NEW, NEW]
    assert gone([ROW], [ROW, *others]) == [row.name for row in others]
    slower = replace(ROW, time="4 ms", ratio=replace(ROW.ratio, rounds=3))
    assert slower.name == ROW.name


def test_the_table_that_was_written_is_the_last_one(tmp_path):
    path = tmp_path / "last.json"
    assert last.load(path) == {}
    last.keep({"mesh": [ROW], "training": [SPEED]}, path)
    slower = replace(ROW, ratio=ratio(2.0))
    last.keep({"mesh": [slower]}, path)
    tables = last.load(path)
    assert tables["mesh"].rows == (slower,)
    assert tables["training"].rows == (SPEED,)
    assert tables["mesh"].machine == last.machine()


def test_the_report_marks_says_what_is_gone_and_when_the_last_table_was_made():
    before = {
        "mesh": Table("a machine", "2026-01-02", (ROW, replace(ROW, what="jet, old"))),
        "training": Table("another", "2026-01-03", (SPEED,)),  # not run now: nothing is gone
    }
    slower, new = replace(ROW, ratio=ratio(2.0)), replace(ROW, what="jet, new")
    text = report({"mesh": [slower, new]}, before)
    lines = text.splitlines()
    assert f"x 2.00 slower {MARK}" in lines[2]
    assert f"  {NEW}  " in lines[3]
    assert [line for line in lines if line.startswith("Gone")] == [
        "Gone since the last table: library: jet, old / mesh (N 100)"
    ]
    assert "Last table: 2026-01-02, a machine." in lines
    assert "another" not in text

"""Benchmarks run in processes like the users', and what is slower stands out."""

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
from tests.benchmarks.__main__ import OTHER_MACHINE, report
from tests.benchmarks.last import NEW, Table, change, changes, gone
from tests.benchmarks.measuring import BENCHMARKS
from tests.benchmarks.process import (
    LIBRARY,
    SERVER,
    WORKER,
    _run,
    measured_in,
    started,
)
from tests.benchmarks.table import MARK, Row
from tests.benchmarks.timing import Spread

# This module imports nothing of the pages: processes that a test starts import it.
BYTES = 100_000  # of an array that has its own place in the server and nowhere else
ARRAYS = 200  # some of which fit into holes


class Counts(ctypes.Structure):
    """What the GNU allocator says of itself, as in malloc.h."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
        )
    ]


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


def settings() -> tuple[bool, bool, bool, bool]:
    """Whether this process has the pages' settings, two of them, and gives arrays back."""
    importlib.import_module("gating_core")
    trims = any(thread.name == "trim" for thread in threading.enumerate())
    return "ui" in sys.modules, gc.get_freeze_count() > 0, trims, own_places(BYTES) > 0.5


def library_settings(benchmarks: list[str]) -> tuple[bool, bool, bool, bool]:
    """The same of a process that has imported the library's benchmarks."""
    for name in benchmarks:
        importlib.import_module(f"tests.benchmarks.{name}")
    return settings()


@pytest.mark.soak  # long
def test_processes_are_set_up_as_their_users_are():
    expected = {
        WORKER: (True, True, True, False),
        SERVER: (True, True, True, True),
    }
    with started(*expected) as processes:
        results = {name: each.submit(settings) for name, each in processes.items()}
        assert {name: result.result() for name, result in results.items()} == expected


@pytest.mark.soak  # long
def test_benchmarks_of_the_library_import_no_page():
    names = [module for module, process in BENCHMARKS.values() if process == LIBRARY]
    assert measured_in(LIBRARY, library_settings, names) == (False, False, False, False)


def test_a_benchmark_of_the_library_that_sets_up_a_page_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ui", ModuleType("ui"))
    with pytest.raises(RuntimeError, match="process settings"):
        _run(LIBRARY, lambda: None, ())


@pytest.mark.parametrize(
    ("row", "now", "text"),
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
def test_a_change_beyond_the_rounds_own_spread_is_marked(row, now, text):
    assert change(replace(row, ratio=now), row) == text


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
    last.save({"mesh": [ROW], "training": [SPEED]}, path)
    slower = replace(ROW, ratio=ratio(2.0))
    last.save({"mesh": [slower]}, path)
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
    assert lines[-2:] == ["Last table: 2026-01-02, a machine.", OTHER_MACHINE]
    assert "2026-01-03" not in text


def test_a_table_of_this_machine_is_compared_without_a_warning():
    here = Table(last.machine(), "2026-01-02", (ROW,))
    assert report({"mesh": [ROW]}, {"mesh": here}).splitlines()[-1].startswith("Last table")


def test_a_ratio_above_its_goal_is_marked_and_named():
    slow, quick = (replace(ROW, ratio=ratio(median), goal=1.5) for median in (1.6, 1.4))
    lines = report({"mesh": [slow, quick]}, {}).splitlines()
    assert [MARK in line for line in lines[2:4]] == [True, False]
    assert f"Above its goal of 1.5: jet: 1.60 {MARK}" in lines

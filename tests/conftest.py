"""Settings shared by all tests, and which of them one process runs together."""

import gc
import os
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from threadpoolctl import threadpool_limits
from xdist.scheduler import LoadScopeScheduling

from gating_core.process import keep_at_hand
from tests.profiles import SOAK, load_profile
from tests.served import Started, started

# Folders, or parts of one, whose tests run in one worker: they share a served app and a browser, or
# cached results. The browser's come in two groups, each with a browser and an app of its own: one
# of them takes longer than all other tests together.
SOME_PAGES = (
    "browser/test_charts.py",
    "browser/test_decision_boundary.py",
    "browser/test_depth.py",
    "browser/test_draw.py",
    "browser/test_gates.py",
    "browser/test_keys.py",
    "browser/test_screens.py",
)
SERVED = (
    "test_attacks.py",
    "test_faults.py",
    "test_load.py",
    "test_security.py",
)
SAME_WORKER = (
    "browser", SOME_PAGES, "ui/decision_boundary", "ui/claims", SERVED,
    "ui/manifold", "ui/landing", "ui/experts", "ui/language_models", "ui/steering", "ui/gates",
    "ui/depth", "ui/common", "core/checkpoints",
)  # fmt: skip
# Folders and files that take longest after these. Short files come last, so that all workers are
# busy to the end.
LONG = (
    "ui/test_states.py", "core/proved", "core/theory", "core/experiments", "ui/work",
    "test_benchmarks.py", "test_boundaries.py", "core/claims", "core/training", "core/jets",
    "core/export", "test_packaging.py",
    "ui/real_heads", "test_docs.py",
)  # fmt: skip
ORDER = (*SAME_WORKER, *LONG)
# Which of how many processes this is.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))

# Linux shares the processor between sessions first. In one session the worker processes of apps,
# which are nice, would wait for all processes of tests.
if "PYTEST_XDIST_WORKER" in os.environ and hasattr(os, "setsid"):
    with suppress(PermissionError):  # it leads a session
        os.setsid()

# As in the Makefile: each of dozens of processes would compile every file of the app anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test sees the user's study, nor does an app that one starts.
_folder = tempfile.TemporaryDirectory(prefix="claims")
os.environ["GATING_CLAIMS_STORE"] = str(Path(_folder.name) / "claims.sqlite")

# Nothing becomes garbage while tests are collected.
gc.disable()

load_profile()

# They compute, more than they keep.
keep_at_hand()

# pytest-xdist runs several processes: one thread in each, and in those that tests start.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)
threadpool_limits(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Started]:
    """The app started as the README says; for tests of the server itself, without a browser.

    In the end its log has no error.
    """
    with started() as server:
        yield server
        assert "Traceback" not in server.output(), server.output()


def rank(nodeid: str) -> int:
    """The position in `ORDER` of the test's file or folder; the length of `ORDER` for others."""
    file = nodeid.split("::")[0].removeprefix("tests/")
    for files in (SOME_PAGES, SERVED):
        if file in files:
            return ORDER.index(files)
    folders = (n for n, name in enumerate(ORDER) if f"{file}/".startswith(f"{name}/"))
    return next(folders, len(ORDER))


class SchedulingByFolder(LoadScopeScheduling):
    """One worker runs a row of `SAME_WORKER`; other tests are given out file by file.

    (Marks of ``--dist loadgroup`` get lost between pytest-xdist 3.8 and pytest 9.)
    """

    def _split_scope(self, nodeid: str) -> str:
        position = rank(nodeid)
        return str(position) if position < len(SAME_WORKER) else nodeid.split("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SchedulingByFolder:
    return SchedulingByFolder(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each worker imports another part of the tests first.

    Where no bytecode is cached, pytest rewrites the assertions of every file, which takes as long
    as all the rest of collecting. So a worker finds cached what the others have rewritten.
    """
    report = yield
    if isinstance(collector, pytest.Directory) and report.passed:
        first = len(report.result) * WORKER // WORKERS
        report.result = [*report.result[first:], *report.result[:first]]
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest first. What is ``soak``, or not among the ``sampled``, runs in `make soak` only."""
    if not SOAK:
        items[:] = sampled(item for item in items if not item.get_closest_marker("soak"))
    # By file as well: in the same order in all workers.
    items.sort(key=lambda item: (rank(item.nodeid), item.path.parts))


def sampled(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Of a test marked ``sampled(n)``, return n cases evenly spread; of all others, every case."""
    items = [*items]  # in pytest's order, which parts cases by the fixtures that they share
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept: set[pytest.Item] = set()
    for cases in tests.values():
        mark = cases[0].get_closest_marker("sampled")
        count = min(mark.args[0], len(cases)) if mark else len(cases)
        kept |= {cases[len(cases) * number // count] for number in range(count)}
    return [item for item in items if item in kept]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was collected never becomes garbage.

    Streamlit collects garbage fully after every run of a page: a fifth of a second with all tests.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def plain_main_module() -> Iterator[None]:
    """A page that a test runs becomes the main module, which a process that is spawned imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        yield

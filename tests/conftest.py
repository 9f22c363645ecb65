"""Settings shared by all tests, and which of them one process runs together."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from threadpoolctl import threadpool_limits
from xdist.scheduler import LoadScopeScheduling

from gating_core.memory import keep_at_hand
from tests.profiles import load_profile

# These share what is dear: a served app and a browser, or the pages' caches. Longest first.
TOGETHER = (
    ("browser",),
    ("load",),
    ("ui/decision_boundary",),
    ("ui/landing",),
    ("ui/manifold",),
)

# No test sees the user's study, nor does an app that one starts.
_folder = tempfile.TemporaryDirectory(prefix="claims")
os.environ["GATING_CLAIMS_STORE"] = str(Path(_folder.name) / "claims.sqlite")

load_profile()

# They compute, more than they keep.
keep_at_hand()

# pytest-xdist runs several processes: one thread in each.
torch.set_num_threads(1)
threadpool_limits(1)


def row_of(nodeid: str) -> int:
    """The first row of `TOGETHER` that names the test's file or folder; their number for none."""
    place = f"{nodeid.split('::')[0].removeprefix('tests/')}/"
    rows = (n for n, names in enumerate(TOGETHER) if any(place.startswith(f"{x}/") for x in names))
    return next(rows, len(TOGETHER))


class RowsTogether(LoadScopeScheduling):
    """One process runs a row of `TOGETHER`; all other tests go where there is time.

    (Marks of ``--dist loadgroup`` get lost between pytest-xdist 3.8 and pytest 9.)
    """

    def _split_scope(self, nodeid: str) -> str:
        row = row_of(nodeid)
        return f"row {row}" if row < len(TOGETHER) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> RowsTogether:
    return RowsTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They come first, the longest before the others."""
    items.sort(key=lambda item: row_of(item.nodeid))

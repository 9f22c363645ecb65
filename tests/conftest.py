"""Settings shared by all tests, and which of them one process runs together."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
# These share what is dear: a served app and a browser, or the pages' caches. Longest first.
TOGETHER = (
    ("browser",),
    ("ui/manifold",),
    ("ui/playground",),
    ("ui/landing",),
)

# pytest-xdist runs several processes: one torch thread in each.
torch.set_num_threads(1)

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("default", max_examples=25, derandomize=True, **_COMMON)
settings.register_profile("soak", max_examples=10_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def row_of(path: Path) -> int:
    """The first row of `TOGETHER` that names the file or its folder; their number for none."""
    place = f"{path.relative_to(HERE).as_posix()}/"
    rows = (n for n, names in enumerate(TOGETHER) if any(place.startswith(f"{x}/") for x in names))
    return next(rows, len(TOGETHER))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Rows of `TOGETHER` run in one process each (``--dist loadgroup``)."""
    if row_of(item.path) < len(TOGETHER):
        item.add_marker(pytest.mark.xdist_group(f"row {row_of(item.path)}"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They come first, the longest before the others."""
    items.sort(key=lambda item: row_of(item.path))

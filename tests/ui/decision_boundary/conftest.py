"""Runs that are there, and quick measurements, for tests that open the Decision boundary page."""

import pytest

from tests.ui.decision_boundary.playing import QUICKLY
from ui.work import runs
from ui.work.cache import Cache


@pytest.fixture(scope="package")
def trained():
    """Complete runs of tests before: a setting is trained and measured once."""
    return Cache(1e9)


@pytest.fixture
def quick(monkeypatch, trained):
    """What is measured is measured quickly."""
    for grid in QUICKLY:
        monkeypatch.setattr(*grid)
    monkeypatch.setattr(runs, "CACHED_RUNS", trained)

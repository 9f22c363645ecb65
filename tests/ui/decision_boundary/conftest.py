"""Runs that are there, and quick measurements, for tests that open the Decision boundary page."""

import pytest

from tests.ui.decision_boundary.playing import QUICKLY
from ui.work import runs


@pytest.fixture(scope="package")
def trained():
    """Complete runs of tests before: a setting is trained and measured once."""
    return {}


@pytest.fixture
def quick(monkeypatch, trained):
    """What is measured is measured quickly."""
    for grid in QUICKLY:
        monkeypatch.setattr(*grid)
    monkeypatch.setattr(runs, "_known", dict(trained))
    yield
    trained |= runs._known


@pytest.fixture
def nothing_known(quick):
    """No run is there."""
    runs._known.clear()

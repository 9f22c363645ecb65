"""What is known, and how fast is it measured, when a test opens the Decision boundary page?"""

import pytest

from tests.ui.decision_boundary.playing import QUICKLY, open_boundary
from ui.decision_boundary import training
from ui.work import runs
from ui.work.cache import Cache


@pytest.fixture(scope="package")
def first_run():
    """What most tests begin with, trained and measured once."""
    with pytest.MonkeyPatch.context() as patch:
        for place in QUICKLY:
            patch.setattr(*place)
        patch.setattr(runs, "CACHED_RUNS", Cache(1e9))
        return open_boundary().session_state[runs.last_key(training.JOB)]


@pytest.fixture
def quick(monkeypatch, first_run):
    """What is measured is measured quickly; no run is known but the first."""
    for place in QUICKLY:
        monkeypatch.setattr(*place)
    known = runs.Shown(first_run.run, dict(first_run.along), dict(first_run.final))
    monkeypatch.setattr(runs, "CACHED_RUNS", Cache(1e9))
    runs.CACHED_RUNS.put(first_run.run.setting, known)


@pytest.fixture
def nothing_known(quick):
    """Not even the first run."""
    runs.CACHED_RUNS.clear()

"""Runs that visitors share: never changed while they are read, and no measurement lost."""

from dataclasses import FrozenInstanceError, dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from gating_core.experiments.comparison import FIRST_SETTING, CurvatureSummary, StrengthSweep
from ui.work import runs
from ui.work.cache import Cache
from ui.work.job import State
from ui.work.runs import Shown


@dataclass
class Done:
    """A job that has ended, or has not."""

    items: list
    state: State = State.DONE
    over: bool = True
    about: object = field(default=FIRST_SETTING)


def measured(member, *, along=False, known=True):
    """A curvature of a seed, without numbers."""
    field = np.zeros(3) if along and known else None
    return CurvatureSummary("sigmoid", member, None, (), field, at_end=not along)


@pytest.fixture
def visitor(monkeypatch):
    """Be one of several visitors, each with a session of their own."""
    monkeypatch.setattr(runs, "CACHED_RUNS", Cache(runs.RUNS_BYTES))
    sessions = {}

    def be(name):
        sessions.setdefault(name, {})
        monkeypatch.setattr(runs, "st", SimpleNamespace(session_state=sessions[name]))

    return be


def look(job):
    """What the visitor is shown of the cached run."""
    runs.st.session_state.setdefault(runs.last_key("page"), runs.cached_run(FIRST_SETTING))
    return runs.shown_of("page", job)


def test_measurements_that_one_visitor_reads_are_not_changed_by_another(visitor):
    run = runs.cached_run(FIRST_SETTING).run
    visitor("first")
    first = look(Done([run, measured(0), measured(0, along=True)]))
    reading = iter(runs.cached_run(FIRST_SETTING).final), iter(first.along)
    visitor("second")
    second = look(Done([run, measured(1), measured(2), measured(1, along=True)]))
    assert [list(keys) for keys in reading] == [[("sigmoid", 0)]] * 2
    assert set(first.final) == set(first.along) == {("sigmoid", 0)}
    assert set(second.final) >= {("sigmoid", 1), ("sigmoid", 2)}


def test_measurements_of_two_visitors_are_there_for_a_third(visitor):
    run, sweep = runs.cached_run(FIRST_SETTING).run, runs.cached_run(FIRST_SETTING).sweep
    jobs = {
        name: Done([run, measured(member), measured(member, along=True)])
        for member, name in enumerate(("first", "second"))
    }
    for name in jobs:
        visitor(name)
        runs.st.session_state[runs.last_key("page")] = runs.cached_run(FIRST_SETTING)
    for name, job in jobs.items():
        visitor(name)
        look(job)
    cached = runs.cached_run(FIRST_SETTING)
    assert set(cached.final) == set(cached.along) == {("sigmoid", 0), ("sigmoid", 1)}
    assert isinstance(cached.sweep, StrengthSweep)
    assert cached.sweep is sweep


def test_curvature_along_a_run_is_not_that_of_its_end():
    shown = Shown(runs.cached_run(FIRST_SETTING).run).grown([measured(0, along=True, known=False)])
    assert (list(shown.along), list(shown.final)) == ([("sigmoid", 0)], [])


def test_the_same_items_give_the_same_object_and_newer_ones_another(visitor):
    run = runs.cached_run(FIRST_SETTING).run
    visitor("first")
    job = Done([run, measured(0)], State.RUNNING, over=False)
    shown = look(job)
    assert look(job) is shown
    job.items.append(measured(1))
    later = look(job)
    assert later is not shown
    assert later.run is run
    assert set(runs.cached_run(FIRST_SETTING).final) == set()  # cached once the job is done


def test_a_shown_run_cannot_be_changed():
    shown = Shown(runs.cached_run(FIRST_SETTING).run, along=(there := {}))
    with pytest.raises(TypeError):
        shown.along["sigmoid", 0] = measured(0)
    with pytest.raises(FrozenInstanceError):
        shown.sweep = None
    there["sigmoid", 0] = measured(0)
    assert not shown.along

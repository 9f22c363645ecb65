"""Small studies, stores to keep them in, and workers of Dask."""

import logging

import pytest
from distributed import LocalCluster

from gating_core.claims import Selection, Store
from gating_core.claims.study import work_on

TINY = Selection(
    tasks=("xor", "linear"),
    variants=("ungated", "sigmoid", "half"),
    parts=("base", "stacks"),
    seed_count=2,
    steps=3,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "claims.sqlite"


@pytest.fixture
def store(path):
    with Store(path) as found:
        yield found


@pytest.fixture(scope="session")
def tiny_rows():
    """All rows of the tiny selection, computed here and one unit after the other."""
    return [row for unit in TINY.units() for row in work_on(unit)]


@pytest.fixture(scope="session")
def scheduler():
    """The address of two workers, threads of this process, at hand for every test."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster.scheduler_address

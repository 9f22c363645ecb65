"""Runs for all tests of the comparison, trained once."""

import pytest

from tests.core.experiments.comparison.runs import SETTINGS, SMALL, run_of


@pytest.fixture(
    scope="session",
    params=[
        *(name for name in SETTINGS if name != "tokens"),
        pytest.param("tokens", marks=pytest.mark.soak),  # long
    ],
)
def run(request):
    return run_of(SETTINGS[request.param])


@pytest.fixture(scope="session")
def circle():
    return run_of(SMALL)

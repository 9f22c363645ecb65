"""Runs for all tests of the comparison, each trained once: `run_of` keeps them.

Not the session: pytest puts tests with a parameter of a session in an order that is another one in
each process, and then its workers refuse to begin.
"""

import pytest

from tests.core.experiments.comparison.runs import SETTINGS, SMALL, run_of


@pytest.fixture(
    params=[
        *(name for name in SETTINGS if name != "tokens"),
        pytest.param("tokens", marks=pytest.mark.soak),  # long
    ],
)
def run(request):
    return run_of(SETTINGS[request.param])


@pytest.fixture
def circle():
    return run_of(SMALL)

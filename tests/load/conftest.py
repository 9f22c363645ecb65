"""One served app for all load tests; its log must have no error."""

from collections.abc import Iterator

import pytest

from tests.browser.serving import Served, serve


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    with serve() as served:
        yield served
        assert "Traceback" not in served.output(), served.output()

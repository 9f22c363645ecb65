"""What do the load tests share? One served app, which must not fail behind anybody's back."""

from collections.abc import Iterator

import pytest

from tests.browser.serving import Served, serve


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    with serve() as served:
        yield served
        assert "Traceback" not in served.output(), served.output()

"""What computes for the pages under test, who hears of their errors, where do their arrays go?"""

import pytest

from tests.ui.inline import Inline
from tests.ui.opening import TIMEOUT_SECONDS
from tests.ui.payload import KEPT
from ui.components import large
from ui.work import log, pool, trouble


@pytest.fixture(scope="session", autouse=True)
def inline():
    """A stand-in for worker processes, where a test can put other functions in place of some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "POOL", stand_in := Inline())
        yield stand_in


class Loud:
    """A log that is not written: errors of a page go to the test, as ``app.exception``."""

    new_id = staticmethod(log.new_id)

    @staticmethod
    def write(event, number, error, **about):
        raise error


@pytest.fixture(scope="session", autouse=True)
def loud():
    """Errors are the test's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trouble, "log", Loud)
        yield


@pytest.fixture(scope="session", autouse=True)
def patient():
    """Pages wait for all strengths of a gate: this one thread measures them more slowly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.work.kept.AT_ONCE_SECONDS", TIMEOUT_SECONDS)
        yield


@pytest.fixture(scope="session", autouse=True)
def kept():
    """What browsers get from addresses of their own is `KEPT`: AppTest's server forgets it."""

    def address_of(headed, place):
        address = f"{place}/{headed[: large.HEAD].hex()}"
        KEPT[address] = headed
        return address

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "address_of", address_of)
        yield

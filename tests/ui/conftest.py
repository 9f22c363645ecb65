"""Pages under test: computing in this process, errors raised in tests, unchanged caches."""

from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner

from gating_core.memory import keep_at_hand
from tests.ui.inline import Inline
from tests.ui.opening import TIMEOUT_SECONDS
from tests.ui.payload import KEPT
from tests.ui.unchanged import changed, digest, digests_of
from ui.components import large
from ui.work import errors, log, pool
from ui.work.cache import CACHE, NUMBERS_CACHE, PASSING_CACHE, Cache

keep_at_hand()  # as a process of tests does: the one that serves pages, just imported, does not


@pytest.fixture(scope="session", autouse=True)
def inline():
    """A stand-in for worker processes, where a test can put other functions in place of some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "POOL", stand_in := Inline())
        yield stand_in


class Loud:
    """A log that raises: errors of a page go to the test, as ``app.exception``."""

    new_id = staticmethod(log.new_id)

    @staticmethod
    def write(event, number, error, **about):
        raise error


@pytest.fixture(scope="session", autouse=True)
def loud():
    """Raise errors of a page in the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "log", Loud)
        yield


@pytest.fixture(scope="session", autouse=True)
def patient():
    """Pages wait for their jobs, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.work.cached_jobs.AT_ONCE_SECONDS", TIMEOUT_SECONDS)
        patch.setattr("ui.work.cached_jobs.PACE_SECONDS", 0.0)  # nobody reads along
        # A job has its first item, or waits for a worker, before a page is drawn: no timer of a
        # browser draws it again.
        patch.setattr("ui.work.job.FIRST_SECONDS", TIMEOUT_SECONDS)
        yield


@pytest.fixture(scope="session", autouse=True)
def scanned():
    """Which installed packages bring components: a server asks once, AppTest for every page."""
    with pytest.MonkeyPatch.context() as patch:
        once = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def compiled_once():
    """A server compiles the script of a page once, AppTest at every run."""
    with pytest.MonkeyPatch.context() as patch:
        scripts = ScriptCache()
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: scripts)
        yield


@pytest.fixture(scope="session", autouse=True)
def joined():
    """A run is waited for at its thread: AppTest looks for its end a thousand times a second."""
    await_end = local_script_runner.require_widgets_deltas

    def join(runner, timeout):
        runner._script_thread.join(timeout)
        if runner._script_thread.is_alive():
            runner.request_stop()
            raise RuntimeError(f"the page was not drawn within {timeout:g} s")
        await_end(runner, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", join)
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


@pytest.fixture(scope="session", autouse=True)
def unchanged_caches():
    """Nobody changes a cached result: in the end all are as they were put there."""
    digests = {each: digests_of(each) for each in (CACHE, PASSING_CACHE, NUMBERS_CACHE)}
    put = Cache.put

    def note_and_put(cache, key, item):
        digests.get(cache, {})[key] = digest(item)
        put(cache, key, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "put", note_and_put)
        yield
    assert not [key for each, before in digests.items() for key in changed(before, each)]

"""The semaphore of page scripts: few at once, and no deadlock."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ui.work.semaphore import ScriptSemaphore

LONG = 30.0


def in_threads(count, work):
    """Run ``work`` of each number at the same time; all must end without an error."""
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, i) for i in range(count)]:
            done.result(LONG)


@pytest.mark.parametrize("places", [1, 3])
def test_no_more_run_at_once_than_there_are_places(places):
    semaphore, most, lock = ScriptSemaphore(places, LONG), [0], threading.Lock()

    def run(_):
        with semaphore.acquired():
            with lock:
                most[0] = max(most[0], semaphore.inside)
            time.sleep(0.01)

    in_threads(4 * places, run)
    assert most == [places]
    assert semaphore.inside == 0


def test_a_thread_acquires_it_once():
    semaphore = ScriptSemaphore(1, LONG)
    with semaphore.acquired(), semaphore.acquired():
        assert semaphore.inside == 1
    assert semaphore.inside == 0


def test_a_thread_that_waits_lets_another_run():
    semaphore, released, passed = ScriptSemaphore(1, LONG), threading.Event(), threading.Event()

    def run(number):
        if number:
            assert released.wait(LONG)
            with semaphore.acquired():
                passed.set()
            return
        with semaphore.acquired():
            with semaphore.released():
                released.set()
                assert passed.wait(LONG / 2)
            assert semaphore.inside == 1

    in_threads(2, run)


def test_a_thread_goes_on_without_waiting_for_one_that_waits_for_it():
    """One holds a lock and waits for a worker; the other runs and waits for the lock."""
    semaphore, lock = ScriptSemaphore(1, LONG), threading.Lock()
    held, waits = threading.Event(), threading.Event()

    def run(number):
        if number:
            assert held.wait(LONG)
            with semaphore.acquired():
                waits.set()
                assert lock.acquire(timeout=LONG / 2)
            return
        with semaphore.acquired(), lock:
            with semaphore.released():
                held.set()
                assert waits.wait(LONG / 2)
            assert semaphore.inside == 2

    in_threads(2, run)


def test_a_wait_ends_after_patience():
    semaphore, entered, over = ScriptSemaphore(1, 0.05), threading.Barrier(3), threading.Event()

    def run(_):
        with semaphore.acquired():
            entered.wait(LONG)
            assert over.wait(LONG)

    others = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    with semaphore.acquired():
        for other in others:
            other.start()
        entered.wait(LONG)  # all three are in
        assert semaphore.inside == 3
        over.set()
        for other in others:
            other.join(LONG)
    assert semaphore.inside == 0


def test_an_error_releases_it():
    semaphore = ScriptSemaphore(1, LONG)
    with pytest.raises(KeyError), semaphore.acquired(), semaphore.released():
        raise KeyError
    with semaphore.acquired():
        assert semaphore.inside == 1
    with semaphore.released():  # not acquired: nothing to release
        assert semaphore.inside == 0

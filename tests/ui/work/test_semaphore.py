"""Do a few scripts run at a time, does nobody wait for good, and does all of it end?"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ui.work.semaphore import ScriptSemaphore

LONG = 30.0


def in_threads(count, work):
    """Run ``work`` of each number at the same time; all must end, and none may fail."""
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, i) for i in range(count)]:
            done.result(LONG)


@pytest.mark.parametrize("places", [1, 3])
def test_no_more_run_at_once_than_there_are_places(places):
    turns, most, lock = ScriptSemaphore(places, LONG), [0], threading.Lock()

    def run(_):
        with turns.acquired():
            with lock:
                most[0] = max(most[0], turns.inside)
            time.sleep(0.01)

    in_threads(4 * places, run)
    assert most == [places]
    assert turns.inside == 0


def test_a_part_of_a_script_has_its_turn_already():
    turns = ScriptSemaphore(1, LONG)
    with turns.acquired(), turns.acquired():
        assert turns.inside == 1
    assert turns.inside == 0


def test_whoever_waits_for_a_worker_lets_another_run():
    turns, aside, passed = ScriptSemaphore(1, LONG), threading.Event(), threading.Event()

    def run(number):
        if number:
            assert aside.wait(LONG)
            with turns.acquired():
                passed.set()
            return
        with turns.acquired():
            with turns.released():
                aside.set()
                assert passed.wait(LONG / 2)
            assert turns.inside == 1

    in_threads(2, run)


def test_whoever_comes_back_need_not_wait_for_those_who_wait_for_them():
    """One holds a lock and waits for a worker; another has the only turn, and wants that lock."""
    turns, lock = ScriptSemaphore(1, LONG), threading.Lock()
    held, wanted = threading.Event(), threading.Event()

    def run(number):
        if number:
            assert held.wait(LONG)
            with turns.acquired():
                wanted.set()
                assert lock.acquire(timeout=LONG / 2)
            return
        with turns.acquired(), lock:
            with turns.released():
                held.set()
                assert wanted.wait(LONG / 2)
            assert turns.inside == 2

    in_threads(2, run)


def test_nobody_waits_longer_than_patience():
    turns, entered, over = ScriptSemaphore(1, 0.05), threading.Barrier(3), threading.Event()

    def run(_):
        with turns.acquired():
            entered.wait(LONG)
            assert over.wait(LONG)

    others = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    with turns.acquired():
        for other in others:
            other.start()
        entered.wait(LONG)  # all three are in
        assert turns.inside == 3
        over.set()
        for other in others:
            other.join(LONG)
    assert turns.inside == 0


def test_an_error_leaves_the_place_to_others():
    turns = ScriptSemaphore(1, LONG)
    with pytest.raises(KeyError), turns.acquired(), turns.released():
        raise KeyError
    with turns.acquired():
        assert turns.inside == 1
    with turns.released():  # without a turn there is nothing to leave
        assert turns.inside == 0

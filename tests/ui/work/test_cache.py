"""Caches: each result is made once for all, and their size is bounded."""

import threading
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import fuzz
from tests.ui.work.work import DEADLINE_SECONDS, await_true
from ui.work import cache
from ui.work.cache import ENTRY_BYTES, Cache, bytes_of, cached
from ui.work.semaphore import ScriptSemaphore


@dataclass(frozen=True, eq=False)
class Result:
    values: np.ndarray
    parts: tuple = ()
    text: str = ""


def numbers(count):
    return np.zeros(count, dtype=np.uint8)


@pytest.fixture
def own():
    """A cache for three results of a thousand bytes."""
    return Cache(3 * (ENTRY_BYTES + 1000))


# --- Sizes ---------------------------------------------------------------------------------------


def test_bytes_of_a_result_are_those_of_its_arrays_and_texts():
    inner = Result(numbers(30), text="four")
    tensor = torch.zeros(5, dtype=torch.float64)
    assert bytes_of(Result(numbers(100), ([inner], {"a": tensor}, 3, None))) == 174
    assert bytes_of(MappingProxyType({"a": b"ab"})) == 2


def test_an_object_that_occurs_twice_is_counted_once():
    shared = numbers(100)
    assert bytes_of([shared, Result(shared), shared.copy()]) == 200


def test_a_sequence_that_holds_itself_and_a_class_have_a_size():
    around = [numbers(100)]
    around += [around, Result]
    assert bytes_of(around) == 100


@fuzz()
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40_000)), max_size=40))
def test_the_size_is_bounded(puts):
    small = Cache(100_000)
    for key, size in puts:
        small.put(key, numbers(size))
        there = small.find(range(9))
        assert small.bytes == sum(ENTRY_BYTES + len(item) for item in there.values()) <= 100_000
        assert len(there[key]) == size  # the newest is there


def test_the_least_recently_used_makes_room(own):
    for key in "abc":
        own.put(key, numbers(1000))
    own.get("a", pytest.fail)
    own.find("b")
    own.put("d", numbers(1000))
    assert set(own.find("abcd")) == set("abd")


def test_a_result_larger_than_the_cache_is_made_and_not_cached():
    small = Cache(ENTRY_BYTES + 1000)
    small.put("a", numbers(1000))
    assert len(small.get("b", lambda: numbers(1001))) == 1001
    assert set(small.find("ab")) == {"a"}


# --- Making ---------------------------------------------------------------------------------------


def test_concurrent_visitors_get_the_same_result_and_let_others_go_on(own, monkeypatch):
    scripts = ScriptSemaphore(permits=1, patience=DEADLINE_SECONDS)
    monkeypatch.setattr(cache, "SCRIPTS", scripts)
    go, entered, made, got = threading.Event(), [], [], []

    def make():
        made.append(numbers(10))
        with scripts.released():  # as a script does that waits for a worker
            assert go.wait(DEADLINE_SECONDS)
        return made[0]

    def visit():
        with scripts.acquired():
            entered.append(1)
            got.append(own.get("a", make))

    visitors = [threading.Thread(target=visit) for _ in range(3)]
    for visitor in visitors:
        visitor.start()
    await_true(lambda: len(entered) == 3)  # all, while the first still makes it
    await_true(lambda: not scripts.inside)
    go.set()
    for visitor in visitors:
        visitor.join(DEADLINE_SECONDS)
    assert len(made) == 1
    assert [item is made[0] for item in got] == [True] * 3


def test_an_error_is_not_cached(own):
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        own.get("a", fail)
    assert own.get("a", lambda: "there") == "there"


def test_nothing_is_left_of_results_that_have_made_room(own):
    for key in range(100):
        own.get(key, lambda: numbers(1000))
    assert own.bytes == 3 * (ENTRY_BYTES + 1000)
    assert not own._making


def test_a_function_is_called_once_for_each_key(own):
    calls = []

    @cached("Making …", on=own)
    def made(name, _how, size):
        """Says what it is."""
        calls.append((name, size))
        return name * size

    @cached(on=own)
    def other(name, _how, size):
        return "other"

    assert made("a", [1], 2) == made("a", [2], 2) == "aa"
    assert made("a", [], 3) == "aaa"
    assert other("a", [], 2) == "other"
    assert calls == [("a", 2), ("a", 3)]
    assert (made.__name__, made.__doc__) == ("made", "Says what it is.")

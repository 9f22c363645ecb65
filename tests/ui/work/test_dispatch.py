"""The dispatcher in front of processes that tests let on: no task is lost, doubled or mixed up."""

import random
import sys
import threading
import time
from contextlib import closing
from queue import SimpleQueue

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.profiles import SOAK
from tests.ui.work.work import DEADLINE_SECONDS, await_true
from ui.work import pool
from ui.work.job import WAITING
from ui.work.messages import Sender, packed, unpacked
from ui.work.pool import LOST, NOT_STARTED, REFUSED, Pool, Rank, WorkerLost
from ui.work.worker import BEGUN, END, ERROR, FULL, ITEM, READY

RANKS = (Rank.VIEW, Rank.REST)  # of two processes, of one


def computed(name):
    """Stand for what a worker computes."""


class Computation:
    """A task as a process has it."""

    def __init__(self, number, message, process):
        _, (self.name,) = unpacked(message)
        self.number, self.process, self.sender = number, process, Sender()
        self.begun = self.stopped = False
        self.items, self.end = [], None

    @property
    def goes_on(self):
        return self.end is None


class FakeProcess:
    """A process whose answers are the test's; at most one task at a time."""

    def __init__(self, niceness, system):
        self.niceness, self.system, self.dead = niceness, system, False
        self.tasks, self.answers = [], SimpleQueue()
        self.answer(READY, 0)

    def send(self, number, content):
        if self.dead:
            raise BrokenPipeError
        if content is not None:
            assert not any(task.goes_on for task in self.tasks), "two tasks at once"
            self.tasks.append(Computation(number, content, self))
            self.system.computations.append(self.tasks[-1])
        for task in self.tasks:
            if task.number == number and content is None:
                task.stopped = True

    def receive(self):
        answer = self.answers.get()
        if answer is None:
            raise EOFError
        return answer

    def answer(self, *message):
        self.answers.put(message)

    def kill(self):
        self.dead = True
        for task in self.tasks:
            task.end = task.end or "killed"
        self.answers.put(None)

    close = kill

    def begin(self, task):
        task.begun = True
        self.answer(BEGUN, None)

    def item(self, task):
        task.items.append((task.number, len(task.items)))
        self.answer(ITEM, task.sender.pack(task.items[-1]))

    def finish(self, task, end):
        task.end = end
        content = packed(ZeroDivisionError(str(task.number))) if end == ERROR else None
        self.answer(end, content)


class FakeSystem:
    """Starts such processes."""

    def __init__(self, kind=FakeProcess):
        self.kind, self.processes, self.computations = kind, [], []

    def start(self, niceness):
        self.processes.append(self.kind(niceness, self))
        return self.processes[-1]

    def close(self):
        """There is nothing else."""


class Reader:
    """A thread that reads a stream until it is over, or until it is to leave."""

    def __init__(self, dispatcher, name, rank):
        self.name, self.rank, self.got, self.status = name, rank, [], "new"
        self.error, self.leaving = None, threading.Event()
        self._stream = dispatcher.stream(computed, name, rank=rank, wait=0.002)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            for item in self._stream:
                if item is WAITING or item is None:
                    self.status = "waiting" if item is WAITING else "computed"
                else:
                    self.got.append(item)
                if self.leaving.is_set():
                    self.status = "left"
                    break
            else:
                self.status = "over"
        except Exception as error:
            self.status, self.error = "over", error
        finally:
            self._stream.close()

    def leave(self):
        self.leaving.set()
        self.thread.join(DEADLINE_SECONDS)
        assert not self.thread.is_alive()

    @property
    def stays(self):
        return self.status in ("waiting", "computed", "new")


class Dispatching(RuleBasedStateMachine):
    """Visitors come and leave, processes begin, go on, end and die, in any order."""

    SIZE = 2

    def __init__(self):
        super().__init__()
        self.system, self.readers = FakeSystem(), []
        self.pool = Pool(self.SIZE, self.system)

    def going_on(self):
        return [each for each in self.system.computations if each.goes_on]

    def pick(self, data, begun):
        some = [each for each in self.going_on() if each.begun == begun]
        return data.draw(st.sampled_from(some)) if some else None

    @rule(name=st.sampled_from("abc"), rank=st.sampled_from(RANKS))
    def come(self, name, rank):
        self.readers.append(Reader(self.pool, name, rank))

    @precondition(lambda self: any(reader.stays for reader in self.readers))
    @rule(data=st.data())
    def leave(self, data):
        data.draw(st.sampled_from([each for each in self.readers if each.stays])).leave()

    @rule(data=st.data())
    def begin(self, data):
        if task := self.pick(data, begun=False):
            task.process.begin(task)

    @rule(data=st.data(), count=st.integers(1, 3))
    def go_on(self, data, count):
        if task := self.pick(data, begun=True):
            for _ in range(count):
                task.process.item(task)

    @rule(data=st.data(), end=st.sampled_from([END, ERROR, FULL]))
    def finish(self, data, end):
        if task := self.pick(data, begun=True):
            task.process.finish(task, end)

    @rule(data=st.data())
    def die(self, data):
        """Also one without a task."""
        if living := [each for each in self.system.processes if not each.dead]:
            data.draw(st.sampled_from(living)).kill()

    @invariant()
    def all_is_in_order(self):
        await_true(lambda: not self.disorder())

    def disorder(self):
        """Say what is not, or not yet, as it ought to be."""
        tasks = {each.number: each for each in self.system.computations}
        found = []
        for reader in self.readers:
            numbers = {number for number, _ in reader.got}
            if len(numbers) > 1:
                raise AssertionError(f"items of two computations: {reader.got}")
            task = tasks[numbers.pop()] if numbers else None
            if task and (reader.got != task.items[: len(reader.got)] or task.name != reader.name):
                raise AssertionError(f"{reader.got} is not the beginning of {task.items}")
            if task and reader.stays and (reader.got != task.items or not task.goes_on):
                found.append(f"{reader.name} lacks items or the end of {task.number}")
            if reader.status == "over" and not self.ended_well(reader, task):
                raise AssertionError(f"{reader.name}: {reader.error!r}, {task and task.end}")
        for rank in RANKS:
            staying = [each for each in self.readers if each.stays and each.rank is rank]
            wanted = {reader.name for reader in staying}
            mine = [each for each in self.going_on() if each.process.niceness == rank]
            names = [each.name for each in mine if not each.stopped]
            if len(names) > len(set(names)):
                found.append(f"{names}: something is computed twice")
            size = self.SIZE if rank is not Rank.REST else 1
            if len(mine) < min(size, len(wanted)) or len(mine) > size:
                found.append(f"{rank}: {names} of {wanted}")
            if any(each.name not in wanted for each in mine if not each.stopped):
                found.append(f"{rank}: {names} are not stopped, {wanted} are wanted")
            waiting = {task.work[1][0] for task in self.pool._waiting[rank]}
            if wanted - waiting != set(names) & wanted or waiting - wanted:
                found.append(f"{rank}: {waiting} wait, {names} are computed, {wanted} are wanted")
            if any(
                reader.status != ("waiting" if reader.name in waiting else "computed")
                for reader in staying
            ):
                found.append(f"{rank}: a visitor is told the wrong thing")
        return found

    def ended_well(self, reader, task):
        """Return whether a reader met the end of a computation of what it has requested."""
        name, error = reader.name, reader.error
        ends = {each.end for each in self.system.computations if each.name == name}
        if error is None:
            return END in ends and (task is None or task.end == END)
        if isinstance(error, ZeroDivisionError):
            number = int(str(error))  # of a task, which is computed again where its process died
            return any(x.number == number and x.end == ERROR for x in self.system.computations)
        return str(error) in ((LOST, NOT_STARTED) if "killed" in ends else ()) or (
            str(error) == REFUSED and FULL in ends
        )

    def teardown(self):
        for reader in self.readers:
            reader.leaving.set()
        self.pool.close()
        for reader in self.readers:
            reader.leave()
        await_true(lambda: not self.pool._processes and not self.pool._tasks)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nobody is expected to come back, and nothing is ended while it stops."""
    monkeypatch.setattr(pool, "AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(pool, "STOP_SECONDS", DEADLINE_SECONDS)


class TestDispatching(Dispatching.TestCase):
    settings = settings(max_examples=500 if SOAK else 25, stateful_step_count=30)


class Hasty(FakeProcess):
    """It computes by itself, in a thread of its own: three items, or death on the way."""

    def send(self, number, content):
        super().send(number, content)
        if content is not None:
            threading.Thread(target=self.compute, args=(self.tasks[-1],), daemon=True).start()

    def compute(self, task):
        if random.random() < 0.9:
            self.begin(task)
        for _ in range(3):
            time.sleep(random.choice([0.0, 0.0005]))
            if random.random() < 0.02:
                self.kill()
            if self.dead or task.stopped:
                break
            if task.begun:
                self.item(task)
        if self.dead:
            return
        if task.begun:
            self.finish(task, END)
        else:
            self.kill()


@pytest.fixture
def quick_switches():
    """Threads take turns a hundred times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("quick_switches")
def test_whoever_stays_gets_all_items_or_a_sentence_and_nothing_is_left():
    system = FakeSystem(Hasty)
    dispatcher = Pool(2, system)
    outcomes = []

    def visit(number):
        choose = random.Random(number)
        for _ in range(25):
            name, rank = choose.choice("abcdef"), choose.choice(list(Rank))
            got, steps = [], choose.choice([1, 3, 1000])
            try:
                with closing(dispatcher.stream(computed, name, rank=rank, wait=0.001)) as stream:
                    for item in stream:
                        steps -= 1
                        if item is not None and item is not WAITING:
                            got.append(item)
                        if not steps:
                            break
                    else:
                        assert [index for _, index in got] == [0, 1, 2]
                        outcomes.append("all")
            except WorkerLost as error:
                outcomes.append(str(error))

    visitors = [threading.Thread(target=visit, args=(number,), daemon=True) for number in range(12)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(DEADLINE_SECONDS)
        assert not visitor.is_alive()
    assert {"all", LOST} <= set(outcomes) <= {"all", LOST, NOT_STARTED}
    await_true(lambda: not dispatcher._tasks and not any(dispatcher._waiting.values()))
    await_true(
        lambda: all(len(dispatcher._idle[rank]) == dispatcher._threads[rank] > 0 for rank in Rank)
    )
    dispatcher.close()
    await_true(lambda: not dispatcher._processes)


@pytest.fixture
def system():
    return FakeSystem()


@pytest.fixture
def dispatcher(system):
    """Of one process for each rank."""
    dispatcher = Pool(1, system)
    yield dispatcher
    dispatcher.close()


def test_a_reader_that_leaves_while_the_process_starts_stops_the_task(dispatcher, system):
    starts, let_on = threading.Event(), threading.Event()
    start = system.start

    def start_slowly(niceness):
        starts.set()
        assert let_on.wait(DEADLINE_SECONDS)
        return start(niceness)

    system.start = start_slowly
    stream = dispatcher.stream(computed, "a")
    next(stream)
    assert starts.wait(DEADLINE_SECONDS)
    stream.close()
    await_true(lambda: not dispatcher._tasks)
    let_on.set()
    await_true(lambda: system.computations and system.computations[0].stopped)


def test_what_is_over_is_computed_anew_for_the_next_although_somebody_still_reads(
    dispatcher, system
):
    first, second = (dispatcher.stream(computed, "a", wait=0.01) for _ in range(2))
    next(first)
    await_true(lambda: system.computations)
    (task,) = system.computations
    task.process.begin(task)
    task.process.finish(task, END)
    await_true(lambda: dispatcher._idle[Rank.FIRST])
    next(second)
    await_true(lambda: len(system.computations) == 2)
    assert list(first) == []
    next(second)
    assert not system.computations[1].stopped
    assert dispatcher._tasks


def test_a_view_goes_on_for_a_moment_as_the_next_run_may_request_the_same(
    dispatcher, system, monkeypatch
):
    """And no longer; anything else is stopped at once."""
    monkeypatch.setattr(pool, "AGAIN_SECONDS", 0.3)
    first, other = (dispatcher.stream(computed, name, rank=Rank.VIEW) for name in "ab")
    for stream in (first, other):
        next(stream)
        stream.close()
    again = dispatcher.stream(computed, "a", rank=Rank.VIEW, wait=0.01)
    assert next(again) is None  # it has its process still
    await_true(lambda: not dispatcher.crowded)
    assert [task.name for task in system.computations] == ["a"]
    assert not system.computations[0].stopped
    again.close()
    await_true(lambda: system.computations[0].stopped)


def test_where_no_thread_starts_tasks_end_with_a_sentence(dispatcher, system, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(WorkerLost, match=NOT_STARTED):
            list(dispatcher.stream(computed, "a"))
    assert "can't start new thread" in caplog.text
    stream = dispatcher.stream(computed, "a")  # it is tried again
    next(stream)
    await_true(lambda: system.computations)

"""Threads that share the blocks compute what one alone computes, and fail as it fails."""

import contextvars
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager

import pytest
import torch
from torch.overrides import TorchFunctionMode

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.curvature import curvature, second_fundamental_form
from gating_core.geometry.grid import square_grid
from gating_core.jets import blocks, second_order
from gating_core.jets.blocks import even, one_thread, shared
from gating_core.jets.second_order import FIRST_BLOCK, second_order_jet

POINTS = square_grid(51).points
THREADS = 2


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that a few points already are some."""
    monkeypatch.setattr(second_order, "BLOCK_BYTES", 1)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch compute with ``count`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture(params=[1, THREADS])
def threads(request) -> Iterator[int]:
    with torch_threads(request.param):
        yield request.param


def measured(bound: str, seeds=(0, 1)) -> list[torch.Tensor]:
    config = AttentionConfig(model_dim=16, value_count=16, depth=2, gate=GateConfig())
    jet = second_order_jet(build_attention(config, seeds), POINTS, bound)
    assert jet.bound_kind == bound
    found = [jet.stack] if jet.errors is None else [jet.stack, jet.errors]
    for field in (curvature(jet, 2.5), second_fundamental_form(jet)):
        found += [part for part in vars(field).values() if isinstance(part, torch.Tensor)]
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("bound", ["estimate", "rigorous"])
def test_two_threads_compute_the_same_bits_as_one(bound):
    found = []
    for count in (1, THREADS):
        with torch_threads(count):
            found.append(measured(bound))
            assert torch.get_num_threads() == count
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def pure(function):
    """Say that several threads may call it."""
    function.pure = True
    return function


class Watched:
    """A function that remembers which threads called it, and with how many torch threads."""

    pure = True

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __call__(self, p: torch.Tensor) -> torch.Tensor:
        self.calls.append((threading.get_ident(), torch.get_num_threads()))
        return torch.cat([p, p * p], -1)


def test_blocks_are_shared_where_there_are_threads_to_share_them(threads):
    function = Watched()
    second_order_jet(function, POINTS)
    own = {(threading.get_ident(), 1)}
    assert len(function.calls) > 2
    assert all(count == 1 for _, count in function.calls)
    assert (set(function.calls) == own) == (threads == 1)


def test_threads_work_at_the_same_time():
    """Both are waited for: neither block ends before the other has begun."""
    both = threading.Barrier(THREADS, timeout=60)
    with torch_threads(THREADS), one_thread() as count:
        assert list(shared(lambda x: (both.wait(), 10 * x)[1], [1, 2], count)) == [10, 20]


def test_the_first_of_two_failing_blocks_is_heard(threads):
    """Even where the second one failed before it."""
    second_failed = threading.Event()

    @pure
    def function(p):
        begin = p.value[0].tolist()
        if begin == POINTS[0].tolist():
            return torch.cat([p, p * p], -1)
        if begin != POINTS[FIRST_BLOCK].tolist():
            second_failed.set()
        elif threads == THREADS:
            assert second_failed.wait(60)
        raise Heard(*begin)

    class Heard(BaseException):
        """An error of the function's own would be followed by `torch.func`."""

    with pytest.raises(Heard) as caught:
        second_order_jet(function, POINTS)
    assert caught.value.args == tuple(POINTS[FIRST_BLOCK].tolist())
    assert torch.get_num_threads() == threads


def test_an_operation_without_a_rule_in_a_later_block_falls_back(threads):
    @pure
    def function(p):
        later = float((p.value if hasattr(p, "value") else p)[0, 0]) > -0.5
        return torch.cat([p, p * p + (torch.erf(p) - torch.erf(p) if later else 0)], -1)

    whole = second_order_jet(function, POINTS[-FIRST_BLOCK:])
    stack = second_order_jet(function, POINTS).stack[..., -FIRST_BLOCK:]
    torch.testing.assert_close(stack, whole.stack)


@pytest.mark.parametrize("count", [1, 9, 10, 11, 20, 21, 39, 40, 41, 1000])
def test_blocks_are_one_or_pairs_of_like_length(count):
    parts = torch.arange(count).split(even(count, 10))
    assert len(parts) == 1 if count <= 10 else len(parts) % 2 == 0
    assert max(map(len, parts)) <= 10
    assert len(parts[0]) - len(parts[-1]) < len(parts)


def test_no_block_begins_after_one_has_failed(monkeypatch):
    begun, over = [], threading.Event()

    def given_up(futures):  # by then all that have not begun are cancelled
        over.set()
        return wait(futures)

    def work(block: int) -> None:
        begun.append(block)
        assert block == 0 or over.wait(60)
        raise KeyError(block)

    monkeypatch.setattr(blocks, "wait", given_up)
    with pytest.raises(KeyError, match="0"):
        list(shared(work, range(1000), THREADS))
    assert set(begun) <= {0, 1, 2}


VARIABLE = contextvars.ContextVar("VARIABLE", default="fresh")


def test_threads_inherit_the_callers_state():
    def seen(_: int) -> tuple[bool, bool, str]:
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), VARIABLE.get()

    token = VARIABLE.set("mine")
    try:
        for learning in (False, True):
            with torch.set_grad_enabled(learning):
                assert set(shared(seen, range(8), THREADS)) == {(learning, False, "mine")}
        with torch.inference_mode():
            assert set(shared(seen, range(8), THREADS)) == {(False, True, "mine")}
    finally:
        VARIABLE.reset(token)


def test_gradients_reach_the_weights_through_shared_blocks(threads):
    rows = [[0.3, 0.7, -0.2], [0.1, -0.4, 0.9]]
    weight = torch.tensor(rows, dtype=torch.float64, requires_grad=True)

    @pure
    def function(p):
        return (p @ weight).sin()

    second_order_jet(function, POINTS).stack.sum().backward()
    assert weight.grad is not None
    found, weight.grad = weight.grad, None
    with torch_threads(1):
        second_order_jet(function, POINTS).stack.sum().backward()
    # In which order the blocks' parts are added up is autograd's: they round differently.
    torch.testing.assert_close(found, weight.grad, rtol=1e-13, atol=0.0)


class Doubling(TorchFunctionMode):
    """Within it every sine is twice as large."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return 2 * out if getattr(func, "__name__", "") == "sin" else out


def test_what_watches_the_callers_operations_watches_all_of_them(threads):
    @pure
    def function(p):
        return torch.cat([p, torch.sin(p) * p], -1)

    plain = second_order_jet(function, POINTS)
    with Doubling():
        seen = second_order_jet(function, POINTS)
    assert torch.equal(seen.value[:, :2], plain.value[:, :2])
    assert torch.equal(seen.value[:, 2:], 2 * plain.value[:, 2:])


def test_what_is_not_said_to_be_pure_is_called_by_one_thread(threads):
    """As `functional_call`, which puts weights into the module and takes them out again."""
    layer = torch.nn.Linear(2, 3, dtype=torch.float64)
    own = {name: value.detach().clone() for name, value in layer.named_parameters()}
    other = {name: value + 1.0 for name, value in own.items()}

    def function(p):
        return torch.func.functional_call(layer, other, (p,)).sin()

    with torch_threads(1):
        alone = second_order_jet(function, POINTS).stack
    assert torch.equal(second_order_jet(function, POINTS).stack, alone)
    for name, value in layer.named_parameters():
        assert torch.equal(value, own[name])


def test_a_thread_that_shares_shares_nothing_on():
    """It would wait for a place among those who wait for it."""

    def work(block: int) -> bool:
        if block:
            return True
        callers = set(shared(lambda _: threading.get_ident(), range(4), THREADS))
        return callers == {threading.get_ident()}

    assert list(shared(work, range(2), THREADS)) == [True, True]


def test_no_more_results_wait_than_are_soon_asked_for(monkeypatch):
    pool, asked = blocks._pool(THREADS), []

    class Counted:
        def submit(self, work, block):
            asked.append(block)
            return pool.submit(work, block)

    monkeypatch.setattr(blocks, "_pool", lambda threads: Counted())
    found = shared(lambda block: block, range(100), THREADS)
    assert next(found) == 0
    assert asked == list(range(2 * THREADS))
    assert list(found) == list(range(1, 100))


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_makes_threads_of_its_own():
    code = """
import os, signal
import torch
from gating_core.jets.blocks import one_thread, shared
torch.set_num_threads(2)
def work():
    with one_thread() as threads:
        return list(shared(lambda block: 2 * block, range(9), threads))
assert work() == list(range(0, 18, 2))
child = os.fork()
if not child:
    signal.alarm(20)
    os._exit(0 if work() == list(range(0, 18, 2)) else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_hooks_on_what_is_saved_for_gradients_see_all_of_it(threads):
    weight = torch.tensor([[0.3, 0.7, -0.2]] * 2, dtype=torch.float64, requires_grad=True)
    packed = []

    def pack(x):
        packed.append(threading.get_ident())
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        second_order_jet(pure(lambda p: (p @ weight).sin()), POINTS)
    assert set(packed) == {threading.get_ident()}
    assert len(packed) > 30

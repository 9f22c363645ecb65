"""Work on many points, in blocks, by as many threads as torch may use.

Blocks are cut without a look at the number of threads, and each is worked on by one thread with
torch's own threads at one: so the numbers are the same, to the last bit, however many share them.
Threads that wait for each other at every operation, as torch's own do, are slower than one.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch
from torch.autograd import forward_ad

Block = TypeVar("Block")
Result = TypeVar("Result")


@contextmanager
def one_thread() -> Iterator[int]:
    """Within it, torch computes with one thread; says how many it had before."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield threads
        return
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)


def even(count: int, largest: int) -> int:
    """How long blocks of ``count`` points are, none longer than ``largest``.

    One block, or pairs of blocks: two threads then end together.
    """
    if count <= largest:
        return count
    pairs = -(-count // (2 * largest))
    return -(-count // (2 * pairs))


def shared(
    work: Callable[[Block], Result], blocks: Sequence[Block], threads: int
) -> Iterator[Result]:
    """``work`` on each of ``blocks``, in order, up to ``threads`` of them at the same time.

    To be called within `one_thread`. What goes wrong is raised where its block's turn comes, and
    no further block begins then.
    """
    threads = min(threads, len(blocks))
    if threads < 2 or getattr(_here, "sharing", False) or _watched():
        yield from map(work, blocks)
        return
    learning, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    context = contextvars.copy_context()

    def as_here(block: Block) -> Result:
        """``work`` in the caller's state, which threads do not inherit."""
        with torch.inference_mode(inference), torch.set_grad_enabled(learning):
            return context.copy().run(work, block)

    waiting = deque(blocks)
    under_way: deque[Future[Result]] = deque()
    try:
        while waiting or under_way:
            while waiting and len(under_way) < 2 * threads:  # no more results than these wait
                under_way.append(_pool(threads).submit(as_here, waiting.popleft()))
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()
        wait(under_way)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay: new ones would begin with memory that nobody has touched."""
    return ThreadPoolExecutor(threads, "blocks", _settle)


def _settle() -> None:
    """A thread of the pool begins: it computes alone, and shares nothing on."""
    torch.set_num_threads(1)
    _here.sharing = True


_here = threading.local()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of the threads


def _watched() -> bool:
    """Whether anything in this thread alone takes part in torch's operations."""
    return bool(
        torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
        or torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
        or torch.is_autocast_enabled("cpu")
    )

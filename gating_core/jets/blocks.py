"""Work on many points, in blocks, by as many threads as torch may use.

The size of a block does not depend on the number of threads, and each block is computed by one
thread, with one torch thread: so results have the same bits for any number of threads. Torch's own
threads, which wait for each other at every operation, are slower than one.
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
    """Let torch compute with one thread; yields the number of threads before."""
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
    """Return the length of blocks of ``count`` points, ``largest`` at most.

    One block, or an even number of them, so that two threads end together.
    """
    if count <= largest:
        return count
    pairs = -(-count // (2 * largest))
    return -(-count // (2 * pairs))


def shared(
    work: Callable[[Block], Result], blocks: Sequence[Block], threads: int
) -> Iterator[Result]:
    """Apply ``work`` to each of ``blocks``, ``threads`` of them at a time; yield results in order.

    Call it within `one_thread`. An error is raised in its block's position, and no further block
    begins.
    """
    threads = min(threads, len(blocks))
    if threads < 2 or getattr(_here, "sharing", False) or _watched():
        yield from map(work, blocks)
        return
    learning, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    context = contextvars.copy_context()

    def as_here(block: Block) -> Result:
        """Work in the caller's state, which threads do not inherit."""
        with torch.inference_mode(inference), torch.set_grad_enabled(learning):
            return context.copy().run(work, block)

    waiting = deque(blocks)
    under_way: deque[Future[Result]] = deque()
    try:
        while waiting or under_way:
            while waiting and len(under_way) < 2 * threads:
                under_way.append(_pool(threads).submit(as_here, waiting.popleft()))
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()
        wait(under_way)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Create threads that are reused: new ones would begin with untouched memory."""
    return ThreadPoolExecutor(threads, "blocks", _settle)


def _settle() -> None:
    """Initialise a thread of the pool: it computes alone and starts no threads itself."""
    torch.set_num_threads(1)
    _here.sharing = True


_here = threading.local()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process has no threads


def _watched() -> bool:
    """Return whether a mode of this thread alone observes torch's operations."""
    return bool(
        torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
        or torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
        or torch.is_autocast_enabled("cpu")
    )

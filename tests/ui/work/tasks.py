"""Tasks of worker processes in tests."""

import os
import time
from itertools import count

import numpy as np
import torch
from threadpoolctl import threadpool_info

from tests.core import paging
from ui.work.worker import limit_memory

TICK_SECONDS = 0.01


class Unreadable(Exception):
    """An error that can be pickled, and not unpickled."""

    def __init__(self, number, text):
        super().__init__(f"{number}: {text}")


def counting(last=None, name=None):
    """From 0, for ever or to the last one; a moment each. Those of other names are others."""
    for item in count() if last is None else range(last + 1):
        time.sleep(TICK_SECONDS)
        yield item


def noting(path, name, items=3):
    """Write the name at each step: who sees the file knows in which order was computed."""
    for _ in range(items):
        time.sleep(TICK_SECONDS)
        with open(path, "a") as file:
            file.write(f"{name}\n")
        yield name


def noting_and_holding(path, name, go):
    """Write the name, then wait until there is a file."""
    yield from noting(path, name, 1)
    while not go.exists():
        time.sleep(TICK_SECONDS)
        yield None
    yield name


def tenfold(pieces, added):
    for piece in pieces:
        yield None
        yield 10 * piece + added


def identified():
    """The number of this process, again and again."""
    while True:
        time.sleep(TICK_SECONDS)
        yield os.getpid()


def closing(path):
    """Count for ever; say when it is closed."""
    try:
        yield from counting()
    finally:
        with open(path, "a") as file:
            file.write("closed\n")


def holding(path):
    """Yield, then be at one item until there is a file."""
    yield "begun"
    while not path.exists():
        time.sleep(TICK_SECONDS)


def share_cleared():
    """See `paging`."""
    return paging.share_cleared()


def growing(frames):
    """A tuple that grows by an array each time, as a run does."""
    arrays = ()
    for number in range(frames):
        arrays = (*arrays, np.full(1000, float(number)))
        yield arrays
        yield None


def returning(number):
    """Yield often, return at the end."""
    yield None
    yield None
    return number + 1


def adding(one, other):
    return one + other


def process():
    return os.getpid()


def threads():
    """How many threads torch and each of BLAS and OpenMP may use."""
    return [torch.get_num_threads(), *(x["num_threads"] for x in threadpool_info())]


def failing(error, items=1):
    yield from range(items)
    if error == "unreadable":
        raise Unreadable(7, "cannot travel")
    raise {"zero": ZeroDivisionError, "value": ValueError}[error]("the count went astray")


def talking():
    """Print, as libraries do."""
    print("a word")
    os.write(1, b"another one\n")
    yield "item"


def hoarding():
    """Take more and more memory; of less than a worker may have, as that takes long."""
    limit_memory(50_000_000)
    return [np.ones(1_000_000) for _ in range(100)]


def hoarding_tensors():
    """The same of torch."""
    limit_memory(50_000_000)
    return torch.ones(100_000_000)


def dying():
    """End the process, as the kernel does when memory is short."""
    yield "kept"
    os.kill(os.getpid(), 9)

"""Memory that a process frees goes back to the system, also between blocks in use."""

import subprocess
import sys

import pytest

from tests.ui.opening import ROOT

# Three quarters of many small arrays go, in one process that looks often and one that never does.
FREES = """
import os, time
wait = time.sleep
time.sleep = lambda seconds: wait({seconds})
from ui.work import runtime
import numpy as np

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

before = resident()
arrays = [np.ones(1000) for _ in range(24000)]
full = resident()
arrays = arrays[::4]
wait(1)
print((resident() - before) / (full - before))
"""


def shares_held(*seconds):
    """The shares of memory that processes hold, of which a quarter is in use, by pause."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FREES.format(seconds=each)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for each in seconds
    ]
    return [float(process.communicate(timeout=120)[0]) for process in processes]


@pytest.mark.soak  # long
def test_freed_memory_goes_back_to_the_system():
    often, never = shares_held(0.1, 1000)
    assert often < 0.5 < 0.9 < never

"""Memory that a process frees goes back to the system, also between blocks in use."""

import subprocess
import sys

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


def share_held(seconds):
    """Return the share of the memory that a process holds, of which a quarter is in use."""
    process = subprocess.run(
        [sys.executable, "-c", FREES.format(seconds=seconds)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return float(process.stdout)


def test_freed_memory_goes_back_to_the_system():
    assert share_held(0.1) < 0.5 < 0.9 < share_held(1000)

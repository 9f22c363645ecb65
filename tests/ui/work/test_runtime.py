"""Does a process give back what it has freed, also where it lies between what is kept?"""

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


def share_kept(seconds):
    """How much of the memory a process holds, of which a quarter is in use."""
    found = subprocess.run(
        [sys.executable, "-c", FREES.format(seconds=seconds)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return float(found.stdout)


def test_what_is_freed_between_what_is_kept_goes_back_to_the_system():
    assert share_kept(0.1) < 0.5 < 0.9 < share_kept(1000)

"""Freed memory is at hand for the next arrays, and large blocks go back at once."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from gating_core import process

ROOT = Path(__file__).resolve().parents[2]
# In a process of its own: what is told to the allocator holds until its end.
TELLS = """
import os
import numpy as np
from tests.core.paging import share_cleared

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

before = share_cleared()  # before imports: freeing a large block moves glibc's thresholds
from gating_core.process import LARGE_BYTES, keep_at_hand
keep_at_hand()
after = share_cleared()
held = resident()
large = [np.ones(2 * LARGE_BYTES, dtype=np.uint8) for _ in range(50)]
grown = resident() - held
del large
print(before, after, (resident() - held) / grown)
"""


@pytest.mark.soak
def test_pages_are_cleared_once_and_what_is_large_goes_back():
    found = subprocess.run(
        [sys.executable, "-c", TELLS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    before, after, kept = map(float, found.stdout.split())
    assert after < 0.1 < 0.5 < before
    assert kept < 0.1


@pytest.mark.parametrize("error", process.OTHER_ALLOCATOR)
def test_another_allocator_is_left_alone(monkeypatch, error):
    def refuse(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    process.keep_at_hand()

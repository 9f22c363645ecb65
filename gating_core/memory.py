"""The allocator of a process that computes: freed memory is kept for the next array."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as in malloc.h
LARGE_BYTES = 1_000_000  # of an array that is mapped by itself: larger than those of jets
AT_HAND_BYTES = 32_000_000  # of freed memory that is kept: more than a block of jets needs
OTHER_ALLOCATOR = OSError, AttributeError, TypeError  # raised where there is no GNU allocator


def keep_at_hand() -> None:
    """Tell the GNU allocator to keep freed memory; other allocators stay as they are.

    By default it returns much of it to the system, which clears every page before it is used
    again. That costs a sixth of the time of measuring curvature along a run, and more than half
    where every array is mapped by itself.
    """
    with suppress(*OTHER_ALLOCATOR):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(M_TRIM_THRESHOLD, AT_HAND_BYTES)

"""How does a process that computes come to memory? What it has freed it keeps at hand."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as in malloc.h
LARGE_BYTES = 1_000_000  # of an array that gets a place of its own: none of a block of jets
AT_HAND_BYTES = 32_000_000  # such a block comes and goes within less
OTHER_ALLOCATOR = OSError, AttributeError, TypeError  # these say so


def keep_at_hand() -> None:
    """From here on this process makes arrays more often than it keeps them.

    The GNU allocator would give much of it back to the system, which clears every page before it
    hands it out again: a sixth of the time that curvature along a run takes, and more than half
    of it where every array has a place of its own. Other allocators stay as they are.
    """
    with suppress(*OTHER_ALLOCATOR):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(M_TRIM_THRESHOLD, AT_HAND_BYTES)

"""How often the system has to clear a page, while arrays come and go."""

import resource

import numpy as np

ROUNDS, AT_ONCE, SIZE = 20, 8, 500_000  # bytes of each array
PAGES = ROUNDS * AT_ONCE * SIZE / resource.getpagesize()  # that are written to


def share_cleared():
    """Of all pages that are written to."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(ROUNDS):
        arrays = [np.ones(SIZE, dtype=np.uint8) for _ in range(AT_ONCE)]
        del arrays
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / PAGES

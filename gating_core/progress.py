"""Progress of long computations: a callback between their parts, which may also cancel them.

    def progress(share):
        if window.closed:
            raise Cancelled

    run = train(setting, progress=progress)

The share done is 0 to 1, or ``None`` where it is not known.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float | None], None]


class Cancelled(Exception):
    """Raised by a progress callback to end the computation that calls it."""


def silent(share: float | None) -> None:
    """Report to nobody."""

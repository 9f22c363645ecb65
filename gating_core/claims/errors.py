"""Errors of a study that its owner can do something about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Refused(ValueError):
    """A store that cannot be used; the message says why, and what can be done."""


class Unreachable(ConnectionError):
    """No scheduler answers at an address, or no workers start on this machine."""


@contextmanager
def extra_packages() -> Iterator[None]:
    """Import what only the study needs; ``ImportError`` says how to install what is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the study needs the package {error.name}, which is not installed:"
            ' pip install "gating-curvature[claims]"'
        ) from error

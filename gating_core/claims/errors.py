"""Errors of a study that its owner can do something about."""

from __future__ import annotations


class Refused(ValueError):
    """A store that cannot be used; the message says why, and what can be done."""


class Unreachable(ConnectionError):
    """No scheduler answers at an address, or no workers start on this machine."""

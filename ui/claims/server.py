"""The settings of this server: the file of its study, and the schedulers that it may use.

Whoever starts the server gives both as environment variables. A Dask scheduler can make
whoever connects to it do anything: so a page connects only to those of this machine, and to those
that are named there.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

from gating_core.claims import default_path

STORE, SCHEDULERS = "GATING_CLAIMS_STORE", "GATING_CLAIMS_SCHEDULERS"
ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})")
OWN_HOSTS = ("localhost", "127.0.0.1", "[::1]")
ANSWER_SECONDS = 2.0  # for anybody at an address to take a connection


def store_path() -> Path:
    """Return the file, which may not exist."""
    text = os.environ.get(STORE)
    return Path(text).expanduser().absolute() if text else default_path()


def scheduler_trouble(address: str) -> str:
    """Say why the study may not run on the scheduler at ``address``; empty: it may."""
    match = ADDRESS.fullmatch(address)
    if match is None or int(match[2]) > 65_535:
        return "A scheduler's address is a host and a port, as in tcp://127.0.0.1:8786."
    named = [each.strip() for each in os.environ.get(SCHEDULERS, "").split(",")]
    if match[1] in OWN_HOSTS or address in named:
        return ""
    return (
        "Whoever connects to a scheduler runs its code. So this page uses only those of this"
        f" machine, and those that the variable {SCHEDULERS} names when the server starts."
    )


def silence_trouble(address: str) -> str:
    """Say that nothing answers at ``address``; empty: something does.

    Tried before the study starts, which takes seconds to notice the same.
    """
    match = ADDRESS.fullmatch(address)
    assert match is not None  # else there is a `scheduler_trouble`
    try:
        with socket.create_connection((match[1].strip("[]"), int(match[2])), ANSWER_SECONDS):
            return ""
    except OSError:
        return (
            f"Nobody answers at {address}: start a Dask scheduler there, or leave the field empty."
        )

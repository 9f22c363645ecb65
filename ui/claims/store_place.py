"""Where does this server keep its study, and on which schedulers may it run?

Both are for whoever starts the server to say, as environment variables. A Dask scheduler can make
whoever connects to it do anything: so a page connects only to those of this machine, and to those
that are named there.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

from gating_core.claims import default_place

PLACE, SCHEDULERS = "GATING_CLAIMS_STORE", "GATING_CLAIMS_SCHEDULERS"
ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})")
OWN_HOSTS = ("localhost", "127.0.0.1", "[::1]")
ANSWER_SECONDS = 2.0  # for anybody at an address to take a connection


def store_place() -> Path:
    """The file, which need not be there."""
    said = os.environ.get(PLACE)
    return Path(said).expanduser().absolute() if said else default_place()


def scheduler_trouble(address: str) -> str:
    """Why the study may not run on the scheduler at ``address``, in a sentence; empty: it may."""
    found = ADDRESS.fullmatch(address)
    if found is None or int(found[2]) > 65_535:
        return "A scheduler's address is a host and a port, as in tcp://127.0.0.1:8786."
    named = [each.strip() for each in os.environ.get(SCHEDULERS, "").split(",")]
    if found[1] in OWN_HOSTS or address in named:
        return ""
    return (
        "A scheduler can make whoever connects to it do anything, so this page uses those of this"
        f" machine, and those that the variable {SCHEDULERS} names where the server is started."
    )


def silence_trouble(address: str) -> str:
    """Why a study need not be sent to ``address``, in a sentence: nobody is there; empty: somebody.

    Asked before the study starts, which takes seconds to find out the same.
    """
    found = ADDRESS.fullmatch(address)
    assert found is not None  # else there is a `scheduler_trouble`
    try:
        with socket.create_connection((found[1].strip("[]"), int(found[2])), ANSWER_SECONDS):
            return ""
    except OSError:
        return (
            f"Nobody answers at {address}: start a Dask scheduler there, or leave the field empty."
        )

"""Which code have a row's numbers come from?

A hash over the sources that decide numbers, not a constant that somebody must remember to raise: a
comment changed there costs a study of minutes, a constant forgotten would mix numbers of two
programs under one key. Sources that store, show and start are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

PACKAGE = "gating_core"
DECIDING = (  # folders and files of the package
    "attention",
    "checks.py",
    "claims/measuring.py",
    "claims/remote.py",
    "claims/rows.py",
    "claims/training.py",
    "claims/units.py",
    "experiments/budget.py",
    "experiments/comparison/run.py",
    "experiments/comparison/setting.py",
    "experiments/comparison/variants.py",
    "experiments/depth",
    "geometry",
    "jets",
    "pauses.py",
    "points_last.py",
    "randomness.py",
    "tasks",
    "training",
)
DIGITS = 12  # of the hash: two of a million versions are alike once in hundreds of millions


@cache
def code_version() -> str:
    """Twelve hexadecimal digits: the same on every machine, whatever its line endings."""
    digest = hashlib.sha256()
    for name, source in sorted(deciding_sources()):
        text = source.read_text(encoding="utf-8")  # with universal newlines
        digest.update(f"{name}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()[:DIGITS]


def deciding_sources() -> Iterator[tuple[str, Traversable]]:
    """Every source that decides numbers, by its path within the package; also from a zip."""
    root = files(PACKAGE)
    for name in DECIDING:
        place = root
        for part in name.split("/"):
            place = place / part
        yield from _sources(name, place)


def _sources(name: str, place: Traversable) -> Iterator[tuple[str, Traversable]]:
    if place.is_file():
        yield name, place
        return
    for entry in place.iterdir():
        if entry.is_dir() or entry.name.endswith(".py"):
            yield from _sources(f"{name}/{entry.name}", entry)

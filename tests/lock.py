"""requirements.lock: what pip had installed, all of it, when the tests passed.

python -m tests.lock > requirements.lock
"""

import re
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# Every package that the app runs with, in the versions that the tests saw: `make lock`."


def named(name: str = "requirements.txt") -> dict[str, Requirement]:
    """The lines of a list of requirements, by name."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [Requirement(line.partition("#")[0]) for line in lines if re.match(r"\w", line)]
    return {canonicalize_name(each.name): each for each in found}


def locked() -> dict[str, str]:
    """Versions that are installed here of what is named, and of what that needs."""
    waiting = [(name, frozenset(each.extras)) for name, each in named().items()]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for need in map(Requirement, requires(name) or ()):
            marker = need.marker
            if not marker or any(marker.evaluate({"extra": x}) for x in ("", *extras)):
                waiting.append((canonicalize_name(need.name), frozenset(need.extras)))
    # Without "+cpu", which says from where, not what.
    return {name: Version(version(name)).public for name in sorted({name for name, _ in seen})}


if __name__ == "__main__":
    print(HEAD, *(f"{name}=={found}" for name, found in locked().items()), sep="\n")

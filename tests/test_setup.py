"""Requirements are pinned, and the container runs the app without rights."""

import ast
import shlex
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.lock import locked, named
from tests.test_boundaries import SOURCES

ROOT = Path(__file__).resolve().parent.parent
OF_CUDA = ("cuda", "nvidia", "triton")  # which torch brings along on some systems
LISTS = ("requirements.txt", "tests/requirements.txt")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
STEPS = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and line[0] != "#"]


OPTIONAL = {"transformers"}


@pytest.mark.parametrize("name", LISTS)
def test_every_requirement_is_pinned_and_installed(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [line.partition("  # ")[0] for line in lines if line and line[0] not in "#-"]
    assert pins
    for pin in map(Requirement, pins):
        (exact,) = pin.specifier
        assert exact.operator == "=="
        assert pin.specifier.contains(version(pin.name)), pin


def test_what_the_app_imports_is_named():
    """And not only brought along by something else, which may stop to; transformers is optional."""
    trees = [ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES]
    nodes = [node for tree in trees for node in tree]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    roots = {name.partition(".")[0] for name in names} - {"", "ui", "gating_core", "app"}
    places = packages_distributions()
    needed = [places.get(root, [root]) for root in roots - sys.stdlib_module_names - OPTIONAL]
    assert [each for each in needed if not {*map(canonicalize_name, each)} & {*named()}] == []


def test_the_lock_is_what_these_tests_see():
    """What only other systems have is not looked at."""
    lock = named("requirements.lock")
    assert {name: each.specifier for name, each in named().items()}.items() <= {
        name: each.specifier for name, each in lock.items()
    }.items()
    here = {name: Version(found) for name, found in locked().items()}
    both = here.keys() & lock.keys()
    assert not {name for name in both if here[name] not in lock[name].specifier}
    assert here.keys() - lock.keys() <= {name for name in here if name.startswith(OF_CUDA)}


def arguments(step):
    """The last step of this kind, and where it stands."""
    place = max(place for place, (kind, _) in enumerate(STEPS) if kind == step)
    return place, STEPS[place][1]


def test_the_container_serves_as_a_user_without_rights():
    place, user = arguments("USER")
    assert user not in ("root", "0")
    assert place < arguments("CMD")[0]
    assert all(kind not in ("RUN", "COPY") for kind, _ in STEPS[place:])  # the rest is not theirs
    assert "10001" in arguments("RUN")[1]


def test_the_container_binds_to_all_addresses_and_the_folder_does_not():
    """What a container shows to the world is decided where it is run."""
    words = shlex.split(arguments("CMD")[1].strip("[]").replace(",", " "))
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert (words[:3], options["--server.address"]) == (["streamlit", "run", "app.py"], "0.0.0.0")
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert settings["server"]["address"] == "127.0.0.1"


def test_the_image_has_what_the_app_runs_with_and_nothing_else():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    included = {line[1:] for line in lines if line.startswith("!")}
    packages = {"app.py", "pages", "ui", "gating_core", "assets", "requirements.txt",
                "requirements.lock", ".streamlit",
                "CITATION.cff"}  # fmt: skip
    assert "*" in lines
    assert packages <= included <= packages | {"LICENSE"}
    assert all((ROOT / name).exists() for name in included)

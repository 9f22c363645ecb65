"""Is every requirement pinned for a reason, and does the container run the app without rights?"""

import fnmatch
import re
import shlex
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LISTS = ("requirements.txt", "tests/requirements.txt")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
STEPS = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("name", LISTS)
def test_every_requirement_is_pinned_and_says_why(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line and line[0] not in "#-"]
    assert len(found) > 8
    for line in found:
        pin, _, why = line.partition("  # ")
        (version,) = Requirement(pin).specifier
        assert version.operator == "==", line
        assert len(why) > 10, line
    names = [line.split("==")[0] for line in found]
    assert names == sorted(names, key=str.lower)


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
    """What a container shows to the world is said where it is run."""
    words = shlex.split(arguments("CMD")[1].strip("[]").replace(",", " "))
    assert words[:3] == ["streamlit", "run", "app.py"]
    assert words[words.index("--server.address") + 1] == "0.0.0.0"
    assert 'address = "127.0.0.1"' in (ROOT / ".streamlit" / "config.toml").read_text("utf-8")
    assert "/_stcore/health" in arguments("HEALTHCHECK")[1]
    (run,) = re.findall(r"docker run (.*)`", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert "127.0.0.1:8501:8501" in run
    assert "--read-only" in run


def test_the_image_has_what_the_app_runs_with_and_nothing_else():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "*"
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert {
        "app.py",
        "pages",
        "ui",
        "gating_core",
        "assets",
        "requirements.txt",
        ".streamlit",
    } <= kept
    assert all((ROOT / name).exists() for name in kept)
    assert not [
        name for name in kept if fnmatch.fnmatch(name, "*.git*") or name in (".venv", "tests")
    ]

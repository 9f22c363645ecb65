"""Does the page's study run as a process of its own, and is any study that writes the store seen?

Most processes here are stand-ins that do what a test needs.
"""

import os
import signal
import subprocess
import sys

import pytest

from gating_core.claims import Store, default_path
from tests.clusters import wait_until
from ui.claims import study
from ui.claims.shared import STORE, store_path
from ui.claims.study import Status, look, start

TOLD = {"done": 3, "total": 8}
SLEEPS = "import time; time.sleep(300)"
WRITES = """
import sys, time
from pathlib import Path
from gating_core.claims import Store
with Store(Path(sys.argv[-1])) as store:
    store.write((), {"done": 3, "total": 8})
    time.sleep(300)
"""


@pytest.fixture
def says(monkeypatch):
    """Let the study be a program of a few lines; call it with these."""
    popen, made = subprocess.Popen, []

    def use(code):
        def begin(command, **more):
            made.append(popen((sys.executable, "-c", code, *command[1:]), **more))
            return made[-1]

        monkeypatch.setattr(study.subprocess, "Popen", begin)
        return made

    monkeypatch.setattr(study, "_started", [])
    yield use
    for child in made:
        child.kill()
        child.wait()


def test_there_is_none_at_first_and_the_place_of_the_store_is_named(store, monkeypatch):
    assert look(store) == Status(False)
    assert store_path() == store
    monkeypatch.delenv(STORE)
    assert store_path() == default_path()


@pytest.mark.parametrize("folder", ["missing", "a file"])
def test_without_a_folder_for_temporary_files_it_is_a_sentence(
    store, monkeypatch, tmp_path, folder
):
    (tmp_path / "a file").touch()
    monkeypatch.setattr(study.tempfile, "_candidate_tempdir_list", lambda: [tmp_path / folder])
    monkeypatch.setattr(study.tempfile, "tempdir", None)
    assert start(store).startswith("The study cannot be started: this server may write no temp")
    assert not look(store).runs


def test_it_starts_tells_how_far_it_is_and_is_one_at_a_time(store, says):
    made = says(WRITES)
    assert start(store) == ""
    assert look(store).runs
    assert "already" in start(store)
    wait_until(lambda: look(store).progress)
    assert look(store) == Status(True, TOLD)
    made[0].kill()
    made[0].wait()
    assert look(store) == Status(False, TOLD, "The study has ended: its process was ended.")
    assert start(store) == ""  # and goes on


def test_pages_go_first(store, says):
    made = says(SLEEPS)
    start(store)
    process = study.psutil.Process(made[0].pid)
    assert process.nice() >= study.LOWER_PRIORITY > 0
    assert os.getsid(process.pid) == os.getsid(0)  # else Linux does not compare their niceness
    assert os.getpgid(process.pid) == process.pid  # Ctrl-C is the server's


def test_a_study_that_somebody_else_has_started_is_seen_and_left_alone(store):
    with Store(store) as opened:
        opened.write((), TOLD)
        assert look(store) == Status(True, TOLD)
        assert "already" in start(store)
    assert look(store) == Status(False, TOLD)


@pytest.mark.parametrize(("code", "said"), [
    ("import sys; sys.exit('a warning\\nx.sqlite is damaged; it was left as it is')",
     "The study has ended: x.sqlite is damaged; it was left as it is."),
    (f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})",
     "The study has ended: its process was ended."),
    ("print('whatever')", ""),
])  # fmt: skip
def test_why_it_has_failed_is_its_last_sentence(store, says, code, said):
    made = says(code)
    start(store)
    made[0].wait()
    assert look(store) == Status(False, {}, said)


def test_a_file_that_is_no_store_has_no_progress_and_no_study(store):
    store.write_text("something else")
    found = look(store)
    assert (found.runs, found.progress) == (False, {})
    assert "no store of a study; it was left as it is: name another file" in found.trouble


@pytest.mark.soak  # half a minute of trainings
def test_the_real_study_runs_to_its_end(store, monkeypatch):
    monkeypatch.setattr(study, "_started", [])
    assert start(store) == ""
    wait_until(lambda: not look(store).runs)
    assert look(store).trouble == ""
    assert look(store).progress["complete"]

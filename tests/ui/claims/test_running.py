"""Does the server's study outlive tabs and servers, stop on request, and say why it ended?

Most processes here are stand-ins that say what the command line would.
"""

import json
import os
import subprocess
import sys
import time

import pytest

from gating_core.claims import Store
from ui.claims import running
from ui.claims.running import StudyState, look, start, stop

SECONDS = 60
LINE = json.dumps({"done": 3, "total": 8, "seconds_left": 61.5, "complete": False, "failures": [],
                   "workers": 0})  # fmt: skip
DONE = json.dumps({"done": 8, "total": 8, "seconds_left": 0.0, "complete": True, "failures": []})
SLEEPS = "import signal, time; signal.signal(signal.SIGTERM, signal.default_int_handler)\n" \
         f"print('{LINE}', flush=True)\ntry: time.sleep(100)\n" \
         "except KeyboardInterrupt: raise SystemExit(130)"  # fmt: skip


@pytest.fixture
def says(monkeypatch):
    """Let the study be a program of a few lines."""
    popen, made = subprocess.Popen, []

    def use(code):
        def begin(command, **more):
            made.append(popen((sys.executable, "-c", code, *command[1:]), **more))
            return made[-1]

        monkeypatch.setattr(running.subprocess, "Popen", begin)

    yield use
    for child in made:
        child.kill()
        child.wait()


def awaited(store, wanted, seconds=SECONDS):
    """The status once it is ``wanted``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look(store)
        if wanted(found):
            return found
        time.sleep(0.02)
    raise AssertionError(f"it is still {look(store)}")


def test_there_is_none_at_first(store):
    assert look(store).state == StudyState.NONE


def test_it_tells_how_far_it_is_and_is_paused(store, says):
    says(SLEEPS)
    assert start(("--quick",), "somebody", store) == ""
    found = awaited(store, lambda x: x.done)
    assert (found.state, found.done, found.total) == (StudyState.RUNNING, 3, 8)
    assert found.workers == 0
    assert (found.seconds_left, found.options, found.owner) == (61.5, ("--quick",), "somebody")
    stop(store, StudyState.PAUSED)
    assert awaited(store, lambda x: not x.lives).state == StudyState.PAUSED


def test_a_stranger_with_the_number_of_a_stopped_study_is_left_alone(store):
    """The number, which is that of its group, too, was given to somebody else."""
    stranger = subprocess.Popen(
        (sys.executable, "-c", "import time; time.sleep(100)"), start_new_session=True
    )
    try:
        before = running.psutil.Process(stranger.pid).create_time() - 3600
        record = running.Record(stranger.pid, before, (), "somebody", "paused", time.monotonic())
        running._write(store, record)
        assert look(store).state == StudyState.PAUSED
        stop(store, StudyState.CANCELLED)
        with pytest.raises(subprocess.TimeoutExpired):
            stranger.wait(0.5)
    finally:
        stranger.kill()
        stranger.wait()


def test_it_is_asked_to_stop_and_may_do_what_it_must(store, says):
    """As the command line does, which ends its workers."""
    says(
        "import signal, time; signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        f"print('{LINE}', flush=True)\ntry: time.sleep(100)\n"
        f"except KeyboardInterrupt: print('{LINE}'.replace('3', '5', 1), flush=True)"
    )
    start(("--quick",), "somebody", store)
    awaited(store, lambda x: x.done)
    stop(store, StudyState.PAUSED)
    assert awaited(store, lambda x: not x.lives).done == 5


def test_pages_go_first(store, says):
    says(SLEEPS)
    start(("--quick",), "somebody", store)
    process = running.psutil.Process(running._read(store).pid)
    assert process.nice() >= running.LOWER_PRIORITY > 0
    assert os.getsid(process.pid) == os.getsid(0)  # else Linux does not compare their niceness
    assert os.getpgid(process.pid) == process.pid  # Ctrl-C is the server's


def test_there_is_one_at_a_time(store, says):
    says(SLEEPS)
    assert start(("--quick",), "somebody", store) == ""
    assert "already" in start(("--full",), "another", store)
    assert look(store).options == ("--quick",)
    stop(store, StudyState.CANCELLED)
    assert awaited(store, lambda x: not x.lives).state == StudyState.CANCELLED
    assert start(("--full",), "another", store) == ""


def test_a_server_that_knows_no_children_finds_it(store, says, monkeypatch):
    says(SLEEPS)
    start(("--quick",), "somebody", store)
    monkeypatch.setattr(running, "_children", [])
    assert awaited(store, lambda x: x.done).state == StudyState.RUNNING


def test_it_is_complete_whatever_was_said_beside(store, says):
    says(f"import sys; sys.stderr.write('a warning\\n'); print('{DONE}')")
    start(("--quick",), "somebody", store)
    assert awaited(store, lambda x: not x.lives).state == StudyState.COMPLETE


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('x.sqlite is damaged; it was left as it is')", "is damaged"),
        ("import os; os.kill(os.getpid(), 9)", "ended from outside"),
        (f"print('{LINE}'.replace('[]', '[\"xor: lost\"]'))", "1 of its units could not be done"),
    ],
)
def test_an_end_before_the_end_is_a_sentence(store, says, code, said):
    says(code)
    start(("--quick",), "somebody", store)
    found = awaited(store, lambda x: not x.lives)
    assert found.state == StudyState.ENDED
    assert said in found.trouble


def test_a_process_that_has_our_number_by_chance_is_left_alone(store, says, monkeypatch):
    says(SLEEPS)
    start(("--quick",), "somebody", store)
    path = running._beside(store, "json")
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"began": record["began"] - 3600}))
    ended = []
    for name in ("kill", "terminate"):
        monkeypatch.setattr(running.psutil.Process, name, ended.append)
    stop(store, StudyState.CANCELLED)
    assert not ended
    assert not look(store).lives


def test_another_program_that_began_at_the_same_time_is_left_alone(store, monkeypatch):
    own = running.psutil.Process(os.getpid())
    record = running.Record(own.pid, own.create_time(), (), "somebody")
    running._write(store, record)
    assert not look(store).lives


def test_a_process_that_has_no_words_yet_is_ours(store, says, monkeypatch):
    """As Linux shows it between its start and its first step."""
    says(SLEEPS)
    start(("--quick",), "somebody", store)
    monkeypatch.setattr(running.psutil.Process, "cmdline", lambda process: [])
    assert look(store).state == StudyState.RUNNING


def test_who_does_not_listen_is_killed_after_a_while(store, says, monkeypatch):
    says("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         f"print('{LINE}', flush=True); time.sleep(100)")  # fmt: skip
    start(("--quick",), "somebody", store)
    awaited(store, lambda x: x.done)
    stop(store, StudyState.PAUSED)
    assert look(store).state == StudyState.STOPPING
    monkeypatch.setattr(running, "STOP_SECONDS", 0.0)
    assert awaited(store, lambda x: not x.lives).state == StudyState.PAUSED


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "options": []}',
     '{"pid": -1, "began": 0, "options": [], "owner": ""}'],
)  # fmt: skip
def test_a_record_that_is_none_of_ours_is_none(store, text):
    running._beside(store, "json").write_text(text)
    assert look(store).state == StudyState.NONE
    stop(store, StudyState.CANCELLED)


def test_where_nothing_can_be_written_nothing_starts(tmp_path):
    said = start(("--quick",), "somebody", tmp_path / "no folder" / "claims.sqlite")
    assert said.endswith(": No such file or directory.")


@pytest.mark.soak  # half a minute of trainings
def test_the_real_study_stops_and_goes_on_without_a_row_twice(store):
    """The command line itself, on a small selection."""
    options = ("--tasks", "linear", "--variants", "ungated,sigmoid", "--parts", "base,stacks",
               "--seeds", "2", "--steps", "20")  # fmt: skip
    assert start(options, "somebody", store) == ""
    awaited(store, lambda x: x.total)
    stop(store, StudyState.PAUSED)
    paused = awaited(store, lambda x: not x.lives)
    assert paused.state in (StudyState.PAUSED, StudyState.COMPLETE)
    assert start(paused.options, "another", store) == ""
    found = awaited(store, lambda x: not x.lives, 5 * SECONDS)
    assert found.state == StudyState.COMPLETE, found.trouble
    with Store(store, readable=True) as opened:
        assert opened.counts() == {"models": 4, "stacks": 32}
        assert found.done == found.total == 36

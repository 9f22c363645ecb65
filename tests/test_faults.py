"""Faults around the app: it shows a clear sentence, or goes on."""

import ast
import re
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.each import each
from tests.served import ROOT, ask, command
from tests.tab import Tab, visited
from tests.test_boundaries import SOURCES, dotted
from ui.limits import RETURN_SECONDS
from ui.work.jobs import Job, State

EXIT_SECONDS = 60
VIEW, PAIR = "pair_view", "picture=two+models"  # and the link of the page that draws it


def shown(tab: Tab) -> tuple[list[str], str, bytes]:
    """What a page shows: its troubles, the id of its session, and the picture's message."""
    return tab.page.troubles, tab.session_id, tab.page.widget(VIEW).message.bytes


# --- The server -----------------------------------------------------------------------------------


def test_a_port_in_use_is_reported_and_nothing_starts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            command(ROOT, port), cwd=ROOT, capture_output=True, text=True, timeout=EXIT_SECONDS
        )
    assert done.returncode == 1
    assert f"Port {port} is not available" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.soak  # long
def test_two_tabs_of_one_visitor_do_not_know_each_other(server):
    links = (f"task=xor&{PAIR}", f"task=moons&{PAIR}")
    alone = [visited(server.url, shown, link) for link in links]
    with ThreadPoolExecutor(2) as threads:
        beside = list(threads.map(lambda link: visited(server.url, shown, link), links))
    tasks = [view for _, _, view in alone]
    assert tasks[0] != tasks[1]
    assert tasks == [view for _, _, view in beside]
    assert [troubles for troubles, _, _ in alone + beside] == [[]] * 4
    assert len({session for _, session, _ in alone + beside}) == 4


def test_a_training_whose_visitor_has_left_ends(server):
    """Whoever comes back soon still finds it."""
    visited(server.url, shown_jobs, "steps=4000&seeds=12", page="Decision_boundary")
    left = time.monotonic()
    while '"outcome": "cancelled"' not in server.output():
        assert time.monotonic() < left + EXIT_SECONDS
        time.sleep(0.1)
    assert time.monotonic() > left + RETURN_SECONDS - 1


def shown_jobs(tab: Tab) -> None:
    assert any(x.startswith("Training on") for x in (*tab.page.texts, *tab.page.progress))


# --- The clock and the network --------------------------------------------------------------------

CLOCKS = {
    "time.time",
    "time.localtime",
    "time.gmtime",
    "datetime.now",
    "datetime.datetime.now",
    "datetime.utcnow",
    "date.today",
}


def clocks_read(source: str) -> set[str]:
    """The clocks of `CLOCKS` that the source reads."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return {dotted(func) for func in calls} & CLOCKS


@each(SOURCES)
def test_no_code_reads_a_clock_that_can_be_set(path):
    read = clocks_read(path.read_text(encoding="utf-8"))
    assert not read or path.name in ("share.py", "take_along.py")  # the day is the calendar's


def test_a_clock_that_jumps_changes_no_job(monkeypatch):
    jumps = iter([0.0, 1e10, -1e10, 5.0] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    job = Job("count", (5,), lambda last: (each for each in range(last)))
    job.start()
    job.join(EXIT_SECONDS)
    assert job.over
    assert job.state is State.DONE
    assert job.results == {5: 4}
    assert 0 <= job.elapsed < EXIT_SECONDS


def test_a_browser_fetches_everything_from_the_server(server):
    _, body, _ = ask(server.url, "GET", "/")
    links = re.findall(r'(?:src|href)="([^"]*)"', body.decode())
    assert links
    assert not [link for link in links if re.match(r"[a-z]+:|//", link)]
    assert visited(server.url, shown, PAIR)[0] == []

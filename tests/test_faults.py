"""What becomes of the app where something round it fails: a clear sentence, or it goes on?"""

import ast
import errno
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import plotly
import pytest

from tests.browser.serving import free_port
from tests.served import ROOT, ask, command, errors, heard, session_of, started, visit
from tests.test_boundaries import SOURCES, named
from tests.ui.opening import component, open_page
from ui.common.page import PAGES
from ui.components import plotly_js, view3d
from ui.foreign import as_words
from ui.work.job import Job, State

PARTS = ("app.py", "pages", "ui", "gating_core", "assets", ".streamlit")
EXIT_SECONDS = 60
SMALL_DISK = "1m"  # less than plotly.js
VIEW = "pair_view"


@pytest.fixture
def copied(tmp_path):
    """The app in a folder of its own, whose ``static/`` may be damaged."""
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "static").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def server():
    with started() as found:
        yield found


def drawn(socket) -> tuple[list[str], list[str], bytes]:
    """What one script run shows: exceptions, red boxes, and what the linked view was sent."""
    elements = [m.delta.new_element for m in heard(socket) if m.WhichOneof("type") == "delta"]
    exceptions = [e.exception.message for e in elements if e.WhichOneof("type") == "exception"]
    boxes = [e.alert.body for e in elements if e.WhichOneof("type") == "alert"]
    views = [e.bidi_component.bytes for e in elements if e.WhichOneof("type") == "bidi_component"]
    return exceptions, boxes, b"".join(views)


# --- The server -----------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_said_and_nothing_starts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(command(ROOT, port), cwd=ROOT, capture_output=True, text=True,
                              timeout=EXIT_SECONDS)  # fmt: skip
    assert done.returncode == 1
    assert f"Port {port} is not available" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_make_app_shows_what_the_server_says():
    """Nothing is put between them that could hide its words or its exit status."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").split("\napp: ")[1].splitlines()
    assert lines[1].strip() == "$(BIN)/streamlit run app.py"


def test_a_server_that_was_killed_serves_again_with_its_folder_whole(copied):
    port, name = free_port(), f"plotly-{plotly.__version__}.min.js"
    whole = plotly_js.PLOTLY_SOURCE.read_bytes()
    with started(copied, port) as first, visit(port) as visitor:
        assert drawn(visitor)[:2] == ([], [])
        first.kill()
    (copied / "static" / name).write_bytes(whole[:1000])  # as if it had been copied in place
    with started(copied, port), visit(port) as visitor:
        assert drawn(visitor)[:2] == ([], [])
        assert ask(port, "GET", f"/app/static/{name}")[1] == whole
    assert [path.name for path in (copied / "static").iterdir()] == [name]


def test_two_tabs_of_one_visitor_do_not_know_each_other(server):
    alone = []
    for task in ("xor", "moons"):
        with visit(server.port, f"task={task}") as tab:
            alone.append(drawn(tab))
    assert alone[0] != alone[1]
    assert alone[0][:2] == ([], [])
    with visit(server.port, "task=xor") as one, visit(server.port, "task=moons") as other:
        assert [drawn(one), drawn(other)] == alone
    with visit(server.port) as one, visit(server.port) as other:
        assert session_of(one) != session_of(other)


# --- The disk -------------------------------------------------------------------------------------


def not_written(code):
    """What is said on such a disk."""
    return view3d.NOT_WRITTEN.format(as_words(os.strerror(code)))


def cannot(code):
    """Writing that fails as on such a disk, after some of it was done."""

    def copyfile(source, target):
        Path(target).write_bytes(b"some of it")
        raise OSError(code, os.strerror(code), str(target))

    return copyfile


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("page", ["app.py", "pages/1_Manifold.py"])
def test_where_static_cannot_be_written_a_sentence_says_so(monkeypatch, tmp_path, code, page):
    monkeypatch.setattr(plotly_js, "STATIC", tmp_path / "static")
    monkeypatch.setattr(plotly_js.shutil, "copyfile", cannot(code))
    app = open_page(page)
    assert not app.exception
    assert [box.value for box in app.error] == [not_written(code)]
    assert not list((tmp_path / "static").iterdir())  # a full disk is not kept full
    assert app.title  # the rest of the page is there
    monkeypatch.undo()
    assert not app.run().error  # once it can be written, it is


def test_on_a_full_disk_the_app_starts_and_says_so(copied):
    static = copied / "static"
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(static)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here: the test above has the same with a patched copy")
    try:
        with started(copied) as server, visit(server.port) as visitor:
            exceptions, boxes, _ = drawn(visitor)
            assert not list(static.iterdir())
    finally:
        subprocess.run(["umount", str(static)], check=True)
    assert exceptions == []
    assert boxes == [not_written(errno.ENOSPC)]


# --- The clock and the network --------------------------------------------------------------------

CLOCKS = {"time.time", "time.localtime", "time.gmtime", "datetime.now", "datetime.datetime.now",
          "datetime.utcnow", "date.today"}  # fmt: skip


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_nothing_goes_by_a_clock_that_can_be_set(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not found & CLOCKS


def test_a_clock_that_jumps_changes_no_job(monkeypatch):
    jumps = iter([0.0, 1e10, -1e10, 5.0] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    job = Job(lambda: iter(range(5)), patience=30.0).start()
    assert job.join(EXIT_SECONDS)
    assert job.state is State.DONE
    assert job.items == [0, 1, 2, 3, 4]
    assert 0 <= job.elapsed < EXIT_SECONDS


@pytest.mark.parametrize("page", [page.path for page in PAGES.values()])
def test_a_page_asks_nobody_outside(monkeypatch, page):
    asked = []

    def connect(_, address):
        if address[0] != "127.0.0.1":  # which a test's scheduler, gone by now, may be asked for
            asked.append(address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *names, **_: asked.append(names))
    app = open_page(page)
    assert not app.exception
    assert asked == []
    if page == "app.py":
        assert component(app, VIEW) is not None


def test_all_that_a_browser_is_told_to_fetch_is_the_servers_own(server):
    _, body, _ = ask(server.port, "GET", "/")
    links = re.findall(r'(?:src|href)="([^"]*)"', body.decode())
    assert links
    assert not [link for link in links if re.match(r"[a-z]+:|//", link)]
    with visit(server.port) as visitor:
        assert errors(visitor)[1] == []

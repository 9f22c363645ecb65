"""One visitor stops nobody: what a single client sends, to the server as it is started."""

import contextlib
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psutil
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as websocket

from tests.served import XSRF, ask, send_file, started, token
from tests.tab import Tab, in_a_thread, nothing_wrong, visited
from ui.limits import (
    FRAGMENTS,
    PASTED_CHARACTERS,
    REQUEST_SECONDS,
    SESSION_UPLOAD_BYTES,
    SESSION_UPLOADS,
)

FEW_FILES = 256  # macOS lets a shell open so many
CHUNK = b"fff0\r\n" + b"[],[]," * 10_920 + b"\r\n"  # 64 kB
CHUNKED = "Transfer-Encoding: chunked\r\n"
NAMED = "Content-Length: 5\r\n"
FORTY_MB = 40_000_000


@pytest.fixture(scope="module")
def warm(server):
    """The server once it has imported what it draws with."""
    assert visited(server.url, nothing_wrong) == ""
    return server


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def head(method, path, headers=""):
    return f"{method} {path} HTTP/1.1\r\nHost: class.test\r\n{headers}\r\n".encode()


def status(answer):
    """The status at the beginning of an answer; 0 where the connection was closed without one."""
    found = re.match(rb"HTTP/1.1 (\d+)", answer)
    return int(found[1]) if found else 0


def received(connection):
    """What comes until the other side closes."""
    data = b""
    with contextlib.suppress(OSError):
        while more := connection.recv(65536):
            data += more
    return data


def health_seconds(server):
    began = time.perf_counter()
    assert ask(server.url, "GET", "/_stcore/health")[0] == 200
    return time.perf_counter() - began


PATHS = (("POST", "/c/nobody/vote"), ("POST", "/c/nobody/join"), ("POST", "/teach/forged"),
         ("PUT", "/_stcore/upload_file/nobody/f1"), ("POST", "/_stcore/agent/interact"),
         ("GET", "/_stcore/health"), ("POST", "/no/route"))  # fmt: skip
LONG = (NAMED + CHUNKED, CHUNKED, f"Content-Length: {FORTY_MB}\r\n")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [*((*PATHS[0], x) for x in LONG), *((*x, LONG[0]) for x in PATHS[1:])],
)
def test_a_body_of_forty_megabytes_is_not_read(warm, method, path, headers):
    """Whatever its headers say: it costs no memory, and others are answered meanwhile."""
    server, process = warm, psutil.Process(warm.pid)
    before, sent = process.memory_info().rss, 0
    with connect(server) as connection, ThreadPoolExecutor(1) as other:
        answered = other.submit(health_seconds, server)
        connection.sendall(head(method, path, headers))
        with contextlib.suppress(OSError):
            while sent < FORTY_MB:
                connection.sendall(CHUNK)
                sent += len(CHUNK)
        answer = received(connection)
        assert answered.result() < 2
    assert sent < FORTY_MB / 4
    assert status(answer) in (0, 400, 411, 413)
    assert process.memory_info().rss - before < 30_000_000


@pytest.mark.soak  # waits
def test_a_slow_request_ends(server):
    """A head, a body, and a second head behind an answer, one letter a second."""
    starts = (
        b"GET / HTTP/1.1\r\nX-Slow: ",
        head("POST", "/c/nobody/vote", "Content-Length: 900\r\n"),
        head("GET", "/_stcore/health") + b"GET /_stcore/health HTTP/1.1\r\nX-Slow: ",
        head("GET", "/_stcore/health", "Content-Length: 900\r\n"),
        b"",
    )
    began = time.monotonic()
    with ExitStack() as stack:
        waiting = {start: stack.enter_context(connect(server)) for start in starts}
        for start, connection in waiting.items():
            connection.sendall(start)
            connection.settimeout(0.01)
        while waiting and time.monotonic() - began < 3 * REQUEST_SECONDS:
            for start, connection in list(waiting.items()):
                with contextlib.suppress(TimeoutError):
                    try:
                        if start:
                            connection.sendall(b"x")
                        while connection.recv(65536):
                            pass
                    except ConnectionError:
                        pass
                    del waiting[start]
            time.sleep(1)
    assert not waiting


# --- Files of the system --------------------------------------------------------------------------


@pytest.mark.soak  # long
def test_a_hundred_pages_and_a_thousand_idle_connections_leave_a_server_of_few_files_whole():
    """As a shell of macOS starts it; each load opens a connection and a session's event loop."""
    with started(files=FEW_FILES) as server, ExitStack() as stack:
        for _ in range(130):
            assert visited(server.url, nothing_wrong, page="Guide") == ""
        for _ in range(1000):
            stack.enter_context(connect(server))
        assert visited(server.url, nothing_wrong, page="Guide") == ""
        assert health_seconds(server) < 2
        assert len(server.output()) < 20_000
        assert "Traceback" not in server.output()


@pytest.mark.soak  # waits
def test_sessions_that_say_nothing_take_no_more_than_there_is_and_give_way():
    with started(files=FEW_FILES) as server, ExitStack() as stack:
        address = f"ws://127.0.0.1:{server.port}/_stcore/stream"

        def crowd():
            for _ in range(FEW_FILES):
                stack.enter_context(websocket(address, subprotocols=["streamlit"]))

        with pytest.raises(InvalidStatus) as refused:
            crowd()
        assert refused.value.response.status_code == 503
        assert health_seconds(server) < 2
        deadline = time.monotonic() + 3 * REQUEST_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(InvalidStatus):
                assert visited(server.url, nothing_wrong, page="Guide") == ""
                break
            time.sleep(1)
        else:
            pytest.fail("nobody was let in")
        assert "Traceback" not in server.output()


# --- Uploads --------------------------------------------------------------------------------------


def test_a_page_without_a_place_for_files_takes_none_and_one_with_it_holds_few(warm):
    server, mine = warm, token(warm.url)

    def upload(session, count):
        place = f"/_stcore/upload_file/{session.session_id}"
        statuses = {
            send_file(server.url, f"{place}/f{i}", bytes(900_000), mine, {XSRF: mine})
            for i in range(count)
        }
        text = ask(server.url, "GET", "/_stcore/metrics")[1].decode()
        held = re.search(r"UploadedFileManager.* (\d+)", text)
        return statuses, int(held[1]) if held else 0

    assert visited(server.url, lambda session: upload(session, 3)) == ({403}, 0)
    time.sleep(5)  # so long Streamlit keeps what it has counted
    page = "Decision_boundary"
    statuses, held = visited(server.url, lambda x: upload(x, 40), "data=own", page=page)
    assert statuses == {204}
    assert 900_000 < held <= SESSION_UPLOAD_BYTES


# --- What is malformed ----------------------------------------------------------------------------


PLACES = ("/", "/app/static/", "/static/", "/media/", "/component/", "/component/x/",
          "/_stcore/bidi-components/", "/c/", "/c/file/", "/c/picture/", "/teach/")  # fmt: skip


def test_names_longer_than_those_of_files_are_not_there(server):
    for place in PLACES:
        for name in ("a" * 300, "a" * 60_000, "a/" * 3000):
            assert ask(server.url, "GET", f"{place}{name}")[0] in (404, 410), place


@pytest.mark.soak  # a server of its own
def test_messages_that_are_none_end_their_own_connection_and_do_not_fill_the_log():
    with started() as server:
        address = f"ws://127.0.0.1:{server.port}/_stcore/stream"
        for message in ("text", b"\xff" * 50, bytes(3_000_000), b"\x08" * 9):
            for _ in range(30):
                with contextlib.suppress(ConnectionClosed), websocket(address) as connection:
                    connection.send(message)
                    while True:
                        connection.recv(timeout=20)
        with websocket(address) as connection:
            for number in range(3000):
                connection.send(b"")
                message = BackMsg()
                message.rerun_script.fragment_id = f"{number}" * 100
                connection.send(message.SerializeToString())
        assert visited(server.url, nothing_wrong, page="Guide") == ""
        assert len(server.output()) < 20_000


def test_a_message_has_few_fragments(warm):
    """A million empty ones took 1.5 CPU seconds."""
    first, empty = b"\x02\x80\0\0\0\0", b"\x00\x80\0\0\0\0"  # masked, and not the last one

    def is_open(fragments):
        with websocket(f"ws://127.0.0.1:{warm.port}/_stcore/stream") as connection:
            with contextlib.suppress(OSError):
                connection.socket.sendall(first + fragments * empty)
            try:
                connection.socket.settimeout(1)  # it may be closed by now
                return connection.socket.recv(1) != b""
            except TimeoutError:
                return True
            except OSError:
                return False

    assert is_open(FRAGMENTS - 1)
    assert not is_open(FRAGMENTS)


def test_a_session_handles_what_our_pages_send_and_no_more(warm):
    """A message of 1.8 MB that requested addresses for files held everybody up for 16 seconds."""
    names = BackMsg()
    names.file_urls_request.request_id = "x"
    names.file_urls_request.file_names.extend([""] * 900_000)
    git, cache = BackMsg(load_git_info=True), BackMsg(clear_cache=True)
    skills = BackMsg()
    skills.backend_operation_request.install_skills.SetInParent()
    with websocket(f"ws://127.0.0.1:{warm.port}/_stcore/stream", max_size=None) as connection:
        for message in (git, cache, skills, names):
            connection.send(message.SerializeToString())
        answer = ForwardMsg.FromString(connection.recv(timeout=60))
    assert len(answer.file_urls_response.file_urls) == SESSION_UPLOADS
    assert health_seconds(warm) < 2


def test_the_largest_table_that_a_page_takes_fits_into_a_message(warm):
    async def paste():
        async with Tab(warm.url, "Decision_boundary", "data=own") as tab:
            await tab.open()
            await tab.change(own_text="\U0001d7d8" * PASTED_CHARACTERS)
            await tab.until(lambda: "" if tab.page.troubles else "no error")
            return tab.page.troubles

    assert "at most 1 MB is read" in in_a_thread(paste())[0]

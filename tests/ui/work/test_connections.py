"""Connections end where a client keeps the server waiting, and make room where they are many."""

import asyncio
import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import uvicorn
from starlette.websockets import WebSocket, WebSocketDisconnect

from ui.work import guard

SECONDS, MOST = 0.4, 4
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
LONG = b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n"
LONG_BYTES = 30_000_000  # more than the system takes from a server whose client does not read


async def app(scope, receive, send):
    if scope["type"] != "http":
        raise NotImplementedError
    body = bytes(LONG_BYTES) if scope["path"] == "/long" else b"done"
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", str(len(body)).encode())]})  # fmt: skip
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def address(monkeypatch):
    """A server that waits for nobody."""
    monkeypatch.setattr(guard, "Connections", lambda of=guard.Connections: of(MOST, SECONDS))
    taken = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="error"))

    async def serve():
        async with guard.guarded_connections():
            await server.serve([taken])

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    yield taken.getsockname()
    server.should_exit = True
    thread.join()


def is_answered(connection):
    connection.sendall(HEAD + b"\r\n")
    answer = b""
    while more := connection.recv(65536):
        answer += more
        if answer.endswith(b"done"):
            return True
    return False


def ends(connection):
    """Whether the other side closes before long."""
    connection.settimeout(5 * SECONDS)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.mark.parametrize("sent", [
    b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\nx", HEAD + b"\r\n", HEAD + b"\r\n" + HEAD,
])  # fmt: skip
def test_what_is_waited_for_ends(address, sent):
    with socket.create_connection(address) as connection:
        connection.sendall(sent)
        assert ends(connection)


def test_a_client_that_does_not_read_is_left_and_one_that_reads_gets_all(address):
    with socket.create_connection(address) as one, socket.create_connection(address) as other:
        for connection in (one, other):
            connection.sendall(LONG)
        other.settimeout(5)
        count = 0
        while count < LONG_BYTES:
            count += len(other.recv(1 << 20))
        threading.Event().wait(3 * SECONDS)
        one.settimeout(5)
        count = 0
        with contextlib.suppress(ConnectionError):
            while more := len(one.recv(1 << 20)):
                count += more
        assert count < LONG_BYTES


def test_a_connection_that_is_used_stays(address):
    with socket.create_connection(address) as connection:
        for _ in range(12):
            assert is_answered(connection)
            threading.Event().wait(SECONDS / 4)


def test_the_one_that_has_been_waited_for_longest_makes_room(address):
    with ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(address)) for _ in range(3 * MOST)]
        with socket.create_connection(address) as connection:
            assert is_answered(connection)
        assert ends(idle[0])
    for _ in range(MOST):  # at once, before anybody has looked
        with socket.create_connection(address) as connection:
            assert is_answered(connection)


def test_a_browser_that_has_gone_while_it_connects_is_no_error():
    """Streamlit asks for a message of a socket to which another task could send nothing."""

    async def app(scope, receive, send):
        browser = WebSocket(scope, receive, send)
        await browser.accept()
        with contextlib.suppress(WebSocketDisconnect):
            await browser.send_bytes(b"")
        with contextlib.suppress(RuntimeError):
            await browser.receive_bytes()
        await browser.close()

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        if message["type"] == "websocket.send":
            raise OSError

    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": []}
    with ThreadPoolExecutor(1) as pool:  # a browser's loop may run in this thread
        pool.submit(asyncio.run, guard.Guard(app)(scope, receive, send)).result()

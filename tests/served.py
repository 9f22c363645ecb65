"""How is the app started as a visitor of the README starts it, and spoken to without a browser?"""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.browser.serving import HOST, Served, await_health, free_port, stop

ROOT = Path(__file__).resolve().parents[1]
ANSWER_SECONDS = 60
# Asked by a foreign site, Streamlit looks up its own address outside: here it finds nobody.
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")


@dataclass(frozen=True, kw_only=True)
class Started(Served):
    """A running app with its process."""

    process: subprocess.Popen
    port: int

    def kill(self) -> None:
        """End it without a word, as ``kill -9`` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def command(folder: Path, port: int) -> list[str]:
    """What `make app` runs, without a window of a browser; all else is the folder's settings."""
    app = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py")]
    return [*app, "--server.headless", "true", "--server.port", str(port)]


@contextmanager
def started(
    folder: Path = ROOT, port: int = 0, environment: Mapping[str, str] | None = None
) -> Iterator[Started]:
    """The app in ``folder``, on a free ``port`` unless said, with its own settings alone."""
    port = port or free_port()
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "output.txt"
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                command(folder, port), cwd=folder, stdout=out, stderr=out,
                env=os.environ | NO_NETWORK | dict(environment or {}),
            )  # fmt: skip
        found = Started(f"http://{HOST}:{port}", log, process.pid, process=process, port=port)
        try:
            await_health(found, process)
            yield found
        finally:
            stop(process)


def ask(
    port: int, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes, Mapping[str, str]]:
    """Status, body and headers of an answer; the path goes out letter by letter."""
    link = http.client.HTTPConnection(HOST, port, timeout=ANSWER_SECONDS)
    try:
        link.request(method, path, body or None, dict(headers or {}))
        answer = link.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        link.close()


@contextmanager
def visit(port: int, link: str = "", origin: str | None = None) -> Iterator[ClientConnection]:
    """A visitor's connection, whose first script run has been asked for."""
    origin = f"http://{HOST}:{port}" if origin is None else origin
    url = f"ws://{HOST}:{port}/_stcore/stream"
    options = {"origin": origin, "subprotocols": ["streamlit"], "proxy": None}
    unbound = {"max_size": None, "max_queue": None}  # a full queue would keep it from closing
    with connect(url, **options, **unbound, open_timeout=ANSWER_SECONDS) as socket:
        message = BackMsg()
        message.rerun_script.query_string = link
        socket.send(message.SerializeToString())
        yield socket


def session_of(socket: ClientConnection) -> str:
    """The id of a visitor's session, which the server says first."""
    return next(m for m in heard(socket) if m.WhichOneof("type") == "new_session") \
        .new_session.initialize.session_id  # fmt: skip


def heard(socket: ClientConnection) -> Iterator[ForwardMsg]:
    """What the server says, until its script has ended."""
    while True:
        message = ForwardMsg()
        message.ParseFromString(socket.recv(ANSWER_SECONDS))
        yield message
        if message.WhichOneof("type") == "script_finished":
            return


def errors(socket: ClientConnection) -> tuple[int, list[str]]:
    """How many messages one script run has, and the exceptions among them."""
    messages = list(heard(socket))
    elements = [m.delta.new_element for m in messages if m.WhichOneof("type") == "delta"]
    found = [e.exception.message for e in elements if e.WhichOneof("type") == "exception"]
    return len(messages), found


def token(port: int) -> str:
    """What a page of the app's own hands back with an upload, and no other site can read."""
    _, _, headers = ask(port, "GET", "/_stcore/health")
    cookie = next((text for name, text in headers.items() if name.lower() == "set-cookie"), "")
    return cookie.partition("=")[2].partition(";")[0]


def upload(port: int, session: str, data: bytes, handed: str = "", cookie: str = "") -> int:
    """The status that answers an upload with this ``cookie``, ``handed`` back or not."""
    edge = "edge-of-parts"
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    body = head.encode() + data + f"\r\n--{edge}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    headers |= {"X-Xsrftoken": handed} if handed else {}
    headers |= {"Cookie": f"_streamlit_xsrf={cookie}"} if cookie else {}
    return ask(port, "PUT", f"/_stcore/upload_file/{session}/f1", body, headers)[0]

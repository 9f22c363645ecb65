"""The app started as the README says, and requests to it without a browser."""

import http.client
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.browser.serving import HOST, Served, await_health, free_port, stop

ROOT = Path(__file__).resolve().parents[1]
ANSWER_SECONDS = 60
# When a foreign site connects, Streamlit looks up its own address outside: here it finds nobody.
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")


@dataclass(frozen=True, kw_only=True)
class Started(Served):
    """A running app with its process."""

    process: subprocess.Popen
    port: int

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def command(folder: Path, port: int) -> list[str]:
    """The command of `make app`, without opening a browser."""
    app = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py")]
    return [*app, "--server.headless", "true", "--server.port", str(port)]


@contextmanager
def started(
    folder: Path = ROOT, port: int = 0, environment: Mapping[str, str] | None = None
) -> Iterator[Started]:
    """Serve the app in ``folder`` with its own settings, on a free ``port`` by default."""
    port = port or free_port()
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "output.txt"
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                command(folder, port), cwd=folder, stdout=out, stderr=out,
                env=os.environ | NO_NETWORK | dict(environment or {}), start_new_session=True,
            )  # fmt: skip
        server = Started(f"http://{HOST}:{port}", log, process.pid, process=process, port=port)
        try:
            await_health(server, process)
            yield server
        finally:
            stop(process)


def ask(
    url: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes, Mapping[str, str]]:
    """Return status, body and headers of an answer; the path is sent letter by letter."""
    server = http.client.HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_SECONDS)
    with closing(server):
        server.request(method, path, body or None, dict(headers or {}))
        answer = server.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


def token(url: str) -> str:
    """Return the token that the app's own page sends with an upload; no other site can read it."""
    _, _, headers = ask(url, "GET", "/_stcore/health")
    cookie = next((text for name, text in headers.items() if name.lower() == "set-cookie"), "")
    return cookie.partition("=")[2].partition(";")[0]


def send_file(
    url: str, path: str, content: bytes, header: str = "", cookie: str = "", name: str = "a.csv"
) -> int:
    """Upload a file as a form does, with the token in a ``header`` and a ``cookie``; the status."""
    edge = secrets.token_hex(16)
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    headers |= {"X-Xsrftoken": header} if header else {}
    headers |= {"Cookie": f"_streamlit_xsrf={cookie}"} if cookie else {}
    return ask(url, "PUT", path, body, headers)[0]

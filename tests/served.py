"""The app started as the README says, and requests to it without a browser."""

import http.client
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.browser.serving import HOST, Served, await_health, free_port, stop

ROOT = Path(__file__).resolve().parents[1]
ANSWER_SECONDS = 60
XSRF = "_streamlit_xsrf"  # the cookie that holds the token of uploads
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
    folder: Path = ROOT,
    port: int = 0,
    environment: Mapping[str, str] | None = None,
    path: str = "",
    files: int = 0,
    options: Sequence[str] = (),
) -> Iterator[Started]:
    """Serve the app in ``folder`` with its own settings, on a free ``port``, under ``path``.

    It may open so many ``files``, or as many as this process; ``options`` are Streamlit's.
    """
    port = port or free_port()
    limited = ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh"] if files else []
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "output.txt"
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [*limited, *command(folder, port), "--server.baseUrlPath", path, *options],
                cwd=folder,
                stdout=out,
                stderr=out,
                env=os.environ | NO_NETWORK | dict(environment or {}),
                start_new_session=True,
            )
        url = f"http://{HOST}:{port}{path}"
        server = Started(url, log, process.pid, process=process, port=port)
        try:
            await_health(server, process)
            yield server
        finally:
            stop(process)


def ask(
    url: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes, Mapping[str, str]]:
    """Return status, body and headers of an answer; the path is sent letter by letter."""
    place = urlsplit(url)
    server = http.client.HTTPConnection(place.netloc, timeout=ANSWER_SECONDS)
    with closing(server):
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
            server.request(method, place.path + path, body or None, dict(headers or {}))
        answer = server.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


def set_cookies(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the cookie that an answer sets, if it does."""
    texts = (text for name, text in headers.items() if name.lower() == "set-cookie")
    return {name: value for name, _, value in (text.split(";")[0].partition("=") for text in texts)}


def cookie_header(cookies: Mapping[str, str]) -> str:
    """Return the header that sends these cookies."""
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def token(url: str) -> str:
    """Return the token that the app's own page sends with an upload; no other site can read it."""
    return set_cookies(ask(url, "GET", "/_stcore/health")[2]).get(XSRF, "")


def send_file(
    url: str,
    path: str,
    content: bytes,
    header: str = "",
    cookies: Mapping[str, str] | None = None,
    name: str = "a.csv",
) -> int:
    """Upload a file as a form does, with the token in a ``header`` and a cookie; the status."""
    edge = secrets.token_hex(16)
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    headers |= {"X-Xsrftoken": header} if header else {}
    headers |= {"Cookie": cookie_header(cookies or {})}
    return ask(url, "PUT", path, body, headers)[0]

"""The app served to a real browser, and that browser."""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

REPOSITORY = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
START_SECONDS = 90.0
POLL_SECONDS = 0.2
STOP_SECONDS = 10.0
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-gpu-compositing",  # only the pictures need WebGL: half the processor time of a page
    "--disable-gpu-rasterization",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)


@dataclass(frozen=True)
class Served:
    """A running app: its URL without a slash at the end, where its output goes, its process."""

    url: str
    log: Path
    pid: int = 0  # of its process, once it is started

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def find_chromium() -> str | None:
    """The path of Chromium, or ``None``."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def without_browser(chromium: str | None, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """What a browser test does instead of running: ("skip" or "fail", why); ``None``: it runs."""
    if chromium is not None:
        return None
    if environment.get("REQUIRE_BROWSER") == "1":
        return "fail", "no `chromium` on the PATH, and REQUIRE_BROWSER=1 forbids skipping"
    return "skip", "no `chromium` on the PATH (with REQUIRE_BROWSER=1 this is a failure)"


def launch(playwright: Playwright, chromium: str) -> Browser:
    """Chromium that draws WebGL in software and calls nobody of its own accord."""
    return playwright.chromium.launch(executable_path=chromium, args=[*CHROMIUM_FLAGS])


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of a command; exits with a sentence where there is none."""
    path = find_chromium() or sys.exit("This needs `chromium` on the PATH.")
    with sync_playwright() as playwright, launch(playwright, path) as browser:
        yield browser


@contextmanager
def serve(script: Path = REPOSITORY / "app.py", *options: str) -> Iterator[Served]:
    """``script`` on a free port, started in an empty folder: paths must not depend on that."""
    port = free_port()
    command = [
        *(sys.executable, "-m", "streamlit", "run", str(script)),
        *("--server.headless", "true"),
        *("--server.address", HOST),
        *("--server.port", str(port)),
        *("--server.fileWatcherType", "none"),
        *options,
    ]
    with tempfile.TemporaryDirectory() as folder:
        served = Served(f"http://{HOST}:{port}", Path(folder) / "output.txt")
        (elsewhere := Path(folder) / "elsewhere").mkdir()
        with served.log.open("w", encoding="utf-8") as log:
            # As a service has: Linux shares the processor between sessions first, and in the one
            # of the tests its workers, which are nice, would wait for browsers of four processes.
            process = subprocess.Popen(
                command, cwd=elsewhere, stdout=log, stderr=log, start_new_session=True
            )
        served = replace(served, pid=process.pid)
        try:
            await_health(served, process)
            yield served
        finally:
            stop(process)


def stop(process: subprocess.Popen) -> None:
    """End it, whether it wants to or not."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def await_health(served: Served, process: subprocess.Popen) -> None:
    """Wait until it answers; ``RuntimeError`` with its output if it ends before."""
    deadline = time.monotonic() + START_SECONDS
    while not _is_healthy(served.url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the app did not start:\n{served.output()}")
        time.sleep(POLL_SECONDS)


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False

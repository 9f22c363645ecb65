"""How is the app served for a real browser, and which browser is it?"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright

REPOSITORY = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
START_SECONDS = 90.0
POLL_SECONDS = 0.2
STOP_SECONDS = 10.0
SERVER_OPTIONS = {
    "server.headless": "true",
    "server.address": HOST,
    "server.fileWatcherType": "none",
}
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


def find_chromium() -> str | None:
    """The path of Chromium, or ``None``."""
    return shutil.which("chromium")


def launch(playwright: Playwright, chromium: str) -> Browser:
    """Chromium that draws WebGL in software and calls nobody by itself."""
    return playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)


def without_browser(chromium: str | None, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """What a browser test does instead of running: ("skip" or "fail", why); ``None``: it runs."""
    if chromium is not None:
        return None
    why = "no `chromium` on the PATH"
    if environment.get("REQUIRE_BROWSER") == "1":
        return "fail", f"{why}, and REQUIRE_BROWSER=1 forbids skipping the browser tests"
    return "skip", f"{why}: the browser tests need it (REQUIRE_BROWSER=1 makes this a failure)"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


@contextmanager
def serve() -> Iterator[str]:
    """Serve the app from a working directory of its own; the URL, without a slash at the end."""
    url = f"http://{HOST}:{(port := _free_port())}"
    options = [
        part
        for name, value in {**SERVER_OPTIONS, "server.port": str(port)}.items()
        for part in (f"--{name}", value)
    ]
    command = [sys.executable, "-m", "streamlit", "run", str(REPOSITORY / "app.py"), *options]
    with tempfile.TemporaryDirectory() as elsewhere, tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, cwd=elsewhere, stdout=log, stderr=subprocess.STDOUT, env=dict(os.environ)
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _is_healthy(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise RuntimeError(f"the app did not start:\n{log.read()}")
                time.sleep(POLL_SECONDS)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

"""nginx before two processes of the app, with the block that docs/serving.md prints."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.browser.serving import HOST, START_SECONDS, free_port, stop
from tests.served import ROOT

PRINTED = {"a": 8501, "b": 8502}  # the processes in the block, and their ports
LISTEN = "listen 443 ssl;"
# Log: the path that was asked for, and the last process that was asked.
FRAME = """\
daemon off;
pid {folder}/nginx.pid;
{user}events {{ worker_connections 1024; }}
http {{
log_format asked '$request_uri $upstream_addr';
access_log {folder}/asked.txt asked;
client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi;
scgi_temp_path {folder}/scgi;
{block}}}
"""


def find_nginx() -> str | None:
    """The path of nginx, or ``None``; Debian puts it where only root looks."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def printed() -> str:
    """The block of docs/serving.md."""
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```nginx\n(.*?)^```", text, re.M | re.S)
    return block


def configuration(folder: Path, port: int, ports: Mapping[str, int]) -> str:
    """The block for a proxy at ``port`` and processes at ``ports``, otherwise as it is printed."""
    block = printed()
    changes = {LISTEN: f"listen {HOST}:{port};"}
    changes |= {f":{PRINTED[name]}": f":{of}" for name, of in ports.items()}
    for before, after in changes.items():
        if before not in block:
            raise ValueError(f"docs/serving.md: nothing to put in place of {before!r}")
        block = block.replace(before, after)
    # Started by root it would run as somebody who cannot write into the folder.
    user = "user root;\n" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
    return FRAME.format(folder=folder, user=user, block=block)


@contextmanager
def proxied(nginx: str, folder: Path, ports: Mapping[str, int]) -> Iterator[str]:
    """nginx before the processes at these ``ports``: the URL, without a path."""
    port, log = free_port(), folder / "errors.txt"
    (file := folder / "nginx.conf").write_text(configuration(folder, port, ports))
    process = subprocess.Popen([nginx, "-c", str(file), "-p", str(folder), "-e", str(log)])
    try:
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection((HOST, port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise RuntimeError(f"nginx did not start:\n{log.read_text()}")
        yield f"http://{HOST}:{port}"
    finally:
        stop(process)


def asked(folder: Path) -> list[tuple[str, str]]:
    """Requests that have been answered: the address, and the last process asked ("host:port")."""
    lines = (folder / "asked.txt").read_text(encoding="utf-8").splitlines()
    return [(line.split()[0], line.split()[-1]) for line in lines]

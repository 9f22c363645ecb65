"""Worker processes as the server sees them: started, sent tasks, and ended.

On Linux one process imports what workers need and is forked for each of them: a worker starts in
hundredths of a second and shares the memory of the imports. Elsewhere each imports for itself: a
fork of a process with threads is not safe on macOS and does not exist on Windows.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil

from ui.work.messages import read, write
from ui.work.worker import READY

ROOT = Path(__file__).resolve().parents[2]
# Python warns of forks beside threads: those of the template only trim memory, or belong to BLAS,
# which prepares for forks.
COMMAND = (sys.executable, "-W", "ignore::DeprecationWarning", "-m", "ui.work.worker")
FORKS = sys.platform == "linux"


class Process:
    """A worker process and its two streams."""

    def __init__(
        self, incoming: IO[bytes], outgoing: IO[bytes], connection: socket.socket | None = None
    ) -> None:
        self._incoming, self._outgoing, self._connection = incoming, outgoing, connection
        self._system: psutil.Process | None = None  # once its number is known
        self._sending = threading.Lock()

    def identify(self, pid: int) -> None:
        """Note the number of the process; `kill` makes sure that no other one has it then."""
        with suppress(psutil.Error):
            self._system = psutil.Process(pid)

    def send(self, number: int, content: bytes | None) -> None:
        """Send the task ``number``, or with ``None`` the request to stop it."""
        with self._sending:
            write((number, content), self._outgoing)

    def receive(self) -> tuple[str, Any]:
        """Wait for a message about the task: kind, content. Raises: one of `GONE`."""
        kind, content = read(self._incoming)
        if kind == READY:
            self.identify(content)
        return kind, content

    def kill(self) -> None:
        """End it at once; whoever waits for a message gets one of `GONE`."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
        if self._system is not None:
            with suppress(psutil.Error):
                self._system.kill()

    def close(self) -> None:
        """End it and close its streams, which no other thread may be reading."""
        self.kill()
        for stream in (self._incoming, self._outgoing, self._connection):
            if stream is not None:
                with suppress(OSError, ValueError):  # unsent messages
                    stream.close()


class Starter:
    """Starts worker processes of at least the ``niceness`` above that of this process."""

    def __init__(self, niceness: int) -> None:
        self._niceness = niceness
        self._lock = threading.Lock()
        self._template: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._closed = False

    def start(self, niceness: int) -> Process:
        """Start a process of this niceness above that of this process. Raises: `OSError`."""
        if not FORKS:
            popen = _opened(COMMAND, niceness, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert popen.stdin is not None
            assert popen.stdout is not None
            process = Process(popen.stdout, popen.stdin)
            process.identify(popen.pid)
            return process
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                self._fork(niceness, theirs)
            except OSError:  # the template has ended
                self._end_template()
                self._fork(niceness, theirs)
        return Process(ours.makefile("rb"), ours.makefile("wb"), ours)

    def _fork(self, niceness: int, connection: socket.socket) -> None:
        if self._closed:
            raise OSError("no process starts any more")
        if self._template is None:
            ours, theirs = socket.socketpair()
            with theirs:
                command = (*COMMAND, str(theirs.fileno()))
                popen = _opened(
                    command, self._niceness, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
                )
            self._template = popen, ours
        more = bytes([niceness - self._niceness])
        socket.send_fds(self._template[1], [more], [connection.fileno()])

    def _end_template(self) -> None:
        if self._template is not None:
            popen, connection = self._template
            popen.kill()
            popen.wait()
            connection.close()
            self._template = None

    def close(self) -> None:
        """Start no process any more."""
        with self._lock:
            self._closed = True
            self._end_template()


def _opened(command: tuple[str, ...], niceness: int, **streams: Any) -> subprocess.Popen[bytes]:
    # Ctrl-C is the server's. No session of its own: Linux shares the processor between sessions
    # first (autogroup), and niceness orders the processes of one session only.
    popen = subprocess.Popen(command, cwd=ROOT, process_group=0, **streams)
    # Before its first import: drawing pages goes first.
    with suppress(OSError, psutil.Error, ValueError):
        psutil.Process(popen.pid).nice(psutil.Process().nice() + niceness)
    return popen

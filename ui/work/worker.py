"""A worker process: it computes one task after another. The other side is `ui.work.processes`.

    python -m ui.work.worker [DESCRIPTOR]

Without an argument it is one worker, on its standard streams. With the descriptor of a socket it is
the template of all workers, and is forked for each connection that comes through that socket.

A message from the server is the number of a task with its function and arguments, or with ``None``,
which stops it at its next item or report of progress. What a generator yields is sent, except
``None``, and last what it returns; any other function's value is the one item. A function with the
keyword ``progress`` gets a callback (`gating_core.progress`): the share done is sent, too. A worker
ends with the process that has started it.
"""

from __future__ import annotations

import inspect
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

import psutil

from gating_core.memory import keep_at_hand
from gating_core.progress import Cancelled, Progress
from ui.limits import WORKER_BYTES
from ui.work.messages import GONE, Sender, packed, read, unpacked, write

SHARE_SECONDS = 0.1  # a share is not sent sooner after another one
READY, BEGUN, ITEM, END, ERROR, FULL = "ready", "begun", "item", "end", "error", "full"


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Compute tasks until ``incoming`` ends; then end the process."""
    inbox: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
    stopped: set[int] = set()

    def receive() -> None:
        with suppress(*GONE):
            while True:
                number, message = read(incoming)
                if message is None:
                    stopped.add(number)
                else:
                    inbox.put((number, message))
        os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    write((READY, os.getpid()), outgoing)
    while True:
        number, message = inbox.get()
        write((BEGUN, None), outgoing)
        write(_compute(message, number, stopped, outgoing), outgoing)
        stopped.discard(number)


def _compute(
    message: bytes, number: int, stopped: set[int], outgoing: BinaryIO
) -> tuple[str, bytes | None]:
    """Send what a task yields, returns and reports, until it is ``stopped``; return its end."""
    sender, sent = Sender(), -SHARE_SECONDS

    def progress(share: float | None) -> None:
        nonlocal sent
        if number in stopped:
            raise Cancelled
        if share is not None and (now := time.monotonic()) >= sent + SHARE_SECONDS:
            sent = now
            write((ITEM, sender.pack(share)), outgoing)

    try:
        function, arguments = unpacked(message)
        with closing(items_of(function, arguments, progress)) as items:
            for item in items:
                if item is not None:
                    write((ITEM, sender.pack(item)), outgoing)
                progress(None)
    except Cancelled:
        pass
    except BaseException as error:
        return (FULL, None) if _is_full(error) else (ERROR, _packed_error(error))
    return END, None


def items_of(
    function: Callable[..., Any], arguments: tuple[Any, ...], progress: Progress
) -> Generator[Any]:
    """Yield what ``function`` yields, and last what it returns."""
    try:
        takes_progress = "progress" in inspect.signature(function).parameters
    except ValueError:  # of a builtin
        takes_progress = False
    result = function(*arguments, **({"progress": progress} if takes_progress else {}))
    if inspect.isgenerator(result):
        result = yield from result
    yield result


def _is_full(error: BaseException) -> bool:
    """Return whether the system has refused memory; torch says so in words."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def _packed_error(error: BaseException) -> bytes:
    """Pack ``error`` with its traceback as a note; its text alone where it cannot be pickled."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        message = packed(error)
        unpacked(message)  # some can be pickled but not unpickled
        return message
    except Exception:
        plain = RuntimeError(f"{type(error).__name__}: {error}")
        plain.__notes__ = error.__notes__
        return packed(plain)


def limit_memory(further: int) -> None:
    """Let the system refuse this process more than so many ``further`` bytes; on Linux only."""
    if sys.platform == "linux":
        import resource

        most = psutil.Process().memory_info().data + further
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def settle() -> None:
    """Set up the memory of this process; its imports have set up the rest."""
    keep_at_hand()


def fork_workers(control: socket.socket) -> None:
    """Fork a worker for each connection that comes through ``control``, until that ends.

    Each comes with a byte: how much nicer than this process the worker is.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets workers that have ended
    while True:
        more, descriptors, *_ = socket.recv_fds(control, 1, 1)
        if not more:
            return
        with suppress(OSError):  # where the system allows no further process, its connection ends
            if not os.fork():
                _be_worker(control, descriptors[0], more[0])
        os.close(descriptors[0])


def _be_worker(control: socket.socket, descriptor: int, more: int) -> None:
    """Go on as a worker, and never return."""
    try:
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.nice(more)
        limit_memory(WORKER_BYTES)
        with socket.socket(fileno=descriptor) as connection:
            serve(connection.makefile("rb"), connection.makefile("wb"))
    finally:
        os._exit(1)


def main() -> None:
    """Serve; what libraries print goes to the error stream."""
    settle()
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if len(sys.argv) > 1:
        fork_workers(socket.socket(fileno=int(sys.argv[1])))
    else:
        limit_memory(WORKER_BYTES)
        serve(incoming, outgoing)


if __name__ == "__main__":
    main()

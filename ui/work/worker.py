"""A worker process: it runs tasks, at each moment one item of the most urgent one.

    python -m ui.work.worker

A task is a function and its arguments. What a generator yields is sent, except ``None``, and last
what it returns; any other function's value is the one item. Between two items a more urgent task
goes first, and a task that is to stop is closed, which is reported too. Messages come through the
standard input and leave through the standard output. The process is set up by its imports before
it reports that it is ready, and ends with the process that started it.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

from gating_core.memory import keep_at_hand
from ui.work.messages import GONE, Sender, packed, read, unpacked, write

BEGIN, STOP = "begin", "stop"
READY, ITEM, END, ERROR = "ready", "item", "end", "error"
Message = tuple[str, int, Any]  # kind, number of the task, content


class _Running:
    """A task that was begun."""

    def __init__(self, number: int, rank: int, message: bytes, send: Callable[..., None]) -> None:
        self.order = rank, number
        self._number, self._send, self._sender = number, send, Sender()
        self._work = self._items(message)

    def _items(self, message: bytes) -> Generator[Any]:
        function, arguments = unpacked(message)
        result = function(*arguments)
        if inspect.isgenerator(result):
            result = yield from result
        yield result

    def advance(self) -> bool:
        """Compute and send the next item; return whether there may be more."""
        try:
            item = next(self._work)
            if item is not None:
                self._send(ITEM, self._number, self._sender.pack(item))
            return True
        except StopIteration:
            self._send(END, self._number, None)
        except BaseException as error:
            self._send(ERROR, self._number, _packed_error(error))
        return False

    def close(self) -> None:
        """Stop."""
        with suppress(Exception):
            self._work.close()


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


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Run tasks until ``incoming`` ends; then end the process."""
    inbox: SimpleQueue[Message] = SimpleQueue()
    threading.Thread(target=_receive, args=(incoming, inbox), daemon=True).start()

    def send(*message: Any) -> None:
        write(message, outgoing)

    tasks: dict[int, _Running] = {}
    send(READY, 0, os.getpid())
    while True:
        while not tasks or not inbox.empty():
            what, number, about = inbox.get()
            if what == BEGIN:
                tasks[number] = _Running(number, about[0], about[1], send)
            elif number in tasks:
                tasks.pop(number).close()
                send(END, number, None)
        number = min(tasks, key=lambda number: tasks[number].order)
        if not tasks[number].advance():
            del tasks[number]


def _receive(incoming: BinaryIO, inbox: SimpleQueue[Message]) -> None:
    """Receive messages also while a task computes; end the process with the stream."""
    with suppress(*GONE):
        while True:
            inbox.put(read(incoming))
    os._exit(0)


def settle() -> None:
    """Set up the memory of this process; its imports have set up the rest."""
    keep_at_hand()


def main() -> None:
    """Serve on the standard streams; what libraries print goes to the error stream."""
    settle()
    incoming = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb", io.DEFAULT_BUFFER_SIZE)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(incoming, outgoing)


if __name__ == "__main__":
    main()

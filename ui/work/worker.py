"""What does a worker process do? It runs tasks, a moment of the most urgent one at a time.

    python -m ui.work.worker

Its packages are imported, and so the process is settled, before it says that it is ready.
A task is a function and its arguments. What a generator yields is sent on, ``None`` excepted, and
what it returns, last; between two items a more urgent task goes first, and a task that is to stop
is closed, which it says as well. Anything else that a function returns is its one item. Messages
come in through the standard input, and go out through the standard output; the process ends with
the one that started it.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

from gating_core.memory import keep_at_hand
from ui.work.messages import GONE, Sender, packed, read, unpacked, write

BEGIN, STOP = "begin", "stop"
READY, ITEM, END, ERROR = "ready", "item", "end", "error"
Message = tuple[str, int, Any]  # what, the number of the task, what about it


class _Running:
    """A task that has begun."""

    def __init__(self, number: int, rank: int, parcel: bytes, send: Callable[..., None]) -> None:
        self.order = rank, number
        self._number, self._send, self._sender = number, send, Sender()
        self._work = self._items(parcel)

    def _items(self, parcel: bytes) -> Iterator[Any]:
        function, arguments = unpacked(parcel)
        found = function(*arguments)
        if inspect.isgenerator(found):
            found = yield from found
        yield found

    def advance(self) -> bool:
        """Go on to the next item; whether there may be more."""
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
        """Leave it as it is."""
        with suppress(Exception):
            self._work.close()  # type: ignore[attr-defined]


def _packed_error(error: BaseException) -> bytes:
    """``error`` with its traceback as a note; its text alone where it cannot travel."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        parcel = packed(error)
        unpacked(parcel)  # some can be written, and not read
        return parcel
    except Exception:
        told = RuntimeError(f"{type(error).__name__}: {error}")
        told.__notes__ = error.__notes__
        return packed(told)


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Run what is asked for until ``incoming`` ends; then the process does."""
    inbox: SimpleQueue[Message] = SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, inbox), daemon=True).start()

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


def _listen(incoming: BinaryIO, inbox: SimpleQueue[Message]) -> None:
    """Hear while something is computed, too. Nobody is left to compute for at the end."""
    with suppress(*GONE):
        while True:
            inbox.put(read(incoming))
    os._exit(0)


def settle() -> None:
    """Set this process up to compute; what its packages set up was set as they were imported."""
    keep_at_hand()


def main() -> None:
    """Serve on the standard streams; whatever else is printed goes to the error stream."""
    settle()
    incoming = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb", io.DEFAULT_BUFFER_SIZE)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(incoming, outgoing)


if __name__ == "__main__":
    main()

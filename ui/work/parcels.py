"""How do the items of a stream travel between our own processes, so that nothing is sent twice?

A run that grows is sent again and again, each time with the frames it had before. One pickler for
a stream remembers what it has sent, and the other end gives the same object for it: what was one
object stays one.
"""

from __future__ import annotations

import io
import pickle
from typing import IO, Any

GONE = (EOFError, OSError, ValueError, pickle.UnpicklingError)  # the other end is, when one reads


def packed(item: Any) -> bytes:
    """``item`` alone, whatever was sent before."""
    return pickle.dumps(item, pickle.HIGHEST_PROTOCOL)


def unpacked(parcel: bytes) -> Any:
    """What `packed` was given."""
    return pickle.loads(parcel)


def write(message: Any, stream: IO[bytes]) -> None:
    """Send ``message`` at once."""
    pickle.dump(message, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """The next message; one of `GONE` where there will be none."""
    return pickle.load(stream)


class Sender:
    """Makes bytes of one item after the other; they are read in the same order, each once."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._pickler = pickle.Pickler(self._buffer, pickle.HIGHEST_PROTOCOL)

    def pack(self, item: Any) -> bytes:
        """The bytes of ``item``, as far as they were not sent yet."""
        self._pickler.dump(item)
        packed = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return packed


class Receiver:
    """Makes items of what a `Sender` packed: never of bytes that came from elsewhere."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._unpickler = pickle.Unpickler(self._buffer)

    def unpack(self, packed: bytes) -> Any:
        """The item."""
        self._buffer.seek(0)
        self._buffer.truncate()
        self._buffer.write(packed)
        self._buffer.seek(0)
        return self._unpickler.load()

"""How do the items of a stream travel between our own processes, so that nothing is sent twice?

A run that grows is sent again and again, each time with the frames it had before. One pickler for
a stream remembers what it has sent, and the other end gives the same object for it: what was one
object stays one.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import fields, is_dataclass
from typing import IO, Any

from ui.work.runtime import array_tensor, tensor_array

GONE = (EOFError, OSError, ValueError, pickle.UnpicklingError)  # the other end is, when one reads


class _Pickler(pickle.Pickler):
    """Of a frozen dataclass its fields travel alone, of a tensor its numbers.

    What a dataclass has worked out since and keeps is worked out again: another thread may be
    adding to that at this moment, and it would only be in the way. Torch would pack each tensor as
    a file.
    """

    def reducer_override(self, item: Any) -> Any:
        numbers = tensor_array(item)
        if numbers is not None:
            return array_tensor, (numbers,)
        kind = type(item)
        if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            return NotImplemented
        return _made, (kind, [getattr(item, field.name) for field in fields(item)])


def _made(kind: type, values: list[Any]) -> Any:
    """An instance of the dataclass ``kind`` that was checked when it was made first."""
    item: Any = object.__new__(kind)
    for field, value in zip(fields(kind), values, strict=True):
        object.__setattr__(item, field.name, value)
    return item


def packed(item: Any) -> bytes:
    """``item`` alone, whatever was sent before."""
    return Sender().pack(item)


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
        self._pickler = _Pickler(self._buffer, pickle.HIGHEST_PROTOCOL)

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

"""Tensors of safetensors files that are not trusted.

Files are read, never mapped: a file that is cut short while it is mapped ends the process. Only
regular files are opened (`opened` opens all), because reading a pipe would wait for ever; symbolic
links are followed, of which Hugging Face's cache consists. A file that is written while it is read
is refused. Nothing that a file holds is executed, and memory is bounded by the limits below.
Whatever is wrong is a ``ValueError`` of one sentence.

References:
    The safetensors format: eight bytes N (little endian), N bytes of JSON, then the data.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gating_core.checks import quoted

JSON_BYTES = 10_000_000  # of a header, an index or a configuration
MOST_TENSORS = 20_000  # named by one file
MOST_AXES = 8
MOST_NUMBERS = 2**28  # of one tensor: 2 GB in float64
CHUNK_BYTES = 1 << 26  # of one call of the system
DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
SINGLE = "model.safetensors"
# What files begin with whose loaders may run code: an archive (torch.save) and a pickle.
EXECUTABLE = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
# What stands in a file's place, by how it begins, without blanks and in small letters.
STAND_INS = {
    rb"version \S*git-lfs": "is a pointer of git-lfs; get the file itself with git lfs pull",
    rb"<(!doctype )?html": "is a web page; download the file itself, by its raw address",
}
STAND_IN_BYTES = 64


class _Place(NamedTuple):
    """A tensor in a file: its type and shape, and its first byte and the one after its last."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


class TensorFile:
    """The tensors of one safetensors file: ``places`` by name, read one at a time.

    Args:
        path: The file; a symbolic link to it is followed.

    Raises:
        ValueError: The file is none, cannot be opened, is truncated or badly described.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        with opened(path) as (file, status):
            self._identity = identity(status)
            beginning = _read(file, self.name, (0, min(8, status.st_size)))
            length = int.from_bytes(beginning, "little")
            self._check_beginning(beginning, length, status.st_size)
            header = _read(file, self.name, (8, length))
        self._base, self._end = 8 + length, status.st_size
        size = self._end - self._base
        entries = parse_json(bytes(header), f"the header of {self.name}")
        self.metadata = entries.pop("__metadata__", None)
        if len(entries) > MOST_TENSORS:
            raise ValueError(
                f"{self.name} names {len(entries):,} tensors; at most {MOST_TENSORS:,} are read"
            )
        self.places = {name: self._place(name, entry, size) for name, entry in entries.items()}
        self._check_layout(size)

    def _check_beginning(self, beginning: bytearray, length: int, size: int) -> None:
        if len(beginning) == 8 and length <= min(size - 8, JSON_BYTES):
            return
        if beginning.startswith(EXECUTABLE):  # as a length of a header it would be too large
            raise ValueError(
                f"{self.name} is a pickle or an archive of one, which may run code when it is"
                " loaded; only safetensors files are read"
            )
        if len(beginning) < 8 or length > size - 8:
            raise ValueError(f"{self.name} is no safetensors file, or it is truncated")
        raise ValueError(
            f"{self.name} has a header of {length:,} bytes; at most {JSON_BYTES:,} are read"
        )

    def _place(self, name: str, entry: Any, size: int) -> _Place:
        try:
            dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
            whole = all(type(x) is int and x >= 0 for x in (*shape, start, stop))
            fine = whole and isinstance(dtype, str) and len(shape) <= MOST_AXES
        except (TypeError, KeyError, ValueError):
            fine = False
        if not fine:
            raise ValueError(f"{self.name} describes tensor {quoted(name)} badly")
        if not start <= stop <= size:
            raise ValueError(f"{self.name} is truncated: tensor {quoted(name)} ends outside of it")
        place = _Place(dtype, tuple(shape), start, stop)
        if dtype in DTYPES and math.prod(shape) * DTYPES[dtype].itemsize != stop - start:
            raise ValueError(
                f"{self.name} has {stop - start:,} bytes for tensor {quoted(name)},"
                f" whose shape is {quoted(list(shape))} of {dtype}"
            )
        return place

    def _check_layout(self, size: int) -> None:
        """Check that tensors follow one another without gaps and fill the file."""
        end = 0
        for name, place in sorted(self.places.items(), key=lambda item: item[1][2:]):
            if place.start != end:
                raise ValueError(
                    f"{self.name} has tensor {quoted(name)} overlap another, or leave a gap"
                )
            end = place.stop
        if end != size:
            raise ValueError(f"{self.name} has {size - end:,} bytes that belong to no tensor")

    def read(self, name: str, rows: Sequence[int] | None = None) -> torch.Tensor:
        """Read one tensor, or some ``rows`` of its first axis, in float64.

        Raises:
            ValueError: Its type is none of F64, F32, F16 and BF16, it is too large, has no such
                row, holds NaN or infinite numbers, or the file has changed.
        """
        place = self.places[name]
        if place.dtype not in DTYPES:
            raise ValueError(
                f"tensor {quoted(name)} is stored as {quoted(place.dtype)};"
                f" only {', '.join(DTYPES)} are read"
            )
        shape, start, length = place.shape, place.start, place.stop - place.start
        pieces = [(start, length)]
        if rows is not None:
            count = shape[0] if shape else 0
            for row in rows:
                if not 0 <= row < count:
                    raise ValueError(f"tensor {quoted(name)} has {count:,} rows; {row} is none")
            step = length // max(count, 1)
            pieces, shape = [(start + row * step, step) for row in rows], (len(rows), *shape[1:])
        if math.prod(shape) > MOST_NUMBERS:
            raise ValueError(
                f"tensor {quoted(name)} has {math.prod(shape):,} numbers;"
                f" at most {MOST_NUMBERS:,} are read"
            )
        data = self._read(*((self._base + at, size) for at, size in pieces))
        if not data:
            return torch.zeros(shape, dtype=torch.float64)
        tensor = torch.frombuffer(data, dtype=DTYPES[place.dtype]).reshape(shape)
        if not tensor.isfinite().all():
            raise ValueError(f"tensor {quoted(name)} contains NaN or infinite numbers")
        return tensor.double()

    def _read(self, *pieces: tuple[int, int]) -> bytearray:
        """The bytes of ``pieces``, as `_read`, of the file as it was when it was opened first."""
        with opened(self.path) as (file, status):
            if identity(status) != self._identity:
                raise ValueError(f"{self.name} has changed since it was opened")
            return _read(file, self.name, *pieces)


def open_tensors(folder: Path) -> dict[str, TensorFile]:
    """Return the file of every tensor by name, of ``model.safetensors`` in a folder, or of a file.

    Raises:
        ValueError: It is missing or malformed.
    """
    file = TensorFile(folder / SINGLE if folder.is_dir() else folder)
    return dict.fromkeys(file.places, file)


def read_bytes(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file of at most ``most`` bytes."""
    with opened(path) as (file, status):
        if status.st_size > most:
            raise ValueError(f"{path.name} has {status.st_size:,} bytes; at most {most:,} are read")
        return bytes(_read(file, path.name, (0, status.st_size)))


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of at most 10 MB, with or without a byte-order mark."""
    return parse_json(read_bytes(path, JSON_BYTES).removeprefix(codecs.BOM_UTF8), path.name)


def parse_json(data: bytes, what: str) -> dict[str, Any]:
    """Return the object that JSON text holds; ``what`` it is stands in the error's sentence."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            raise _NameTwice
        return table

    try:
        value = json.loads(data.decode(), object_pairs_hook=once)
    except _NameTwice:
        raise ValueError(f"{what} has a name twice") from None
    except UnicodeDecodeError:
        raise ValueError(f"{what} is not UTF-8; save it as UTF-8") from None
    except RecursionError:
        raise ValueError(f"{what} is nested too deeply") from None
    except ValueError:  # its text may quote what the file holds
        raise ValueError(f"{what} is not JSON") from None
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")
    return value


class _NameTwice(ValueError):
    """A JSON object names a member twice."""


def identity(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is written or replaced: size, time, and what file it is."""
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino


def file_stamp(folder: Path) -> tuple[int, ...]:
    """Return what changes when a file of a ``folder``, or a single file, is written or replaced."""
    try:
        files = sorted(folder.iterdir()) if folder.is_dir() else [folder]
        return tuple(x for file in files if file.exists() for x in identity(file.stat()))
    except OSError:  # it goes while it is looked at
        return ()


@contextmanager
def opened(path: Path) -> Iterator[tuple[FileIO, os.stat_result]]:
    """Open a regular file, links followed, and check afterwards that it has not been written.

    Everything that a checkpoint holds is opened here, on systems with and without pipes.

    Raises:
        ValueError: The file cannot be opened, is no regular one, is a web page or a pointer in the
            place of one, or has been written while it was open.
    """

    def without_waiting(name: str, flags: int) -> int:  # as Windows, which has neither flag
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))

    try:
        # Looked at before, for opening a device may do something, and again after: it may be
        # another file by then.
        regular = stat.S_ISREG(path.stat().st_mode)
        file = FileIO(path, opener=without_waiting) if regular else None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ValueError(f"{path.name} cannot be opened: {reason}") from None
    if file is None:
        raise ValueError(f"{path.name} is not a regular file")
    with file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path.name} is not a regular file")
        beginning = _read(file, path.name, (0, min(STAND_IN_BYTES, status.st_size)))
        beginning = beginning.removeprefix(codecs.BOM_UTF8).lstrip().lower()
        for pattern, what in STAND_INS.items():
            if re.match(pattern, beginning):
                raise ValueError(f"{path.name} {what}")
        yield file, status
        if identity(os.fstat(file.fileno())) != identity(status):
            raise ValueError(f"{path.name} was written while it was read")


def _read(file: FileIO, name: str, *pieces: tuple[int, int]) -> bytearray:
    """The bytes of a file's ``pieces``, each its first byte and its length, one after another."""
    data = bytearray(sum(length for _, length in pieces))
    view = memoryview(data)
    for at, length in pieces:
        piece, view = view[:length], view[length:]
        try:
            file.seek(at)
            while piece:
                count = file.readinto(piece[:CHUNK_BYTES])
                if not count:
                    raise ValueError(f"{name} became shorter while it was read")
                piece = piece[count:]
        except OSError as error:
            raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    return data

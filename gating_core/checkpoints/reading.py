"""Tensors of safetensors files that are not trusted.

Files are read by ``pread``, never mapped: a file that is cut short while it is mapped ends the
process. Only regular files are opened, because reading a pipe would wait for ever; symbolic links
are followed, of which Hugging Face's cache consists. Nothing that a file holds is executed, and
memory is bounded by the limits below. Whatever is wrong is a ``ValueError`` of one sentence.

References:
    The safetensors format: eight bytes N (little endian), N bytes of JSON, then the data.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

JSON_BYTES = 10_000_000  # of a header, an index or a configuration
MOST_TENSORS = 20_000  # named by one file
MOST_IN_SHARDS = 200_000  # named by all shards of a checkpoint
MOST_SHARDS = 500
MOST_AXES = 8
MOST_NUMBERS = 2**28  # of one tensor: 2 GB in float64
CHUNK_BYTES = 1 << 26  # of one call of the system
DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
BARE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}\.safetensors")
# What files begin with whose loaders may run code: an archive (torch.save) and a pickle.
EXECUTABLE = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
SAMPLES, SAMPLE_BYTES = 64, 4096  # of a file's data, for its digest


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
        with _opened(path) as (descriptor, status):
            self._identity = _identity(status)
            beginning = _read(descriptor, self.name, (0, min(8, status.st_size)))
            length = int.from_bytes(beginning, "little")
            self._check_beginning(beginning, length, status.st_size)
            header = _read(descriptor, self.name, (8, length))
        self._base, size = 8 + length, status.st_size - 8 - length
        entries = parse_json(bytes(header), f"the header of {self.name}")
        self.metadata = entries.pop("__metadata__", None)
        self.digest = hashlib.sha256(header).hexdigest()
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
        with _opened(self.path) as (descriptor, status):
            if _identity(status) != self._identity:
                raise ValueError(f"{self.name} has changed since it was opened")
            data = _read(descriptor, self.name, *((self._base + at, size) for at, size in pieces))
        if not data:
            return torch.zeros(shape, dtype=torch.float64)
        tensor = torch.frombuffer(data, dtype=DTYPES[place.dtype]).reshape(shape)
        if not tensor.isfinite().all():
            raise ValueError(f"tensor {quoted(name)} contains NaN or infinite numbers")
        return tensor.double()

    def sample(self) -> bytes:
        """Return some bytes of the data, evenly spread."""
        with _opened(self.path) as (descriptor, status):
            last = max(status.st_size - SAMPLE_BYTES, self._base)
            places = {self._base + (last - self._base) * i // SAMPLES for i in range(SAMPLES + 1)}
            return b"".join(os.pread(descriptor, SAMPLE_BYTES, at) for at in sorted(places))


def open_tensors(folder: Path) -> dict[str, TensorFile]:
    """Return the file of every tensor by name: of ``model.safetensors``, or of its shards.

    Args:
        folder: A folder, or one safetensors file.

    Raises:
        ValueError: A file is missing or malformed, or the index and the shards disagree.
    """
    if not folder.is_dir():
        return _by_name(TensorFile(folder))
    if os.path.lexists(folder / SINGLE):
        return _by_name(TensorFile(folder / SINGLE))
    if not os.path.lexists(folder / INDEX):
        raise ValueError(
            f"there is neither {SINGLE} nor {INDEX} in {folder.name};"
            " weights of other formats are not read"
        )
    index = read_json(folder / INDEX).get("weight_map")
    if not isinstance(index, dict):
        raise ValueError(f"{INDEX} has no weight_map")
    for shard in index.values():
        if not isinstance(shard, str) or not BARE_NAME.fullmatch(shard):
            raise ValueError(
                f"{INDEX} names {quoted(shard)}; it may name only .safetensors files beside it"
            )
    shards = sorted(set(index.values()))
    if len(shards) > MOST_SHARDS or len(index) > MOST_IN_SHARDS:
        raise ValueError(
            f"{INDEX} names {len(index):,} tensors in {len(shards):,} shards;"
            f" at most {MOST_IN_SHARDS:,} in {MOST_SHARDS} are read"
        )
    found: dict[str, TensorFile] = {}
    for shard in shards:
        for name, file in _by_name(TensorFile(folder / shard)).items():
            if name in found:
                raise ValueError(
                    f"tensor {quoted(name)} is in two shards, {found[name].name} and {shard}"
                )
            found[name] = file
        if len(found) > MOST_IN_SHARDS:
            raise ValueError(f"the shards hold more than {MOST_IN_SHARDS:,} tensors")
    for name, shard in index.items():
        if name not in found or found[name].name != shard:
            raise ValueError(f"{INDEX} names tensor {quoted(name)}, which {shard} does not hold")
    return found


def read_bytes(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file of at most ``most`` bytes."""
    with _opened(path) as (descriptor, status):
        if status.st_size > most:
            raise ValueError(f"{path.name} has {status.st_size:,} bytes; at most {most:,} are read")
        return bytes(_read(descriptor, path.name, (0, status.st_size)))


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of at most 10 MB."""
    return parse_json(read_bytes(path, JSON_BYTES), path.name)


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
        raise ValueError(f"{what} is not UTF-8") from None
    except RecursionError:
        raise ValueError(f"{what} is nested too deeply") from None
    except ValueError:  # its text may quote what the file holds
        raise ValueError(f"{what} is not JSON") from None
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")
    return value


class _NameTwice(ValueError):
    """A JSON object names a member twice."""


def quoted(value: object) -> str:
    """Return ``value`` as in Python, at most 60 characters of it."""
    text = repr(value[:60]) if isinstance(value, str) else repr(value)
    return text if len(text) <= 62 else f"{text[:59]}…"


def _by_name(file: TensorFile) -> dict[str, TensorFile]:
    return dict.fromkeys(file.places, file)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def _opened(path: Path) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor of a regular file, links followed, and its status; a pipe is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise ValueError(f"{path.name} cannot be opened: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path.name} is not a regular file")
        yield descriptor, status
    finally:
        os.close(descriptor)


def _read(descriptor: int, name: str, *pieces: tuple[int, int]) -> bytearray:
    """The bytes of a file's ``pieces``, each its first byte and its length, one after another."""
    data = bytearray(sum(length for _, length in pieces))
    view = memoryview(data)
    for at, length in pieces:
        piece, view = view[:length], view[length:]
        while piece:
            try:
                count = os.preadv(descriptor, [piece[:CHUNK_BYTES]], at)
            except OSError as error:
                raise ValueError(f"{name} cannot be read: {error.strerror}") from None
            if not count:
                raise ValueError(f"{name} became shorter while it was read")
            piece, at = piece[count:], at + count
    return data

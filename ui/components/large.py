"""Large data for the browser, sent once however often the page is run.

The message of the component has their address. Data in the message itself would be copied and
hashed several times in every run, for every visitor.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from cachetools import LRUCache
from streamlit.runtime import get_instance

from ui.limits import SENT_BYTES

HEAD = 16  # bytes of the digest before the content
SENT_AS = {np.dtype(np.uint8): "u1", np.dtype(np.uint16): "<u2"}
MEDIA_TYPE = "application/octet-stream"
Packed = TypeVar("Packed", bound=tuple[Any, bytes])

_lock = threading.Lock()
_packed: LRUCache[Any, Any] = LRUCache(SENT_BYTES, lambda packed: len(packed[1]))


def packed_once(picture: object, pack: Callable[[], Packed]) -> Packed:
    """Return what ``pack`` makes of ``picture``, and keep it, while there is room, for all runs.

    It is as large as the picture itself, and made in milliseconds.
    """
    key = weakref.ref(picture)
    with _lock:
        packed: Packed | None = _packed.get(key)
    if packed is None:
        packed = pack()
        with _lock:
            _packed[key] = packed
    return packed


def pack(arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, dict[str, Any]], bytes]:
    """Return an entry of the header for each array, and the bytes of all, little-endian.

    Arrays of ``uint8`` and ``uint16`` are sent as they are, all others as float32.
    """
    entries, blobs, offset = {}, [], HEAD
    for name, array in arrays.items():
        with np.errstate(over="ignore"):  # beyond float32 it is infinite
            blob = np.ascontiguousarray(array, dtype=SENT_AS.get(array.dtype, "<f4"))
        entries[name] = {"shape": blob.shape, "offset": offset, "bytes": blob.itemsize}
        blobs.append(blob.tobytes())
        offset += blob.nbytes
    return entries, with_head(b"".join(blobs))


def with_head(content: bytes) -> bytes:
    """Return ``content`` after a digest of it."""
    return blake2b(content, digest_size=HEAD).digest() + content


def address_of(headed: bytes, coordinates: str) -> str:
    """Return a relative URL of what `with_head` made, for the visitor whose script runs.

    The same data have the same address for all visitors. It is valid as long as one of them is
    shown the data, at Streamlit's ``coordinates`` of their page, and a while longer:
    `ui.work.streamlit_fixes`.
    (Streamlit names a large file by three parts of it: hence the digest at its beginning.)
    """
    address = get_instance().media_file_mgr.add(headed, MEDIA_TYPE, coordinates)
    return address.removeprefix("/")

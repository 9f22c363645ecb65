"""Data sent to a component, and its messages: the other end of wire.js and arrays.js.

Large data are sent once however often the page is run: the message of the component has their
address. Data in the message itself would be copied and hashed several times in every run, for every
visitor.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import streamlit as st
from cachetools import LRUCache
from streamlit.runtime import get_instance

from ui.limits import SENT_BYTES

LARGEST_SERIAL = 2**53  # JavaScript counts no further
HEAD = 16  # bytes of the digest before the content
SENT_AS = {np.dtype(np.uint8): "u1", np.dtype(np.uint16): "<u2"}
Packed = tuple[dict[str, dict[str, Any]], bytes]  # entries of the header by array, and all bytes

_lock = threading.Lock()
_packed: LRUCache[Any, Any] = LRUCache(SENT_BYTES, lambda packed: len(packed[1]))


def receive(key: str, trigger: str, is_sound: Callable[[Any], bool]) -> Any:
    """Return the newest message of the component ``key``, once; ``None`` if it was handled before.

    Of several messages that the browser sends at once, Streamlit calls back for each one, every
    time with the newest. ``None``, too, if our own script cannot have sent it: it has no serial,
    ``is_sound`` refuses it, or fails with a ``TypeError`` or ``KeyError``.
    """
    try:
        message = st.session_state[key][trigger]  # not there: the component has left the page
        serial = message["serial"]
        if not (type(serial) is int and 0 < serial <= LARGEST_SERIAL and is_sound(message)):
            return None
    except (TypeError, KeyError):
        return None
    if serial == heard(key):
        return None
    st.session_state[f"{key}_heard"] = serial
    return message


def listener(
    key: str, trigger: str, is_sound: Callable[[Any], bool], hear: Callable[[Any], None]
) -> Callable[[], None]:
    """Return what Streamlit calls back: ``hear`` gets each message once; see `receive`."""

    def called_back() -> None:
        if (message := receive(key, trigger, is_sound)) is not None:
            hear(message)

    return called_back


def heard(key: str) -> int:
    """Return the newest serial received of the component ``key``; 0 if none.

    It goes to the browser with what is drawn. The trigger's own value would be gone by the next
    run, which may be drawn before the browser has seen this one.
    """
    return st.session_state.get(f"{key}_heard", 0)


# --- Large data -----------------------------------------------------------------------------------


def draw_large(
    component: Any,
    key: str,
    header: Mapping[str, Any],
    packed: Packed,
    **options: Any,
) -> None:
    """Draw a ``component`` that is told the ``header``, and where its arrays are."""
    entries, content = packed
    told = {**header, "arrays": entries, "source": address_of(content, key), "heard": heard(key)}
    component(key=key, data=json.dumps(told, allow_nan=False).encode(), **options)


def packed_once(picture: object, arrays: Callable[[], Mapping[str, np.ndarray]]) -> Packed:
    """Return the packed arrays of a ``picture``, and keep them, while there is room, for all runs.

    They are as large as the picture itself, and packed in milliseconds.
    """
    key = weakref.ref(picture)
    with _lock:
        packed: Packed | None = _packed.get(key)
    if packed is None:
        packed = pack(arrays())
        with _lock:
            _packed[key] = packed
    return packed


def pack(arrays: Mapping[str, np.ndarray]) -> Packed:
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
    address = get_instance().media_file_mgr.add(headed, "application/octet-stream", coordinates)
    return address.removeprefix("/")

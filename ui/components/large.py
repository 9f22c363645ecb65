"""Large data for the browser, sent once however often the page is run.

The message of the component has their address. Data in the message itself would be copied and
hashed several times in every run, for every visitor.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import PurePosixPath
from time import monotonic

from streamlit.runtime import get_instance
from streamlit.runtime.media_file_manager import MediaFileManager

from ui.limits import ADDRESS_SECONDS, CACHED_ADDRESSES

HEAD = 16  # bytes of the digest before the content
MEDIA_TYPE = "application/octet-stream"


def with_head(content: bytes) -> bytes:
    """Return ``content`` after a digest of it."""
    return blake2b(content, digest_size=HEAD).digest() + content


def address_of(headed: bytes, coordinates: str) -> str:
    """Return a relative URL of what `with_head` made, for the visitor whose script runs.

    The same data have the same address for all visitors. It is valid as long as one of them is
    shown the data, at Streamlit's ``coordinates`` of their page, and `ADDRESS_SECONDS` longer.
    (Streamlit names a large file by three parts of it: hence the digest at its beginning.)
    """
    files = get_instance().media_file_mgr
    address = files.add(headed, MEDIA_TYPE, coordinates)
    _hold(files, PurePosixPath(address).stem)
    return address.removeprefix("/")


def _hold(files: MediaFileManager, name: str) -> None:
    """Keep the file ``name`` for slow browsers, although a run that grows soon shows another.

    The manager keeps the files that a session is shown. Here a session that does not exist is shown
    all recent files; its coordinates begin with the times.
    """
    now = monotonic()
    with files._lock:
        recent = files._files_by_session_and_coord["recent"]
        for coordinates in [key for key, held in recent.items() if held == name]:
            del recent[coordinates]
        recent[f"{now} {name}"] = name
        for coordinates in list(recent):
            if (
                float(coordinates.split()[0]) < now - ADDRESS_SECONDS
                or len(recent) > CACHED_ADDRESSES
            ):
                del recent[coordinates]

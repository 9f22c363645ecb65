"""How does a browser get megabytes once, however often the page that shows them is run?

From an address of their own, which the page's message names. What stands in the message itself is
copied and hashed several times in every run, for every visitor.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import PurePosixPath
from time import monotonic

from streamlit.runtime import get_instance
from streamlit.runtime.media_file_manager import MediaFileManager

from ui.limits import ADDRESS_SECONDS, CACHED_ADDRESSES

HEAD = 16  # bytes before what is meant
MEDIA_TYPE = "application/octet-stream"


def with_head(content: bytes) -> bytes:
    """``content`` after a digest of it: whoever names it by its beginning names all of it."""
    return blake2b(content, digest_size=HEAD).digest() + content


def address_of(headed: bytes, place: str) -> str:
    """A relative URL of what `with_head` made, for the visitor whose script runs.

    Visitors who are shown the same get the same address; it is valid as long as one of them is
    shown it, at the ``place`` of their page that is called so, and `ADDRESS_SECONDS` longer.
    (Streamlit's own file manager makes the name of a large file of three parts of it; hence the
    digest.)
    """
    files = get_instance().media_file_mgr
    address = files.add(headed, MEDIA_TYPE, place)
    _hold(files, PurePosixPath(address).stem)
    return address.removeprefix("/")


def _hold(files: MediaFileManager, name: str) -> None:
    """Keep the file ``name`` for slow browsers: a run that grows soon shows another.

    The manager keeps what a session is shown. One more, which nobody has, is shown all that was
    sent lately; its places begin with the times of that.
    """
    now = monotonic()
    with files._lock:
        lately = files._files_by_session_and_coord["sent lately"]
        for place in [place for place, held in lately.items() if held == name]:
            del lately[place]
        lately[f"{now} {name}"] = name
        for place in list(lately):
            if float(place.split()[0]) < now - ADDRESS_SECONDS or len(lately) > CACHED_ADDRESSES:
                del lately[place]

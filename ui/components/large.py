"""How does a browser get megabytes once, however often the page that shows them is run?

From an address of their own, which the page's message names. What stands in the message itself is
copied and hashed several times in every run, for every visitor.
"""

from __future__ import annotations

from hashlib import blake2b

from streamlit.runtime import get_instance

HEAD = 16  # bytes before what is meant
MEDIA_TYPE = "application/octet-stream"


def with_head(content: bytes) -> bytes:
    """``content`` after a digest of it: whoever names it by its beginning names all of it."""
    return blake2b(content, digest_size=HEAD).digest() + content


def address_of(headed: bytes, place: str) -> str:
    """A relative URL of what `with_head` made, for the visitor whose script runs.

    Visitors who are shown the same get the same address; it is valid as long as one of them is
    shown it, at the ``place`` of their page that is called so. (Streamlit's own file manager makes
    the name of a large file of three parts of it; hence the digest.)
    """
    return get_instance().media_file_mgr.add(headed, MEDIA_TYPE, place).removeprefix("/")

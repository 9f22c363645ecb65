"""Large data for the browser: packed once while there is room, and named by all of them."""

import gc

import numpy as np
from cachetools import LRUCache
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from tests.ui.payload import arrays_in
from ui.components import wire


def test_arrays_are_packed_without_loss():
    arrays = {
        "a": np.arange(24.0).reshape(2, 3, 4),
        "b": np.array([1.5, np.nan, np.inf]),
        "c": np.arange(12.0).reshape(3, 4).T,  # not contiguous
        "d": np.empty((0, 3)),
        "e": np.arange(6, dtype=np.uint8),
    }
    back = arrays_in(*wire.pack(arrays))
    for name, array in arrays.items():
        wanted = array if array.dtype == np.uint8 else array.astype("<f4")
        np.testing.assert_array_equal(back[name], wanted)


def test_large_files_that_differ_anywhere_have_different_addresses():
    """Streamlit names a large file by three parts of it, the first one included."""
    content = bytes(1_000_000)
    other = content[:300_000] + b"1" + content[300_001:]
    store = MemoryMediaFileStorage("/media")
    names = [
        store.load_and_get_id(wire.with_head(x), "", MediaFileKind.MEDIA)
        for x in (content, other, content)
    ]
    assert names[0] != names[1]
    assert names[0] == names[2]
    assert wire.with_head(content)[wire.HEAD :] == content


class Picture:
    """Something that is drawn."""


def test_what_is_sent_is_made_once_while_there_is_room_and_holds_no_picture(monkeypatch):
    room = LRUCache(60, lambda packed: len(packed[1]))
    monkeypatch.setattr(wire, "_packed", room)
    made, pictures = [], [Picture() for _ in range(3)]

    def packed(picture):
        return wire.packed_once(picture, lambda: made.append(picture) or {"a": np.zeros(10, "u1")})

    for picture in (*pictures[:2], *pictures[:2], pictures[2], pictures[0]):
        packed(picture)
    assert made == [*pictures, pictures[0]]
    assert room.currsize == 52
    made.clear()
    alive = [weak for weak in room if weak() is not None]
    del picture
    pictures.clear()
    gc.collect()
    assert len(alive) == 2
    assert not any(weak() for weak in room)

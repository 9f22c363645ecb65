"""The data of the 3-D view: packed, and served for long enough."""

from pathlib import Path

import numpy as np
import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileKind, MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from tests.ui.payload import arrays_in
from ui import limits
from ui.components import large
from ui.components import view3d as module
from ui.components.view3d import Legend, pack
from ui.drawing.panels import View

ROOT = Path(__file__).resolve().parents[3]
ADDRESS_OF = large.address_of  # the pages under test have another


def test_arrays_are_packed_without_loss():
    arrays = {
        "a": np.arange(24.0).reshape(2, 3, 4),
        "b": np.array([1.5, np.nan, np.inf]),
        "c": np.arange(12.0).reshape(3, 4).T,  # not contiguous
        "d": np.empty((0, 3)),
    }
    entries, content = pack(arrays, frozenset({"a"}))
    back = arrays_in(entries, content)
    assert [entries[n]["framed"] for n in "abcd"] == [True, False, False, False]
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array.astype("<f4"))


def test_large_files_that_differ_anywhere_have_different_addresses():
    """Streamlit names a large file by three parts of it, the first one included."""
    content = bytes(1_000_000)
    other = content[:300_000] + b"1" + content[300_001:]
    store = MemoryMediaFileStorage("/media")
    names = [
        store.load_and_get_id(large.with_head(x), "", MediaFileKind.MEDIA)
        for x in (content, other, content)
    ]
    assert names[0] != names[1]
    assert names[0] == names[2]
    assert large.with_head(content)[large.HEAD :] == content


class Served:
    """The server's files, and a visitor's run that begins and ends."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        self.store = MemoryMediaFileStorage("/media")
        self.media_file_mgr = MediaFileManager(self.store)
        monkeypatch.setattr(large, "get_instance", lambda: self)
        monkeypatch.setattr(large, "monotonic", lambda: self.now)

    def run(self, *shown):
        self.media_file_mgr.clear_session_refs()
        addresses = [ADDRESS_OF(large.with_head(x), str(n)) for n, x in enumerate(shown)]
        self.media_file_mgr.remove_orphaned_files()
        return addresses

    def serves(self, address):
        try:
            return self.store.get_file(address.rpartition("/")[2]).content[large.HEAD :]
        except MediaFileStorageError:
            return None


def test_data_stay_for_a_moment_after_they_were_shown(monkeypatch):
    served = Served(monkeypatch)
    (old, kept) = served.run(b"old", b"kept")
    served.now += limits.ADDRESS_SECONDS - 1
    (new, same) = served.run(b"new", b"kept")
    assert same == kept
    assert [served.serves(each) for each in (old, new, kept)] == [b"old", b"new", b"kept"]
    served.now += 2
    served.run(b"newest")
    assert [served.serves(each) for each in (old, new, kept)] == [None, b"new", b"kept"]


def test_the_number_of_held_files_is_bounded(monkeypatch):
    served = Served(monkeypatch)
    sent = [served.run(str(n).encode())[0] for n in range(limits.CACHED_ADDRESSES + 5)]
    held = [each for each in sent if served.serves(each)]
    assert held == sent[-limits.CACHED_ADDRESSES :]


def test_nan_in_the_header_is_refused():
    axes = {"axis": np.zeros(1)}
    view = View([], axes, frozenset(), 1, {}, (0.0, 1.0))
    with pytest.raises(ValueError, match="JSON"):
        module.view3d(
            view,
            key="key",
            headings=(),
            captions=(),
            readouts=(),
            frame=0,
            frame_labels=(),
            legend=Legend((), "", ""),
            places=[float("nan")],
        )

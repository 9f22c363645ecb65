"""The data of the 3-D view, packed."""

import numpy as np
import pytest

from tests.ui.payload import arrays_in
from ui.components import view3d as module
from ui.components.view3d import Legend, pack
from ui.drawing.panels import View


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

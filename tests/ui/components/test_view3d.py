"""Is the payload what the JavaScript side unpacks?"""

import numpy as np
import pytest

from tests.ui.payload import unpack
from ui.components.view3d import pack, plotly_url


def test_arrays_survive():
    arrays = {
        "a": np.arange(24.0).reshape(2, 3, 4),
        "b": np.array([1.5, np.nan, np.inf]),
        "c": np.arange(12.0).reshape(3, 4).T,  # not contiguous
        "d": np.empty((0, 3)),
    }
    header, back = unpack(pack({"title": "λ"}, arrays, frozenset({"a"})))
    assert header["title"] == "λ"
    assert [header["arrays"][n]["framed"] for n in "abcd"] == [True, False, False, False]
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array.astype("<f4"))


def test_nan_in_the_header_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        pack({"x": float("nan")}, {}, frozenset())


def test_plotly_is_served_from_here():
    assert plotly_url().startswith("app/static/plotly-")

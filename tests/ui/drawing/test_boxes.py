"""A box is large enough for the browser, and no larger than what is in it."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from ui.drawing.panels import BOX_MARGIN, RESOLUTION, SMALLEST_EXTENT, boxed

PLACES = st.floats(-1e6, 1e6)
EXTENTS = st.one_of(st.just(0.0), st.floats(1e-300, 1e-290), st.floats(1e-9, 1e3))


@given(st.lists(st.tuples(PLACES, EXTENTS), min_size=3, max_size=3))
@example([(3.5851485379976656e-13, 0.0)] * 3)  # whose ends are rounded towards each other
def test_a_box_holds_what_is_in_it_and_single_precision_can_tell_its_ends_apart(sides):
    low = np.array([place for place, _ in sides])
    high = low + np.array([extent for _, extent in sides])
    less, more = boxed(low, high)
    assert (less <= low).all()
    assert (high <= more).all()
    assert (np.float32(less) < np.float32(more)).all()
    assert (more - less).max() >= SMALLEST_EXTENT
    largest, reach = (high - low).max(), np.abs([low, high]).max()
    if largest > RESOLUTION * reach and largest > SMALLEST_EXTENT:  # nothing but the margin
        np.testing.assert_allclose(low - less, BOX_MARGIN * largest, atol=1e-9 * reach)


def test_what_has_no_extent_stands_in_the_middle_of_a_box():
    less, more = boxed(np.full(3, 1e-300), np.full(3, 2e-300))
    np.testing.assert_allclose(more, -less, rtol=1e-9)
    assert (more > 0).all()

"""Is a drawing found again in the link, and is anything else refused?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.tasks import OwnDataError
from ui.decision_boundary.drawing import decoded, encoded, own_of
from ui.limits import DRAWN_POINTS_IN_LINK

PLACES = st.integers(-1000, 1000).map(lambda place: place / 1000)
DRAWINGS = st.lists(
    st.tuples(PLACES, PLACES, st.integers(0, 3)), min_size=1, max_size=DRAWN_POINTS_IN_LINK
)


@given(DRAWINGS)
def test_a_drawing_is_found_again(drawn):
    points, labels = tuple((x, y) for x, y, _ in drawn), tuple(label for *_, label in drawn)
    text = encoded(points, labels)
    assert len(text) == 4 * len(points)
    assert decoded(text) == (points, labels)


@given(st.text())
def test_any_other_text_is_none_or_is_written_like_that(text):
    found = decoded(text)
    assert found is None or encoded(*found) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "AAA",
        "AA==",
        "____",
        "AAAA AAAA",
        "AAAA\n",
        "é" * 4,
        "AAAA" * (DRAWN_POINTS_IN_LINK + 1),
    ],
)
def test_texts_that_are_none(text):
    assert decoded(text) is None


def test_the_largest_that_fits():
    corner = encoded([(1.0, 1.0)] * DRAWN_POINTS_IN_LINK, [3] * DRAWN_POINTS_IN_LINK)
    assert decoded(corner) == (((1.0, 1.0),) * DRAWN_POINTS_IN_LINK, (3,) * DRAWN_POINTS_IN_LINK)


def test_one_drawing_is_one_object():
    points = tuple((0.1 * i - 0.5, 0.25) for i in range(8))
    assert own_of((points, (0, 2) * 4)) is own_of((points, (0, 2) * 4))
    assert own_of((points, (0, 2) * 4)).names == ("blue", "green")
    with pytest.raises(OwnDataError, match="at least two classes"):
        own_of((points, (1,) * 8))

"""The square to draw in: which messages reach the page, and which points are refused."""

import re

import numpy as np
import pytest

from ui.components import draw as module

SOUND = {"points": [[0.5, -1], [0.12345, -0.0001]], "labels": [1, 0], "serial": 1_700_000_000_000}
NAN, INFINITY = float("nan"), float("inf")


def swap(key, index, value):
    """The sound message with one entry changed."""
    changed = [list(x) if isinstance(x, list) else x for x in SOUND[key]]
    changed[index] = value
    return SOUND | {key: changed}


RIGHT = [
    SOUND,
    SOUND | {"points": [], "labels": []},
    swap("points", 0, [1, 1.0]),
    SOUND | {"serial": 1},
]
WRONG = [
    swap("points", 0, [1.001, 0]),
    swap("points", 0, [0, NAN]),
    swap("points", 0, [-INFINITY, 0]),
    swap("points", 0, [10**400, 0]),
    swap("points", 0, ["0", 0]),
    swap("points", 0, [True, 0]),
    swap("points", 0, [[0], 0]),
    swap("points", 0, [0, 0, 0]),
    swap("points", 0, []),
    swap("points", 0, "xy"),
    swap("labels", 0, 2),
    swap("labels", 0, -1),
    swap("labels", 0, True),
    swap("labels", 0, "1"),
    SOUND | {"labels": [0]},
    SOUND | {"points": "01"},
    SOUND | {"points": [[0, 0]] * 4, "labels": [0] * 4},  # three fit
    SOUND | {"serial": 0},
    SOUND | {"serial": True},
    SOUND | {"serial": 10**400},
    {"points": [], "labels": []},
    {},
    None,
]


@pytest.fixture
def square(monkeypatch):
    """A page with a square: ``send`` is the browser, ``kept`` has the drawings received."""

    class Square:
        session = {}
        kept = []
        data = None

        def run(self, points=(), labels=(), **options):
            given = {"class_names": ["a", "b"], "colours": ["red", "blue"], "most": 3} | options
            module.draw(key="k", points=points, labels=labels, on_change=self.keep, **given)

        def keep(self):
            self.kept.append(module.drawn("k"))

        def send(self, message):
            self.session["k"] = {"drawn": message}
            self.hear()

        def mount(self, *, key, data, on_drawn_change):
            self.data, self.hear = data, on_drawn_change

    square = Square()
    square.session, square.kept = {}, []
    monkeypatch.setattr(module.st, "session_state", square.session)
    monkeypatch.setattr(module, "_component", square.mount)
    return square


@pytest.mark.parametrize("message", RIGHT)
def test_a_sound_drawing_is_received(square, message):
    square.run()
    square.send(message)
    ((points, labels),) = square.kept
    assert labels == tuple(message["labels"])
    assert len(points) == len(labels)
    square.run(points, labels)
    assert square.data["heard"] == message["serial"]


def test_coordinates_are_rounded_and_hashable(square):
    square.run()
    square.send(SOUND)
    ((points, labels),) = square.kept
    assert points == ((0.5, -1.0), (0.123, 0.0))
    assert str(points[1][1]) == "0.0"  # not -0.0
    assert all(type(value) is float for point in points for value in point)
    assert isinstance(hash((points, labels)), int)


@pytest.mark.parametrize("message", WRONG, ids=str)
def test_a_forged_drawing_is_ignored(square, message):
    square.run()
    square.send(message)
    assert square.kept == []
    square.run()
    assert square.data["heard"] == 0


def test_sent_points_are_plain_and_rounded(square):
    square.run(np.array([[0.12345, -1.0]]), np.array([1]))
    assert square.data["points"] == [[0.123, -1.0]]
    assert square.data["labels"] == [1]
    # A single NumPy number would turn the whole payload into a string.
    kinds = {type(value) for value in (*square.data["points"][0], *square.data["labels"])}
    assert kinds == {float, int}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"points": [(0.0, 1.5)]}, "The point (0.0, 1.5) lies outside the square from -1 to 1."),
        ({"points": [(NAN, 0.0)]}, "The point (nan, 0.0) lies outside"),
        ({"labels": [2]}, "The label 2 is none of the 2 classes, counted from 0."),
        ({"labels": [-1]}, "The label -1 is none"),
        ({"labels": []}, "There are 1 points, but 0 labels."),
        ({"most": 0}, "At most 0 points can be drawn, not 1."),
        ({"colours": ["red"]}, "There are 2 classes, but 1 colours."),
        ({"class_names": ["a"]}, "in 2 to 4 classes, not in 1."),
        ({"class_names": list("abcde")}, "in 2 to 4 classes, not in 5."),
    ],
)
def test_points_that_cannot_be_shown_are_refused(square, change, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        square.run(**({"points": [(0.0, 0.0)], "labels": [0]} | change))
    assert square.data is None

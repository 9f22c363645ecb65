"""No component's message is heard that its own script cannot have sent; none draws nonsense."""

from functools import partial

import numpy as np
import pytest

from tests.each import each
from ui.components import draw as square
from ui.components import heads, islands, keys, pair, stage, tree, wire

NAN, BIG = float("nan"), 10**400
TABLE = {"keys": [[0, 3.5], [-2, -2], [2, -2], [0, 0]], "biases": [0, 0, 0, -4],
         "values": [[0, 0, 2]] * 4, "at": [1, -1], "cut": [0, 0.6, 0.8, -1]}  # fmt: skip
MESSAGES = {  # what is checked, a sound message, other sound ones, and forged ones
    "draw": (partial(square._is_sound, classes=2, most=3),
             {"points": [[0.5, -1], [0.1, -0.0001]], "labels": [1, 0]},
             [{"points": [], "labels": []}],
             [{"points": p} for p in ([[1.001, 0]] * 2, [[0, NAN]] * 2, [[BIG, 0]] * 2,
                                      [["0", 0]] * 2, [[True, 0]] * 2, [[0, 0, 0]] * 2,
                                      [[]] * 2, "01", ["xy", "xy"])]
             + [{"labels": x} for x in ([0], [2, 0], [-1, 0], [True, 0], ["1", 0])]
             + [{"points": [[0, 0]] * 4, "labels": [0] * 4}]),  # three fit
    "tree": (partial(tree.is_sound, names={"", "2.1"}),
             {"point": [0.5, -1], "strength": 0.25, "expert": "2.1"},
             [{"strength": 1, "expert": ""}],
             [{"point": [0, 1.001]}, {"point": [NAN, 0]}, {"point": [0]}, {"point": "00"},
              {"point": ["0", 0]}, {"strength": 1.5}, {"strength": True}, {"strength": NAN},
              {"expert": "3.1"}, {"expert": ["2.1"]}]),
    "heads": (partial(heads.is_sound, layers=6, count=12), {"open": [5, 11], "at": [1, -1]},
              [{"open": None, "at": None}],
              [{"open": None}, {"at": None}, {"open": [6, 0]}, {"open": [0, 12]},
               {"open": [-1, 0]}, {"open": [0.0, 1]}, {"open": [True, 1]}, {"open": "00"},
               {"at": [0, 2]}, {"at": [0, NAN]}, {"at": [0]}]),
    "keys": (keys.is_sound, TABLE, [{"at": None, "cut": None}],
             [{"cut": [0, 0, 0, 1]}, {"cut": "0001"}, {"at": [1, 2]}, {"at": []},
              {"keys": [[0, 3.5]] * 3}, {"keys": [[0, 4.5]] * 4}, {"keys": [[0, NAN]] * 4},
              {"keys": [["0", 0]] * 4}, {"biases": [0, 0, 0, True]}, {"biases": [0, 0, 0, BIG]},
              {"values": [[0, 0]] * 4}, {"values": "0000"}]),
    "islands": (islands.is_sound, {"plane": [0, 0, 1, 0], "turn": 0}, [{"turn": 90}],
                [{"plane": [1, 1, 0, 0]}, {"turn": 91}, {"turn": 4.5}, {"plane": [0, 0, 1]},
                 {"plane": "up"}]),
    "stage": (stage.is_sound, {"strength": 0.5, "plane": [0, 0.6, 0.8, -1]}, [{"plane": None}],
              [{"strength": 1.5}, {"strength": True}, {"plane": [0, 1, 1, 0]},
               {"plane": [0, 0, 1, 11]}, {"plane": [0, 0, "1", 0]}, {"plane": "0011"}]),
    "pair": (partial(pair.is_sound, frames=21, size=61),
             {"frame": 1, "point": [60, 0], "corners": [[0, 0.5, 1]] * 3},
             [{"point": None, "corners": None}],
             [{"frame": -1}, {"frame": 21}, {"frame": 1.0}, {"point": [61, 0]}, {"point": [1]},
              {"corners": [[0, 0, 0]] * 2}, {"corners": [[0, 0]] * 3},
              {"corners": [[0, 0, NAN]] * 3}, {"corners": [[0, 0, 1e9]] * 3},
              {"corners": [[0, 0, "1"]] * 3}]),
}  # fmt: skip


def is_received(is_sound, message):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire.st, "session_state", {"key": {"sent": message}})
        return wire.receive("key", "sent", is_sound) is not None


@each(MESSAGES.values())
def test_a_forged_message_is_not_listened_to(is_sound, message, sound, forged):
    for change in ({}, *sound):
        assert is_received(is_sound, message | change | {"serial": 1}), change
    for change in (*forged, *({"serial": x} for x in ("1", 0, True, 2**53 + 1, BIG))):
        assert not is_received(is_sound, message | {"serial": 1} | change), change
    for other in (None, [], "moved", {}, message):
        assert not is_received(is_sound, other), other


def test_what_is_drawn_comes_back_rounded_plain_and_hashable(monkeypatch):
    session, sent, heard = {}, [], []
    monkeypatch.setattr(wire.st, "session_state", session)
    monkeypatch.setattr(square, "_component", lambda **options: sent.append(options))

    def draw(points=(), labels=()):
        square.draw(
            key="k",
            points=points,
            labels=labels,
            on_change=lambda *drawn: heard.append(drawn),
            class_names=["a", "b"],
            colours=["red", "blue"],
            most=3,
        )

    draw()
    message = {"points": [[0.5, -1], [0.12345, -0.0001]], "labels": [1, 0], "serial": 7}
    session["k"] = {"drawn": message}
    sent[0]["on_drawn_change"]()
    ((points, labels),) = heard
    assert (points, labels) == (((0.5, -1.0), (0.123, 0.0)), (1, 0))
    assert str(points[1][1]) == "0.0"  # not -0.0
    draw(np.array(points), np.array(labels))
    # A single NumPy number would turn the whole payload into a string.
    data = sent[1]["data"]
    assert {type(value) for value in (*data["points"][0], *data["labels"])} == {float, int}
    assert data["heard"] == 7

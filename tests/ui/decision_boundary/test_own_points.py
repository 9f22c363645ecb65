"""Can one's own points be pasted, uploaded, drawn, trained, refused and left?"""

import json

import numpy as np
import pytest

from gating_core.tasks import LARGEST_BYTES
from gating_core.tasks.own import EXAMPLE_CSV
from tests.ui.decision_boundary.playing import (
    assert_shown,
    choose,
    draw_points,
    finish,
    open_boundary,
    run_of,
    said,
)
from tests.ui.opening import component, mistakes, notes
from ui.drawing import palette
from ui.limits import PASTED_CHARACTERS

pytestmark = pytest.mark.usefixtures("quick")


def table_of(count=40, classes=("a", "b"), scale=1.0):
    rows = ["x,y,label"]
    for i in range(count):
        angle = i * 2.4
        label = classes[i % len(classes)]
        radius = scale * (1 + i % len(classes))
        rows.append(f"{radius * np.cos(angle):.3f},{radius * np.sin(angle):.3f},{label}")
    return "\n".join(rows)


def paste(app, text):
    app.text_area(key="own_text").set_value(text).run()
    return finish(app)


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c"), ("1", "2", "3", "4")])
def test_a_pasted_table_is_trained(classes):
    app = open_boundary(own="true")
    paste(app, table_of(classes=classes))
    assert not app.error
    assert app.query_params["data"] in ("own", ["own"])
    setting = run_of(app).setting
    assert setting.task == "own"
    assert setting.own.names == classes
    assert f"In use: 40 points, classes {', '.join(classes)}" in said(app)
    assert "Scaled to the square" in said(app)
    assert_shown(app)


def test_the_example_is_trained():
    app = open_boundary(own="true")
    paste(app, EXAMPLE_CSV)
    assert "80 points, classes ripe, unripe" in said(app)
    assert run_of(app).setting.task == "own"


@pytest.mark.parametrize(("share", "expected"), [("0.25", 0.25), ("0.7", 0.7), ("0", 0.75)])
def test_what_is_said_of_the_split_is_what_is_done(share, expected):
    app = open_boundary(own="true", share=share)
    assert run_of(app).setting.train_share == (0.25 if share == "0" else expected)
    paste(app, table_of())
    assert run_of(app).setting.train_share == expected
    task = run_of(app).task
    train, test = task.train_points.shape[1], task.test_points.shape[1]
    assert train + test == 40
    assert f"trains on {train} of the 40 points" in said(app)
    assert f"the other {test}" in said(app)


REFUSED = [
    "1,2,a\n3,4,b",  # no header
    "x,label\n1,a",  # no y
    table_of().replace("1.000", "one", 1),
    table_of() + "\nnan,0,a",
    table_of() + "\n0,inf,a",
    table_of(classes=("a",)),
    table_of(classes=tuple("abcde")),
    table_of(7),  # too few
    "x,y,label\n" + "\n".join(f"1,1,{c}" for c in "abababab"),  # all on one spot
    table_of(5001),  # too many
    "\x00\x01",
]


def large_table():
    """Forty points with every digit that a number has, and four times as many more."""
    places = np.random.default_rng(0).normal(size=(200, 2))
    rows = [f"{x!r},{y!r},{'ab'[i % 2]}" for i, (x, y) in enumerate(places.tolist())]
    return "\n".join(["x,y,label", *rows])


def reloaded(app):
    """A new visit by the link that stands there."""
    link = {name: app.query_params[name] for name in app.query_params}
    return open_boundary(**link)


def upload(app, text):
    app.file_uploader(key="own_file").set_value(("points.csv", text.encode(), "text/csv")).run()
    return finish(app)


@pytest.mark.parametrize("give", [paste, upload])
def test_a_small_table_survives_a_reload(give):
    app = give(open_boundary(own="true"), table_of())
    assert "It stands in the link." in said(app)
    again = reloaded(app)
    assert run_of(again).setting == run_of(app).setting
    assert "In use: 40 points, classes a, b" in said(again)
    assert not notes(again)
    assert not again.error
    paste(again, "x,y\n1,2")  # what is refused takes nothing away
    assert "Still in use, from before: 40 points" in said(again)
    assert run_of(reloaded(again)).setting == run_of(app).setting


@pytest.mark.parametrize("give", [paste, upload])
def test_of_a_table_that_is_too_large_for_the_link_that_is_said_before_and_after(give):
    app = give(open_boundary(own="true"), large_table())
    assert run_of(app).setting.task == "own"
    assert "too large for the link: after a reload" in said(app)
    assert "It stands in the link." not in said(app)
    assert not notes(app)
    again = reloaded(app)
    assert run_of(again).setting.task == "circle"
    (note,) = notes(again)
    assert "The table of this link was too large to stand in it" in note
    assert "must be pasted or uploaded again" in note
    assert note.endswith("Shown: circle.")
    assert "There are no points of your own yet" not in said(again)
    give(again, large_table())
    assert run_of(again).setting == run_of(app).setting
    assert not notes(again)
    paste(again, table_of())  # a small one takes its place, in the link, too
    assert "In use: 40 points" in said(again)
    assert run_of(reloaded(again)).setting.own == run_of(again).setting.own


def test_a_drawing_that_takes_the_place_of_a_lost_table_is_said_to():
    app = open_boundary(own="true")
    points = [[0.2 * i - 0.8, 0.5 - (i % 2)] for i in range(9)]
    draw_points(app, points, [i % 2 for i in range(9)])
    paste(app, large_table())
    assert run_of(app).setting.own.names == ("a", "b")
    again = reloaded(app)
    assert run_of(again).setting.own.names == ("blue", "orange")
    (note,) = notes(again)
    assert "too large to stand in it" in note
    assert note.endswith("Shown: the points that were drawn.")
    draw_points(again, points[::-1], [i % 2 for i in range(9)], serial=2)
    assert "table" not in again.query_params
    assert not notes(again)


@pytest.mark.parametrize("text", ["AAAA", "<b>**", "A" * 5000])
def test_a_table_of_a_link_that_is_none_gets_one_sentence(text):
    app = open_boundary(data="own", own="true", table=text)
    (problem,) = mistakes(app)
    assert "The link says `table`" in problem
    assert "it must be a table of points, as this page writes it. Shown instead: none." in problem
    (note,) = notes(app)
    assert note.endswith("There are no points of your own yet. Shown: circle.")
    assert "table" not in app.query_params
    assert_shown(app)


def test_a_refused_table_gets_a_sentence_and_the_picture_stays():
    app = open_boundary(own="true")
    before = run_of(app)
    paste(app, table_of())
    trained = run_of(app)
    assert trained is not before
    for text in REFUSED:
        paste(app, table_of())
        assert not app.error, text
        assert run_of(app) is trained, text  # the same table is the same setting
        paste(app, text)
        assert len(app.error) == 1, text
        assert len(app.error[0].value) < 300, text
        assert run_of(app) is trained, text
        assert_shown(app)
    paste(app, table_of(scale=2.0))
    assert not app.error
    assert run_of(app) is not trained


def test_without_a_table_an_empty_one_is_refused_beside_the_first_picture():
    app = open_boundary(own="true")
    before = run_of(app)
    paste(app, "x")
    assert run_of(app) is before
    paste(app, "")
    assert len(app.error) == 1
    assert len(app.error[0].value) < 300
    assert run_of(app) is before
    assert_shown(app)
    paste(app, table_of())
    assert not app.error
    assert run_of(app) is not before


@pytest.mark.parametrize(
    ("content", "trained"),
    [
        (EXAMPLE_CSV.encode(), True),
        (EXAMPLE_CSV.encode("utf-16"), False),
        (b"\xff\xfe\x00", False),
        (b"", False),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), False),
        (b"x,y,label\n" + b"0.1,0.2,a\n" * 200_000, False),  # above 1 MB
    ],
    ids=["example", "UTF-16", "half a character", "empty", "picture", "too large"],
)
def test_an_uploaded_file_is_trained_or_refused(content, trained):
    app = open_boundary(own="true")
    app.file_uploader(key="own_file").set_value(("points.csv", content, "text/csv")).run()
    finish(app)
    assert (run_of(app).setting.task == "own") == trained
    assert len(app.error) == (not trained)
    assert_shown(app)


def test_drawn_points_are_trained():
    app = open_boundary(own="true")
    few = [[0.1 * i, 0.0] for i in range(4)]
    draw_points(app, few, [0] * 4)
    (error,) = app.error
    assert "4; at least 8" in error.value
    assert run_of(app).setting.task == "circle"

    points = [[0.2 * i - 0.8, 0.5 - (i % 2)] for i in range(9)]
    draw_points(app, points, [3 * (i % 2) for i in range(9)], serial=2)
    assert not app.error
    own = run_of(app).setting.own
    assert own.names == ("blue", "purple")
    header, _ = assert_shown(app)
    assert (header["legend"]["low"], header["legend"]["high"]) == ("blue", "purple")
    ends = [colour for _, colour in header["legend"]["scale"]]
    assert (ends[0], ends[-1]) == (palette.CLASS_COLOURS[0], palette.CLASS_COLOURS[3])
    symbols = {
        trace["marker"]["symbol"].removesuffix("-open")
        for trace in header["columns"][1]["panels"][1]["traces"] if "marker" in trace
    }  # fmt: skip
    assert symbols == {"circle", "cross"}
    np.testing.assert_allclose(own.points, points)
    assert "The points stand where they were given" in said(app)
    assert_shown(app)
    shown = json.loads(component(app, "own_draw").proto.json)
    np.testing.assert_allclose(shown["points"], points)

    app = open_boundary(data="own", drawing=app.query_params["drawing"])  # a reload
    assert run_of(app).setting.own == own
    shown = json.loads(component(app, "own_draw").proto.json)
    np.testing.assert_allclose(shown["points"], points)
    assert "In use: 9 points, classes blue, purple" in said(app)

    draw_points(app, [], [], serial=3)
    assert not app.error
    assert "drawing" not in app.query_params
    assert notes(app) == [":material/info: There are no points of your own yet. Shown: circle."]
    assert run_of(app).setting.task == "circle"
    assert_shown(app)


def test_a_drawing_takes_the_place_of_a_table_once_it_suffices():
    app = open_boundary(own="true")
    paste(app, table_of())
    table = run_of(app).setting.own
    points = [[0.2 * i - 0.8, 0.5 - (i % 2)] for i in range(9)]
    draw_points(app, points[:4], [0, 1] * 2)
    assert not app.error
    assert run_of(app).setting.own == table
    draw_points(app, points, [i % 2 for i in range(9)], serial=2)
    assert run_of(app).setting.own.names == ("blue", "orange")
    draw_points(app, [], [], serial=3)
    assert run_of(app).setting.task == "circle"


def test_what_is_in_use_beside_a_refused_table_is_said():
    app = open_boundary(own="true")
    paste(app, table_of())
    assert "In use: 40 points" in said(app)
    assert "Still" not in said(app)
    paste(app, "x,y\n1,2")
    assert len(app.error) == 1
    assert "Still in use, from before: 40 points" in said(app)


def test_a_pasted_text_is_limited_to_what_is_said():
    app = open_boundary(own="true")
    assert app.text_area(key="own_text").proto.max_chars == PASTED_CHARACTERS == LARGEST_BYTES
    assert f"more than {PASTED_CHARACTERS:,} characters is not taken" in said(app)
    paste(app, table_of() + "\n" * (PASTED_CHARACTERS - len(table_of())))  # blank rows are none
    assert "In use: 40 points" in said(app)


def test_files_are_limited_to_what_is_said():
    app = open_boundary(own="true")
    (uploader,) = app.get("file_uploader")
    assert uploader.proto.max_upload_size_mb == 1
    assert "at most 5,000 rows and 1 MB" in uploader.proto.label


def test_own_points_can_be_left_and_returned_to():
    app = open_boundary(own="true")
    paste(app, table_of())
    choose(app, "data", "xor")
    finish(app)
    assert run_of(app).setting.task == "xor"
    choose(app, "data", "own")
    finish(app)
    assert run_of(app).setting.task == "own"


def test_own_points_take_no_noise_and_say_so():
    app = open_boundary(own="true", noise="0.2", flip="0.2")
    paste(app, table_of())
    assert "no noise, no wrong labels" in notes(app)[0]
    setting = run_of(app).setting
    assert (setting.noise, setting.label_noise) == (0, 0)
    assert_shown(app)


def test_what_stands_in_a_table_is_no_markdown():
    app = open_boundary(own="true")
    paste(app, "x,y,label\n1,**bold** $x$ [a](b),c\n")
    (error,) = app.error
    assert "\\*\\*bold\\*\\*" in error.value
    assert "\\[a\\]" in error.value


def test_a_refusal_goes_with_its_file():
    app = open_boundary(own="true")
    app.file_uploader(key="own_file").set_value(("points.csv", b"x,y\n1,2", "text/csv")).run()
    finish(app)
    assert app.error
    app.file_uploader(key="own_file").set_value(None).run()
    finish(app)
    assert not app.error


def test_balance_and_own_points():
    app = open_boundary(own="true", balance="0.3")
    paste(app, table_of())
    assert notes(app)
    assert "The balance of classes cannot be set for your own points" in notes(app)[0]
    assert_shown(app)

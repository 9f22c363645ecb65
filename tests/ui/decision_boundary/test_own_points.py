"""One's own points can be pasted, uploaded, drawn, trained, refused and left."""

import numpy as np
import pytest

from gating_core.tasks import EXAMPLE_CSV, LARGEST_BYTES
from tests.ui.decision_boundary.playing import (
    assert_shown,
    choose,
    draw_points,
    finish,
    open_boundary,
    run_of,
    texts_of,
)
from tests.ui.opening import as_read, data_of, mistakes, notes
from ui.drawing import palette
from ui.limits import PASTED_CHARACTERS

pytestmark = pytest.mark.usefixtures("quick")

POINTS = [[0.2 * i - 0.8, 0.5 - (i % 2)] for i in range(9)]
LABELS = [i % 2 for i in range(9)]


def table_of(count=40, classes=("a", "b"), scale=1.0):
    rows = ["x,y,label"]
    for i in range(count):
        angle = i * 2.4
        label = classes[i % len(classes)]
        radius = scale * (1 + i % len(classes))
        rows.append(f"{radius * np.cos(angle):.3f},{radius * np.sin(angle):.3f},{label}")
    return "\n".join(rows)


def large_table():
    """Two hundred points with every digit that a number has."""
    points = np.random.default_rng(0).normal(size=(200, 2))
    rows = [f"{x!r},{y!r},{'ab'[i % 2]}" for i, (x, y) in enumerate(points.tolist())]
    return "\n".join(["x,y,label", *rows])


def paste(app, text):
    app.text_area(key="own_text").set_value(text).run()
    return finish(app)


def upload(app, content):
    file = None if content is None else ("points.csv", content, "text/csv")
    app.file_uploader(key="own_file").set_value(file).run()
    return finish(app)


def reloaded(app):
    """A new visit by the link that stands there."""
    return open_boundary(**{name: app.query_params[name] for name in app.query_params})


def test_the_page_says_how_it_read_what_could_be_thousands():
    app = open_boundary(own="true")
    rows = [f"{x};{i};{'ab'[i % 2]}" for i, x in enumerate(("1.250", "950", "1.050", "875") * 2)]
    paste(app, "\n".join(["x;y;label", *rows]))
    assert not app.error
    assert [as_read(warning.value) for warning in app.warning] == [
        "In column x, 1.250 was read as 1.25: a point starts the decimals. If it separates"
        " thousands, write 1250."
    ]
    assert run_of(app).setting.own.originals[:2, 0].tolist() == [1.25, 950]
    paste(app, table_of())
    assert not app.warning


def test_pasted_tables_are_trained_or_refused_with_a_sentence_and_the_picture_stays():
    app = open_boundary(own="true")
    before = run_of(app)
    paste(app, "x")
    paste(app, "")
    assert len(app.error) == 1
    assert run_of(app) is before
    paste(app, table_of(classes=("1", "2", "3")))
    assert not app.error
    assert app.query_params["data"] in ("own", ["own"])
    trained = run_of(app)
    assert trained is not before
    assert trained.setting.task == "own"
    assert trained.setting.own.names == ("1", "2", "3")
    assert "In use: 40 points, classes 1, 2, 3" in texts_of(app)
    assert "Still" not in texts_of(app)
    assert "Scaled to the square" in texts_of(app)
    assert_shown(app)
    for text in ("1,2,a\n3,4,b", table_of(5001), "\x00\x01"):
        paste(app, text)
        assert len(app.error) == 1, text
        assert len(app.error[0].value) < 300, text
        assert run_of(app) is trained, text
        assert "Still in use, from before: 40 points" in texts_of(app)
    paste(app, "x,y,label\n1,**bold** $x$ [a](b),c\n")  # what stands there is no Markdown
    (error,) = app.error
    assert "\\*\\*bold\\*\\*" in error.value
    assert "\\[a\\]" in error.value
    assert_shown(app)
    paste(app, table_of(classes=("1", "2", "3")))
    assert not app.error
    assert run_of(app) is trained  # the same table is the same setting
    paste(app, table_of(scale=2.0))
    assert run_of(app) is not trained


@pytest.mark.soak  # long
def test_what_is_said_of_the_split_is_what_is_done():
    app = open_boundary(own="true", share="0.25")
    assert run_of(app).setting.train_share == 0.25
    paste(app, table_of())
    for expected in (0.25, 0.75):
        assert run_of(app).setting.train_share == expected
        task = run_of(app).task
        train, test = task.train_points.shape[1], task.test_points.shape[1]
        assert train + test == 40
        assert f"draws {train} of the 40 points for training" in texts_of(app)
        assert f"the other {test}" in texts_of(app)
        app.slider(key="share").set_value(0.0).run()  # automatic
        finish(app)


def test_a_small_table_survives_a_reload():
    app = paste(open_boundary(own="true"), table_of())
    assert "The link contains these points." in texts_of(app)
    again = reloaded(app)
    assert run_of(again).setting == run_of(app).setting
    assert "In use: 40 points, classes a, b" in texts_of(again)
    assert not notes(again)
    assert not again.error
    paste(again, "x,y\n1,2")  # what is refused takes nothing away
    assert "table" in again.query_params
    assert run_of(again).setting == run_of(app).setting


@pytest.mark.soak  # long
def test_of_a_table_that_is_too_large_for_the_link_that_is_said_before_and_after():
    app = upload(open_boundary(own="true"), large_table().encode())
    assert run_of(app).setting.task == "own"
    assert "too large for the link. After a reload" in texts_of(app)
    assert "The link contains these points." not in texts_of(app)
    assert not notes(app)
    again = reloaded(app)
    assert run_of(again).setting.task == "circle"
    (note,) = notes(again)
    assert note.endswith(
        "The table was too large for this link. Paste or upload it again. Shown: circle."
    )
    assert "There are no points of your own yet" not in texts_of(again)
    upload(again, large_table().encode())
    assert run_of(again).setting == run_of(app).setting
    assert not notes(again)
    paste(again, table_of())  # a small one takes its place, in the link, too
    assert "In use: 40 points" in texts_of(again)
    assert "The link contains these points." in texts_of(again)


@pytest.mark.soak  # long
def test_a_drawing_takes_the_place_of_a_table_once_it_suffices_and_of_a_lost_one():
    app = open_boundary(own="true")
    paste(app, large_table())
    table = run_of(app).setting.own
    assert table.names == ("a", "b")
    draw_points(app, POINTS[:4], LABELS[:4])
    assert not app.error
    assert run_of(app).setting.own == table
    draw_points(app, POINTS, LABELS, serial=2)
    assert run_of(app).setting.own.names == ("blue", "orange")
    paste(app, large_table() + "\n")
    again = reloaded(app)
    assert run_of(again).setting.own.names == ("blue", "orange")
    (note,) = notes(again)
    assert "too large for this link" in note
    assert note.endswith("Shown: the points that were drawn.")
    draw_points(again, POINTS[::-1], LABELS, serial=3)
    assert "table" not in again.query_params
    assert not notes(again)
    draw_points(again, [], [], serial=4)
    assert run_of(again).setting.task == "circle"


def test_a_table_of_a_link_that_is_none_gets_one_sentence():
    app = open_boundary(data="own", own="true", table="<b>**")
    (problem,) = mistakes(app)
    assert "The link says `table`" in problem
    assert "it must be a table of points, as this page writes it. Shown instead: none." in problem
    (note,) = notes(app)
    assert note.endswith("There are no points of your own yet. Shown: circle.")
    assert "table" not in app.query_params
    assert_shown(app)


def test_an_uploaded_file_is_trained_or_refused():
    app = open_boundary(own="true")
    (uploader,) = app.get("file_uploader")
    assert uploader.proto.max_upload_size_mb == 1
    assert "at most 5,000 rows and 1 MB" in uploader.proto.label
    before = run_of(app)
    above_1_mb = b"x,y,label\n" + b"0.1,0.2,a\n" * 200_000
    for content in (EXAMPLE_CSV.encode("utf-16"), b"\x89PNG\r\n\x1a\n", b"", above_1_mb):
        upload(app, content)
        assert len(app.error) == 1
        assert run_of(app) is before
    upload(app, None)  # a refusal goes with its file
    assert not app.error
    upload(app, EXAMPLE_CSV.encode())
    assert not app.error
    assert "80 points, classes ripe, unripe" in texts_of(app)
    assert run_of(app).setting.task == "own"
    assert_shown(app)


def test_drawn_points_are_trained():
    app = open_boundary(own="true")
    draw_points(app, [[0.1 * i, 0.0] for i in range(4)], [0] * 4)
    (error,) = app.error
    assert "4; at least 8" in error.value
    assert run_of(app).setting.task == "circle"

    draw_points(app, POINTS, [3 * label for label in LABELS], serial=2)
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
    np.testing.assert_allclose(own.points, POINTS)
    assert "The points stand where they were given" in texts_of(app)

    app = open_boundary(data="own", drawing=app.query_params["drawing"])  # a reload
    assert run_of(app).setting.own == own
    shown = data_of(app, "own_draw")
    np.testing.assert_allclose(shown["points"], POINTS)
    assert "In use: 9 points, classes blue, purple" in texts_of(app)

    draw_points(app, [], [], serial=3)
    assert not app.error
    assert "drawing" not in app.query_params
    assert notes(app) == [":material/info: There are no points of your own yet. Shown: circle."]
    assert run_of(app).setting.task == "circle"
    assert_shown(app)


def test_a_pasted_text_is_limited_to_what_is_said():
    app = open_boundary(own="true")
    assert app.text_area(key="own_text").proto.max_chars == PASTED_CHARACTERS == LARGEST_BYTES
    assert f"more than {PASTED_CHARACTERS:,} characters is not accepted" in texts_of(app)
    paste(app, table_of() + "\n" * (PASTED_CHARACTERS - len(table_of())))  # blank rows are none
    assert "In use: 40 points" in texts_of(app)


@pytest.mark.soak  # long
def test_own_points_can_be_left_and_returned_to_and_take_no_noise_and_no_balance():
    app = open_boundary(own="true", noise="0.2", flip="0.2", balance="0.3")
    paste(app, table_of())
    assert "The balance of classes cannot be set for your own points" in notes(app)[0]
    assert "no noise, no wrong labels" in notes(app)[1]
    setting = run_of(app).setting
    assert (setting.noise, setting.label_noise) == (0, 0)
    choose(app, "data", "xor")
    finish(app)
    assert run_of(app).setting.task == "xor"
    choose(app, "data", "own")
    finish(app)
    assert run_of(app).setting == setting
    assert_shown(app)

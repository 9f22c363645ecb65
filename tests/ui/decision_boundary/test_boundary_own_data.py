"""Own points are drawn, pasted, uploaded, refused with a sentence, and found again in the link."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.tasks import EXAMPLE_CSV, LARGEST_BYTES, OwnDataError, parse_csv
from tests.ui.decision_boundary.playing import (
    assert_shown,
    finish,
    open_boundary,
    run_of,
    texts_of,
)
from tests.ui.opening import data_of, mistakes, notes, report
from ui.decision_boundary import own_data
from ui.decision_boundary.own_data import (
    TOO_LARGE,
    URL_LETTERS,
    decode_drawing,
    decode_table,
    encode_drawing,
    encode_table,
)
from ui.drawing import palette
from ui.limits import DRAWN_POINTS_IN_LINK, PASTED_CHARACTERS, TABLE_LETTERS_IN_LINK

POINTS = [[0.2 * i - 0.8, 0.5 - (i % 2)] for i in range(9)]
LABELS = [i % 2 for i in range(9)]


# --- In the link ----------------------------------------------------------------------------------

ALONG = st.integers(-1000, 1000).map(lambda step: step / 1000)
DRAWINGS = st.lists(
    st.tuples(ALONG, ALONG, st.integers(0, 3)), min_size=1, max_size=DRAWN_POINTS_IN_LINK
)


@given(DRAWINGS)
def test_a_drawing_is_found_again(drawn):
    points, labels = tuple((x, y) for x, y, _ in drawn), tuple(label for *_, label in drawn)
    text = encode_drawing(points, labels)
    assert len(text) == 4 * len(points)
    assert decode_drawing(text) == (points, labels)


@given(st.text())
def test_any_other_text_is_none_or_is_written_like_that(text):
    result = decode_drawing(text)
    assert result is None or encode_drawing(*result) == text


def test_texts_that_are_no_drawing():
    too_many = "AAAA" * (DRAWN_POINTS_IN_LINK + 1)
    for text in ("", "A", "AAA", "AA==", "____", "AAAA AAAA", "AAAA\n", "é" * 4, too_many):
        assert decode_drawing(text) is None


NUMBERS = st.floats(-1e100, 1e100) | st.decimals(-99, 99, places=2).map(float)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 3)), min_size=8, max_size=60)


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@given(ROWS, st.lists(NAMES, min_size=4, max_size=4, unique=True))
def test_a_table_is_found_again_to_the_last_digit(rows, names):
    text = "\n".join(
        ["x,y,label", *(f"{x!r},{y!r},{quoted(names[label])}" for x, y, label in rows)]
    )
    try:
        table = parse_csv(text)
    except OwnDataError:  # fewer than two classes, or all at one spot
        return
    link = encode_table(table)
    if link == TOO_LARGE:
        return
    assert len(link) <= TABLE_LETTERS_IN_LINK
    assert URL_LETTERS.fullmatch(link)  # nothing that an address would write in another way
    result = decode_table(link)
    assert result == table  # points, labels, names and originals, bit for bit
    assert result.originals.tobytes() == table.originals.tobytes()
    assert encode_table(result) == link
    assert decode_table(link) is result


def packed(text, level=9):
    """Any text as a link would hold it, if that were allowed."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = packer.compress(text.encode()) + packer.flush()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


BOMB = packed(EXAMPLE_CSV[:200] + "\n" * LARGEST_BYTES)  # blank rows are no rows
HOSTILE = [
    "", "A", "AAAA", "too large", "TOO-LARGE", "====", "é" * 8, "AAAA\n", "../../etc", "<b>",
    packed("x,y,label\n1,2,a"), packed("x,y,label\nnan,0,a"), packed("a"), packed(""),
    packed(EXAMPLE_CSV)[:-4], packed(EXAMPLE_CSV) + "AAAA", f"{packed(EXAMPLE_CSV)}=",
    BOMB, "A" * (TABLE_LETTERS_IN_LINK + 1), packed(EXAMPLE_CSV, 0)[:1000],
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_that_are_no_table(text):
    assert decode_table(text) is None


def test_what_unpacks_to_more_than_a_file_may_be_is_not_unpacked(monkeypatch):
    assert len(BOMB) <= TABLE_LETTERS_IN_LINK
    monkeypatch.setattr(own_data, "parse_csv", lambda data: pytest.fail(f"{len(data)} bytes"))
    assert decode_table.__wrapped__(BOMB) is None


# --- On the page ----------------------------------------------------------------------------------


def table_of(count=40, classes=("a", "b"), scale=1.0):
    angles, kinds = 2.4 * np.arange(count), np.arange(count) % len(classes)
    points = scale * (1 + kinds)[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)
    rows = [f"{x:.3f},{y:.3f},{classes[k]}" for (x, y), k in zip(points, kinds, strict=True)]
    return "\n".join(["x,y,label", *rows])


def large_table():
    """Two hundred points with every digit that a number has."""
    points = np.random.default_rng(0).normal(size=(200, 2))
    rows = [f"{x!r},{y!r},{'ab'[i % 2]}" for i, (x, y) in enumerate(points.tolist())]
    return "\n".join(["x,y,label", *rows])


def draw_points(app, points, labels, serial=1):
    """A message of the drawing square, as the browser sends it."""
    report(app, "own_draw", "drawn", {"points": points, "labels": labels, "serial": serial})
    return finish(app)


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


@pytest.mark.usefixtures("quick")
class TestPage:
    def test_pasted_tables_are_trained_or_refused_and_the_picture_stays(self):
        app = open_boundary(data="own")
        assert app.text_area(key="own_text").proto.max_chars == PASTED_CHARACTERS
        before = run_of(app)
        paste(app, "x")
        assert len(app.error) == 1
        assert run_of(app) is before
        paste(app, table_of(classes=("1", "2", "3")))
        assert not app.error
        trained = run_of(app)
        assert trained.setting.own.names == ("1", "2", "3")
        assert "In use: 40 points, classes 1, 2, 3. Scaled to the square" in texts_of(app)
        assert "draws 30 of the 40 points for training. It is tested on the other 10" in (
            texts_of(app)
        )
        assert_shown(app)
        for text in ("1,2,a\n3,4,b", table_of(5001), "\x00\x01", "x,y,label\n1,**b** $x$ [a](b),c"):
            paste(app, text)  # what stands there is no Markdown
            assert len(app.error) == 1, text
            assert len(app.error[0].value) < 300, text
            assert "**b**" not in app.error[0].value
            assert run_of(app) is trained, text
            assert "Still in use, from before: 40 points" in texts_of(app)
        paste(app, table_of(scale=2.0))
        assert run_of(app) is not trained

    def test_an_uploaded_file_is_trained_or_refused(self):
        app = open_boundary(data="own")
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
        assert "80 points, classes ripe, unripe" in texts_of(app)
        assert run_of(app).setting.task == "own"

    @pytest.mark.soak
    def test_of_a_table_too_large_for_the_link_that_is_said_before_and_after(self):
        app = upload(open_boundary(data="own"), large_table().encode())
        assert "too large for the link. After a reload" in texts_of(app)
        assert not notes(app)
        again = reloaded(app)
        assert run_of(again).setting.task == "circle"
        (note,) = notes(again)
        assert note.endswith(
            "The table was too large for this link. Paste or upload it again. Shown: circle."
        )
        draw_points(again, POINTS, LABELS)  # it takes its place
        assert "table" not in again.query_params
        assert not notes(again)
        assert run_of(again).setting.own.names == ("blue", "orange")

    @pytest.mark.soak
    def test_drawn_points_are_trained_and_found_again(self):
        app = open_boundary(data="own")
        draw_points(app, [[0.1 * i, 0.0] for i in range(4)], [0] * 4)
        (error,) = app.error
        assert "4; at least 8" in error.value
        assert run_of(app).setting.task == "circle"
        draw_points(app, POINTS, [3 * label for label in LABELS], serial=2)
        own = run_of(app).setting.own
        assert own.names == ("blue", "pink")
        header, _ = assert_shown(app)
        assert header["ends"] == ["blue", "pink"]
        ends = [colour for _, colour in header["scale"]]
        assert (ends[0], ends[-1]) == (palette.CLASS_COLOURS[0], palette.CLASS_COLOURS[3])
        again = reloaded(app)
        assert run_of(again).setting.own == own
        np.testing.assert_allclose(data_of(again, "own_draw")["points"], POINTS)
        draw_points(again, [], [], serial=3)
        assert "drawing" not in again.query_params
        assert notes(again) == [
            ":material/info: There are no points of your own yet. Shown: circle."
        ]

    def test_a_table_of_a_link_that_is_none_gets_one_sentence(self):
        app = open_boundary(data="own", table="<b>**")
        (problem,) = mistakes(app)
        assert "The link asks for `table`" in problem
        (note,) = notes(app)
        assert note.endswith("There are no points of your own yet. Shown: circle.")
        assert "table" not in app.query_params

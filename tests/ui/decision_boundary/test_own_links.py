"""Drawings and tables are read again from the link, and anything else is refused."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.tasks import EXAMPLE_CSV, LARGEST_BYTES, OwnDataError, parse_csv
from ui.common.links import check_link
from ui.decision_boundary import own_links
from ui.decision_boundary.controls import DECISION_BOUNDARY
from ui.decision_boundary.own_links import (
    TOO_LARGE,
    URL_LETTERS,
    decode_drawing,
    decode_table,
    drawn_own,
    encode_drawing,
    encode_table,
)
from ui.limits import DRAWN_POINTS_IN_LINK, TABLE_LETTERS_IN_LINK

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


def test_the_largest_that_fits():
    corner = encode_drawing([(1.0, 1.0)] * DRAWN_POINTS_IN_LINK, [3] * DRAWN_POINTS_IN_LINK)
    count = DRAWN_POINTS_IN_LINK
    assert decode_drawing(corner) == (((1.0, 1.0),) * count, (3,) * count)


def test_one_drawing_is_one_object():
    points = tuple((0.1 * i - 0.5, 0.25) for i in range(8))
    assert drawn_own((points, (0, 2) * 4)) is drawn_own((points, (0, 2) * 4))
    assert drawn_own((points, (0, 2) * 4)).names == ("blue", "green")
    with pytest.raises(OwnDataError, match="at least two classes"):
        drawn_own((points, (1,) * 8))


NUMBERS = st.floats(-1e100, 1e100) | st.decimals(-99, 99, places=2).map(float)
LABELS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 3)), min_size=8, max_size=60)


def packed(text, level=9):
    """Any text as a link would hold it, if that were allowed."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = packer.compress(text.encode()) + packer.flush()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@given(ROWS, st.lists(LABELS, min_size=4, max_size=4, unique=True))
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


def table_of(count, digits=2):
    points = np.random.default_rng(0).normal(size=(count, 2))
    rows = (f"{x:.{digits}f},{y:.{digits}f},{'ab'[i % 2]}" for i, (x, y) in enumerate(points))
    return parse_csv("\n".join(["x,y,label", *rows]))


@pytest.mark.parametrize(("table", "fits"), [
    (parse_csv(EXAMPLE_CSV), True), (table_of(300), True), (table_of(500), False),
    (table_of(60, 15), True), (table_of(120, 15), False),
])  # fmt: skip
def test_how_much_fits(table, fits):
    assert (encode_table(table) != TOO_LARGE) == fits


BOMB = packed(EXAMPLE_CSV[:200] + "\n" * LARGEST_BYTES)  # blank rows are no rows
HOSTILE = [
    "", "A", "AAAA", "too large", "TOO-LARGE", "====", "é" * 8, "AAAA\n", "../../etc", "<b>",
    packed("x,y,label\n1,2,a"), packed("x,y,label\nnan,0,a"), packed("a"), packed(""),
    packed("x,y,label\n" + "\n".join(f"{i},1_0,{'ab'[i % 2]}" for i in range(9))),
    packed(EXAMPLE_CSV)[:-4], packed(EXAMPLE_CSV) + "AAAA", f"{packed(EXAMPLE_CSV)}=",
    BOMB, "A" * (TABLE_LETTERS_IN_LINK + 1), packed(EXAMPLE_CSV, 0)[:1000],
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_table_gets_one_sentence(text):
    assert decode_table(text) is None
    instead, (problem,) = check_link({"table": [text]}, DECISION_BOUNDARY)
    assert instead == {"table": []}
    assert "it must be a table of points, as this page writes it" in problem
    assert len(problem) < 300


def test_what_unpacks_to_more_than_a_file_may_be_is_not_unpacked(monkeypatch):
    assert len(BOMB) <= TABLE_LETTERS_IN_LINK
    monkeypatch.setattr(own_links, "parse_csv", lambda data: pytest.fail(f"{len(data)} bytes"))
    assert decode_table.__wrapped__(BOMB) is None


@given(st.text() | st.text("AZaz09-_", max_size=100) | st.binary(max_size=80).map(
    lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")))  # fmt: skip
def test_any_text_is_none_or_a_table(text):
    result = decode_table(text)
    assert result is None or len(result.labels) >= 8

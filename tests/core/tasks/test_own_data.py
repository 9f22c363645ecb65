"""Own points are read exactly, and everything else is refused with one sentence."""

import csv
import io
import unicodedata
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.characters import normalise
from gating_core.tasks.own import (
    COLUMNS,
    EXAMPLE_CSV,
    TRAIN_SHARE,
    OwnDataError,
    drawn_data,
    own_task,
    parse_csv,
    read_table,
)
from ui.decision_boundary.own_data import scaling_text, split_text

ROWS = [
    "0,0,cat", "4,0,cat", "0,2,dog", "4,2,dog", "1,1,cat", "2,1,cat", "3,1,dog", "2,2,dog",
]  # fmt: skip
FOUR = ("0", "1", "2", "3")  # names of classes


def to_csv(own):
    """The points as they came, as a table that `parse_csv` must read back exactly."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for (x, y), label in zip(own.originals.tolist(), own.labels, strict=True):
        writer.writerow([repr(x), repr(y), own.names[label]])
    return out.getvalue()


def table(*rows, header="x,y,label"):
    return "\n".join([header, *rows])


def changed(row, text):
    """The good table with spreadsheet row ``row`` (2 is the first point) put as ``text``."""
    rows = list(ROWS)
    rows[row - 2] = text
    return table(*rows)


GOOD = table(*ROWS)


def test_points_are_scaled_by_one_factor_and_the_map_is_kept():
    own = parse_csv(GOOD)
    assert own.points.dtype == np.float64
    assert own.labels.dtype == np.int64
    assert own.names == ("cat", "dog")
    assert own.labels.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert own.centre.tolist() == [2, 1]
    assert (own.half_widths == 2).all()
    assert own.originals[1].tolist() == [4, 0]
    assert own.points.min(0).tolist() == [-1, -0.5]
    assert own.points.max(0).tolist() == [1, 0.5]
    np.testing.assert_array_equal(own.points * own.half_widths + own.centre, own.originals)
    assert scaling_text(own).endswith("(x − 2) / 2 and (y − 1) / 2.")
    below_zero = parse_csv(GOOD.replace("0,", "-8,"))
    assert "(x + 2) / 6" in scaling_text(below_zero)


@pytest.mark.parametrize(
    "source",
    [
        GOOD.encode(),
        b"\xef\xbb\xbf" + GOOD.encode(),  # the mark that Excel puts first
        GOOD + "\n",
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        "\n\n" + GOOD.replace("\n", "\n\n") + "\n,,\n",
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace(",", " , "),
        GOOD.replace("x,y,label", "X, Y ,LABEL"),
        GOOD.replace("x,y,label", '"x","y","label"'),
        GOOD.replace("cat", '"cat"'),
        table(*(f"7,{r},n/a" for r in ROWS), header="id,x,y,label,remark"),
        table(*(",".join(reversed(r.split(","))) for r in ROWS), header="label,y,x"),
        table(*(r.replace(",", ";") + ";1,5" for r in ROWS), header="x;y;label;a,b,c,d"),
        GOOD.replace("4,", "+4.0e0,"),
        "sep=;\r\n" + GOOD.replace(",", ";"),
        '"SEP=\t"\n' + GOOD.replace(",", "\t"),
        GOOD.replace("x,y", "\u200bx,\u00a0y"),
        GOOD.replace("4,", "\u202f4\u00a0,"),
        GOOD.replace("0,cat", "0,c\u00adat"),
    ],
)
def test_the_same_table_written_differently(source):
    own, plain = parse_csv(source), parse_csv(GOOD)
    assert np.array_equal(own.points, plain.points)
    assert np.array_equal(own.labels, plain.labels)
    assert own.names == plain.names


LOCALES = [  # delimiter, decimal mark
    (",", "."), (";", "."), ("\t", "."), (";", ","), ("\t", ","),
]  # fmt: skip
LABELS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=8,
).map(normalise)
WHOLE = st.integers(-999, 999).map(float)


@given(
    st.lists(
        st.tuples(WHOLE | st.floats(-1e9, 1e9), st.floats(-1e-3, 1e-3), st.integers(0, 3)),
        min_size=8,
        max_size=12,
    ),
    st.lists(LABELS, min_size=4, max_size=4),
    st.sampled_from(LOCALES),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from("-−–"),
    st.sampled_from(["NFC", "NFD"]),
    st.booleans(),
)
def test_every_way_to_write_a_table_is_read_as_the_same_numbers(
    rows, names, locale, end, minus, form, says_delimiter
):
    """parse(format(table)) == table, for spreadsheets of all countries."""
    delimiter, mark = locale
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerow(COLUMNS)
    for x, y, label in rows:
        numbers = (repr(number).replace("-", minus).replace(".", mark) for number in (x, y))
        writer.writerow([*numbers, unicodedata.normalize(form, names[label])])
    text = f"sep={delimiter}{end}" * says_delimiter + out.getvalue()
    for source in (text, text.encode("utf-8-sig")):
        points, labels, read, _ = read_table(source)
        assert points.tolist() == [[x, y] for x, y, _ in rows]
        plain = to_csv(SimpleNamespace(originals=points, labels=labels, names=read))
        _, again, read_again, _ = read_table(plain)
        assert read_again == read
        assert again.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("xs", "ys", "delimiter", "remark"),
    [
        (["1.250", "950"], ["0", "1"], ",", "In column x, 1.250 was read as 1.25: a point starts"),
        (["1,250", "950"], ["0", "1"], ";", "In column x, 1,250 was read as 1.25: a comma starts"),
        (["−1.000", "5"], ["7", "2.000"], "\t", "In columns x and y, −1.000 was read as -1: a"),
        (["1.250", "9.500"], ["0", "1"], ",", ""),  # all have decimals
        (["0.250", "950"], ["0", "1"], ",", ""),  # no number of thousands begins with 0
        (["1.250", "1.5"], ["0", "1"], ",", ""),
        (["1.250", "9500"], ["0", "1"], ",", ""),  # thousands without a separator
        (["1250", "950"], ["0", "1"], ",", ""),
    ],
)
def test_a_separator_of_thousands_is_remarked_on_where_it_may_be_one(xs, ys, delimiter, remark):
    rows = map(delimiter.join, zip(xs * 4, ys * 4, "ab" * 4, strict=True))
    own = parse_csv(table(*rows, header=delimiter.join(COLUMNS)))
    assert own.remark.startswith(remark)
    assert bool(own.remark) == bool(remark)
    assert len(own.points) == 8


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_are_read_where_no_field_ends_with_one(delimiter):
    rows = [f"{i + 0.5},{(-1) ** i * 1e-3 * i},{'cat' if i % 2 else 'dog, wet'}" for i in range(9)]
    pointed = parse_csv(table(*(r.replace("dog, wet", '"dog, wet"') for r in rows)))
    cells = [r.split(",", 2) for r in rows]
    written = [delimiter.join([x.replace(".", ","), y.replace(".", ","), c]) for x, y, c in cells]
    own = parse_csv(table(*written, header=delimiter.join(("x", "y", "label"))))
    assert np.array_equal(own.originals, pointed.originals)
    assert own.names == pointed.names == ("cat", "dog, wet")


@pytest.mark.parametrize(
    ("labels", "names", "numbers"),
    [
        (["1", "0", "1", "0"], ("0", "1"), [1, 0, 1, 0]),
        (["10", "9", "-1", "9.0"], ("-1", "9", "10"), [2, 1, 0, 1]),
        (["1", "1.0", "2", "1e0"], ("1", "2"), [0, 0, 1, 0]),
        (["10", "9", "x", "9.0"], ("10", "9", "9.0", "x"), [0, 1, 3, 2]),
        (["é", "ü b", "ü  b", "é"], ("é", "ü b"), [0, 1, 1, 0]),
        (["e\u0301", "u\u0308\u00a0b", "ü b\ufeff", "é\u200b"], ("é", "ü b"), [0, 1, 1, 0]),
        (
            ["9007199254740993", "9007199254740992", "9007199254740993.0", "9007199254740993"],
            ("9007199254740992", "9007199254740993"),
            [1, 0, 1, 1],
        ),
        (["−1", "1", "-1", "+1"], ("−1", "1"), [0, 1, 0, 1]),
        (["blue", "Blue", "blue", "blue"], ("Blue", "blue"), [1, 0, 1, 1]),
    ],
)
def test_labels_are_numbers_or_words(labels, names, numbers):
    own = parse_csv(table(*(f"{i},{i % 3},{labels[i % 4]}" for i in range(8))))
    assert own.names == names
    assert own.labels[:4].tolist() == numbers


MANY = [f"{i},{i % 7},{i % 2}" for i in range(5_001)]
REFUSED = {
    "empty": ("", None, None, "nothing in it"),
    "blank": ("\n \n;;\n", None, None, "nothing in it"),
    "missing column": (GOOD.replace("label", "class"), 1, "label", "missing"),
    "missing columns": ("1,2,a\n" * 9, 1, "x", "must name x, y and label, and says '1', '2', 'a'"),
    "missing, further down": ("\n\n" + GOOD.replace("x,", "u,"), 3, "x", "missing"),
    "prose": ("Dear all,\nplease find attached", 1, "x", "says 'Dear all', ''"),
    "markup": ("<html><body>" * 20, 1, "x", "'<html><body><html><body><html>…'"),
    "column twice": (table(*(row + ",1" for row in ROWS), header="x,y,label,X"), 1, "x",
                     "more than once"),
    "text": (changed(4, "0,two,dog"), 4, "y", "'two' is not a number"),
    "decimal comma": (changed(3, '4,"0,5",cat'), 3, "y", "decimals with a point"),
    "decimals of both kinds": (
        table("0.5;1;cat", "4;0,5;cat", *ROWS, header="x;y;label").replace(",", ";")
        .replace("0;5;cat", "0,5;cat"), 3, "y", "decimals with a point",
    ),
    "comma of thousands": (changed(3, "4;1,000,000;cat").replace(",", ";")
                           .replace("1;000;000", "1,000,000"), 3, "y", "thousands without"),
    "comma beside a point": (GOOD.replace(",", ";").replace("4;0;", "4;1.250,5;"), 3, "y",
                             "decimals with a point, and thousands without"),
    "a narrow space of thousands": (changed(3, "1\u202f250,0,cat"), 3, "x", "as in 1250.5"),
    "a separator that is none": ("sep=|\n" + GOOD, None, None, "fields are separated by '|'"),
    "Python's digits": (changed(3, "1_0,1,cat"), 3, "x", "'1_0' is not a number"),
    "a long text": (changed(4, f"{'z' * 900},2,dog"), 4, "x", "'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz…'"),
    "empty cell": (changed(5, "4,,dog"), 5, "y", "empty"),
    "NaN": (changed(6, "NaN,1,cat"), 6, "x", "'NaN' is not a finite number"),
    "infinity": (changed(6, "1,-inf,cat"), 6, "y", "'-inf' is not a finite number"),
    "overflow": (changed(6, "1,1e999,cat"), 6, "y", "not a finite number"),
    "huge": (changed(6, "1,1e101,cat"), 6, "y", r"beyond 1e\+100"),
    "no label": (changed(9, "2,2,"), 9, "label", "empty"),
    "NaN label": (changed(9, "2,2,nan"), 9, "label", "not a label"),
    "long label": (changed(9, "2,2," + "d" * 41), 9, "label", "longer than 40"),
    "one class": (GOOD.replace("dog", "cat"), None, None, "class 'cat'"),
    "one class, numbers": (GOOD.replace("dog", "1.0").replace("cat", "1"), None, None,
                           "all points are of the class '1'"),
    "five classes": (table(*(f"{i},0,{i}" for i in range(9))), 6, "label",
                     "'4' is one class too many; there are '0', '1', '2', '3'"),
    "seven points": (table(*ROWS[:7]), None, None, "points is 7; at least 8"),
    "no points": (table(), None, None, "points is 0; at least 8"),
    "too many": (table(*MANY), 5_002, None, "more than 5,000 points"),
    "too large": ("x" * 1_000_001, None, None, "1,000,001 bytes; at most 1 MB"),
    "too large in bytes": ("é" * 500_001, None, None, "1,000,002 bytes"),
    "not UTF-8": (changed(3, "4,0,é").encode("latin-1"), 3, None, "byte 0xe9 is not UTF-8"),
    "not UTF-8, other line ends": (changed(8, "4,0,é").replace("\n", "\r").encode("latin-1"), 8,
                                   None, "byte 0xe9 is not UTF-8"),
    "not UTF-8, lines in a cell": (changed(8, "4,0,é").replace("cat", '"c\nat"').encode("latin-1"),
                                   8, None, "byte 0xe9 is not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), 1, None, "not UTF-8"),
    "a lone surrogate": (changed(3, "4,0,\ud800"), 3, None, "not UTF-8"),
    "an image": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None, None, "not a CSV file: byte 0x1a"),
    "a zip file": (b"PK\x03\x04" + bytes(99), None, None, "not a CSV file: byte 0x03"),
    "too few fields": (changed(7, "1,1"), 7, None, "fields is 2; in the first row it is 3"),
    "too many fields": (changed(7, "1,1,a,"), 7, None, "fields is 4; in the first row it is 3"),
    "open quotes": (changed(7, '1,1,"a'), 7, None, "quotation marks"),
    "odd quotes": (changed(7, '1,1,"a"b'), 7, None, "quotation marks"),
    "a field without end": ("x,y,label\n" + "1" * 140_000, 2, None, "field larger than"),
    "one spot": (table(*(f"3,4,{i % 2}" for i in range(8))), None, None, "one spot"),
    "nearly one spot": (table(*(f"{10**12 + i % 3},4,{i % 2}" for i in range(8))), None, None,
                        "one spot"),
    "denormal": (table(*(f"{i % 2}e-320,0,{i % 2}" for i in range(8))), None, None, "one spot"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_other_tables_are_refused_in_one_sentence(name):
    source, row, column, message = REFUSED[name]
    with pytest.raises(OwnDataError, match=message) as caught:
        parse_csv(source)
    text = str(caught.value)
    assert text.startswith(f"row {row}") == (row is not None)
    assert text.startswith(f"row {row}, column {column}: ") == (column is not None)
    assert "\n" not in text
    assert len(text) < 250


@pytest.mark.soak
def test_limits_are_allowed():
    assert len(parse_csv(table(*MANY[:5_000])).points) == 5_000
    assert len(parse_csv(GOOD + "\n" * (1_000_000 - len(GOOD))).points) == 8
    assert len(parse_csv(table(*(f"{i},0,{i % 4}" for i in range(8)))).names) == 4
    assert parse_csv(changed(9, "2,2," + "d" * 40)).names == ("cat", "d" * 40, "dog")
    assert np.abs(parse_csv(changed(9, "-1e100,1e100,dog")).points).max() == 1


CELLS = st.one_of(
    st.sampled_from(["", " ", "0", "-1", "2.5", "1e3", "nan", "-inf", "1e400", "1e-320", "1,5",
                     "a", "b", "x", "y", "label", '"', "'", ";", "\t", "é", "\0", "١", "1_0"]),
    st.floats().map(repr),
    st.integers(-10, 10).map(str),
    st.text(max_size=5),
)  # fmt: skip


@st.composite
def near_tables(draw):
    """Tables that are good but for one cell at most."""
    numbers = st.floats(-1e9, 1e9).map(repr)
    row = st.tuples(numbers, numbers, st.sampled_from(["a", "b"])).map(list)
    rows = draw(st.lists(row, min_size=8, max_size=12))
    rows[draw(st.integers(0, 7))][draw(st.integers(0, 2))] = draw(CELLS)
    return "\n".join(map(",".join, [["x", "y", "label"], *rows]))


def check_own_or_refused(source):
    try:
        own = parse_csv(source)
    except OwnDataError:
        return
    assert np.isfinite(own.originals).all()
    assert np.abs(own.points).max() == 1
    assert 8 <= len(own.points) <= 5_000
    assert set(own.labels) == set(range(len(own.names)))
    assert 2 <= len(own.names) <= 4
    assert scaling_text(own)
    assert split_text(own, TRAIN_SHARE)
    again = parse_csv(to_csv(own))
    assert again.names == own.names
    for name in ("points", "labels", "originals", "centre"):
        assert np.array_equal(getattr(again, name), getattr(own, name)), name


@given(near_tables())
def test_tables_with_one_odd_cell_are_read_or_refused(source):
    check_own_or_refused(source)


def test_the_example_is_one():
    own = parse_csv(EXAMPLE_CSV)
    assert own.names == ("ripe", "unripe")
    assert len(own.points) == 80
    assert (own.half_widths > 2).all()
    check_own_or_refused(EXAMPLE_CSV)


def test_drawn_points_stay_where_they_are():
    points = np.linspace(-0.5, 0.9, 16).reshape(8, 2)
    own = drawn_data(points, [3, 1] * 4, names=("orange", "blue", "green", "red"))
    assert np.array_equal(own.points, points)
    assert own.names == ("blue", "red")
    assert own.labels.tolist() == [1, 0] * 4
    assert scaling_text(own) == "The points stand where they were given."
    assert np.array_equal(parse_csv(to_csv(own)).originals, points)


@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (np.zeros((7, 2)), [0, 1, 0, 1, 0, 1, 0], "points is 7"),
        (np.zeros((8, 2)), [0] * 8, "all points are of the class '0'"),
        (np.zeros((0, 2)), [], "points is 0"),
        (np.zeros((8, 2)), [0, 1], "every point needs a label"),
        (np.zeros((8, 2)), [0, 4] * 4, "label from 0 to 3"),
        (np.full((8, 2), 1.01), [0, 1] * 4, "outside the square"),
        (np.full((8, 2), np.nan), [0, 1] * 4, "outside the square"),
        (np.zeros((5001, 2)), [0] * 5001, "points is 5,001"),
    ],
)
def test_drawings_that_cannot_be_learned_are_refused(points, labels, message):
    with pytest.raises(OwnDataError, match=message):
        drawn_data(points, labels, FOUR)


def own_of(*sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return drawn_data(np.linspace(-1, 1, 2 * len(labels)).reshape(-1, 2), labels.tolist(), FOUR)


@pytest.mark.parametrize(
    ("sizes", "share", "train"),
    [((10, 10), 0.7, (7, 7)), ((50, 30, 20), 0.5, (25, 15, 10)), ((4, 4), 0.9, (3, 3)),
     ((4, 4), 0.1, (1, 1)), ((7, 1), 0.5, (4, 1)), ((5, 1, 1, 1), 0.9, (4, 1, 1, 1)),
     ((2, 2, 2, 2), 0.7, (1, 1, 1, 1))],
)  # fmt: skip
def test_every_class_is_split_and_trained_on(sizes, share, train):
    own = own_of(*sizes)
    task = own_task(own, (0, 1, 2), share)
    assert task.class_count == len(sizes)
    for seed in range(3):
        assert tuple(np.bincount(task.train_labels[seed])) == train
        points = np.concatenate([task.train_points[seed], task.test_points[seed]])
        labels = np.concatenate([task.train_labels[seed], task.test_labels[seed]])
        order = np.lexsort(points.T)
        assert np.array_equal(points[order], own.points)  # each point once, on one side
        assert np.array_equal(labels[order], own.labels)
    assert task.test_labels.shape[1] == sum(sizes) - sum(train) >= 1


def test_a_seed_splits_in_the_same_way_in_every_company():
    own = parse_csv(EXAMPLE_CSV)
    alone, many = own_task(own, (5,)), own_task(own, (4, 5))
    assert np.array_equal(alone.train_points[0], many.train_points[1])
    assert np.array_equal(alone.test_labels[0], many.test_labels[1])
    assert not np.array_equal(many.train_points[0], many.train_points[1])


def test_a_split_is_said():
    assert split_text(own_of(60, 40), TRAIN_SHARE) == (
        "Each seed draws 70 of the 100 points for training. It is tested on the other 30."
    )
    few = split_text(own_of(6, 1, 1), TRAIN_SHARE)
    assert "draws 6 of the 8 points" in few
    assert "moves a test accuracy by 50 points" in few
    assert "classes '1', '2'" in few


@pytest.mark.parametrize("share", [0.0, 1.0, float("nan"), "most"])
def test_wrong_splits_are_refused(share):
    with pytest.raises(ValueError, match="train_share"):
        own_task(parse_csv(GOOD), (0,), share)

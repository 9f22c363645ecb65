"""The user's own points: read from a table or drawn, and split into training and test points.

A table is CSV bytes or pasted text. Fields are separated by comma, semicolon or tab; a first line
such as ``sep=;`` may say by which. Where that is no comma and no number has a point, decimals may
have a comma, as German and French spreadsheets write them. The first row names the columns x, y and
label, in any order and case. Other columns and blank rows are ignored. Cells are read in Unicode's
form NFC and without characters of no width. Python's csv module knows which row it is in; pandas
does not.

N points, S seeds. Errors are `OwnDataError`: one sentence with row and column where there is one.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from gating_core.characters import without_ignorable
from gating_core.checks import check_number, check_seeds
from gating_core.randomness import generator
from gating_core.tasks.task import TRAIN_SHARE_RANGE, Task

# --- The table, cell by cell ----------------------------------------------------------------------


COLUMNS = ("x", "y", "label")
DELIMITERS = (",", ";", "\t")
LARGEST_BYTES = 1_000_000
MOST_POINTS, MOST_CLASSES = 5_000, 4
LARGEST_NUMBER = 1e100  # so that differences stay finite
LONGEST_LABEL = 40
LONGEST_QUOTE = 30  # characters of a cell that a sentence repeats
MOST_QUOTES = 6  # column names that a sentence repeats
MINUS = str.maketrans("−–", "--")  # U+2212 and the dash that word processors make of a hyphen
SIGN = "[+−–-]?"
THOUSANDS = re.compile(SIGN + r"[1-9]\d{0,2}[.,]\d{3}")  # or three decimals
BELOW_THOUSAND = re.compile(SIGN + r"\d{1,3}")
BAD_BYTE = re.compile("[\udc80-\udcff]")  # as Python decodes a byte that is not UTF-8


class OwnDataError(ValueError):
    """Why a table cannot be used: one sentence, with ``row`` and ``column`` where there is one.

    Rows count from 1 at the first row of the table, as in a spreadsheet, which shows no ``sep=;``.
    """

    def __init__(self, reason: str, row: int | None = None, column: str | None = None) -> None:
        cell = ", ".join(
            [f"row {row}"] * (row is not None) + [f"column {column}"] * (column is not None)
        )
        super().__init__(f"{cell}: {reason}" if cell else reason)


class _Cells(NamedTuple):
    """One point as it was written."""

    row: int
    x: str
    y: str
    label: str


def quote(text: str) -> str:
    """``text`` in quotation marks, cut short if it is long."""
    return repr(text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…")


def read_table(source: bytes | str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], str]:
    """Return points (N, 2), labels (N,) as indices of names, the names, and a remark.

    At most 5,000 points and 4 classes, in order of number, or of the alphabet; `OwnDataError` for
    any other table. The remark is a sentence where a point or comma could also separate thousands.

    Labels are words or numbers; if all of them are numbers, 1 and 1.0 are the same class, however
    many digits others have.
    """
    text, delimiter = _delimited(_text(source))
    rows = _rows(text, delimiter)
    header_row, header = next(rows, (None, []))
    if header_row is None:
        raise OwnDataError("there is nothing in it; it needs a first row x,y,label and points")
    indices = _column_indices(header, header_row)
    cells: list[_Cells] = []
    for row, fields in rows:
        if len(fields) != len(header):
            reason = f"the number of fields is {len(fields)}; in the first row it is {len(header)}"
            raise OwnDataError(reason, row)
        if len(cells) == MOST_POINTS:
            raise OwnDataError(f"more than {MOST_POINTS:,} points, which is too many", row)
        cells.append(_Cells(row, *(fields[index] for index in indices)))
    remark = ""
    if any("." in c.x + c.y for c in cells):
        remark = _thousands_remark(cells, ".", "point")
    elif delimiter != ",":
        remark = _thousands_remark(cells, ",", "comma")
        cells = [
            c._replace(x=_pointed(c.x), y=_pointed(c.y), label=_pointed(c.label)) for c in cells
        ]
    numbers = [(_number(c.row, "x", c.x), _number(c.row, "y", c.y)) for c in cells]
    points = np.array(numbers, dtype=np.float64).reshape(-1, 2)
    return points, *_classes(cells), remark


def _thousands_remark(cells: list[_Cells], mark: str, name: str) -> str:
    """Say how a ``mark`` was read that could separate thousands: in 1.250 beside 950, say."""
    ambiguous = {}
    for column in COLUMNS[:2]:
        texts = [getattr(cell, column) for cell in cells]
        marked = [text for text in texts if mark in text]
        if 0 < len(marked) < len(texts) and all(
            (THOUSANDS if mark in text else BELOW_THOUSAND).fullmatch(text) for text in texts
        ):
            ambiguous[column] = marked[0]
    if not ambiguous:
        return ""
    text = next(iter(ambiguous.values()))
    columns = f"column{'s' * (len(ambiguous) > 1)} {' and '.join(ambiguous)}"
    value = _as_float(text.replace(mark, "."))
    return (
        f"In {columns}, {text} was read as {value:g}: a {name} starts the decimals. If it separates"
        f" thousands, write {text.replace(mark, '')}."
    )


def _pointed(text: str) -> str:
    """``text`` with a decimal point where a number has a decimal comma."""
    pointed = text.replace(",", ".")
    return pointed if text.count(",") == 1 and _as_float(pointed) is not None else text


def _text(source: bytes | str) -> str:
    # Lone surrogates can be pasted; they come back as an encoding that is not UTF-8.
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else bytes(source)
    if len(data) > LARGEST_BYTES:
        raise OwnDataError(f"the size is {len(data):,} bytes; at most 1 MB is read")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16
        raise _not_utf8(data[0], 1)
    if control := re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", data):
        raise OwnDataError(
            f"this is not a CSV file: byte 0x{control[0][0]:02x} does not occur in text"
        )
    return data.decode("utf-8-sig", "surrogateescape")  # `_rows` knows the row of a bad byte


def _not_utf8(byte: int, row: int) -> OwnDataError:
    return OwnDataError(f"byte 0x{byte:02x} is not UTF-8; save the table as CSV UTF-8", row)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Row number and stripped fields of every row that is not blank."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        skipinitialspace=True,
        strict=True,
    )
    row = 0
    try:
        for row, fields in enumerate(reader, 1):
            if bad := BAD_BYTE.search("".join(fields)):
                raise _not_utf8(ord(bad[0]) - 0xDC00, row)
            stripped = [without_ignorable(field).strip() for field in fields]
            if any(stripped):
                yield row, stripped
    except csv.Error as error:
        raise OwnDataError(
            f"this is not CSV ({error}); check the quotation marks", row + 1
        ) from error


def _delimited(text: str) -> tuple[str, str]:
    """The table without a line such as ``sep=;``, and its delimiter.

    That is what the line says, or what gives the first row most of the columns needed, or else most
    fields.
    """
    if said := re.match(r'"?sep=(.)"?[ \t]*(?:\r\n|\r|\n|\Z)', text, re.IGNORECASE):
        if said[1] not in DELIMITERS:
            raise OwnDataError(f"fields are separated by {said[1]!r}; separate them by , or ;")
        return text[said.end() :], said[1]
    lines = (line for line in io.StringIO(text, newline=None) if line.strip())
    first = next(lines, "").lower()

    def columns(delimiter: str) -> tuple[int, int]:
        names = {name.strip().strip('"') for name in first.split(delimiter)}
        return len(names & set(COLUMNS)), first.count(delimiter)

    return text, max(DELIMITERS, key=columns)


def _column_indices(header: list[str], row: int) -> list[int]:
    """The indices of x, y and label in the first row."""
    names = [name.lower() for name in header]
    for column in COLUMNS:
        if column not in names:
            names_text = ", ".join(map(quote, header[:MOST_QUOTES]))
            names_text += ", …" * (len(header) > MOST_QUOTES)
            reason = f"missing; the first row must name x, y and label, and says {names_text}"
            raise OwnDataError(reason, row, column)
        if names.count(column) > 1:
            raise OwnDataError("named more than once in the first row", row, column)
    return [names.index(column) for column in COLUMNS]


def _number(row: int, column: str, text: str) -> float:
    if not text:
        raise OwnDataError("empty, where a number should be", row, column)
    value = _as_float(text)
    if value is None:
        hint = "; write decimals with a point, and thousands without a separator, as in 1250.5"
        hint *= re.fullmatch(SIGN + r"\d+(?:[.,'’ ]\d+)+", text) is not None  # with separators
        raise OwnDataError(f"{quote(text)} is not a number{hint}", row, column)
    if not math.isfinite(value):
        raise OwnDataError(f"{quote(text)} is not a finite number", row, column)
    if abs(value) > LARGEST_NUMBER:
        raise OwnDataError(f"{quote(text)} is beyond {LARGEST_NUMBER:g}", row, column)
    return value


def _as_float(text: str) -> float | None:
    """The number that ``text`` writes; Python's 1_000 is none."""
    try:
        return None if "_" in text else float(text.translate(MINUS))
    except ValueError:
        return None


def _exact(text: str) -> Decimal | None:
    """The number that ``text`` writes with all its digits; floats have 16."""
    try:
        return None if _as_float(text) is None else Decimal(text.translate(MINUS))
    except InvalidOperation:  # an exponent of twenty digits
        return None


def _classes(cells: list[_Cells]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels (N,) and class names."""
    texts = [" ".join(cell.label.split()) for cell in cells]
    values = [_exact(text) for text in texts]
    for cell, text in zip(cells, texts, strict=True):
        if not text:
            raise OwnDataError("empty, where a label should be", cell.row, "label")
        if not math.isfinite(_as_float(text) or 0):
            raise OwnDataError(f"{quote(text)} is not a label", cell.row, "label")
        if len(text) > LONGEST_LABEL:
            reason = f"{quote(text)} is longer than {LONGEST_LABEL} characters"
            raise OwnDataError(reason, cell.row, "label")
    keys: list = texts if None in values else values
    names: dict = {}
    for cell, key, text in zip(cells, keys, texts, strict=True):
        names.setdefault(key, text)
        if len(names) > MOST_CLASSES:
            others = ", ".join(quote(name) for name in names.values() if name != text)
            reason = f"{quote(text)} is one class too many; there are {others} already"
            raise OwnDataError(reason, cell.row, "label")
    order = {key: index for index, key in enumerate(sorted(names))}
    labels = np.array([order[key] for key in keys], dtype=np.int64)
    return labels, tuple(names[key] for key in order)


# --- Own data -------------------------------------------------------------------------------------


TASK_NAME = "own"
FEWEST_POINTS, FEWEST_CLASSES = 8, 2
SMALLEST_SPREAD = 1e-9  # of the largest coordinate: below, rounding would move the points visibly
TRAIN_SHARE = 0.7


@dataclass(frozen=True, eq=False)
class OwnData:
    """The user's points, scaled: ``points = (originals - centre) / half_widths``, in [-1, 1]^2.

    Both half widths are equal, which keeps shapes, unless one direction would shrink to less than
    a tenth of the square. Two data sets are equal if all their numbers and names are.
    """

    points: np.ndarray  # (N, 2) float64
    labels: np.ndarray  # (N,) int64: indices of `names`
    names: tuple[str, ...]  # of the classes, in order of number or alphabet
    originals: np.ndarray  # (N, 2) float64: before scaling
    centre: np.ndarray  # (2,)
    half_widths: np.ndarray  # (2,)
    colours: tuple[int, ...] = (0, 1, 2, 3)  # palette index of each class
    remark: str = ""  # how an ambiguous number was read, in one sentence; it is no difference

    @cached_property
    def _content(self) -> tuple[object, ...]:
        arrays = self.points, self.labels, self.originals, self.centre, self.half_widths
        return *(x.tobytes() for x in arrays), self.names, self.colours

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnData) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


def parse_csv(source: bytes | str) -> OwnData:
    """The points of a CSV file or of a pasted table, scaled to the square.

    Columns x, y and label, see ``gating_core.tasks.own``; labels are words or numbers. From 8 to
    5,000 points of 2 to 4 classes. Raises `OwnDataError` for anything else.
    """
    originals, labels, names, remark = read_table(source)
    _check_enough(labels, names)
    low = originals.min(0)
    extent = originals.max(0) - low
    if extent.max() <= max(SMALLEST_SPREAD * np.abs(originals).max(), 1 / LARGEST_NUMBER):
        raise OwnDataError("all points lie at one spot, or too close to it to tell them apart")
    half_widths = np.full(2, extent.max() / 2)
    told_apart = extent > np.maximum(SMALLEST_SPREAD * np.abs(originals).max(0), 1 / LARGEST_NUMBER)
    # Each direction is scaled by itself where one is less than a tenth of the other.
    if told_apart.all() and extent.min() < 0.1 * extent.max():
        half_widths = extent / 2
    # From the corner first: the result is in [-1, 1], however it rounds.
    points = (originals - low) / half_widths - extent / 2 / half_widths
    return OwnData(points, labels, names, originals, low + extent / 2, half_widths, remark=remark)


# Eighty seeds of a sunflower, in centimetres: the inner ones are ripe.
EXAMPLE_CSV = "x,y,label\n" + "".join(
    f"{12 + r * math.cos(a):.2f},{7 + r * math.sin(a):.2f},{'ripe' if r < 3.2 else 'unripe'}\n"
    for r, a in ((math.sqrt(i / 4), i * math.pi * (3 - math.sqrt(5))) for i in range(80))
)


def drawn_data(points: np.ndarray, labels: Sequence[int], names: Sequence[str]) -> OwnData:
    """Points (N, 2) drawn in the square, with labels that are indices of ``names``; not scaled.

    Names that no point has are dropped; the others keep their colours. Raises `OwnDataError` as
    `parse_csv` does.
    """
    originals = np.array(points, dtype=np.float64).reshape(-1, 2)
    if len(originals) > MOST_POINTS:
        raise OwnDataError(
            f"the number of points is {len(originals):,}; at most {MOST_POINTS:,} fit"
        )
    if len(labels) != len(originals) or not set(labels) <= set(range(len(names))):
        raise OwnDataError(
            f"every point needs a label from 0 to {len(names) - 1}, and only one label"
        )
    if not (np.abs(originals) <= 1).all():
        raise OwnDataError("a point lies outside the square from -1 to 1")
    used, indices = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    used_names = tuple(names[index] for index in used)
    _check_enough(indices, used_names)
    indices, colours = indices.astype(np.int64), tuple(used.tolist())
    return OwnData(originals, indices, used_names, originals, np.zeros(2), np.ones(2), colours)


def _check_enough(labels: np.ndarray, names: Sequence[str]) -> None:
    if len(labels) < FEWEST_POINTS:
        raise OwnDataError(
            f"the number of points is {len(labels)}; at least {FEWEST_POINTS} are needed"
        )
    if len(names) < FEWEST_CLASSES:
        raise OwnDataError(
            f"all points are of the class {quote(names[0])}; at least two classes are needed"
        )


def own_task(own: OwnData, seeds: Iterable[int], train_share: float = TRAIN_SHARE) -> Task:
    """``own`` split for each seed into training and test points, class by class.

    Every class is split in the same share, rounded, 0.1 to 0.9. A class with two points or more has
    both training and test points; a single point is for training. The seed decides which points,
    never how many.
    """
    seeds = check_seeds(seeds)
    counts = train_counts(own, train_share)
    train, test = [], []
    for seed in seeds:
        rng = generator(seed, "split")
        training = np.zeros(len(own.labels), dtype=bool)
        for label, count in enumerate(counts):
            members = np.flatnonzero(own.labels == label)
            order = torch.randperm(len(members), generator=rng).numpy()
            training[members[order[:count]]] = True
        train.append(np.flatnonzero(training))
        test.append(np.flatnonzero(~training))
    return Task(
        TASK_NAME,
        seeds,
        len(own.names),
        own.points[np.stack(train)],
        own.labels[np.stack(train)],
        own.points[np.stack(test)],
        own.labels[np.stack(test)],
    )


def train_counts(own: OwnData, train_share: float) -> list[int]:
    """Return the training points of each class; ``ValueError`` for a share out of range."""
    check_number("train_share", train_share, *TRAIN_SHARE_RANGE)
    sizes = np.bincount(own.labels).tolist()
    return [max(min(round(train_share * size), size - 1), 1) for size in sizes]

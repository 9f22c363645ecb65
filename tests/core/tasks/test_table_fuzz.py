"""Any uploaded or pasted text is read, or refused in one short sentence, and soon."""

import io
import time
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.tasks.own import EXAMPLE_CSV, LARGEST_BYTES, OwnDataError, parse_csv
from tests.core.tasks.test_own_data import GOOD, check_own_or_refused
from tests.profiles import fuzz
from tests.ui.foreign_words import HOSTILE

SECONDS = 5.0  # far more than any takes: it is found where one takes minutes
LONGEST_SENTENCE = 250
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "cp037")
ODD = st.sampled_from(
    [b"\0", b"\n", b"\r", b'"', b'""', b"'", b",", b";", b"\t", b"\xff\xfe", b"\xef\xbb\xbf",
     b"\xe2\x80\xa8", b"nan", b"1e999", b"-", b"\x1a", b"PK\x03\x04", b"1_0", b"\xd9\xa1", b"|",
     b'"\n"', b"x,y,label\n", b"\\", b"=1+1", b"#", b" ", b"\xc2\xa0"]
)  # fmt: skip


@st.composite
def damaged(draw):
    """A good table with a few pieces put in, taken out or doubled."""
    data = bytearray(draw(st.sampled_from([GOOD, EXAMPLE_CSV])).encode())
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        much = draw(st.integers(0, 20))
        how = draw(st.sampled_from(["in", "out", "twice"]))
        if how == "in":
            data[at:at] = draw(ODD | st.binary(max_size=4))
        elif how == "out":
            del data[at : at + much]
        else:
            data[at:at] = data[at : at + much]
    return bytes(data)


QUOTED = st.lists(
    st.lists(
        st.sampled_from([*HOSTILE, "x", "y", "label", "1", "2.5", 'a"b', "a\nb", '""']),
        min_size=1,
        max_size=5,
    ),
    max_size=12,
).map(
    lambda rows: "\n".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows
    )
)


@fuzz()
@given(damaged())
def test_damaged_tables_are_read_or_refused(source):
    check_own_or_refused(source)
    check_own_or_refused(source.decode("utf-8", "surrogateescape"))


@fuzz()
@given(QUOTED)
def test_cells_of_any_text_are_read_or_refused(source):
    check_own_or_refused(source)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_table_in_another_encoding_is_read_right_or_refused(encoding):
    source = GOOD.replace("cat", "Känguru").encode(encoding, "replace")
    if encoding in ("utf-8", "utf-8-sig"):
        assert parse_csv(source).names == ("Känguru", "dog")
        return
    with pytest.raises(OwnDataError, match=r"UTF-8|not a CSV file"):
        parse_csv(source)


def zipped(size):
    """A zip file of so many bytes of a table: a few kilobytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", b"x,y,label\n" + b"1,2,a\n" * (size // 6))
    return out.getvalue()


LARGE = {  # made where they are read: some are large
    "a million columns": lambda: b"," * (LARGEST_BYTES - 1) + b"\n",
    "a million names": lambda: (b"x,y,label" + b",z" * 500_000)[:LARGEST_BYTES],
    "a million rows": lambda: b"\n" * LARGEST_BYTES,
    "a million quotes": lambda: b'"' * LARGEST_BYTES,
    "open quotes": lambda: b'x,y,label\n1,2,"' + b"a\n" * 480_000,
    "one long cell": lambda: b"x,y,label\n" + b"9" * 900_000 + b",1,a",
    "long cells": lambda: b"x,y,label\n" + (b"9" * 100_000 + b",1,a\n") * 9,
    "one long label": lambda: b"x,y,label\n1,2," + b"a" * 900_000,
    "long name": lambda: b"x" * 130_000 + b",y,label\n1,2,3",
    "commas and points": lambda: b"x;y;label\n" + b"1,1;2,2;a\n" * 90_000,
    "bytes that are no text": lambda: b"x,y,label\n" + b"\xff" * 900_000,
    "NUL": lambda: b"x,y,label\n" + b"\0" * 900_000,
    "a zip file": lambda: zipped(10**8),
    "packed": lambda: zlib.compress(bytes(10**8)),
    "UTF-16 without a mark": lambda: EXAMPLE_CSV.encode("utf-16-le") * 100,
    "one byte too many": lambda: b"a" * (LARGEST_BYTES + 1),
    "far too many": lambda: b"1,2,a\n" * 10_000_000,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", LARGE)
def test_large_and_wrong_files_are_refused_soon(name):
    source = LARGE[name]()
    began = time.process_time()
    with pytest.raises(OwnDataError) as caught:
        parse_csv(source)
    assert time.process_time() - began < SECONDS
    said = str(caught.value)
    assert len(said) < LONGEST_SENTENCE
    assert "\n" not in said

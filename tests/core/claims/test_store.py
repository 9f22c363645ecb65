"""Does the store lose nothing, double nothing, and refuse what is no store?"""

import csv
import math
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.claims import (
    ModelRow,
    Refused,
    StackRow,
    Store,
    csv_rows,
    csv_text,
    default_path,
    is_written,
)
from gating_core.claims import store as store_file
from gating_core.claims.__main__ import main
from gating_core.claims.store import APPLICATION_ID, VERSION

ROOT = Path(__file__).resolve().parents[3]
ROW = ModelRow(
    key="0",
    code="c",
    part="base",
    task="xor",
    variant="ungated",
    source="memory",
    depth=1,
    values=3,
    model_dim=8,
    seed=0,
    together=32,
    steps=400,
    parameters=100,
    train_accuracy=0.5,
    test_accuracy=0.5,
    train_loss=0.7,
    test_loss=0.7,
    total_curvature=1.0,
    total_error=0.1,
    total_complete=True,
    positive_curvature=0.5,
    flat=False,
    positive_share=0.5,
    negative_share=0.25,
    undecided_share=0.25,
    resolved_share=1.0,
    largest_curvature=3.0,
    largest_bound=1e-9,
    chart_flat=None,
    chart_largest=None,
    chart_bound=None,
    chart_positive_share=None,
    proxy=2.0,
    normalised_proxy=1.0,
    seconds=0.1,
)
STACK = StackRow("s", "c", 0, 1, 1e-3, 0.1, 1e-6, 4e-6, 1e-20, 0.01, True, 0.1)


def rows(first, count):
    return [replace(ROW, key=f"{first + place:06}") for place in range(count)]


numbers = st.none() | st.floats(allow_nan=False)


@given(
    numbers,
    numbers,
    st.none() | st.booleans(),
    st.none() | st.text(min_size=1),
    st.integers(0, 2**40),
)
def test_what_is_written_is_read_to_the_bit(first, second, flag, text, whole):
    """From the store, and from CSV."""
    row = replace(
        ROW,
        total_curvature=first,
        proxy=second,
        flat=flag,
        seed=whole,
        error=text if text is None else text.replace("\0", "") or None,
    )
    place = Path(os.devnull).parent / "shm" / f"claims-{os.getpid()}.sqlite"
    try:
        with Store(place) as store:
            store.write([row, STACK])
            (found,) = store.models()
            assert store.stacks() == [STACK]
    finally:
        for each in place.parent.glob(f"{place.name}*"):
            each.unlink()
    (read,) = csv_rows(ModelRow, csv_text(ModelRow, [row]))
    for other in (found, read):
        assert other == row
        assert all(type(getattr(other, x.name)) is type(getattr(row, x.name)) for x in fields(row))
        assert math.copysign(1, other.proxy or 1) == math.copysign(1, row.proxy or 1)


def test_a_row_that_is_there_stays_as_it_is(store):
    store.write([ROW])
    store.write([replace(ROW, proxy=9.0), replace(ROW, key="1")])
    assert [row.proxy for row in store.models()] == [2.0, 2.0]
    assert store.keys() == {"models": {"0", "1"}, "stacks": set()}


def test_the_latest_progress_is_told_and_none_of_a_store_of_before(store, path):
    assert store.progress() == {}
    for done in (1, 2):
        store.write(rows(done, 1), {"done": done})
    store.write(rows(3, 1))
    with Store(path, readable=True) as reader:
        assert reader.progress() == {"done": 2}


def test_a_unit_is_written_whole_or_not_at_all(store):
    with pytest.raises(sqlite3.Error):
        store.write([*rows(0, 3), replace(ROW, key="x", task=object())], {"done": 3})
    assert store.models() == []
    assert store.progress() == {}


# --- Several processes ----------------------------------------------------------------------------


def fork(function, *arguments):
    """A process that begins where we are."""
    process = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    process.start()
    return process


def write_units(path, units, size, told):
    with Store(path) as store:
        for unit in units:
            store.write(rows(unit * size, size))
            told.send(unit)


def test_a_second_writer_is_refused_in_one_sentence_until_the_first_has_ended(path):
    assert not is_written(path)
    with Store(path) as first:
        first.write([ROW])
        assert is_written(path)
        with pytest.raises(Refused, match=r"another process runs a study in .*wait for its end"):
            Store(path)
        with Store(path, readable=True) as reader:  # who reads waits for nobody
            assert reader.models() == [ROW]
        first.write([STACK])
    assert not is_written(path)
    with Store(path) as second:
        assert second.stacks() == [STACK]


def test_a_writer_that_is_killed_leaves_whole_units_and_its_place(path):
    hears, told = multiprocessing.Pipe(duplex=False)
    writer = fork(write_units, path, range(100_000), 32, told)
    done = [hears.recv() for _ in range(5)]
    assert is_written(path)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    while hears.poll():
        done.append(hears.recv())
    with Store(path) as store:
        count = len(store.models())
        assert count % 32 == 0
        assert len(done) <= count // 32 <= len(done) + 1
        store.write(rows(0, 32))
        assert len(store.models()) == count


def hold(path, told):
    try:
        with Store(path) as store:
            store.write(rows(os.getpid(), 1))
            told.send("wrote")
    except Refused as error:
        told.send(str(error))


def test_of_several_that_make_a_store_at_once_each_writes_or_is_refused(path):
    hears, told = multiprocessing.Pipe(duplex=False)
    several = [fork(hold, path, told) for _ in range(8)]
    said = [hears.recv() for _ in several]
    for process in several:
        process.join()
    wrote = said.count("wrote")
    assert wrote >= 1
    assert all("another process runs a study" in text for text in said if text != "wrote")
    with Store(path, readable=True) as store:
        assert len(store.models()) == wrote
    assert {x.name for x in path.parent.iterdir()} == {path.name, f"{path.name}.lock"}


# --- Files that are no stores ---------------------------------------------------------------------


@pytest.fixture
def whole(path):
    """A store of many pages, closed."""
    with Store(path) as store:
        store.write(rows(0, 400))
    return path


def changed(path, place, data):
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


def other_database(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE models (x)")


BAD = {
    "empty": (lambda path: os.truncate(path, 0), "is empty"),
    "text": (lambda path: path.write_text("key,code\n" * 100), "no store"),
    "short": (lambda path: path.write_bytes(b"SQLite"), "no store"),
    "other database": (other_database, "no store"),
    "other program": (lambda path: changed(path, 68, b"GEOP"), "no store"),
    "newer": (lambda path: changed(path, 60, (VERSION + 1).to_bytes(4, "big")),
              "version 2, and this program knows 1"),
    "middle page": (lambda path: changed(path, path.stat().st_size // 2 // 4096 * 4096,
                                         b"\x5a" * 4096), "is damaged"),
    "cut": (lambda path: os.truncate(path, path.stat().st_size // 2), "is damaged"),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_and_left_as_it_is(whole, name, readable):
    if name == "empty" and not readable:
        pytest.skip("nothing can be lost")
    spoil, said = BAD[name]
    spoil(whole)
    before, beside = whole.read_bytes(), sorted(whole.parent.iterdir())
    with pytest.raises(Refused, match=said) as found:
        Store(whole, readable)
    assert str(whole) in str(found.value)
    assert "\n" not in str(found.value)
    assert whole.read_bytes() == before
    assert sorted(whole.parent.iterdir()) == beside


def test_what_is_spoilt_above_is_a_store_before(whole):
    head = whole.read_bytes()[:100]
    assert head[68:72] == APPLICATION_ID.to_bytes(4, "big")
    with Store(whole, readable=True) as store:
        assert len(store.models()) == 400


def test_a_folder_a_pipe_or_a_missing_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # whoever opens it would wait for ever
    for path in (tmp_path, tmp_path / "pipe"):
        for readable in (False, True):
            with pytest.raises(Refused, match="is a folder, a pipe or a device; name a file"):
                Store(path, readable)
    with pytest.raises(Refused, match="there is no folder"):
        Store(tmp_path / "nowhere" / "claims.sqlite")
    with pytest.raises(Refused, match="cannot be read: No such file"):
        Store(tmp_path / "claims.sqlite", readable=True)
    assert [x.name for x in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("text", ["{", "3", b"\xff", None])
def test_progress_that_is_none_is_refused_in_a_sentence(whole, text):
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("INSERT INTO progress VALUES (1, ?)", (text,))
    with Store(whole, readable=True) as store, pytest.raises(Refused, match=r"damaged.*progress"):
        store.progress()


def test_what_a_process_that_was_killed_has_begun_to_make_is_made_anew(path):
    path.touch()
    path.with_name(f"{path.name}.new").write_bytes(b"half a store")
    with Store(path) as store:
        store.write([ROW])
    assert {x.name for x in path.parent.iterdir()} == {path.name, f"{path.name}.lock"}


def test_the_default_path_is_the_users_own_and_is_made(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    place = default_path()
    assert tmp_path in place.parents
    Store(place).close()
    assert place.is_file()


# --- A disk that is full, a folder that is read-only ----------------------------------------------


@pytest.fixture
def disk(monkeypatch):
    """A disk with room for so many more pages of a store; call it with none to make it large."""
    connect, rooms = sqlite3.connect, []

    def limited(*about, **more):
        connection = connect(*about, **more)
        if rooms and rooms[-1] is not None:
            connection.execute(f"PRAGMA max_page_count = {rooms[-1]}")
        return connection

    monkeypatch.setattr(store_file.sqlite3, "connect", limited)
    return rooms.append


def test_a_full_disk_is_said_and_what_was_there_stays(store, disk):
    store.write(rows(0, 50))
    disk(8)
    with pytest.raises(Refused, match="the disk is full; all rows that it had are still there"):
        store.write(rows(50, 200))
    assert len(store.models()) == 50
    disk(None)
    store.write(rows(50, 200))
    assert len(store.models()) == 250


READER = """
import os, sys
from pathlib import Path
from gating_core.claims import Refused, Store
if os.geteuid() == 0:
    os.setuid(65534)
with Store(Path(sys.argv[1]), readable=True) as store:
    print(len(store.models()))
for name in ("claims.sqlite", "other.sqlite"):
    try:
        Store(Path(sys.argv[1]).with_name(name))
    except Refused as error:
        print(error)
"""


@pytest.mark.soak
def test_in_a_read_only_folder_a_store_is_read_and_not_written(whole, tmp_path):
    """As nobody where we are root, to whom nothing is read-only."""
    before, beside = whole.read_bytes(), sorted(tmp_path.iterdir())
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path(folder.anchor):
            folder.chmod(folder.stat().st_mode | 0o055)
    tmp_path.chmod(0o555)
    try:
        out = subprocess.run(
            [sys.executable, "-c", READER, str(whole)],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
    finally:
        tmp_path.chmod(0o755)
    count, why, other = out.splitlines()
    assert count == "400"
    assert why.startswith(f"{whole} cannot be")
    assert other.startswith(f"{whole.with_name('other.sqlite')} cannot be made")
    assert whole.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == beside


# --- Taking it home -------------------------------------------------------------------------------


def test_an_export_has_all_rows_and_all_digits(store, tmp_path):
    odd = replace(ROW, key="z", proxy=0.1 + 0.2, total_error=math.inf, flat=None, error='a "b",\nc')
    store.write([ROW, odd, STACK])
    main(["export", str(tmp_path / "tables"), "--store", str(store.path)])
    paths = [tmp_path / "tables" / name for name in ("models.csv", "stacks.csv")]
    with paths[0].open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert list(first) == [x.name for x in fields(ModelRow)]
    assert [float(x["proxy"]) for x in (first, second)] == [2.0, 0.1 + 0.2]
    assert [float(x["total_error"]) for x in (first, second)] == [0.1, math.inf]
    assert (first["flat"], second["flat"], first["error"]) == ("False", "", "")
    assert second["error"] == odd.error
    assert csv_rows(StackRow, paths[1].read_text(encoding="utf-8")) == [STACK]

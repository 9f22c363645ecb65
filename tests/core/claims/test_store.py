"""Does the store lose nothing, double nothing, and refuse what is no store?"""

import errno
import math
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from gating_core.claims import (
    ModelRow,
    Refused,
    StackRow,
    Store,
    default_path,
    export,
    store_location,
)
from gating_core.claims import store as store_file
from gating_core.claims.store import LEASE_SECONDS
from gating_core.claims.store_location import APPLICATION_ID, VERSION, create

ROOT = Path(__file__).resolve().parents[3]
ROW = ModelRow(
    key="0", code="c", part="base", task="xor", variant="ungated", source="memory", depth=1,
    values=3, model_dim=8, seed=0, together=32, steps=400, parameters=100, train_accuracy=0.5,
    test_accuracy=0.5, train_loss=0.7, test_loss=0.7, total_curvature=1.0, total_error=0.1,
    total_complete=True, positive_curvature=0.5, flat=False, positive_share=0.5,
    negative_share=0.25, undecided_share=0.25, resolved_share=1.0, largest_curvature=3.0,
    largest_bound=1e-9, chart_flat=None, chart_largest=None, chart_bound=None,
    chart_positive_share=None, proxy=2.0, normalised_proxy=1.0, seconds=0.1,
)  # fmt: skip
STACK = StackRow("s", "c", 0, 1, 1e-3, 0.1, 1e-6, 4e-6, 1e-20, 0.01, True, 0.1)


def rows(first, count):
    return [replace(ROW, key=f"{first + place:06}") for place in range(count)]


def python(code, *arguments, **options):
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, **options)  # fmt: skip


numbers = st.none() | st.floats(allow_nan=False)


@given(numbers, numbers, st.none() | st.booleans(), st.none() | st.text(), st.integers(0, 2**40))
def test_what_is_written_is_read_to_the_bit(first, second, flag, text, whole):
    row = replace(ROW, total_curvature=first, proxy=second, flat=flag, seed=whole,
                  error=text if text is None else text.replace("\0", ""))  # fmt: skip
    with Store(Path(os.devnull).parent / "shm" / f"claims-{os.getpid()}.sqlite") as store:
        try:
            store.write([row, STACK])
            (found,) = store.models()
            assert found == row
            assert all(type(getattr(found, x.name)) is type(getattr(row, x.name))
                       for x in fields(row))  # fmt: skip
            assert math.copysign(1, found.proxy or 1) == math.copysign(1, row.proxy or 1)
            assert store.stacks() == [STACK]
        finally:
            store.path.unlink()


def test_a_row_that_is_there_stays_as_it_is(store):
    store.write([ROW])
    store.write([replace(ROW, proxy=9.0), replace(ROW, key="1")])
    assert [row.proxy for row in store.models()] == [2.0, 2.0]
    assert store.present(["0", "1", "2"]) == {"0", "1"}
    assert store.counts() == {"models": 2, "stacks": 0}


def test_of_many_keys_all_that_are_there_are_found(store):
    """More than are asked for at a time."""
    some = rows(0, 2 * store_file.BATCH + 1)
    store.write(some)
    keys = {row.key for row in some}
    assert store.present(["none", *sorted(keys)]) == keys


def test_a_unit_is_written_whole_or_not_at_all(store):
    with pytest.raises(sa.exc.StatementError):
        store.write([*rows(0, 3), replace(ROW, key="x", task=object())])
    assert store.models() == []


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


def test_two_processes_may_write_the_same(path):
    _, told = multiprocessing.Pipe(duplex=False)
    both = [fork(write_units, path, range(first, first + 12), 8, told) for first in (0, 4)]
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    with Store(path) as store:
        assert [row.key for row in store.models()] == [f"{n:06}" for n in range(16 * 8)]


def test_a_writer_that_is_killed_leaves_whole_units(path):
    hears, told = multiprocessing.Pipe(duplex=False)
    writer = fork(write_units, path, range(100_000), 32, told)
    done = [hears.recv() for _ in range(5)]
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


# --- Leases ---


def test_a_unit_is_leased_to_one_at_a_time(path):
    with Store(path) as one, Store(path) as other:
        assert one.lease(["a", "b"]) == {"a", "b"}
        assert other.lease(["b", "c"]) == {"c"}
        assert one.lease(["a", "b", "c"]) == {"a", "b"}
        one.release(["c"])  # which is not its own
        assert one.lease(["c"]) == set()
        one.release(["b"])
        assert other.lease(["a", "b"]) == {"b"}
        one.release()
        assert other.lease(["a"]) == {"a"}
        assert other.lease([]) == set()


def test_a_lease_of_before_a_restart_of_the_machine_holds_nobody_up(path, monkeypatch):
    with Store(path) as one, Store(path) as other:
        assert one.lease(["a"]) == {"a"}
        now = time.monotonic()
        monkeypatch.setattr(store_file.time, "monotonic", lambda: now - 10_000)
        assert other.lease(["a"]) == {"a"}


def test_a_clock_that_is_set_changes_no_lease(path, monkeypatch):
    with Store(path) as one, Store(path) as other:
        assert one.lease(["a"]) == {"a"}
        monkeypatch.setattr(store_file.time, "time", lambda: 1e12)
        assert other.lease(["a"]) == set()


def test_a_lease_that_nobody_renews_ends(path, clock):
    with Store(path) as one, Store(path) as other:
        one.lease(["a"])
        clock.now += 0.6 * LEASE_SECONDS
        one.lease(["a"])
        clock.now += 0.6 * LEASE_SECONDS
        assert other.lease(["a"]) == set()
        clock.now += 0.6 * LEASE_SECONDS
        assert other.lease(["a"]) == {"a"}
        assert one.lease(["a"]) == set()


# --- Files that are no stores ---


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


def spoil_middle(path):
    changed(path, path.stat().st_size // 2 // 4096 * 4096, b"\x5a" * 4096)


def cut_short(path):
    os.truncate(path, path.stat().st_size // 2)


def other_database(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE models (x)")


def newer(path):
    changed(path, 60, (VERSION + 1).to_bytes(4, "big"))


BAD = {
    "empty": (lambda path: os.truncate(path, 0), "is empty"),
    "text": (lambda path: path.write_text("key,code\n" * 100), "no store"),
    "short": (lambda path: path.write_bytes(b"SQLite"), "no store"),
    "other database": (other_database, "no store"),
    "other program": (lambda path: changed(path, 68, b"GEOP"), "no store"),
    "newer": (newer, "version 2, and this program knows 1"),
    "middle page": (spoil_middle, "is damaged"),
    "cut": (cut_short, "is damaged"),
}


@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_and_left_as_it_is(whole, name, readable):
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


def test_a_folder_or_a_missing_file_is_refused(tmp_path):
    with pytest.raises(Refused, match="cannot be read: Is a directory"):
        Store(tmp_path)
    with pytest.raises(Refused, match="there is no folder"):
        Store(tmp_path / "nowhere" / "claims.sqlite")
    assert not list(tmp_path.iterdir())
    with pytest.raises(Refused, match="cannot be read: No such file"):
        Store(tmp_path / "claims.sqlite", readable=True)
    assert not list(tmp_path.iterdir())


@pytest.fixture(params=["link", "no link"])
def links(request, monkeypatch):
    """File systems that know hard links, and others."""

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")  # as vfat says

    if request.param == "no link":
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("links")
def test_several_that_make_a_store_at_once_have_the_same(path):
    several = [fork(write_row, path, number) for number in range(8)]
    for process in several:
        process.join()
    assert [process.exitcode for process in several] == [0] * 8
    assert [x.name for x in path.parent.iterdir()] == [path.name]
    with Store(path, readable=True) as store:
        assert len(store.models()) == 8  # nobody's has taken another's place


def write_row(path, number):
    with Store(path) as store:
        store.write(rows(number, 1))


@pytest.mark.usefixtures("links")
def test_a_store_that_came_first_stays(path):
    """Another process makes one between our look and our try."""
    write_row(path, 0)
    create(path, [])
    assert [x.name for x in path.parent.iterdir()] == [path.name]
    with Store(path, readable=True) as store:
        assert store.models() == rows(0, 1)


def test_where_it_cannot_be_put_there_either_nothing_is_left(path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(Refused, match=r"cannot be made: .*Input/output error"):
        Store(path)
    assert not list(path.parent.iterdir())


def test_a_store_that_is_being_made_is_no_empty_file(whole, monkeypatch):
    """Where there are no hard links it has its name a moment before it is there."""
    content = whole.read_bytes()
    whole.write_bytes(b"")
    monkeypatch.setattr(store_location.time, "sleep", lambda seconds: whole.write_bytes(content))
    with Store(whole) as store:
        assert len(store.models()) == 400


def test_the_default_path_is_the_users_own_and_is_made(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    place = default_path()
    assert tmp_path in place.parents
    Store(place).close()
    assert place.is_file()


# --- A disk that is full, a folder that is read-only ---


def test_a_full_disk_is_said_and_what_was_there_stays(store):
    store.write(rows(0, 50))

    @sa.event.listens_for(store._engine, "connect")
    def limit(connection, _):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")

    with pytest.raises(Refused, match="the disk is full; all rows that it had are still there"):
        store.write(rows(50, 200))
    assert len(store.models()) == 50
    sa.event.remove(store._engine, "connect", limit)
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
try:
    Store(Path(sys.argv[1]))
except Refused as error:
    print(error)
try:
    Store(Path(sys.argv[1]).with_name("other.sqlite"))
except Refused as error:
    print(error)
"""


def test_in_a_read_only_folder_a_store_is_read_and_not_written(whole, tmp_path):
    """As nobody where we are root, to whom nothing is read-only."""
    before = whole.read_bytes()
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path(folder.anchor):
            folder.chmod(folder.stat().st_mode | 0o055)
    tmp_path.chmod(0o555)
    try:
        out, _ = python(READER, whole).communicate()
    finally:
        tmp_path.chmod(0o755)
    count, why, other = out.splitlines()
    assert count == "400"
    assert why == f"{whole} cannot be written to: it is read-only; name another file" or (
        why == f"{whole} cannot be written to: its folder is read-only; name another file"
    )
    assert other.startswith(str(whole.with_name("other.sqlite")))
    assert "cannot be made" in other
    assert whole.read_bytes() == before
    assert [x.name for x in tmp_path.iterdir()] == [whole.name]


# --- Taking it home ---


def test_an_export_has_all_rows_and_all_digits(store, tmp_path):
    import pandas as pd

    odd = replace(ROW, key="z", proxy=0.1 + 0.2, total_error=math.inf, flat=None, error='a "b",\nc')
    store.write([ROW, odd, STACK])
    paths = export(store, tmp_path / "tables")
    assert [x.name for x in paths] == ["models.csv", "models.parquet", "stacks.csv",
                                       "stacks.parquet"]  # fmt: skip
    for read, path in ((pd.read_csv, paths[0]), (pd.read_parquet, paths[1])):
        frame = read(path)
        assert list(frame.columns) == [x.name for x in fields(ModelRow)]
        assert list(frame["proxy"]) == [2.0, 0.1 + 0.2]
        assert list(frame["total_error"]) == [0.1, math.inf]
        assert pd.isna(frame["flat"][1])
        assert pd.isna(frame["error"][0])
        assert frame["error"][1] == odd.error
    assert len(pd.read_csv(paths[2])) == len(pd.read_parquet(paths[3])) == 1

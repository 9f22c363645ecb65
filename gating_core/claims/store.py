"""The store of a study: one SQLite file, one row per model.

Rows of one unit are written in one transaction: a process that is killed leaves all of them or
none. One process at a time writes: it holds SQLite's lock of a second, empty file beside the store,
which ends with the process. A file that is no such store, or is damaged, is refused before anything
is written, and stays as it is.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gating_core.claims.errors import Refused
from gating_core.claims.models import ModelRow, Row, StackRow

APPLICATION_ID = 0x47435543  # "GCUC", in the head of the file
VERSION = 1  # of the tables
MAGIC = b"SQLite format 3\0"
HEAD_BYTES = 100  # source: "Database File Format", section 1.3, of SQLite's documentation
VERSION_OFFSET, ID_OFFSET = 60, 68  # of four bytes each
BUSY_SECONDS = 30.0  # for another process to finish its transaction
LOCK_SECONDS = 1.0  # for whoever looks whether a study runs to have looked
FOLDER, FILE = "gating-curvature", "claims.sqlite"

TABLES: dict[type[Row], str] = {ModelRow: "models", StackRow: "stacks"}
TYPES = {"str": "TEXT", "int": "INTEGER", "float": "FLOAT", "bool": "BOOLEAN"}
TROUBLE = {  # by what SQLite calls it
    "SQLITE_FULL": "cannot be written to: the disk is full; all rows that it had are still there",
    "SQLITE_READONLY": "cannot be written to: it, or its folder, is read-only",
    "SQLITE_CANTOPEN": "cannot be opened; its folder may be read-only",
    "SQLITE_BUSY": "cannot be written to: another process has held it for half a minute",
    "SQLITE_CORRUPT": "is damaged; it was left as it is: name another file for a new study",
    "SQLITE_NOTADB": "is no store of a study; it was left as it is: name another file",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
}


def default_path() -> Path:
    """Return the file in the user's data folder, the same for the page and the command line."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / FOLDER / FILE


def is_written(path: Path) -> bool:
    """Say whether a process has the store at ``path`` open for writing: whether a study runs."""
    lock = _lock_path(path)
    if not lock.is_file():
        return False
    try:
        with closing(sqlite3.connect(_address(lock, "ro"), uri=True, timeout=0.0)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        return error.sqlite_errorname.startswith("SQLITE_BUSY")
    return False


class Store:
    """The store at ``path``; a context manager.

    Args:
        path: the file, which is made if there is none.
        readable: rows are only read: nothing is written, and a missing file is refused, too.

    Raises:
        Refused: the file cannot be used, or another process writes; the text says why.
    """

    def __init__(self, path: Path, readable: bool = False) -> None:
        self.path, self._lock = path, None
        if readable or os.path.exists(path):  # Path.exists raises without permission
            _check(path, readable)
        self._mode = "rw"
        if readable and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            self._mode = "immutable"  # beside its file SQLite wants to put a log
        if not readable:
            self._lock = _locked(path)
            if not os.path.exists(path):
                _create(path)

    def write(self, rows: Sequence[Row], progress: Mapping[str, Any] | None = None) -> None:
        """Write all ``rows`` or none of them; a row whose key is there already stays as it is.

        ``progress`` is how far the study is then, as numbers and texts; none leaves what was.
        """
        with self._connected() as connection:
            for row in rows:
                signs = ", ".join("?" * len(fields(row)))
                connection.execute(
                    f"INSERT OR IGNORE INTO {TABLES[type(row)]} ({_names(type(row))})"
                    f" VALUES ({signs})",
                    astuple(row),
                )
            if progress is not None:
                connection.execute(PROGRESS_TABLE)
                connection.execute("REPLACE INTO progress VALUES (1, ?)", (json.dumps(progress),))

    def progress(self) -> dict[str, Any]:
        """Return what was last written of the progress of a study; empty if nothing was."""
        with self._connected() as connection:
            try:
                found = connection.execute("SELECT text FROM progress").fetchone()
            except sqlite3.OperationalError:  # no such table, in a store of before
                found = None
        return json.loads(found[0]) if found else {}

    def models(self) -> list[ModelRow]:
        """Return all rows of trained models, in the order of their keys."""
        return self._all(ModelRow)

    def stacks(self) -> list[StackRow]:
        """Return all rows of stacks, in the order of their keys."""
        return self._all(StackRow)

    def present(self) -> set[str]:
        """Return the keys of all rows."""
        with self._connected() as connection:
            return {
                key
                for name in TABLES.values()
                for (key,) in connection.execute(f"SELECT key FROM {name}")
            }

    def counts(self) -> dict[str, int]:
        """Return how many rows there are, by table."""
        with self._connected() as connection:
            return {
                name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in TABLES.values()
            }

    def close(self) -> None:
        """Let others write."""
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self, kind: type) -> list:
        booleans = [x.name for x in fields(kind) if str(x.type).startswith("bool")]
        with self._connected() as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute(f"SELECT {_names(kind)} FROM {TABLES[kind]} ORDER BY key")
            rows = [dict(row) for row in found]
        for row in rows:
            row |= {name: None if row[name] is None else bool(row[name]) for name in booleans}
        return [kind(**row) for row in rows]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A transaction, with a connection of its own; what SQLite says becomes a sentence."""
        address = _address(self.path, self._mode)
        try:
            connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)
            with closing(connection), connection:
                yield connection
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            why = next((text for start, text in TROUBLE.items() if name.startswith(start)), None)
            if why is None:
                raise
            raise Refused(f"{self.path} {why}") from error


# --- Tables ---------------------------------------------------------------------------------------

PROGRESS_TABLE = "CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"


def _names(kind: type) -> str:
    return ", ".join(f'"{field.name}"' for field in fields(kind))


def _columns(kind: type) -> str:
    """The columns of a table, by the annotations of its rows."""
    columns = []
    for field in fields(kind):
        type_, *optional = str(field.type).split(" | ")
        constraint = " PRIMARY KEY" * (field.name == "key") + " NOT NULL" * (not optional)
        columns.append(f'"{field.name}" {TYPES[type_]}{constraint}')
    return ", ".join(columns)


# --- Files ----------------------------------------------------------------------------------------


def _address(path: Path, mode: str) -> str:
    """The address that SQLite opens; ``mode`` is "rw", "ro" or "immutable", which adds no file."""
    option = "immutable=1" if mode == "immutable" else f"mode={mode}"
    return f"file:{quote(str(path.absolute()))}?{option}"


def _lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _locked(path: Path) -> sqlite3.Connection:
    """The lock of the one process that writes, which ends with the connection."""
    if path == default_path():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Refused(
                f"{path} cannot be made: no folder can be made there ({error.strerror}); name"
                " another file with --store, or another folder with XDG_DATA_HOME"
            ) from error
    if not os.path.isdir(path.parent):
        raise Refused(f"{path} cannot be made: there is no folder {path.parent}")
    lock = None
    try:
        lock = sqlite3.connect(
            _lock_path(path), timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if lock is not None:
            lock.close()
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            raise Refused(
                f"another process runs a study in {path}: wait for its end, or name another file"
                " with --store"
            ) from error
        raise Refused(f"{path} cannot be made: {error}") from error
    return lock


def _create(path: Path) -> None:
    """Make an empty store, a whole one or none; whoever does it holds the lock."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for kind, name in TABLES.items():
                connection.execute(f"CREATE TABLE {name} ({_columns(kind)})")
            connection.execute("PRAGMA journal_mode = WAL")  # who reads waits for nobody
        new.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise Refused(f"{path} cannot be made: {error}") from error


def _check(path: Path, readable: bool) -> None:
    """Raise `Refused` unless ``path`` is a whole store that can be read, and written if need be.

    The store's kind and version stand in the head of its file, which is read as bytes, before
    SQLite opens anything.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error
    if not head:
        raise Refused(f"{path} is empty; it was left as it is: remove it, or name another file")
    kind = int.from_bytes(head[ID_OFFSET : ID_OFFSET + 4], "big")
    if not head.startswith(MAGIC) or kind != APPLICATION_ID:
        raise Refused(f"{path} is no store of a study; it was left as it is: name another file")
    version = int.from_bytes(head[VERSION_OFFSET : VERSION_OFFSET + 4], "big")
    if version > VERSION:
        raise Refused(
            f"{path} is a store of version {version}, and this program knows {VERSION} and below;"
            " it was left as it is: use a newer program, or name another file"
        )
    for each, what in ((path, "it"), (path.parent, "its folder")):
        if not readable and not os.access(each, os.W_OK):
            raise Refused(f"{path} cannot be written to: {what} is read-only; name another file")
    damage = _damage(path)
    if damage:
        raise Refused(
            f"{path} is damaged ({damage}); it was left as it is: name another file for a new study"
        )


def _damage(path: Path) -> str:
    """SQLite's message on a damaged page; empty for an intact file.

    Inserting into a damaged file succeeds, so that nothing but this would tell. A store that
    somebody is writing has a second file with its latest rows; if one begins while we read without
    it, we read once more.
    """
    answer = ""
    for _ in range(2):
        log = path.with_name(f"{path.name}-wal")
        try:
            uri = _address(path, "ro" if log.exists() else "immutable")
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            answer = str(error)
        if answer == "ok":
            return ""
    return answer.splitlines()[-1]

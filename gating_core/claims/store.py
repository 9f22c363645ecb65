"""The store of a study: one SQLite file, one row per model.

The rows of a unit are written in one transaction, so that a process that is killed leaves all of
them or none. One process at a time writes: it holds the lock of a second, empty file beside the
store, which ends with the process. A file that is no such store, or is damaged, stays as it is.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gating_core.claims.rows import ModelRow, Row, StackRow, types_of

APPLICATION_ID = 0x47435543  # "GCUC"
VERSION = 1  # of the tables
BUSY_SECONDS, LOCK_SECONDS = 30.0, 1.0  # to wait for a transaction, and for a look at the lock
TABLES: dict[type[Row], str] = {ModelRow: "models", StackRow: "stacks"}
COLUMNS = {str: "TEXT", int: "INTEGER", float: "FLOAT", bool: "BOOLEAN"}
TROUBLE = {  # by the beginning of SQLite's name of it
    "SQLITE_FULL": "cannot be written to: the disk is full; all rows that it had are still there",
    "SQLITE_READONLY": "cannot be written to: it, or its folder, is read-only; name another file",
    "SQLITE_CANTOPEN": "cannot be opened or made; its folder may be missing or read-only",
    "SQLITE_BUSY": "cannot be written to: another process has held it for half a minute",
    "SQLITE_CORRUPT": "is damaged; it was left as it is: name another file for a new study",
    "SQLITE_NOTADB": "is no store of a study; it was left as it is: name another file",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
}


class Refused(ValueError):
    """A store that cannot be used; the message says why, and what can be done."""


def default_path() -> Path:
    """Return the file in the user's data folder, the same for the page and the command line."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "gating-curvature" / "claims.sqlite"


def is_written(path: Path) -> bool:
    """Return whether a process has the store at ``path`` open for writing: whether a study runs."""
    lock = path.with_name(f"{path.name}.lock")
    if lock.is_file():
        try:
            with closing(_connect(lock, "ro", 0.0)) as connection:
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
        # A reader may have to roll back what a killed writer has begun, where it can.
        writes = not readable or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        self._mode = "rw" if writes else "ro"
        # Path.exists raises without permission. Whoever makes a store may be killed meanwhile.
        if os.path.exists(path) and not os.path.isfile(path):
            raise Refused(f"{path} is a folder, a pipe or a device; name a file")
        if readable or (os.path.exists(path) and os.path.getsize(path)):
            self._check()
        if not readable:
            self._lock = self._locked()
            place = path
            if not (path.exists() and path.stat().st_size):  # which nobody changes any more
                place = path.with_name(f"{path.name}.new")
                place.unlink(missing_ok=True)
            with self._connected("rwc", place) as connection:
                connection.execute("PRAGMA journal_mode = DELETE")  # was another in older stores
                connection.execute("BEGIN")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                for kind, name in TABLES.items():
                    connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({_columns(kind)})")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY, text TEXT)"
                )
            place.replace(path)  # a reader sees a whole store or none

    def write(self, rows: Sequence[Row], progress: Mapping[str, Any] | None = None) -> None:
        """Write all ``rows`` or none of them; a row whose key is there already stays as it is.

        ``progress`` is how far the study is then; ``None`` leaves what was.
        """
        with self._connected() as connection:
            for row in rows:
                names = types_of(type(row))
                connection.execute(
                    f"INSERT OR IGNORE INTO {TABLES[type(row)]} ({_quoted(names)})"
                    f" VALUES ({', '.join('?' * len(names))})",
                    astuple(row),
                )
            if progress is not None:
                connection.execute("REPLACE INTO progress VALUES (1, ?)", (json.dumps(progress),))

    def progress(self) -> dict[str, Any]:
        """Return the progress of a study that was last written; empty if none was."""
        no_table = suppress(sqlite3.OperationalError)  # in a store of before
        with self._connected() as connection, no_table:
            for (text,) in connection.execute("SELECT text FROM progress"):
                with suppress(ValueError, TypeError):
                    if isinstance(found := json.loads(text), dict):
                        return found
                raise Refused(f"{self.path} {TROUBLE['SQLITE_CORRUPT']} (its progress)")
        return {}

    def models(self) -> list[ModelRow]:
        """Return all rows of trained models, in the order of their keys."""
        return self._all(ModelRow)

    def stacks(self) -> list[StackRow]:
        """Return all rows of stacks, in the order of their keys."""
        return self._all(StackRow)

    def keys(self) -> dict[str, set[str]]:
        """Return the keys of all rows, by table."""
        with self._connected() as connection:
            return {
                name: {key for (key,) in connection.execute(f"SELECT key FROM {name}")}
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
        types = types_of(kind)
        with self._connected() as connection:
            query = f"SELECT {_quoted(types)} FROM {TABLES[kind]} ORDER BY key"
            found = connection.execute(query).fetchall()
        cells = [zip(types.values(), row, strict=True) for row in found]
        return [kind(*(None if x is None else type_(x) for type_, x in row)) for row in cells]

    @contextmanager
    def _connected(self, mode: str = "", place: Path | None = None) -> Iterator[sqlite3.Connection]:
        """A transaction with a connection of its own; SQLite's errors become sentences."""
        try:
            connection = _connect(place or self.path, mode or self._mode, BUSY_SECONDS)
            with closing(connection), connection:
                yield connection
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            for start, text in TROUBLE.items():
                if name.startswith(start):
                    raise Refused(f"{self.path} {text}") from error
            raise

    def _check(self) -> None:
        """Raise `Refused` unless the file is a whole store of a version that is known."""
        try:
            self.path.open("rb").close()
        except OSError as error:
            raise Refused(f"{self.path} cannot be read: {error.strerror}") from error
        with self._connected() as connection:
            kind, version, damage = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version", "quick_check(1)")
            )
        why = ""
        if kind != APPLICATION_ID:
            why = "is empty, or no store of a study; it was left as it is: name another file"
        elif version > VERSION:
            why = f"is a store of version {version}, and this program knows {VERSION} and below;"
            why += " it was left as it is: use a newer program, or name another file"
        elif damage != "ok":
            why = f"{TROUBLE['SQLITE_CORRUPT']} ({damage.splitlines()[-1]})"
        if why:
            raise Refused(f"{self.path} {why}")

    def _locked(self) -> sqlite3.Connection:
        """The lock of the one process that writes, which ends with the connection."""
        path = self.path
        try:
            if path == default_path():
                path.parent.mkdir(parents=True, exist_ok=True)
            elif not path.parent.is_dir():
                raise Refused(f"{path} cannot be made: there is no folder {path.parent}")
            lock = _connect(path.with_name(f"{path.name}.lock"), "rwc", LOCK_SECONDS)
            lock.execute("BEGIN EXCLUSIVE")
        except OSError as error:
            raise Refused(
                f"{path} cannot be made: no folder can be made there ({error.strerror}); name"
                " another file with --store, or another folder with XDG_DATA_HOME"
            ) from error
        except sqlite3.Error as error:
            why = f"{path} cannot be made: {error}"
            if error.sqlite_errorname.startswith("SQLITE_BUSY"):
                why = f"another process runs a study in {path}: wait for its end, or name another"
                why += " file with --store"
            raise Refused(why) from error
        return lock


def _connect(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=timeout, check_same_thread=False)


def _quoted(names: Mapping[str, type]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _columns(kind: type[Row]) -> str:
    return ", ".join(
        f'"{name}" {COLUMNS[type_]}' + " PRIMARY KEY" * (name == "key")
        for name, type_ in types_of(kind).items()
    )

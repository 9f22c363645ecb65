"""The file of a store: its place, how it is made, and whether it is whole and of a known version.

A file that is refused stays as it was. The store's kind and version stand in the head of its file,
which is read as bytes, before SQLite opens anything.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
import uuid
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from gating_core.claims.errors import Refused

APPLICATION_ID = 0x47435543  # "GCUC", in the head of the file
VERSION = 1  # of the tables
MAGIC = b"SQLite format 3\0"
HEAD_BYTES = 100  # source: "Database File Format", section 1.3, of SQLite's documentation
VERSION_OFFSET, ID_OFFSET = 60, 68  # of four bytes each
ATTEMPTS, POLL_SECONDS = 10, 0.02  # at a file that is empty, until it is taken for one
FOLDER, FILE = "gating-curvature", "claims.sqlite"


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


def address(path: Path, mode: str) -> str:
    """What SQLite opens; ``mode`` is "rw", "ro" or "immutable", which leaves no lock file."""
    option = "immutable=1" if mode == "immutable" else f"mode={mode}"
    return f"file:{quote(str(path.absolute()))}?{option}"


def reading_mode(path: Path) -> str:
    """How to read without writing rows; where nothing can be written, as what does not change."""
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return "rw" if writable else "immutable"  # beside its file SQLite wants to put a lock


def create(path: Path, schema: Iterable[str]) -> None:
    """Make an empty store: a whole one or none, also if two processes do it at once."""
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
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.new")
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for statement in schema:
                connection.execute(statement)
            connection.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):  # another process was first
            _link(new, path)
    except (OSError, sqlite3.Error) as error:
        raise Refused(f"{path} cannot be made: {error}") from error
    finally:
        new.unlink(missing_ok=True)


def _link(new: Path, path: Path) -> None:
    """Make ``path`` a second name of ``new``; `FileExistsError` if there is such a file."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # memory cards and some shared folders know no second name of a file
        path.touch(exist_ok=False)  # whoever makes it, and nobody else, puts the store there
        try:
            new.replace(path)
        except OSError:
            path.unlink()
            raise


def _head(path: Path) -> bytes:
    """The first bytes of a file; one that is being made is empty for a moment."""
    for _ in range(ATTEMPTS):
        with path.open("rb") as file:
            if head := file.read(HEAD_BYTES):
                return head
        time.sleep(POLL_SECONDS)
    return b""


def check_file(path: Path, readable: bool = False) -> None:
    """Raise `Refused` unless ``path`` is a whole store that can be read, and written if need be."""
    try:
        head = _head(path)
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
    """What SQLite finds wrong on any page, in its words; nothing of a whole file.

    Inserting into a damaged file succeeds, so that nothing but this would tell. A store that
    somebody is writing has a second file with its latest rows; to one that begins while we look
    without it, a second look is due.
    """
    answer = ""
    for _ in range(2):
        log = path.with_name(f"{path.name}-wal")
        try:
            uri = address(path, "ro" if log.exists() else "immutable")
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            answer = str(error)
        if answer == "ok":
            return ""
    return answer.splitlines()[-1]

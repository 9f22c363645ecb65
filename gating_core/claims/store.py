"""The store of a study: one SQLite file, one row per model.

Rows of one unit are written in one transaction: a process that is killed leaves all of them or
none. Two processes may write: what is there already stays, and a unit is done by whoever has its
lease, which ends by itself when its owner no longer renews it. A file that is not such a store, or
is damaged, is refused before anything is written, and stays as it is.
"""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path

from gating_core.claims.errors import Refused, extra_packages
from gating_core.claims.models import ModelRow, Row, StackRow
from gating_core.claims.store_location import address, check_file, create, reading_mode

with extra_packages():
    import sqlalchemy as sa
    from sqlalchemy.dialects.sqlite import insert

LEASE_SECONDS = 15.0  # after which a unit is anybody's, unless its owner has renewed the lease
BUSY_SECONDS = 30.0  # for another process to finish its transaction
BATCH = 500  # keys asked for at a time: SQLite allows some thousand numbers in a statement

TYPES = {"str": sa.Text, "int": sa.Integer, "float": sa.Float, "bool": sa.Boolean}
PANDAS = {"str": "string", "int": "Int64", "float": "Float64", "bool": "boolean"}


def _table(name: str, row: type, metadata: sa.MetaData) -> sa.Table:
    """A column for each field, by its annotation."""
    columns: list[sa.Column] = []
    for field in fields(row):
        kind, *rest = str(field.type).split(" | ")
        columns.append(
            sa.Column(field.name, TYPES[kind], primary_key=field.name == "key", nullable=bool(rest))
        )
    return sa.Table(name, metadata, *columns)


METADATA = sa.MetaData()
MODELS = _table("models", ModelRow, METADATA)
STACKS = _table("stacks", StackRow, METADATA)
LEASES = sa.Table(
    "leases",
    METADATA,
    sa.Column("unit", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("ends", sa.Float, nullable=False),  # seconds of `time.monotonic`, see `lease`
)
TABLES: dict[type, sa.Table] = {ModelRow: MODELS, StackRow: STACKS}


class Store:
    """The store at ``path``, made if there is none; a context manager.

    `Refused` says in a sentence why a file cannot be used. With ``readable`` alone nothing is
    written, a missing file is refused, too, and a store in a read-only folder can be read.
    """

    def __init__(self, path: Path, readable: bool = False) -> None:
        self.path, self.owner = path, uuid.uuid4().hex
        if not readable and not os.path.exists(path):  # Path.exists raises without permission
            create(path, _schema())
        check_file(path, readable)
        mode = reading_mode(path) if readable else "rw"
        self._engine = sa.create_engine(
            "sqlite://",
            creator=lambda: sqlite3.connect(address(path, mode), uri=True, timeout=BUSY_SECONDS),
            poolclass=sa.pool.NullPool,  # a connection for each transaction: any thread may ask
        )

    # --- Rows ---

    def write(self, rows: Sequence[Row]) -> None:
        """Write all ``rows`` or none of them; a row whose key is there already stays as it is."""
        with self._begin() as connection:
            for kind, table in TABLES.items():
                values = [asdict(row) for row in rows if isinstance(row, kind)]
                if values:
                    connection.execute(insert(table).on_conflict_do_nothing(), values)

    def models(self) -> list[ModelRow]:
        """All rows of trained models, in the order of their keys."""
        return [ModelRow(**row) for row in self._all(MODELS)]

    def stacks(self) -> list[StackRow]:
        """All rows of stacks, in the order of their keys."""
        return [StackRow(**row) for row in self._all(STACKS)]

    def present(self, keys: Iterable[str]) -> set[str]:
        """Which of ``keys`` have a row."""
        keys, present = list(keys), set()
        with self._begin() as connection:
            for table in TABLES.values():
                for first in range(0, len(keys), BATCH):
                    some = table.c.key.in_(keys[first : first + BATCH])
                    present |= set(connection.scalars(sa.select(table.c.key).where(some)))
        return present

    def counts(self) -> dict[str, int]:
        """How many rows there are, by table."""
        with self._begin() as connection:
            return {
                table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
                for table in TABLES.values()
            }

    # --- Leases ---

    def lease(self, units: Sequence[str]) -> set[str]:
        """Which of ``units`` are this owner's from now on: all that are nobody else's."""
        if not units:
            return set()
        now = time.monotonic()  # of all processes of a machine, and nobody can set it
        values = [{"unit": x, "owner": self.owner, "ends": now + LEASE_SECONDS} for x in units]
        statement = insert(LEASES)
        statement = statement.on_conflict_do_update(
            index_elements=[LEASES.c.unit],
            set_={"owner": statement.excluded.owner, "ends": statement.excluded.ends},
            # What ends later than any lease can was given before the machine was started anew.
            where=(LEASES.c.ends < now)
            | (LEASES.c.ends > now + LEASE_SECONDS)
            | (LEASES.c.owner == self.owner),
        )
        own = sa.select(LEASES.c.unit).where(LEASES.c.owner == self.owner)
        with self._begin() as connection:
            connection.execute(statement, values)
            return set(connection.scalars(own)) & set(units)

    def release(self, units: Iterable[str] | None = None) -> None:
        """Give ``units`` back, or all that this owner has."""
        own = LEASES.c.owner == self.owner
        if units is not None:
            own &= LEASES.c.unit.in_(list(units))
        with self._begin() as connection:
            connection.execute(sa.delete(LEASES).where(own))

    # --- Opening and closing ---

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self, table: sa.Table) -> list[dict]:
        with self._begin() as connection:
            rows = connection.execute(sa.select(table).order_by(table.c.key))
            return [dict(row) for row in rows.mappings()]

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        """A transaction; what SQLite says of a failure becomes a sentence."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.DBAPIError as error:
            name = getattr(error.orig, "sqlite_errorname", "")
            why = next((text for start, text in TROUBLE.items() if name.startswith(start)), None)
            if why is None:
                raise
            raise Refused(f"{self.path} {why}") from error


TROUBLE = {  # by what SQLite calls it
    "SQLITE_FULL": "cannot be written to: the disk is full; all rows that it had are still there",
    "SQLITE_READONLY": "cannot be written to: it, or its folder, is read-only",
    "SQLITE_CANTOPEN": "cannot be opened; its folder may be read-only",
    "SQLITE_BUSY": "cannot be written to: another process has held it for half a minute",
    "SQLITE_CORRUPT": "is damaged; it was left as it is: name another file for a new study",
    "SQLITE_NOTADB": "is no store of a study; it was left as it is: name another file",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
}


def _schema() -> list[str]:
    """What makes the tables."""
    dialect = sa.dialects.sqlite.dialect()
    return [str(sa.schema.CreateTable(x).compile(dialect=dialect)) for x in METADATA.sorted_tables]


def export(store: Store, folder: Path) -> list[Path]:
    """Write all rows as ``models`` and ``stacks``, CSV and Parquet, in ``folder``, made if need be.

    Numbers are written with all their digits. ``OSError`` where the folder cannot be written to.
    """
    with extra_packages():  # here: they take a second to import
        import pandas as pd
        import pyarrow as pa
        from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    tables: dict[type[Row], Sequence[Row]] = {ModelRow: store.models(), StackRow: store.stacks()}
    for kind, rows in tables.items():
        types = {x.name: PANDAS[str(x.type).split(" | ")[0]] for x in fields(kind)}
        frame = pd.DataFrame([asdict(row) for row in rows], columns=[*types]).astype(types)
        csv, binary = (folder / f"{TABLES[kind].name}.{suffix}" for suffix in ("csv", "parquet"))
        frame.to_csv(csv, index=False)
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), binary)
        paths += [csv, binary]
    return paths

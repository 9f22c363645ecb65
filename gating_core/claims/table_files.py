"""The rows of a store as files that other programs read: CSV and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from gating_core.claims.errors import extra_packages
from gating_core.claims.models import ModelRow, Row, StackRow
from gating_core.claims.store import Store

with extra_packages():
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

PANDAS = {"str": "string", "int": "Int64", "float": "Float64", "bool": "boolean"}


def table(rows: Sequence[Row], kind: type[Row]) -> pd.DataFrame:
    """``rows`` of one ``kind``, a column for each field; what is not known is missing."""
    frame = pd.DataFrame([asdict(row) for row in rows], columns=[x.name for x in fields(kind)])
    kinds = {field.name: PANDAS[str(field.type).split(" | ")[0]] for field in fields(kind)}
    return frame.astype(kinds)


def export(store: Store, folder: Path) -> list[Path]:
    """Write all rows as ``models`` and ``stacks``, CSV and Parquet, in ``folder``, made if need be.

    Numbers are written with all their digits. ``OSError`` where the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    tables = {"models": table(store.models(), ModelRow), "stacks": table(store.stacks(), StackRow)}
    for name, frame in tables.items():
        for suffix in ("csv", "parquet"):
            path = folder / f"{name}.{suffix}"
            if suffix == "csv":
                frame.to_csv(path, index=False)
            else:
                parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
            paths.append(path)
    return paths

"""Which rows come with the app? Those of a full study, and what follows from them.

So verdicts stand on the first screen at once. ``python -m ui.claims`` makes both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from gating_core.claims import ModelRow, StackRow

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "claims"
MODELS, STACKS = "models.parquet", "stacks.parquet"


def load_rows(folder: Path = FOLDER) -> tuple[list[ModelRow], list[StackRow]]:
    """All of them."""
    models, stacks = (parquet.read_table(folder / name).to_pylist() for name in (MODELS, STACKS))
    return [ModelRow(**row) for row in models], [StackRow(**row) for row in stacks]


def save_rows(
    models: Sequence[ModelRow], stacks: Sequence[StackRow], folder: Path = FOLDER
) -> None:
    """Write them, with all their digits."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in ((MODELS, models), (STACKS, stacks)):
        table = pa.Table.from_pylist([asdict(row) for row in rows])
        parquet.write_table(table, folder / name, compression="zstd")

"""Rows as CSV, with all their digits: to take home, and as the app brings them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, TypeVar

from gating_core.claims.models import ModelRow, StackRow

Record = TypeVar("Record")  # a dataclass of numbers, texts and flags, annotated as such
READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text == "True",
}


def csv_text(kind: type[Record], rows: Iterable[Record]) -> str:
    """Return a header and a line for each of ``rows``; ``None`` is an empty cell."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(field.name for field in fields(kind))  # type: ignore[arg-type]
    writer.writerows(astuple(row) for row in rows)  # type: ignore[call-overload]
    return file.getvalue()


def csv_rows(kind: type[Record], text: str) -> list[Record]:
    """Return the rows that `csv_text` has written, to the bit."""
    lines = csv.reader(io.StringIO(text, newline=""))
    names = next(lines)
    types = {x.name: READ[str(x.type).split(" | ")[0]] for x in fields(kind)}  # type: ignore[arg-type]
    return [
        kind(
            **{
                name: None if cell == "" else types[name](cell)
                for name, cell in zip(names, cells, strict=True)
            }
        )
        for cells in lines
    ]


def export(models: Sequence[ModelRow], stacks: Sequence[StackRow], folder: Path) -> list[Path]:
    """Write ``models.csv`` and ``stacks.csv`` into ``folder``, made if need be; return their paths.

    ``OSError`` where the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"models.csv": csv_text(ModelRow, models), "stacks.csv": csv_text(StackRow, stacks)}
    for name, text in tables.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return [folder / name for name in tables]

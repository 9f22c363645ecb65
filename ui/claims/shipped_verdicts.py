"""What follows from the shipped rows? Kept with them, so that nobody waits for it.

It is what `judge` finds in them, which a test compares.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gating_core.claims import Table
from ui.claims.judged import Judged, Judgement, Picture
from ui.claims.shipped import FOLDER

JUDGED = "verdicts.json.gz"


def save_judged(found: Judged, folder: Path = FOLDER) -> None:
    """Write it; the same every time."""
    text = json.dumps(asdict(found))
    (folder / JUDGED).write_bytes(gzip.compress(text.encode(), mtime=0))


def load_judged(folder: Path = FOLDER) -> Judged:
    """Read it."""
    found = json.loads(gzip.decompress((folder / JUDGED).read_bytes()))
    table = found["compared_table"]
    claims = {name: _judgement(**one) for name, one in found["claims"].items()}
    return Judged(**found | {
        "claims": claims, "seeds": tuple(found["seeds"]),
        "compared_table": _table(table) if table else None,
    })  # fmt: skip


def _judgement(**found: Any) -> Judgement:
    return Judgement(**found | {
        "gaps": tuple(found["gaps"]), "table": _table(found["table"]),
        "pictures": tuple(Picture(**one) for one in found["pictures"]),
    })  # fmt: skip


def _table(found: dict[str, Any]) -> Table:
    return Table(tuple(found["columns"]), tuple(map(tuple, found["rows"])))

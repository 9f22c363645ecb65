"""Numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return ``rows``, the first of them names, as CSV."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()

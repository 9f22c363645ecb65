"""Does the paper hold here? A study that can say no.

Verdicts and the store need NumPy and SciPy alone. A run on a cluster needs Dask, of the extra
"claims", which is imported when it is used.
"""

from gating_core.claims.claim import CRITERIA, THRESHOLDS, V1, V2, WORDS, Verdict, Word
from gating_core.claims.rows import ModelRow, StackRow, csv_rows, csv_text, sorted_out
from gating_core.claims.store import Refused, Store, default_path, is_written
from gating_core.claims.study import SELECTIONS, STUDY_VERSION, Selection, Unreachable, run_study
from gating_core.claims.verdicts import (
    CLAIMS,
    accuracies,
    models_of,
    report,
    verdict,
    verdicts,
)

__all__ = [
    "CLAIMS", "CRITERIA", "SELECTIONS", "STUDY_VERSION", "THRESHOLDS", "V1", "V2", "WORDS",
    "ModelRow", "Refused", "Selection", "StackRow", "Store", "Unreachable", "Verdict",
    "Word", "accuracies", "csv_rows", "csv_text", "default_path", "is_written",
    "models_of", "report", "run_study", "sorted_out", "verdict", "verdicts",
]  # fmt: skip

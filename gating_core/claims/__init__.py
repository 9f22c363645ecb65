"""Does the paper hold here? A study that can say no.

Verdicts and the store need NumPy and SciPy alone; a run needs Dask, of the extra "claims", which is
imported when it runs.
"""

from gating_core.claims.claim import (
    CRITERIA,
    THRESHOLDS,
    V1,
    V2,
    WORDS,
    Claim,
    Criteria,
    Needs,
    Thresholds,
)
from gating_core.claims.design import (
    FULL_TASKS,
    GATED,
    LINEAR,
    NONLINEAR,
    PARTS,
    WITHOUT_GATE,
)
from gating_core.claims.errors import Refused, Unreachable
from gating_core.claims.further import (
    QUESTIONS,
    SinkVerdict,
    further_rows,
    reported_verdicts,
    sink_verdict,
)
from gating_core.claims.models import ModelRow, StackRow
from gating_core.claims.proofs import (
    ProofCounts,
    ProvedModel,
    SignedModel,
    proof_counts,
    proved_models,
    signed_models,
    units_of_four_keys,
    units_to_prove,
)
from gating_core.claims.report import Illustrations, Picture, write_report
from gating_core.claims.run import Progress, progress_of, run_study
from gating_core.claims.selection import SELECTIONS, STUDY_VERSION, Selection, Size
from gating_core.claims.store import Store, default_path, is_written
from gating_core.claims.tables import csv_rows, csv_text, export
from gating_core.claims.text import TextTable
from gating_core.claims.verdicts import CLAIMS, ClaimVerdict, accuracies, models_of, verdicts

__all__ = [
    "CLAIMS",
    "CRITERIA",
    "FULL_TASKS",
    "GATED",
    "LINEAR",
    "NONLINEAR",
    "PARTS",
    "QUESTIONS",
    "SELECTIONS",
    "STUDY_VERSION",
    "THRESHOLDS",
    "V1",
    "V2",
    "WITHOUT_GATE",
    "WORDS",
    "Claim",
    "ClaimVerdict",
    "Criteria",
    "Illustrations",
    "ModelRow",
    "Needs",
    "Picture",
    "Progress",
    "ProofCounts",
    "ProvedModel",
    "Refused",
    "Selection",
    "SignedModel",
    "SinkVerdict",
    "Size",
    "StackRow",
    "Store",
    "TextTable",
    "Thresholds",
    "Unreachable",
    "accuracies",
    "csv_rows",
    "csv_text",
    "default_path",
    "export",
    "further_rows",
    "is_written",
    "models_of",
    "progress_of",
    "proof_counts",
    "proved_models",
    "reported_verdicts",
    "run_study",
    "signed_models",
    "sink_verdict",
    "units_of_four_keys",
    "units_to_prove",
    "verdicts",
    "write_report",
]

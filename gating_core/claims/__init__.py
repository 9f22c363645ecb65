"""Does the paper hold here? A study that can say no.

Verdicts need NumPy and SciPy alone. The store, tables of rows and running need the packages of the
extra "claims", which are imported when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gating_core.claims.claim import THRESHOLDS, WORDS, Claim, Needs, Thresholds
from gating_core.claims.design import (
    FULL_TASKS,
    GATED,
    LINEAR,
    NONLINEAR,
    PARTS,
    WITHOUT_GATE,
)
from gating_core.claims.errors import Refused, Unreachable
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
from gating_core.claims.selection import SELECTIONS, STUDY_VERSION, Selection, Size
from gating_core.claims.store_location import default_path
from gating_core.claims.text import TextTable
from gating_core.claims.verdicts import (
    CLAIMS,
    EDITIONS,
    FIRST,
    SECOND,
    ClaimVerdict,
    Edition,
    accuracies,
    models_of,
    verdicts,
)

if TYPE_CHECKING:
    from gating_core.claims.run import Progress, progress_of, run_study
    from gating_core.claims.store import Store, export

NEED_EXTRA = {  # names, and the modules that they are imported from when they are used
    "Progress": "run",
    "Store": "store",
    "export": "store",
    "progress_of": "run",
    "run_study": "run",
}


def __getattr__(name: str) -> Any:
    if name in NEED_EXTRA:
        return getattr(import_module(f"{__name__}.{NEED_EXTRA[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CLAIMS",
    "EDITIONS",
    "FIRST",
    "FULL_TASKS",
    "GATED",
    "LINEAR",
    "NONLINEAR",
    "PARTS",
    "SECOND",
    "SELECTIONS",
    "STUDY_VERSION",
    "THRESHOLDS",
    "WITHOUT_GATE",
    "WORDS",
    "Claim",
    "ClaimVerdict",
    "Edition",
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
    "Size",
    "StackRow",
    "Store",
    "TextTable",
    "Thresholds",
    "Unreachable",
    "accuracies",
    "default_path",
    "export",
    "models_of",
    "progress_of",
    "proof_counts",
    "proved_models",
    "run_study",
    "signed_models",
    "units_of_four_keys",
    "units_to_prove",
    "verdicts",
    "write_report",
]

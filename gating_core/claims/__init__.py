"""Does the paper hold here? A study that can say no."""

from gating_core.claims.export import export
from gating_core.claims.grid import CLAIMS, LINEAR, NONLINEAR, PARTS, SELECTIONS, Selection, Size
from gating_core.claims.pictures import DARK, LIGHT, Figure, Palette, figures
from gating_core.claims.place import default_place
from gating_core.claims.refusals import Refused, Unreachable
from gating_core.claims.report import report, write_report
from gating_core.claims.rows import ModelRow, StackRow
from gating_core.claims.rules import RULES, Rule
from gating_core.claims.run import Progress, progress_of, run_study
from gating_core.claims.store import Store
from gating_core.claims.thresholds import THRESHOLDS, WORDS, Thresholds
from gating_core.claims.verdicts import Verdict, verdicts
from gating_core.claims.version import code_version
from gating_core.claims.wording import Table

__all__ = [
    "CLAIMS",
    "DARK",
    "LIGHT",
    "LINEAR",
    "NONLINEAR",
    "PARTS",
    "RULES",
    "SELECTIONS",
    "THRESHOLDS",
    "WORDS",
    "Figure",
    "ModelRow",
    "Palette",
    "Progress",
    "Refused",
    "Rule",
    "Selection",
    "Size",
    "StackRow",
    "Store",
    "Table",
    "Thresholds",
    "Unreachable",
    "Verdict",
    "code_version",
    "default_place",
    "export",
    "figures",
    "progress_of",
    "report",
    "run_study",
    "verdicts",
    "write_report",
]

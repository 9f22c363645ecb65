"""What can be taken home?"""

from gating_core.export.script import script_problem, script_text
from gating_core.export.weights import log_csv, weights_file

__all__ = ["log_csv", "script_problem", "script_text", "weights_file"]

"""Files to keep: weights, points, training histories, and a script in plain PyTorch."""

from gating_core.export.script import script_problem, script_text
from gating_core.export.weights import log_csv, weights_file

__all__ = ["log_csv", "script_problem", "script_text", "weights_file"]

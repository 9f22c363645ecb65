"""What happens when attention learns, and how does its surface curve? One folder a question."""

from gating_core.experiments.budget import AFFORDABLE, COARSE, cost
from gating_core.experiments.inside import LayerFields, look_inside

__all__ = ["AFFORDABLE", "COARSE", "LayerFields", "cost", "look_inside"]

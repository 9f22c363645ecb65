"""Experiments: what attention learns, and how its surface curves; one folder per question."""

from gating_core.experiments.budget import AFFORDABLE_COST, COARSEST_GRID, cost
from gating_core.experiments.layers import LayerFields, layer_fields
from gating_core.experiments.price import NO_PRICE, PRICE_FULL, PRICES

__all__ = [
    "AFFORDABLE_COST",
    "COARSEST_GRID",
    "NO_PRICE",
    "PRICES",
    "PRICE_FULL",
    "LayerFields",
    "cost",
    "layer_fields",
]

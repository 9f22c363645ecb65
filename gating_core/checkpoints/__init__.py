"""Attention heads of published models as maps whose curvature can be measured.

A checkpoint is a folder with ``config.json`` and safetensors files. `read_layer` reads one
attention layer of it; `head_map` makes a head a map of two numbers, which the geometry measures
with bounds.
"""

from gating_core.checkpoints.head_map import (
    DrawnGate,
    HeadMap,
    HeadMeasures,
    Plane,
    entropies,
    head_map,
    measure_head,
    principal_plane,
    token_plane,
    weight_plane,
)
from gating_core.checkpoints.layer import (
    Checkpoint,
    Layer,
    open_checkpoint,
    read_layer,
)
from gating_core.checkpoints.twins import (
    Tokens,
    dealt_twin,
    offset_twin,
    sharp_twin,
    shuffled_order,
)

__all__ = [
    "Checkpoint",
    "DrawnGate",
    "HeadMap",
    "HeadMeasures",
    "Layer",
    "Plane",
    "Tokens",
    "dealt_twin",
    "entropies",
    "head_map",
    "measure_head",
    "offset_twin",
    "open_checkpoint",
    "principal_plane",
    "read_layer",
    "sharp_twin",
    "shuffled_order",
    "token_plane",
    "weight_plane",
]

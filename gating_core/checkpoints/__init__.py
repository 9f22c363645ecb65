"""Attention heads of published models as maps whose curvature can be measured.

A checkpoint is a folder with ``config.json`` and safetensors files. `read_layer` reads one
attention layer of it; `head_map` makes a head a map of two numbers, which the geometry measures
with bounds.
"""

from gating_core.checkpoints.checkpoint import Checkpoint, open_checkpoint, read_layer
from gating_core.checkpoints.head_map import DrawnGate, HeadMap, head_map
from gating_core.checkpoints.layer import Layer, LayerPass, attend
from gating_core.checkpoints.measures import HeadMeasures, entropies, measure_head
from gating_core.checkpoints.planes import Plane, principal_plane, token_plane, weight_plane
from gating_core.checkpoints.tokens import Tokens, shuffled_order
from gating_core.checkpoints.twins import dealt_twin, offset_twin, sharp_twin

__all__ = [
    "Checkpoint",
    "DrawnGate",
    "HeadMap",
    "HeadMeasures",
    "Layer",
    "LayerPass",
    "Plane",
    "Tokens",
    "attend",
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

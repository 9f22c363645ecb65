"""Attention heads of published models as maps whose curvature can be measured.

A checkpoint is a folder with ``config.json`` and safetensors files. `read_layer` reads one
attention layer of it; `head_map` makes a head a map of two numbers, which the geometry measures
with bounds.
"""

from gating_core.checkpoints.checkpoint import Checkpoint, open_checkpoint
from gating_core.checkpoints.families import FAMILIES, Family
from gating_core.checkpoints.head_map import (
    SUBLAYER_PARTS,
    DrawnGate,
    HeadMap,
    head_map,
    sublayer_map,
)
from gating_core.checkpoints.layer import Layer, LayerPass, attend, read_layer
from gating_core.checkpoints.measures import (
    HeadMeasures,
    TextMeasures,
    entropies,
    measure_head,
    measure_text,
)
from gating_core.checkpoints.planes import Plane, principal_plane, token_plane, weight_plane
from gating_core.checkpoints.reading import file_stamp
from gating_core.checkpoints.states import (
    Tokens,
    read_states,
    shuffled,
    shuffled_order,
)
from gating_core.checkpoints.twins import dealt_twin, offset_twin, sharp_twin

__all__ = [
    "FAMILIES",
    "SUBLAYER_PARTS",
    "Checkpoint",
    "DrawnGate",
    "Family",
    "HeadMap",
    "HeadMeasures",
    "Layer",
    "LayerPass",
    "Plane",
    "TextMeasures",
    "Tokens",
    "attend",
    "dealt_twin",
    "entropies",
    "file_stamp",
    "head_map",
    "measure_head",
    "measure_text",
    "offset_twin",
    "open_checkpoint",
    "principal_plane",
    "read_layer",
    "read_states",
    "sharp_twin",
    "shuffled",
    "shuffled_order",
    "sublayer_map",
    "token_plane",
    "weight_plane",
]

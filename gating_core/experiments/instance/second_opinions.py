"""Second opinions on one gated surface, bundled for *Learn*: what each way of measuring is off.

`gating_core.experiments.instance` of commit 1f4177a5 measured them, the triangle meshes by PyVista
on grids of 21 to 121 points along each side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gating_core.assets import ASSETS
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.experiments.instance.model import CHOSEN_SEEDS, ModelInstance
from gating_core.geometry.discrete import ErrorCurve
from gating_core.records import load_record

INSTANCE = ModelInstance(AttentionConfig(gate=GateConfig()), CHOSEN_SEEDS[1])
BUNDLED = ASSETS / "manifold" / "second_opinions.safetensors"


@dataclass(frozen=True, eq=False)
class SecondOpinions:
    """The surface of `INSTANCE`, measured in several ways.

    ``curves``: relative errors of differences in *double* and in *single* precision and of a
    triangle *mesh*, all of K over ``scale``, the mean |K| over the surface's area, and of the
    *proxy*, over its limit. ``apart``: the median difference of K in both precisions at the largest
    step, over ``scale``. ``quadrature`` and ``holonomy``: the integral of K dA and its error.
    """

    curves: dict[str, ErrorCurve]
    scale: float
    apart: float
    quadrature: tuple[float, float]
    holonomy: tuple[float, float]


@cache
def bundled_second_opinions() -> SecondOpinions:
    """Return the bundled opinions."""
    return load_record(SecondOpinions, BUNDLED, "holds no second opinions")

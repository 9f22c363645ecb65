"""Second opinions on one gated surface, bundled for *Learn*: what each way of measuring is off.

python -m gating_core.experiments.instance
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from gating_core.assets import ASSETS
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.experiments.instance.measured import integrate_instance
from gating_core.experiments.instance.model import CHOSEN_SEEDS, ModelInstance, build_instance
from gating_core.geometry.curvature import curvature
from gating_core.geometry.discrete import (
    COMPARED,
    DIFFERENCE_STEPS,
    ErrorCurve,
    difference_curvature,
    error_curve,
    mesh_curvature,
    paper_proxy,
    proxy_limit,
)
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet
from gating_core.records import load_record

INSTANCE = ModelInstance(AttentionConfig(gate=GateConfig()), CHOSEN_SEEDS[1])
PRECISIONS = {"double": torch.float64, "single": torch.float32}
MESH_SIZES = (121, 81, 61, 41, 31, 21)  # points along each side of the chart
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


def measure_second_opinions() -> SecondOpinions:
    """Measure the surface in every way: some seconds. ``ImportError`` without PyVista."""
    model, totals = build_instance(INSTANCE), integrate_instance(INSTANCE)
    scale = float(totals.absolute.value / totals.area.value)
    jet = second_order_jet(model, COMPARED)
    exact, limit = curvature(jet).gaussian, float(proxy_limit(jet).mean)
    found = {
        name: [
            difference_curvature(copy.deepcopy(model).to(dtype), COMPARED, step, dtype=dtype)
            for step in DIFFERENCE_STEPS
        ]
        for name, dtype in PRECISIONS.items()
    }
    off = {
        name: (DIFFERENCE_STEPS, [(k - exact).abs().numpy().ravel() / scale for k in ks])
        for name, ks in found.items()
    }
    proxies = [float(paper_proxy(model, COMPARED, step).mean) for step in DIFFERENCE_STEPS]
    off["mesh"] = (
        tuple(2 / (size - 1) for size in MESH_SIZES),
        [_mesh_errors(model, size) / scale for size in MESH_SIZES],
    )
    off["proxy"] = DIFFERENCE_STEPS, [np.array([abs(x / limit - 1)]) for x in proxies]
    apart = (found["double"][-1] - found["single"][-1]).abs().median()
    return SecondOpinions(
        {name: error_curve(*each) for name, each in off.items()},
        scale,
        float(apart) / scale,
        (float(totals.gaussian.value), float(totals.gaussian.error)),
        (float(totals.holonomy.value), float(totals.holonomy.error)),
    )


def _mesh_errors(model: torch.nn.Module, size: int) -> np.ndarray:
    """|error| of K at the interior vertices of a mesh of ``size`` x ``size`` points."""
    jet = second_order_jet(model, square_grid(size).points)
    exact = curvature(jet).gaussian.reshape(size, size).numpy()
    found = mesh_curvature(jet.value.detach().reshape(size, size, 3).numpy())
    return np.abs(found - exact)[1:-1, 1:-1].ravel()


@cache
def bundled_second_opinions() -> SecondOpinions:
    """Return what `measure_second_opinions` found when it was last bundled."""
    return load_record(SecondOpinions, BUNDLED, "holds no second opinions")

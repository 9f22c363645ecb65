"""How curved is what a function draws? (No model is known here.)"""

from gating_core.geometry.classics import SURFACES, stretched_sphere
from gating_core.geometry.curvature import (
    CurvatureField,
    FundamentalForm,
    curvature,
    second_fundamental_form,
)
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.hull import AffineHull, affine_hull
from gating_core.geometry.integrals import (
    Integral,
    SurfaceIntegrals,
    adaptive_integrals,
    adaptive_total_absolute_curvature,
    grid_integrals,
    total_absolute_curvature,
)
from gating_core.geometry.metric import Matrix, whitening
from gating_core.geometry.point_types import POINT_TYPES
from gating_core.geometry.proxy import Proxy, paper_proxy, proxy_limit
from gating_core.geometry.second_opinion import (
    DEFAULT_STEP,
    ErrorCurve,
    SecondOpinion,
    difference_curvature,
    second_opinion,
)
from gating_core.geometry.solids import SolidCurvature, solid_curvature
from gating_core.geometry.surface import (
    SurfaceResult,
    decided,
    diameter,
    gaussian_range,
    known,
    largest,
    measure_surface,
)

__all__ = [
    "DEFAULT_STEP",
    "POINT_TYPES",
    "SURFACES",
    "AffineHull",
    "CurvatureField",
    "ErrorCurve",
    "FundamentalForm",
    "Grid",
    "Integral",
    "Matrix",
    "Proxy",
    "SecondOpinion",
    "SolidCurvature",
    "SurfaceIntegrals",
    "SurfaceResult",
    "adaptive_integrals",
    "adaptive_total_absolute_curvature",
    "affine_hull",
    "curvature",
    "decided",
    "diameter",
    "difference_curvature",
    "gaussian_range",
    "grid_integrals",
    "known",
    "largest",
    "measure_surface",
    "paper_proxy",
    "proxy_limit",
    "second_fundamental_form",
    "second_opinion",
    "solid_curvature",
    "square_grid",
    "stretched_sphere",
    "total_absolute_curvature",
    "whitening",
]

"""Curvature of the surface that a function draws; this package knows no model."""

from gating_core.geometry.adaptive import (
    HOLONOMY_LIMIT,
    adaptive_integrals,
)
from gating_core.geometry.classics import SURFACES, stretched_sphere
from gating_core.geometry.curvature import (
    TANGENT_ERROR_LIMIT,
    CurvatureField,
    FundamentalForm,
    Matrix,
    curvature,
    second_fundamental_form,
    whitening,
)
from gating_core.geometry.discrete import (
    DIFFERENCE_STEP,
    ErrorCurve,
    Proxy,
    difference_curvature,
    difference_errors,
    paper_proxy,
    proxy_limit,
)
from gating_core.geometry.flatness import AffineHull, AffineSpace, affine_hull, affine_space
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import (
    Integral,
    SurfaceIntegrals,
    grid_integrals,
    total_absolute_curvature,
)
from gating_core.geometry.islands import Island, islands
from gating_core.geometry.surface import (
    MOST_CURVED,
    MeasuredSurface,
    SurfaceResult,
    concentration,
    measure_surface,
)
from gating_core.geometry.verdict import (
    AT_POINTS,
    BENT,
    CURVED,
    FLAT,
    POINT_TYPES,
    PROVED,
    SEEN,
    UNKNOWN,
    Verdict,
    knowledge_text,
)

__all__ = [
    "AT_POINTS",
    "BENT",
    "CURVED",
    "DIFFERENCE_STEP",
    "FLAT",
    "HOLONOMY_LIMIT",
    "MOST_CURVED",
    "POINT_TYPES",
    "PROVED",
    "SEEN",
    "SURFACES",
    "TANGENT_ERROR_LIMIT",
    "UNKNOWN",
    "AffineHull",
    "AffineSpace",
    "CurvatureField",
    "ErrorCurve",
    "FundamentalForm",
    "Grid",
    "Integral",
    "Island",
    "Matrix",
    "MeasuredSurface",
    "Proxy",
    "SurfaceIntegrals",
    "SurfaceResult",
    "Verdict",
    "adaptive_integrals",
    "affine_hull",
    "affine_space",
    "concentration",
    "curvature",
    "difference_curvature",
    "difference_errors",
    "grid_integrals",
    "islands",
    "knowledge_text",
    "measure_surface",
    "paper_proxy",
    "proxy_limit",
    "second_fundamental_form",
    "square_grid",
    "stretched_sphere",
    "total_absolute_curvature",
    "whitening",
]

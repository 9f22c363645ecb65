"""Types of points: elliptic, hyperbolic, parabolic, planar, undecided.

Source: do Carmo, *Differential Geometry of Curves and Surfaces*, section 3-2; here a point has a
type only where the bounds allow it. In codimension above one the sign of K replaces that of the
determinant of the second fundamental form.
"""

from __future__ import annotations

import torch

from gating_core.geometry.curvature import CurvatureField, FundamentalForm

POINT_TYPES = ("elliptic", "hyperbolic", "parabolic", "planar", "undecided")
PLANAR = 1e-3  # of 1 / diagonal: largest error of |II| at a planar point
PARABOLIC = 1e-6  # of |II|^2: largest error of K at a parabolic point


def point_types(
    field: CurvatureField, form: FundamentalForm, diagonal: float | None = None
) -> torch.Tensor:
    """(..., N) int64: indices into `POINT_TYPES`.

    Elliptic and hyperbolic: |K| exceeds its error. Planar: |K| and |II| are within their errors,
    and that of |II| is below 1e-3 of 1 / ``diagonal`` (of the box around the surface, where that
    is given). Parabolic: K is within its error, that error is below 1e-6 |II|^2, and |II| exceeds
    its own error. Undecided: all else, and wherever the tangent plane is unresolved.
    """
    size, error = form.norm, form.norm_error
    bends = size > error
    sharp = error * diagonal < PLANAR if diagonal is not None else torch.ones_like(bends)
    slight = field.gaussian_error <= PARABOLIC * size.square()
    codes = torch.full(field.gaussian.shape, POINT_TYPES.index("undecided"))
    for name, where in (
        ("elliptic", field.decided & (field.gaussian > 0)),
        ("hyperbolic", field.decided & (field.gaussian < 0)),
        ("planar", field.flat & field.resolved & ~bends & sharp),
        ("parabolic", field.flat & field.resolved & bends & slight),
    ):
        codes[where] = POINT_TYPES.index(name)
    return codes

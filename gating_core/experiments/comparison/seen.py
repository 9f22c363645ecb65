"""Is there a surface to be seen, or do all points of a sheet lie on a curve?

One rule, so that nobody has to look: without its gate the sheet covers a twentieth of the triangle
of its values, and both sheets, without the gate and with it, are broader than a strip twenty-five
times as long as broad. Anything less is drawn as a line or as a speck.

Shapes: R x C grid points, D model dimension.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from gating_core.experiments.comparison.filled import covered_area, covered_share

LEAST_COVERED = 0.05  # of the triangle of the values, without the gate
LEAST_BREADTH = 0.04  # area of a shadow by the square of its length


def surface_seen(flat: np.ndarray, gated: np.ndarray, corners: np.ndarray) -> bool:
    """Whether the rule holds for ``flat`` and ``gated`` (R, C, D), flat between ``corners`` (3, D).

    The same sheet without its gate and with it.
    """
    covered = covered_share(flat, corners)  # NaN, which is not enough, where they are a needle
    return covered >= LEAST_COVERED and min(breadth(flat), breadth(gated)) >= LEAST_BREADTH


def breadth(values: np.ndarray) -> float:
    """How broad a sheet (R, C, D) is for its length: 0 of a curve, pi / 4 at most, of a disc.

    The area of its shadow on the plane of its two largest principal components, where folds count
    once, by the square of its longest extent in that plane.
    """
    points = values.reshape(-1, values.shape[-1])
    centred = points - points.mean(0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    shadow = centred @ axes.T
    length = pdist(shadow).max()
    if not length > 0 or shadow.shape[1] < 2:
        return 0.0
    return covered_area((shadow / length).reshape(*values.shape[:2], 2))

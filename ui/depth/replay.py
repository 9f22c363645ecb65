"""The picture of one stack: its surface after every layer, and K over the chart.

Shapes: L layers, R x R grid points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.geometry import SurfaceResult
from ui.common.formatting import rough
from ui.components.pair import Pair, Side
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.first_view import NO_SEGMENTS, best_eye, level, scale_share, straight_segments
from ui.drawing.lines import lies_in_a_plane

REPLAY_GRID = 31
ALIKE = 0.25  # of the largest diagonal: where no surface is smaller, all are drawn to one scale
SMALLEST = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Replay:
    """The picture of one stack, its colour scale, and the ``diameters`` (L,) of its surfaces.

    Where surfaces are ``enlarged`` to one size, colours show the curvature of what is drawn: K
    times the square of the surface's diameter.
    """

    pair: Pair
    scale: ColourScale
    diameters: np.ndarray
    enlarged: bool

    @property
    def symbol(self) -> str:
        return "K·d²" if self.enlarged else "K"


def replay_of(surface: SurfaceResult, of: int) -> Replay:
    """Draw a surface whose frames are the first layers ``of`` so many."""
    sizes, values, diameters = surface.diagonal, surface.values, surface.diameter
    enlarged = bool(sizes.min() < ALIKE * sizes.max())
    field = surface.known
    if enlarged:
        field = field * diameters[:, None, None] ** 2
        centre = (values.max((1, 2), keepdims=True) + values.min((1, 2), keepdims=True)) / 2
        values = (values - centre) / np.maximum(sizes, SMALLEST)[:, None, None, None]
    # One for all layers, which holds 98 % of the points of each.
    scale = scale_of("curvature", list(field), each=True)
    middle, turn, unit = level(values[0], values[-1])
    drawn = (values - middle) @ turn * unit
    last = drawn[-1, ..., 2]
    if last[len(last) // 2, len(last) // 2] < np.mean([last[0], last[-1], last[:, 0], last[:, -1]]):
        drawn = drawn * [1, -1, -1]  # a dome stands upright
    proved = [verdict.proof is not None for verdict in surface.verdicts]
    lines = [NO_SEGMENTS[0]] * len(drawn)
    for layer in np.flatnonzero(proved):
        if lies_in_a_plane(values[layer]):
            lines[layer] = straight_segments(values[layer], drawn[layer], surface.axis)
    most = max(map(len, lines))
    side = Side(
        name="The surface after each layer",
        short="",
        values=drawn,
        shares=scale_share(field, scale),
        signed=surface.signed,
        gaussian=surface.known,
        error=surface.known_error,
        flat=proved,
        corners=None,
        lines=np.stack([np.pad(x, [(0, most - len(x)), (0, 0), (0, 0)]) for x in lines]),
    )
    layers = [*range(1, len(values) + 1)]
    low, high = ("", "") if scale.collapsed else map(rough, scale.ends)
    pair = Pair(
        (side,),
        [f"Layer {layer} of {of}" for layer in layers],
        layers,
        best_eye([drawn[0], drawn[-1]]),
        scale.colours,
        (low, high),
    )
    return Replay(pair, scale, diameters, enlarged)

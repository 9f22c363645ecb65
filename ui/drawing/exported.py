"""A measured surface as it is drawn, with its colours, for the files of `gating_core.export`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gating_core.export import Colours, Surface
from gating_core.geometry import SurfaceResult
from ui.drawing.colours import ColourScale
from ui.drawing.palette import colour_at

COLOURS = 256  # of a table: as many as 8 bits tell apart


def exported(
    surface: SurfaceResult,
    points: np.ndarray,
    scale: ColourScale,
    names: tuple[str, str],
    about: str,
    more: Mapping[str, np.ndarray] | None = None,
) -> Surface:
    """Return a ``surface`` of one frame, coloured by K on a ``scale``.

    Args:
        surface: The surface.
        points: (R, C, 2 or 3), as drawn.
        scale: The colours of K.
        names: Of the chart's axes.
        about: A line to be printed in its files.
        more: Further fields (R, C).
    """
    (known,), (error,) = surface.known, surface.known_error
    across, along = np.meshgrid(surface.axis, surface.axis)
    flat = np.zeros((*points.shape[:-1], 3 - points.shape[-1]))
    fields = {names[0]: across, names[1]: along, "K": known, "error of K": error, **(more or {})}
    return Surface(
        np.concatenate([points, flat], -1), surface.resolved[0] | surface.zero[0], fields,
        colours_of(known, scale), about,
    )  # fmt: skip


def colours_of(known: np.ndarray, scale: ColourScale) -> Colours:
    """Return the colours of K, ``known`` (R, C), with the ends of their scale in words."""
    shares = np.linspace(0, 1, COLOURS)
    table = [[int(colour_at(scale.colours, x)[i : i + 2], 16) for i in (1, 3, 5)] for x in shares]
    low, high = (f"{end:.2g}" for end in scale.ends)
    kind = "asinh scale" if scale.soft is not None else "linear scale"
    return Colours(
        scale.apply(known), scale.low, scale.high, np.array(table, np.uint8),
        f"Gaussian curvature K from {low} to {high}, {kind}",
        {scale.low: low, 0.0: "0", scale.high: high},
    )  # fmt: skip

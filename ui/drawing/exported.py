"""A measured surface as it is drawn, with its colours, for the files of `gating_core.export`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gating_core.export import Colours, Surface
from gating_core.geometry import SurfaceResult
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.palette import colour_at

COLOURS = 256  # of a table: as many as 8 bits tell apart


def exported(
    surface: SurfaceResult,
    about: str,
    points: np.ndarray | None = None,
    scale: ColourScale | None = None,
    names: tuple[str, str] = ("x1", "x2"),
    more: Mapping[str, np.ndarray] | None = None,
) -> Surface:
    """Return a ``surface`` of one frame, coloured by K.

    Args:
        surface: The surface.
        about: A line to be printed in its files.
        points: (R, C, 2 or 3), as drawn; by default as measured.
        scale: The colours of K; by default from this surface alone.
        names: Of the chart's axes.
        more: Further fields (R, C).
    """
    (known,), (error,) = surface.known, surface.known_error
    resolved = surface.resolved[0] | (surface.sign[0] == 0)
    points = surface.values[0] if points is None else points
    fields = {"error of K": error, **(more or {})}
    return sheet(surface.axis, points, known, resolved, about, scale, names, fields)


def sheet(
    axis: np.ndarray,
    points: np.ndarray,
    known: np.ndarray,
    resolved: np.ndarray,
    about: str,
    scale: ColourScale | None = None,
    names: tuple[str, str] = ("x1", "x2"),
    more: Mapping[str, np.ndarray] | None = None,
) -> Surface:
    """Return a surface of K ``known`` (R, C) over a chart with rows and columns at ``axis``.

    The rest as in `exported`.
    """
    across, along = np.meshgrid(axis, axis)
    flat = np.zeros((*points.shape[:-1], 3 - points.shape[-1]))
    fields = {names[0]: across, names[1]: along, "K": known, **(more or {})}
    colours = colours_of(known, scale or scale_of("curvature", [known]))
    return Surface(np.concatenate([points, flat], -1), resolved, fields, colours, about)


def colours_of(known: np.ndarray, scale: ColourScale) -> Colours:
    """Return the colours of K, ``known`` (R, C), with the ends of their scale in words."""
    shares = np.linspace(0, 1, COLOURS)
    table = [[int(colour_at(scale.colours, x)[i : i + 2], 16) for i in (1, 3, 5)] for x in shares]
    low, high = (f"{end:.2g}" for end in scale.ends)
    kind = "asinh scale" if scale.soft is not None else "linear scale"
    return Colours(
        scale.apply(known),
        scale.low,
        scale.high,
        np.array(table, np.uint8),
        f"Gaussian curvature K from {low} to {high}, {kind}",
        {scale.low: low, 0.0: "0", scale.high: high},
    )

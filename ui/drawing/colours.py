"""Colours of quantities and classes, one scale for all panels compared, on pages and in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.experiments.instance import COLOURINGS, Colouring
from gating_core.export import Colours, Surface
from gating_core.geometry import SurfaceResult
from ui.drawing import palette
from ui.drawing.palette import colour_at

QUANTILE = 0.9  # of a quantity's size: where linear colours end
SLACK = 1e-9  # relative: a constant quantity does not exceed its own scale
ASINH_QUANTILE = 0.98  # where asinh colours end: high-curvature ridges have the rest
NEAR = 1.1  # times that end: a largest value that is no farther is the end, and nothing exceeds it
SOFT_QUANTILE = 0.1  # of |x|: where the asinh scale turns from linear to logarithmic


@dataclass(frozen=True)
class ColourScale:
    """A map from numbers to colours: ``apply(x)`` is drawn, colours end at ``low`` and ``high``.

    ``soft`` is where an asinh scale turns from linear to logarithmic; ``None`` for other scales.
    ``beyond`` is the share of known points beyond the ends, in the panel with the most.
    """

    colours: palette.Scale
    low: float
    high: float
    log: bool = False
    soft: float | None = None
    beyond: float = 0.0

    @property
    def collapsed(self) -> bool:
        """True if all known values are zero."""
        return not self.log and max(map(abs, self.ends)) <= palette.COLOUR_RANGE_FLOOR * (1 + SLACK)

    def apply(self, field: np.ndarray) -> np.ndarray:
        if self.log:
            return np.log10(np.maximum(field, np.finfo(float).tiny))
        return field if self.soft is None else np.arcsinh(field / self.soft)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends in the quantity's own unit."""
        if self.log:
            return 10.0**self.low, 10.0**self.high
        if self.soft is None:
            return self.low, self.high
        low, high = np.sinh([self.low, self.high]) * self.soft
        return float(low), float(high)


def colour_scale(
    colouring: Colouring, fields: Sequence[np.ndarray], asinh: bool = False, each: bool = False
) -> ColourScale:
    """Return one scale for all ``fields``; a signed one is symmetric about zero, never empty.

    Signed scales and those from zero end at the 90 % quantile of the field with the largest; with
    ``asinh`` at the 98 % quantile of all fields together, or with ``each`` at the largest of the
    fields' own quantiles; at the largest value where that is hardly more.
    Other scales end at the extremes.
    """
    kind = colouring.range
    signed = kind == "signed"
    colours = palette.SIGNED_SCALE if signed else palette.SEQUENTIAL_SCALE
    parts = [x[np.isfinite(x)] for x in fields]
    parts = [np.abs(x) if kind in ("signed", "from zero") else x for x in parts if x.size]
    if not parts:
        least = palette.COLOUR_RANGE_FLOOR if signed else 1.0
        return ColourScale(colours, -least if signed else 0.0, least)
    values = np.concatenate(parts)
    if kind == "logarithm":
        logs = np.log10(np.maximum(values, np.finfo(float).tiny))
        low, high = float(np.floor(logs.min())), float(np.ceil(logs.max()))
        return ColourScale(colours, low, max(high, low + 1), log=True)
    if kind == "least to largest":
        low, high = float(values.min()), float(values.max())
        floor = palette.COLOUR_RANGE_FLOOR * max(1.0, abs(low))
        return ColourScale(colours, low, max(high, low + floor))
    if asinh:
        curved = values[values > palette.COLOUR_RANGE_FLOOR]
        soft = float(np.quantile(curved, SOFT_QUANTILE)) if curved.size else 1.0
        ends = [float(np.quantile(x, ASINH_QUANTILE)) for x in (parts if each else [values])]
        ends += [largest] if (largest := float(values.max())) <= NEAR * max(ends) else []
        end = max(*ends, palette.COLOUR_RANGE_FLOOR)
        high = float(np.arcsinh(end / soft))
        low = -high if signed else 0.0
        return ColourScale(colours, low, high, soft=soft, beyond=_beyond(fields, end))
    low, high = palette.symmetric_range(max(float(np.quantile(x, QUANTILE)) for x in parts))
    return ColourScale(colours, low if signed else 0.0, high, beyond=_beyond(fields, high))


def scale_of(
    quantity: str, fields: Sequence[np.ndarray], asinh: bool = True, each: bool = False
) -> ColourScale:
    """Return the `colour_scale` of a key of `COLOURINGS`."""
    return colour_scale(COLOURINGS[quantity], fields, asinh, each)


def share_beyond(field: np.ndarray, scale: ColourScale) -> float:
    """Return the share of the known points of ``field`` beyond the ends of ``scale``."""
    drawn = scale.apply(field[~np.isnan(field)])
    slack = SLACK * (scale.high - scale.low)
    beyond = (drawn > scale.high + slack) | (drawn < scale.low - slack)
    return float(beyond.mean()) if beyond.size else 0.0


def _beyond(fields: Sequence[np.ndarray], end: float) -> float:
    """Return the largest share of known points beyond ``end`` in any field, infinite ones too."""
    known = [np.abs(x[~np.isnan(x)]) for x in fields]
    return max(float((x > end * (1 + SLACK)).mean()) for x in known if x.size)


# --- Classes --------------------------------------------------------------------------------------


def class_colours(logits: np.ndarray, discrete: bool = False) -> np.ndarray:
    """(..., R, C): the probability of the second of two classes; the likeliest of several."""
    if logits.shape[-1] > 2 or discrete:
        return logits.argmax(-1).astype(np.uint8)
    # Not SciPy's softmax: its import takes a tenth of a second of a first visit.
    return np.exp(logits[..., 1] - np.logaddexp(logits[..., 0], logits[..., 1]))


# --- Files ----------------------------------------------------------------------------------------

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

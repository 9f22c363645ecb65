"""What can a surface be coloured by, and where do its colours end?

Fields are (R, C), NaN where the tangent plane is unresolved and the quantity needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core import palette
from gating_core.specimen import MeasuredSpecimen

QUANTILE = 0.9  # of a quantity's size over all panels: where linear colours end
SLACK = 1e-9  # relative: a quantity that is the same everywhere is not beyond its own scale
SOFT_QUANTILE = 0.5  # of |x|: where the asinh scale turns from linear to logarithmic


@dataclass(frozen=True)
class Colouring:
    """A quantity over the chart. ``inner``: a layer's own, with channels or heads to choose."""

    title: str  # in words
    symbol: str
    field: Callable[[MeasuredSpecimen, int, int | None], np.ndarray]
    range: str = "from zero"  # or "signed", "least to largest", "logarithm"
    inner: str = ""  # "head", "channel" or nothing


def _resolved(m: MeasuredSpecimen, field: np.ndarray) -> np.ndarray:
    return np.where(m.surface.resolved[0], field, np.nan)


def _gaussian(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return _resolved(m, m.surface.gaussian[0])


def _gaussian_size(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return np.abs(_gaussian(m, layer, part))


def _mean(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return _resolved(m, m.mean_norm)


def _area(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return np.nan_to_num(m.surface.area_element[0])


def _error(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return _resolved(m, m.surface.gaussian_error[0])


def _gate(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    """Without a gate: 1, which changes nothing."""
    if not m.gates:
        return np.ones_like(m.mean_norm)
    return _part(m.gates[layer], part)


def _part(stack: np.ndarray, part: int | None) -> np.ndarray:
    """One head or channel of ``stack``; the mean over all if ``part`` is none of them."""
    return stack.mean(0) if part is None or part >= len(stack) else stack[part]


def _entropy(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    """In nats: 0 where one value takes all, log n where all weigh the same."""
    weights = m.weights[layer]
    logs = np.log(np.where(weights > 0, weights, 1.0))
    return _part(-(weights * logs).sum(-1), part)


COLOURINGS: dict[str, Colouring] = {
    "curvature": Colouring("Gaussian curvature", "K", _gaussian, "signed"),
    "size": Colouring("size of the curvature", "|K|", _gaussian_size),
    "mean": Colouring("mean curvature", "|H|", _mean),
    "area": Colouring("area element", "√det g", _area),
    "gate": Colouring("gate value", "gate", _gate, "least to largest", inner="channel"),
    "entropy": Colouring("attention entropy", "entropy", _entropy, inner="head"),
    "error": Colouring("error bound of K", "error of K", _error, "logarithm"),
}


@dataclass(frozen=True)
class ColourScale:
    """Numbers to colours: what is drawn is ``apply(x)``, its colours end at ``low`` and ``high``.

    ``soft`` is where an asinh scale leaves the linear, ``None`` for a linear or logarithmic one.
    ``beyond`` is the share of finite points that the ends cut off.
    """

    colours: palette.Scale
    low: float
    high: float
    log: bool = False
    soft: float | None = None
    beyond: float = 0.0

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
    colouring: Colouring, fields: Sequence[np.ndarray], asinh: bool = False
) -> ColourScale:
    """One scale for all ``fields``; signed ones are symmetric about zero and never collapse.

    Scales from zero and signed ones end at the 90 % quantile of the side with the most to show,
    with ``asinh`` at the largest size; the others at the extremes.
    """
    kind = colouring.range
    signed = kind == "signed"
    colours = palette.SIGNED_SCALE if signed else palette.SEQUENTIAL_SCALE
    parts = [x[np.isfinite(x)] for x in fields]
    parts = [np.abs(x) if kind in ("signed", "from zero") else x for x in parts if x.size]
    if not parts:
        return ColourScale(colours, -1.0 if signed else 0.0, 1.0)
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
        high = float(np.arcsinh(max(values.max(), palette.COLOUR_RANGE_FLOOR) / soft))
        return ColourScale(colours, -high if signed else 0.0, high, soft=soft)
    low, high = palette.symmetric_range(max(float(np.quantile(x, QUANTILE)) for x in parts))
    beyond = float((values > high * (1 + SLACK)).mean())
    return ColourScale(colours, low if signed else 0.0, high, beyond=beyond)

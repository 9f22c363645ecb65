"""The numbers beside the pictures that lie, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from gating_core.results import SurfaceResult
from gating_core.sample import WeightChart

Points = Callable[[torch.Tensor], torch.Tensor]


def through_logs(chart: WeightChart) -> Points:
    """The same weights as a softmax of their logarithms.

    On the chart itself outputs are affine, second derivatives exactly zero, and the test empty.
    """

    def outputs(points: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(chart.weights(points).log(), -1).unsqueeze(1)
        return chart.model.run(None, weights)

    return outputs


def known(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where the tangent plane is unresolved."""
    return np.where(surface.resolved[0], surface.gaussian[0], np.nan)


def decided(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where it is unresolved or within its bound."""
    beyond = np.abs(surface.gaussian[0]) > surface.gaussian_error[0]
    return np.where(beyond, known(surface), np.nan)


def largest(surface: SurfaceResult) -> float:
    """The largest |K| above its bound; 0 where there is none."""
    return float(np.nan_to_num(np.abs(decided(surface))).max())


def range(surface: SurfaceResult) -> tuple[float, float, float]:
    """The least and the largest K, and the largest bound."""
    field = known(surface)
    return float(np.nanmin(field)), float(np.nanmax(field)), float(surface.largest_error[0])


def diameter(surface: SurfaceResult) -> float:
    """The largest distance between sampled points, of which it takes every second."""
    points = torch.from_numpy(surface.values[0, ::2, ::2].reshape(-1, surface.values.shape[-1]))
    return float(torch.cdist(points, points).max())


def settled(surface: SurfaceResult, factor: float = 1.0) -> str:
    """Zero with its bound where the surface is flat, else the largest |K|; times ``factor``."""
    if surface.flat[0]:
        return f"0 ± {up(float(surface.largest_error[0]) * factor)}"
    return f"{short(largest(surface) * factor)}"


def verdict(surface: SurfaceResult) -> str:
    if surface.flat[0]:
        return "|K| is nowhere above its bound"
    share = float(np.isfinite(decided(surface)).mean())
    return f"|K| is above its bound on {percent(share)} of the points"


def percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"


def up(error: float) -> str:
    """An error to one figure, rounded up."""
    if not 0 < error < math.inf:
        return f"{error:g}"
    exponent = math.floor(math.log10(error))
    leading = math.ceil(error / 10.0**exponent - 1e-9)
    return short(float(f"{leading}e{exponent}"), 1)


def plus_minus(value: float, error: float) -> str:
    """Both to the place of the error's first figure."""
    shown = float(up(error))
    places = max(0, -math.floor(math.log10(shown)))
    return f"{value:.{places}f} ± {shown:.{places}f}"


def short(x: float, figures: int = 3) -> str:
    """``x`` to a few figures, in powers of ten only where it would be long."""
    if 1 <= abs(x) < 1e5:
        return f"{x:.{max(0, figures - 1 - math.floor(math.log10(abs(x))))}f}"
    digits, _, power = f"{x:.{figures}g}".partition("e")
    return f"{digits}e{int(power)}" if power else digits

"""The numbers beside the pictures that lie, and how they are written."""

from __future__ import annotations

import math

import numpy as np

from gating_core.geometry import SurfaceResult, decided, largest


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

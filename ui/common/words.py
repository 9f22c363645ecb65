"""How is a number written, and which sentence does it allow? Nothing here knows the result."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from gating_core.geometry import Integral, SurfaceResult
from gating_core.training import MeanInterval

SLIGHT = 0.005  # of the area: not worth a sentence


# --- Numbers --------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """A share as whole percent."""
    return f"{100 * share:.0f}\u00a0%"


def plus_minus(value: float, error: float) -> str:
    """``value ± error``, the error rounded up to one figure and the value to the same place."""
    if not math.isfinite(value) or not math.isfinite(error):
        return "not a number"
    if error <= 0:
        return short(value)
    places = -math.floor(math.log10(error))
    shown = math.ceil(error * 10**places - 1e-9) / 10**places
    if shown >= 10 ** (1 - places):  # 0.0096 became 0.01
        places -= 1
    places = max(0, min(places, 12))
    rounded = round(value, places) + 0.0  # no minus before a zero
    return f"{rounded:.{places}f} ± {shown:.{places}f}".replace("-", "−")


def literal(text: str) -> str:
    """``text`` from outside, so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:])", r"\\\1", text)


def short(number: float) -> str:
    """``number`` to three figures, without an exponent where that is short; true minus sign."""
    size = abs(number)
    text = f"{number:.0f}" if 100 <= size < 1e5 else f"{number:.3g}"
    return text.replace("-", "−")


def figures(number: float, count: int = 3) -> str:
    """``number`` to ``count`` figures, zeros too, in powers of ten only where it would be long."""
    if 1 <= abs(number) < 1e5:
        return f"{number:.{max(0, count - 1 - math.floor(math.log10(abs(number))))}f}"
    digits, _, power = f"{number:.{count}g}".partition("e")
    return f"{digits}e{int(power)}" if power else digits


def tick_text(number: float) -> str:
    """A positive number on an axis, to two figures, its power of ten raised."""
    if 1e-3 <= number < 1e4:
        return f"{number:.2g}" if number < 100 else f"{number:.0f}"
    digits, power = f"{number:.1e}".split("e")
    factor = "" if digits == "1.0" else f"{float(digits):g}·"
    return f"{factor}10<sup>{int(power)}</sup>".replace("-", "−")


def vector_text(numbers: Iterable[float]) -> str:
    """Numbers in brackets, to three figures each."""
    return "(" + ", ".join(f"{x:.3g}" for x in numbers) + ")"


def with_bound(value: float, error: float) -> str:
    """``value`` to five figures and its bound as an order of magnitude, whatever their sizes."""
    if not math.isfinite(value) or not math.isfinite(error):
        return "not a number"
    return f"{value:.5g} ± {error_text(error)}"


def measured_text(value: float, error: float) -> str:
    """``value ± error`` in whichever of both ways is short."""
    return with_bound(value, error) if 0 < error < 1e-5 else plus_minus(value, error)


def error_text(error: float) -> str:
    """An error to one figure, rounded up."""
    if not 0 < error < math.inf:
        return f"{max(error, 0.0):g}"
    exponent = math.floor(math.log10(error))
    leading = math.ceil(error / 10.0**exponent - 1e-9) if exponent > -300 else 10
    if leading >= 10:
        leading, exponent = 1, exponent + 1
    return f"{leading}e{exponent}" if not -3 <= exponent <= 3 else f"{leading * 10.0**exponent:g}"


def power_of_ten(number: float) -> str:
    """A small positive number as its order of magnitude, rounded up: 3.2e-13 gives 1e-12."""
    if number <= 0:
        return "1e-300"
    return f"1e{math.ceil(math.log10(number) - 1e-9):d}"


# --- Verdicts -------------------------------------------------------------------------------------


def total_text(total: Integral, flat: bool) -> str:
    """The total absolute curvature with its doubt, or 0 where the surface is flat to rounding."""
    value, error = float(total.value), float(total.error)
    if flat:
        return "0"
    if not total.settled():
        return "not settled"
    text = plus_minus(value, error)
    return text if bool(total.complete) else f"at least {text}"


def total_doubt(total: Integral, surface: SurfaceResult, frame: int) -> str:
    """The line under a total: how sure it is."""
    kind = "rounding bound" if surface.bound_kind == "rigorous" else "estimated error"
    value = float(total.value)
    if surface.flat[frame]:
        typical = float(surface.typical_error[frame])
        return (
            f"flat to rounding: |K| below {power_of_ten(typical)} at half of the points, and"
            f" nowhere above its {kind}"
        )
    if not total.settled():
        return (
            f"the surface folds too sharply: the sampled points show {value:.2g}, and more may"
            " hide between them than that"
        )
    if not bool(total.complete):
        share = percent(float(surface.unresolved_share[frame]))
        return f"a lower estimate: on {share} of the points the tangent plane is not resolved"
    return f"∫|K| dA, free of units; ±: {kind} and sampling error"


def shape_text(surface: SurfaceResult, frame: int) -> str:
    """Flat, or dome-like and saddle-like on which shares of the area."""
    if surface.flat[frame]:
        return "flat"
    if surface.curved_share[frame] <= SLIGHT:
        return "neither known to be flat nor known to curve: |K| is within its bound"
    positive, negative = surface.shares.positive[frame], surface.shares.negative[frame]
    undecided = surface.shares.undecided[frame]
    parts = f"dome-like on {percent(positive)} and saddle-like on {percent(negative)} of its area"
    if undecided > SLIGHT:
        parts += f" (undecided on {percent(undecided)})"
    return f"curved, {parts}"


def difference_text(difference: MeanInterval, count: int, name: str, against: str) -> str:
    """What the paired difference of accuracies over ``count`` seeds says of ``name``.

    In percentage points to one decimal, the error rounded up; it helps or hurts only where the
    interval that is printed does not touch zero.
    """
    tenths, width = round(1000 * difference.mean), math.ceil(1000 * difference.half_width - 1e-9)
    error = f"{width / 10:.1f} points"
    if abs(tenths) <= width:
        mean = f"{tenths / 10:.1f}".replace("-", "−")
        return (
            f"**No difference that {count} seeds can show** between {name} and {against}:"
            f" {mean} ± {error}."
        )
    verb = "helps" if tenths > 0 else "hurts"
    return (
        f"**{name[:1].upper()}{name[1:]} {verb} by {abs(tenths) / 10:.1f} ± {error}**, against"
        f" {against}: mean of {count} seeds, 95 % interval, paired by seed."
    )

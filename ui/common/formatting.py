"""Numbers, verdicts, differences and rules as text, on every page alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Protocol

from gating_core.attention import MECHANISMS
from gating_core.geometry import (
    BENT,
    PROVED,
    SEEN,
    UNKNOWN,
    Integral,
    SurfaceResult,
    Verdict,
    knowledge_text,
)
from gating_core.numerals import between_text as between_text  # as pages import it from here
from gating_core.numerals import error_text, plus_minus, short
from gating_core.numerals import rounded_error as rounded_error
from gating_core.training import MeanInterval

SLIGHT = 0.005  # share of the area below which no sentence mentions it


# --- Verdicts -----------------------------------------------------------------------------------


def by_interval(low: float, high: float, reduces: str, inconclusive: str, increases: str) -> str:
    """Return the text that an interval of a change, from ``low`` to ``high``, allows."""
    return reduces if high < 0 else increases if low > 0 else inconclusive


class Interval(Protocol):
    """A mean and the half-width of its 95 % interval."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def half_width(self) -> float:
        """Half of the interval."""


def effect(
    change: Interval, cause: str, what: str, none: float = 0.0, significant: bool = True
) -> str:
    """Say in bold whether the ``cause`` reduces or increases ``what``, or that it is inconclusive.

    ``none`` is the change that is none: 1 of a quotient. ``significant`` is false where the test is
    not, once adjusted for others that are told with it.
    """
    verb = by_interval(
        change.mean - change.half_width - none,
        change.mean + change.half_width - none,
        "reduces",
        "",
        "increases",
    )
    if not (verb and significant):
        return f"**The effect of {cause} on {what} is inconclusive**"
    return f"**{cause[:1].upper()}{cause[1:]} {verb} {what}**"


# --- Numbers --------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """Format a share as whole percent; only 0 reads as 0 %, and only 1 as 100 %."""
    if math.isnan(share):
        return UNKNOWN
    if 0 < share < SLIGHT:
        return "less than 1\u00a0%"
    if 1 - SLIGHT < share < 1:
        return "more than 99\u00a0%"
    exact = 100 * Fraction(share)  # in floating point it may be a tie where it is none
    return f"{round(exact)}\u00a0%".replace("-", "−")


def beyond_text(share: float) -> str:
    """Say which share of points the colour scale cuts off."""
    return f"{percent(share)} of points lie beyond the colours' ends"


def layers_text(depth: int) -> str:
    """Format a number of layers."""
    return "1 layer" if depth == 1 else f"{depth} layers"


def exact_text(total: Integral | None) -> str:
    """Return all digits of a total and its error, for whoever points at the rounded ones."""
    if total is None:
        return ""
    return f"∫|K| dA = {float(total.value)!r}, estimated error {float(total.error)!r}"


def figures(number: float, count: int = 3) -> str:
    """Format ``number`` to ``count`` figures, with zeros; long ones as powers of ten."""
    digits, _, power = f"{number:.{count - 1}e}".partition("e")
    if -5 < int(power or 0) < 5:
        return f"{number:.{max(0, count - 1 - int(power or 0)) if number else 0}f}"
    return f"{digits}e{int(power)}"


def rough(number: float) -> str:
    """Format ``number`` to two figures at most, as ends of colours and the like are written."""
    return short(float(f"{number:.2g}"))


def tick_text(number: float) -> str:
    """Format a positive number on an axis: two figures, the power of ten raised."""
    if 1e-3 <= number < 1e4:
        return f"{number:.2g}" if number < 100 else f"{number:.0f}"
    digits, power = f"{number:.1e}".split("e")
    factor = "" if digits == "1.0" else f"{float(digits):g}·"
    return f"{factor}10<sup>{int(power)}</sup>".replace("-", "−")


def vector_text(numbers: Iterable[float]) -> str:
    """Format numbers in brackets, to three figures each."""
    return "(" + ", ".join(map(short, numbers)) + ")"


# --- Verdicts -------------------------------------------------------------------------------------


def verdict_text(verdict: Verdict, area: str = "its area") -> str:
    """Say that a surface is flat, bent, undetermined, or where it curves, and how that is known."""
    undetermined = f"undetermined on {percent(verdict.undetermined)}"
    if verdict.without_curvature and verdict.knowledge == PROVED:
        return f"{verdict.word} (proved: {verdict.proof or verdict.one_sign})"
    if verdict.without_curvature:
        more = f"; {undetermined} of {area}" if verdict.undetermined > SLIGHT else ""
        bent = "bent, " * (verdict.word == BENT and verdict.bound_kind == "rigorous")
        return f"{bent}without curvature ({knowledge_text(SEEN, verdict.points)}{more})"
    if verdict.word == UNKNOWN:
        return "undetermined: the errors are too large to tell whether it curves"
    shares = {"K > 0": verdict.positive, "K < 0": verdict.negative}  # domes only in R³
    if verdict.one_sign is not None:
        sign = "K > 0" if verdict.positive else "K < 0"
        return f"curved: {sign} on the whole chart (proved: {verdict.one_sign})"
    parts = [f"{word} on {percent(share)}" for word, share in shares.items() if share]
    parts[-1] += f" of {area}"
    rest = [f"K = 0 on {percent(verdict.flat)}"] if verdict.flat > SLIGHT else []
    rest += [undetermined] if verdict.undetermined > SLIGHT else []
    known = f"curved, {verdict.knowledge}: {' and '.join(parts)}"
    return known + (f" ({', '.join(rest)})" if rest else "")


def flat_text(verdict: Verdict) -> str:
    """Say in a few words why a total is 0: that is proved, or no curvature was seen."""
    if verdict.knowledge == PROVED:
        return verdict.word
    return f"none seen at {verdict.points:,} points"


def total_text(total: Integral, flat: bool) -> str:
    """Format the total absolute curvature with its error; 0 if the verdict is that K = 0."""
    if flat:
        return "0"
    if not total.quotable():
        return UNKNOWN
    text = plus_minus(float(total.value), float(total.error))
    return text if bool(total.resolved) else f"at least {text}"


def final_total_text(total: Integral, flat: bool) -> str:
    """Return `total_text`; say so where its error is between a tenth and a half of it."""
    text = total_text(total, flat)
    doubtful = not flat and bool(total.quotable()) and not bool(total.converged())
    return f"{text}, not converged to 10\u00a0%" if doubtful else text


def headline_text(total: Integral, flat: bool) -> str:
    """Return the total alone, in the two or three figures that its error leaves; else with it."""
    value, error = float(total.value), float(total.error)
    for count in (3, 2):
        known = not flat and bool(total.resolved) and math.isfinite(value) and value > 0
        if known and error <= 10 ** (math.floor(math.log10(value)) + 1 - count):
            return figures(value, count)
    return final_total_text(total, flat)


def doubt_text(total: Integral, verdict: Verdict) -> str:
    """Say how sure a total is, in the line below it."""
    if verdict.without_curvature and verdict.knowledge == PROVED:
        return verdict_text(verdict)
    if verdict.without_curvature:
        return f"no curvature beyond rounding error, {knowledge_text(SEEN, verdict.points)}"
    if not total.quotable():
        return (
            "the surface folds too sharply: the sampled points add up to"
            f" {short(float(total.value))}, and there may be more between them"
        )
    if not bool(total.resolved):
        share = percent(verdict.unresolved)
        return f"a lower estimate: on {share} of the points the tangent plane is not resolved"
    if verdict.word == UNKNOWN:
        return "∫|K| dA as measured; no point is known to exceed rounding"
    limit = "" if bool(total.finished) or total.points is None else f" at {total.points:,} points"
    return f"∫|K| dA has no unit; ±: {_bound(verdict)} plus estimated sampling error{limit}"


def _bound(verdict: Verdict) -> str:
    return "rounding bound" if verdict.bound_kind == "rigorous" else "estimated error"


def curvature_text(surface: SurfaceResult, at: tuple[int, int, int]) -> str:
    """Format K at a point (frame, row, column) with its error, or say what bounds it."""
    if surface.sign[at] == 0:
        return "0 (proved)" if surface.proved_zero[at[0]] else "0"
    if not surface.resolved[at]:
        return f"{UNKNOWN}: no tangent plane"
    value, error = float(surface.gaussian[at]), float(surface.gaussian_error[at])
    if abs(surface.sign[at]) == 1:
        return plus_minus(value, error)
    return f"{UNKNOWN}: |K| at most {error_text(abs(value) + error)}"


def _tenths(difference: MeanInterval) -> tuple[int, int]:
    """Return a difference of shares and its half-width in tenths of a point, rounded up."""
    return round(1000 * difference.mean), math.ceil(1000 * difference.half_width - 1e-9)


def points_text(difference: MeanInterval) -> str:
    """Format a difference of shares in percentage points: one decimal, the error rounded up."""
    tenths, width = _tenths(difference)
    return f"{tenths / 10:.1f} ± {width / 10:.1f}".replace("-", "−")


def accuracy_text(accuracy: MeanInterval) -> str:
    """Format a mean accuracy in percent with its 95 % interval, cut to 0 to 100 %.

    No accuracy lies beyond, so the cut interval covers the true mean as often. A mean below 100 %
    never reads as 100 %.
    """
    mean, half = 100 * accuracy.mean, 100 * accuracy.half_width
    if not math.isfinite(half):
        return f"{short(mean)}\u00a0%"
    if mean - half >= 0 and mean + half <= 100:
        return f"{plus_minus(mean, half)}\u00a0%"
    low, high = math.floor(max(mean - half, 0.0)), math.ceil(min(mean + half, 100.0))
    centre = f"{mean:.0f}"
    if centre in ("0", "100") and 0 < mean < 100:
        centre = short(math.ceil(10 * mean) / 10 if mean < 50 else math.floor(10 * mean) / 10)
    return f"{centre}\u00a0% ({low} to {high}\u00a0%)"


def _effect_text(difference: MeanInterval, name: str) -> str:
    """Say by how many points ``name`` helps or hurts; nothing if the interval touches zero."""
    verb, by = by_points(difference, "hurts", "", "helps"), points_text(difference).lstrip("−")
    return verb and f"**{name[:1].upper()}{name[1:]} {verb} by {by} points**"


def by_points(difference: MeanInterval, costs: str, none: str, gains: str) -> str:
    """Return the text that a paired difference allows; ``none`` where its printed interval is 0."""
    tenths, width = _tenths(difference)
    return none if abs(tenths) <= width else gains if tenths > 0 else costs


def gain_text(difference: MeanInterval) -> str:
    """Say what a paired difference of accuracies gains: the verb and the points, or nothing."""
    points = f"{points_text(difference).lstrip('−')} points"
    return by_points(difference, f"costs {points}", "has no significant effect", f"gains {points}")


def paired_text(difference: MeanInterval, count: int, name: str) -> str:
    """Say in a few words what the paired difference over ``count`` seeds says of ``name``."""
    if effect := _effect_text(difference, name):
        return f"{effect}, paired over {count} seeds"
    points = points_text(difference)
    return f"**No significant difference** ({count} seeds): {points} points, paired"


def difference_text(difference: MeanInterval, count: int, name: str, against: str) -> str:
    """Say what the paired difference of accuracies over ``count`` seeds says of ``name``.

    In percentage points, one decimal, the error rounded up. ``name`` helps or hurts only if the
    printed interval does not touch zero.
    """
    if effect := _effect_text(difference, name):
        return f"{effect}, against {against}: mean of {count} seeds, 95 % interval, paired by seed."
    return (
        f"**No significant difference** between {name} and {against} ({count} seeds):"
        f" {points_text(difference)} points, paired by seed."
    )


# --- Rules --------------------------------------------------------------------------

SOURCES_HELP = "Slots are the same for all inputs. Tokens change with the input. " + " ".join(
    f"*{name}*: {mechanism.come_from}." for name, mechanism in MECHANISMS.items()
)


def fitting_heads(heads: int, dim: int) -> tuple[int, str]:
    """Return the most heads that divide both numbers, and a sentence if they are fewer."""
    fitting = math.gcd(heads, dim)
    if fitting == heads:
        return heads, ""
    return fitting, f"{heads} heads do not divide D = {dim}. Shown: {fitting}."

"""How is a number written, and which sentence does it allow? Nothing here knows the result."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

from gating_core.geometry import FLAT, MOST_CURVED, UNKNOWN, Integral, SurfaceResult, Verdict
from gating_core.training import MeanInterval

SLIGHT = 0.005  # of the area: not worth a sentence
FIGURES = 6  # written of a number at most; beyond them stand powers of ten
MOST_ADDED = Decimal("1.1")  # to an error by rounding it up
LONGEST = 800  # figures of the longest number in double precision, and some more


# --- Numbers --------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """A share as whole percent; what is not none, or not all, never reads as if it were."""
    if math.isnan(share):
        return UNKNOWN
    if 0 < share < SLIGHT:
        return "less than 1\u00a0%"
    if 1 - SLIGHT < share < 1:
        return "more than 99\u00a0%"
    exact = 100 * Fraction(share)  # in floating point it may be a tie where it is none
    return f"{round(exact)}\u00a0%".replace("-", "−")


def beyond_text(share: float) -> str:
    """How much a scale of colours cuts off."""
    return f"{percent(share)} of points exceed the colour scale"


def layers_text(depth: int) -> str:
    """How many layers a model has."""
    return "1 layer" if depth == 1 else f"{depth} layers"


def crease_text() -> str:
    """What is outlined on surfaces and charts."""
    return f"teal: the most curved {percent(MOST_CURVED)}, where it holds a quarter of the total"


def plus_minus(value: float, error: float, least: float = -math.inf) -> str:
    """``value ± error``, where the error is the smaller of the two; else what both allow.

    The error is rounded up to one figure, or to two where one would add more than a tenth to it, or
    would look as large as the value, which is rounded to the same place. Where that would be more
    than six figures the error stands apart; where it is not smaller than the value, "between a and
    b" or, where a is ``least`` or less, "at most b".
    """
    if not (math.isfinite(value) and math.isfinite(error)):
        return UNKNOWN
    if error <= 0:
        return short(value)
    exact, doubt = Decimal(repr(float(value))), Decimal(repr(float(error)))
    for count in (1, 2):
        shown = _rounded_up(doubt, count)
        if count == 1 and shown > doubt * MOST_ADDED:
            continue
        # In whole numbers where these are short: 1234 ± 100.
        place = min(_place(shown, count), 0)
        place = place if _places(exact, place) <= FIGURES else _place(shown, count)
        if _places(exact, place) > FIGURES:
            return f"{_text(_figures(exact, FIGURES))} (error below {rounded_error(error)})"
        rounded = _rounded(exact, place, ROUND_HALF_EVEN)
        if shown < abs(rounded) and doubt < abs(exact):
            long = place > 0
            return f"{_text(rounded, long)} ± {_text(shown, long)}"
    with localcontext() as context:
        context.prec = LONGEST  # else what is far smaller than the error is lost
        low, high = exact - doubt, exact + doubt
    place = _place(doubt, 2)
    highest = _text(_rounded(high, place, ROUND_CEILING))
    if low <= least:
        return f"at most {highest}"
    return f"between {_text(_rounded(low, place, ROUND_FLOOR))} and {highest}"


def rounded_error(error: float) -> str:
    """``error`` > 0 rounded up to one figure, or to two where one would add more than a tenth."""
    doubt = Decimal(repr(float(error)))
    shown = _rounded_up(doubt, 1)
    return _text(shown if shown <= doubt * MOST_ADDED else _rounded_up(doubt, 2))


def _rounded_up(number: Decimal, count: int) -> Decimal:
    """``number`` > 0 rounded up to ``count`` figures."""
    shown = _rounded(number, _place(number, count), ROUND_CEILING)
    return _rounded(shown, _place(shown, count), ROUND_CEILING)  # 0.0096 became 0.010


def _place(number: Decimal, count: int) -> int:
    """The power of ten of the last of ``count`` figures of ``number``, not zero."""
    return number.adjusted() - count + 1


def _places(number: Decimal, place: int) -> int:
    """How many figures ``number`` has down to a ``place``."""
    return (number.adjusted() if number else 0) - place + 1


def _rounded(number: Decimal, place: int, how: str) -> Decimal:
    """``number`` as a multiple of 10^place, exactly."""
    with localcontext() as context:
        context.prec = LONGEST
        return number.quantize(Decimal((0, (1,), place)), rounding=how)


def _figures(number: Decimal, count: int) -> Decimal:
    return _rounded(number, _place(number, count), ROUND_HALF_EVEN) if number else number


def _text(number: Decimal, long: bool = False) -> str:
    """A rounded number with all its figures, as a power of ten where it is ``long``."""
    exponent = int(number.as_tuple().exponent)
    decimals = max(-exponent, 0)
    if not number:
        return f"{0:.{decimals}f}" if decimals < FIGURES else "0"
    whole = max(number.adjusted() + 1, 1 if number.adjusted() < -1 else 0)  # figures, and zeros
    if not long and whole + decimals <= FIGURES:
        return f"{number:f}".replace("-", "−")
    digits, _, power = f"{number:e}".partition("e")
    return f"{digits.replace('-', '−')}e{int(power)}"


def short(number: float) -> str:
    """``number`` to three figures, without an exponent where that is short; true minus sign."""
    if math.isnan(number):
        return UNKNOWN
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    exact = Decimal(repr(float(number)))
    if 100 <= abs(number) < 10 ** (FIGURES - 1):
        return _text(_rounded(exact, 0, ROUND_HALF_EVEN))
    return _text(_figures(exact, 3).normalize())


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
    return "(" + ", ".join(map(short, numbers)) + ")"


def error_text(error: float) -> str:
    """An error to one figure, rounded up."""
    if not math.isfinite(error):
        return "no bound"
    exact = Decimal(repr(max(float(error), 0.0)))
    return _text(_rounded(exact, _place(exact, 1), ROUND_CEILING).normalize()) if exact else "0"


def power_of_ten(number: float) -> str:
    """A small positive number as its order of magnitude, rounded up: 3.2e-13 gives 1e-12."""
    if number <= 0:
        return "1e-300"
    return f"1e{math.ceil(math.log10(number) - 1e-9):d}"


# --- Verdicts -------------------------------------------------------------------------------------


def verdict_text(verdict: Verdict) -> str:
    """Flat, or dome-like and saddle-like on which shares of the area, or that nobody can tell."""
    undecided = f"undecided on {percent(verdict.undecided)}"
    if verdict.proof is not None:
        return f"flat (proved: {verdict.proof})"
    if verdict.word == FLAT:
        return f"flat ({undecided} of its area)" if verdict.undecided > SLIGHT else "flat"
    if verdict.word == UNKNOWN:
        return "undecided: the errors are too large to tell whether it curves"
    shares = {"dome-like": verdict.positive, "saddle-like": verdict.negative}
    parts = [f"{word} on {percent(share)}" for word, share in shares.items() if share]
    parts[-1] += " of its area"
    rest = [f"flat on {percent(verdict.flat)}"] if verdict.flat > SLIGHT else []
    rest += [undecided] if verdict.undecided > SLIGHT else []
    return f"curved, {' and '.join(parts)}" + (f" ({', '.join(rest)})" if rest else "")


def total_text(total: Integral, flat: bool) -> str:
    """The total absolute curvature with its doubt, or 0 where the surface is flat."""
    if flat:
        return "0"
    if not total.settled():
        return UNKNOWN
    text = plus_minus(float(total.value), float(total.error))
    return text if bool(total.complete) else f"at least {text}"


def doubt_text(total: Integral, verdict: Verdict) -> str:
    """The line under a total: how sure it is."""
    if verdict.proof is not None:
        return f"flat (proved: {verdict.proof})"
    if verdict.word == FLAT:
        return "flat: no curvature beyond rounding error"
    if not total.settled():
        return (
            "the surface folds too sharply: the sampled points show"
            f" {short(float(total.value))}, and more may hide between them"
        )
    if not bool(total.complete):
        share = percent(verdict.unresolved)
        return f"a lower estimate: on {share} of the points the tangent plane is not resolved"
    if verdict.word == UNKNOWN:
        return "∫|K| dA as measured; at no point is it known to be more than rounding"
    return f"∫|K| dA, free of units; ±: {_bound(verdict)} and sampling error"


def bound_text(verdict: Verdict) -> str:
    """How small the errors are that a flat surface is called flat by."""
    if verdict.proof is not None:
        return f"K = 0 exactly, whatever rounding says: {verdict.proof}."
    return (
        f"|K| is below {power_of_ten(verdict.typical_error)} at half of the points, and nowhere"
        f" above its {_bound(verdict)}."
    )


def _bound(verdict: Verdict) -> str:
    return "rounding bound" if verdict.bound_kind == "rigorous" else "estimated error"


def curvature_text(surface: SurfaceResult, at: tuple[int, int, int]) -> str:
    """K at a point (frame, row, column): with its error, or 0, or what can be said at all."""
    if surface.zero[at]:
        return "0 (proved)" if surface.proof[at[0]] else "0"
    if not surface.resolved[at]:
        return f"{UNKNOWN}: no tangent plane"
    value, error = float(surface.gaussian[at]), float(surface.gaussian_error[at])
    if surface.decided[at]:
        return plus_minus(value, error)
    return f"{UNKNOWN}: |K| at most {error_text(abs(value) + error)}"


def total_doubt(total: Integral, surface: SurfaceResult, frame: int) -> str:
    """`doubt_text` of one frame of a surface."""
    return doubt_text(total, surface.verdicts[frame])


def _tenths(difference: MeanInterval) -> tuple[int, int]:
    """A difference of shares and its half width in tenths of a point, this one rounded up."""
    return round(1000 * difference.mean), math.ceil(1000 * difference.half_width - 1e-9)


def points_text(difference: MeanInterval) -> str:
    """A difference of shares in percentage points: to one decimal, the error rounded up."""
    tenths, width = _tenths(difference)
    return f"{tenths / 10:.1f} ± {width / 10:.1f}".replace("-", "−")


def accuracy_text(accuracy: MeanInterval) -> str:
    """A mean accuracy in percent with its interval, which ends where accuracies do.

    All of a 95 % interval that can be is as likely to hold the true mean as the whole of it.
    """
    mean, half = 100 * accuracy.mean, 100 * accuracy.half_width
    if not math.isfinite(half):
        return f"{short(mean)}\u00a0%"
    if mean - half >= 0 and mean + half <= 100:
        return f"{plus_minus(mean, half)}\u00a0%"
    low, high = math.floor(max(mean - half, 0.0)), math.ceil(min(mean + half, 100.0))
    return f"{mean:.0f}\u00a0% ({low} to {high}\u00a0%)"


def paired_text(difference: MeanInterval, count: int, name: str) -> str:
    """What the paired difference over ``count`` seeds says of ``name``, in a few words."""
    tenths, width = _tenths(difference)
    if abs(tenths) <= width:
        points = points_text(difference)
        return f"**No difference that {count} seeds can show**: {points} points, paired"
    verb = "helps" if tenths > 0 else "hurts"
    by = f"{abs(tenths) / 10:.1f} ± {width / 10:.1f} points"
    return f"**{name[:1].upper()}{name[1:]} {verb} by {by}**, paired over {count} seeds"


def difference_text(difference: MeanInterval, count: int, name: str, against: str) -> str:
    """What the paired difference of accuracies over ``count`` seeds says of ``name``.

    In percentage points to one decimal, the error rounded up; it helps or hurts only where the
    interval that is printed does not touch zero.
    """
    tenths, width = _tenths(difference)
    if abs(tenths) <= width:
        return (
            f"**No difference that {count} seeds can show** between {name} and {against}:"
            f" {points_text(difference)} points."
        )
    verb = "helps" if tenths > 0 else "hurts"
    by = f"{abs(tenths) / 10:.1f} ± {width / 10:.1f} points"
    return (
        f"**{name[:1].upper()}{name[1:]} {verb} by {by}**, against {against}: mean of {count}"
        " seeds, 95 % interval, paired by seed."
    )

"""Numbers with errors as text: two figures of an error at most, the value to the same place."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext

UNKNOWN = "undetermined"
FIGURES = 6  # the most written of a number; a longer one gets a power of ten
MOST_ADDED = Decimal("1.1")  # the most by which rounding up may multiply an error
LONGEST = 800  # more figures than any double has


def plus_minus(value: float, error: float, least: float = -math.inf) -> str:
    """Format ``value ± error``, or the range that both allow.

    The error is rounded up to one figure; to two if one figure would add more than a tenth to it or
    make it look as large as the value. The value is rounded to the same place. If that would take
    more than six figures, the error stands in brackets. If the error is not smaller than the value:
    "between a and b", or "at most b" if a is ``least`` or less.
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
        exponent = min(_exponent(shown, count), 0)
        exponent = (
            exponent if _figure_count(exact, exponent) <= FIGURES else _exponent(shown, count)
        )
        if _figure_count(exact, exponent) > FIGURES:
            return f"{_text(_figures(exact, FIGURES))} (error below {rounded_error(error)})"
        rounded = _rounded(exact, exponent, ROUND_HALF_EVEN)
        if shown < abs(rounded) and doubt < abs(exact):
            long = exponent > 0
            return f"{_text(rounded, long)} ± {_text(shown, long)}"
    with localcontext() as context:
        context.prec = LONGEST  # else what is far smaller than the error is lost
        low, high = exact - doubt, exact + doubt
    exponent = _exponent(doubt, 2)
    if low <= least:
        return f"at most {_text(_rounded(high, exponent, ROUND_CEILING))}"
    return _between(low, high, exponent)


def between_text(low: float, high: float, least: float = -math.inf) -> str:
    """Format "between a and b", rounded outwards: to two figures of the width, six of the larger.

    "at most b" if that makes a ``least`` or less, "at least a" if b is infinite.
    """
    if math.isnan(low) or math.isnan(high) or (low <= least and high == math.inf):
        return UNKNOWN
    ends = [Decimal(end) for end in (low, high)]  # exact: their shortest decimals may lie within
    if low == high:
        return short(low)
    if math.isinf(high):
        return f"at least {_text(_rounded(ends[0], _exponent(ends[0], 3), ROUND_FLOOR))}"
    larger = max(map(abs, ends))
    exponent = max(_exponent(ends[1] - ends[0], 2), _exponent(larger, FIGURES))
    if _rounded(ends[0], exponent, ROUND_FLOOR) <= Decimal(least):
        return f"at most {_text(_rounded(ends[1], exponent, ROUND_CEILING))}"
    return _between(ends[0], ends[1], exponent)


def _between(low: Decimal, high: Decimal, exponent: int) -> str:
    """Round both outwards to a multiple of 10^``exponent``."""
    first, last = _rounded(low, exponent, ROUND_FLOOR), _rounded(high, exponent, ROUND_CEILING)
    return f"between {_text(first)} and {_text(last)}"


def rounded_error(error: float) -> str:
    """``error`` > 0 rounded up to one figure, or to two where one would add more than a tenth."""
    doubt = Decimal(repr(float(error)))
    shown = _rounded_up(doubt, 1)
    return _text(shown if shown <= doubt * MOST_ADDED else _rounded_up(doubt, 2))


def _rounded_up(number: Decimal, count: int) -> Decimal:
    """``number`` > 0 rounded up to ``count`` figures."""
    shown = _rounded(number, _exponent(number, count), ROUND_CEILING)
    return _rounded(shown, _exponent(shown, count), ROUND_CEILING)  # 0.0096 became 0.010


def _exponent(number: Decimal, count: int) -> int:
    """Return the power of ten of the last of ``count`` figures of ``number``, not zero."""
    return number.adjusted() - count + 1


def _figure_count(number: Decimal, exponent: int) -> int:
    """Count the figures of ``number`` down to that of 10^``exponent``."""
    return (number.adjusted() if number else 0) - exponent + 1


def _rounded(number: Decimal, exponent: int, how: str) -> Decimal:
    """Round ``number`` to a multiple of 10^``exponent``, exactly."""
    with localcontext() as context:
        context.prec = LONGEST
        return number.quantize(Decimal((0, (1,), exponent)), rounding=how)


def _figures(number: Decimal, count: int) -> Decimal:
    return _rounded(number, _exponent(number, count), ROUND_HALF_EVEN) if number else Decimal(0)


def _text(number: Decimal, long: bool = False) -> str:
    """Format a rounded number with all its figures, with a power of ten if it is ``long``."""
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
    """Format ``number`` to three figures, without an exponent where that is short."""
    if math.isnan(number):
        return UNKNOWN
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    exact = Decimal(repr(float(number)))
    if 100 <= abs(number) < 10 ** (FIGURES - 1):
        return _text(_rounded(exact, 0, ROUND_HALF_EVEN))
    return _text(_figures(exact, 3).normalize())


def error_text(error: float) -> str:
    """Format an error to one figure, rounded up: an order of magnitude, not a ±."""
    if not math.isfinite(error):
        return "no bound"
    exact = Decimal(repr(max(float(error), 0.0)))
    return _text(_rounded(exact, _exponent(exact, 1), ROUND_CEILING).normalize()) if exact else "0"

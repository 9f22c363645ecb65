"""Sentences about gates, and the law at one point, written from the numbers on the screen."""

from __future__ import annotations

import numpy as np

import gating_core.theory as theory
from gating_core.geometry import SEEN, knowledge_text
from ui.common.words import beyond_text, error_text, percent, plus_minus, short
from ui.gates.frames import LAW_PARTS, Deviation, GateFrame
from ui.gates.picture import GatePicture
from ui.gates.shipped import TileNumbers

ONE_VALUE = 1e-9  # relative: a range that is no longer is written as one number
Ends = tuple[float | None, float | None]
MEASURED = [("K measured", ["gated_gaussian"]), ("error", ["gated_error"]),
            ("|H|", ["gated_mean"])]  # fmt: skip
BY_LAW = [
    ("g", ["gated_gate"]),
    ("det Hess(1/g)", ["gated_law_hessian"]),
    ("K by the law = ({})⁴ · ({}) / ({})² = {}", [f"gated_law_{name}" for name in LAW_PARTS]),
]
LAW_ROWS = {  # of the table of numbers: a field of `LawAtPoint`
    "g (in use)": "gate",
    "ρ = 1/g": "rho",
    "ρ_u": "rho_u",
    "ρ_v": "rho_v",
    "ρ_uu": "rho_uu",
    "ρ_uv": "rho_uv",
    "ρ_vv": "rho_vv",
    "det Hess ρ": "hessian",
    "ρ − uρ_u − vρ_v": "foot",
    "ρ_u² + ρ_v² + (…)²": "normal_square",
    "K": "gaussian",
}


def range_text(ends: Ends | None) -> str:
    """The least and the largest K, as one number where three figures cannot tell them apart.

    An end that is nothing beside the other is written as 0: next to where K vanishes, it is.
    """
    least, largest = ends or (None, None)
    if least is None or largest is None:
        return "K not known"
    if largest - least <= ONE_VALUE * max(abs(least), abs(largest)):
        return f"K = {short(largest)}"
    nothing = ONE_VALUE * (largest - least)
    ends_text = [short(end) if abs(end) > nothing else "0" for end in (least, largest)]
    return f"K {' to '.join(ends_text)}"


def tile_line(numbers: TileNumbers) -> str:
    """What stands under a tile's name."""
    known = f", {numbers.knowledge}" if numbers.knowledge else ""
    return f"{numbers.verdict}{known}  \n{range_text((numbers.least, numbers.largest))}"


def verdict_text(frame: GateFrame) -> str:
    """The verdict of one frame, how it is known, and of which part of the chart."""
    whole = frame.whole
    if frame.share_lost == 1:
        return "**no gate** anywhere on the chart"
    if whole.knowledge is None:
        return f"**{whole.word}**"
    word = whole.word
    if whole.knowledge == SEEN:
        word = {theory.PLANE: "without curvature", theory.BENT: "bent, without curvature"}[word]
    where = "on the whole chart"
    if whole.broken or whole.rough:  # which cells leave out, smooth or not
        where = (
            "in every smooth piece" if whole.by == theory.ALGEBRA else "wherever nothing is hatched"
        )
    elif frame.share_lost:
        where = "wherever there is a gate"
    zero = " or K = 0" if whole.weak else ""
    return (
        f"**{word}**{zero}, {knowledge_text(whole.knowledge, whole.points, where, whole.between)}"
    )


def shares_text(frame: GateFrame, shares: theory.SignShares) -> str:
    """On how much of the chart the sign of K is proved; what is flat has none."""
    parts = [f"K > 0 is proved on {percent(shares.positive)} of the chart",
             f"K < 0 on {percent(shares.negative)}"]  # fmt: skip
    if shares.lost:
        parts.append(f"there is no smooth gate on {percent(shares.lost)}")
    if shares.open:
        parts.append(f"nothing is proved of the sign on {percent(shares.open)}")
    return f"At λ = {frame.strength:.2f}, cell by cell: {', '.join(parts)}."


def _missed(frame: GateFrame) -> bool:
    """Whether K has a sign that it has at no grid point."""
    least, largest = frame.range or (0.0, 0.0)
    word = frame.whole.word
    return (word in (theory.MIXED, theory.POSITIVE) and largest <= 0) or (
        word in (theory.MIXED, theory.NEGATIVE) and least >= 0
    )


def _range_text(frame: GateFrame) -> str:
    """The range of K, and that it is not all of it where the grid misses a sign."""
    missed = " on the grid, more between its points" if _missed(frame) else ""
    return range_text(frame.range) + missed


def caption(frame: GateFrame, shown: str = "K") -> str:
    """The verdict of one frame, and the numbers behind it; what is ``shown`` in colour first."""
    bend = ""
    if frame.largest_bend > 0 and frame.whole.word != theory.PLANE:  # not NaN
        bend = f" · |H| up to {short(frame.largest_bend)}"
    parts = [verdict_text(frame)]
    if shown == "|H|" and bend:
        parts.append(f"{bend}, in colour")
    parts.append(f" · {_range_text(frame)}")
    if shown == "K":
        parts.append(bend)
    if frame.share_undecided > 0 and frame.share_lost < 1:
        share = percent(frame.share_undecided)
        parts.append(f" · K is not known, for rounding, on {share} of the area")
    if 0 < frame.share_lost < 1:
        parts.append(f" · no gate on {percent(frame.share_lost)} of the chart")
    return "".join(parts)


def reading(frame: GateFrame, exact: str) -> str:
    """One paragraph: the verdict and K, called ``exact`` in closed form; then how K was checked."""
    subject = "there is" if frame.share_lost == 1 else "the sheet is"
    parts = [f"**At λ = {frame.strength:.2f}** {subject} {verdict_text(frame)}"]
    parts[0] += f": {_result_text(frame, exact)}." if frame.range is not None else "."
    parts += _agreements(frame)
    if frame.exact is None and 0 < frame.strength < 1:
        parts.append("K has no closed form at this strength.")
    if frame.law is None:
        parts.append("The law is for scalar gates; this one has a gate for each channel.")
    if frame.share_lost:
        parts.append(
            f"On {percent(frame.share_lost)} of the chart the formula is no gate (not positive, not"
            " finite, or beyond 10¹²). That part is hatched, and nothing is said about it."
        )
    if frame.whole.broken:
        parts.append(
            f"Where the gate has no derivatives, or may have none ({causes_text(frame.whole)}), it"
            " is hatched, and nothing is drawn across."
        )
    if frame.whole.rough and frame.share_lost < 1:
        share = percent(frame.whole.rough)
        parts.append(f"On {share} of the chart it is not known whether the gate is smooth.")
    return " ".join(parts)


def causes_text(whole: theory.GateVerdict) -> str:
    """What may break a gate."""
    return " or ".join(theory.CAUSES[cause] for cause in whole.causes) or "it is too steep to tell"


def no_gate_text(frame: GateFrame, at: tuple[int, int], where: str, value: float) -> str:
    """Why there is no law at a grid point called ``where``, at which the gate has a ``value``."""
    if frame.breaks[at] and np.isfinite(value) and value > 0:
        return (
            f"At {where} the gate is {short(value)}, but not smooth, or not known to be"
            f" ({causes_text(frame.whole)}): nothing is said of K."
        )
    return f"At {where} the formula is no gate."


def _result_text(frame: GateFrame, name: str) -> str:
    """K, exactly where that is one number, which is called ``name``; else from where to where."""
    exact = frame.exact
    if exact is None or not exact.constant:
        return _range_text(frame)
    called = name if frame.strength == 1 and exact.value else ""
    return f"K = {called}{_ten_digits(exact.value)}"


def _ten_digits(value: float) -> str:
    return f"{value:z.10g}".replace("-", "−")


def _ways(frame: GateFrame) -> list[tuple[str, str, Deviation]]:
    """What measured K is compared with: how that is called, and how K by it is."""
    ways = [
        ("the closed form", "in closed form", frame.exact),
        ("the law", "by the law", frame.law),
    ]
    return [(name, by, way) for name, by, way in ways if way is not None]


def _agreements(frame: GateFrame) -> list[str]:
    """A sentence for the ways that agree with measured K, and one for those that do not."""
    sentences = []
    compared = [(name, way) for name, _, way in _ways(frame) if way.deviation == way.deviation]
    for agrees, verb in ((True, "agree at every resolved point"), (False, "**do not agree**")):
        if names := [name for name, way in compared if way.agrees == agrees]:
            text = f"{', '.join(names)} and the measured K {verb}."
            sentences.append(text[0].upper() + text[1:])
    if len(compared) < len(_ways(frame)):  # the rest is NaN
        sentences.append("No point is resolved at which K could be compared.")
    return sentences


def doubt_text(frame: GateFrame) -> str:
    """The errors of K, and how far the ways to it are apart."""
    parts = []
    if frame.largest_error == frame.largest_error:  # not NaN
        parts.append(f"The error of K is at most {error_text(frame.largest_error)} at each point.")
    exact = frame.exact
    if exact is not None:
        middle = f"{_ten_digits(exact.value)}, measured {plus_minus(*frame.middle)}"
        parts.append(f"In the middle K is {middle}.")
    for _, by, way in _ways(frame):
        if way.deviation == 0:
            parts.append(f"K {by} and K measured are equal at every resolved point.")
        elif way.deviation > 0:
            apart, allowed = error_text(way.deviation), error_text(way.allowed)
            parts.append(
                f"K {by} and K measured differ by {apart} at most; their errors there add up to"
                f" {allowed}."
            )
    return " ".join(parts)


def exact_name(case: theory.GateCase, radius: float) -> str:
    """What the closed form of a case is called before its value."""
    if case.title == "sphere by gating":
        return f"1/r² = 1/{radius:g}² = "
    return "1/D = 1/3 = " if case.kind == "normalisation" else ""


def legend_notes(picture: GatePicture, frames: tuple[GateFrame, ...]) -> list[str]:
    """What the colour scale and the pictures do not show by themselves, in every frame."""
    low, high = picture.gate_scale.ends
    scale, every = picture.scale, zip(picture.beyond, frames, strict=True)
    soft = None if scale.collapsed else scale.soft
    return [
        " · ".join(note for note, there in {
            _zero_text(frame, scale.collapsed): True,
            f"gate: dark {short(low)}, bright {short(high)}": True,
            f"asinh scale, linear within ±{short(soft or 0.0)}": soft is not None,
            beyond_text(beyond): beyond > 0,
            "hatched: no gate, or K not known": frame.share_lost > 0 and not frame.whole.broken,
            "hatched: no gate, or none that is smooth": frame.whole.broken > 0,
            "each λ is drawn to its own scale": picture.boxes_vary,
            "left open: farther than a million from the origin": picture.cut,
        }.items() if there)
        for beyond, frame in every
    ]  # fmt: skip


def _zero_text(frame: GateFrame, collapsed: bool) -> str:
    """What is to be known of K = 0 in the picture of a frame."""
    if frame.range is None:
        return "K is known nowhere"
    largest, missed = max(map(abs, frame.range)), _missed(frame)
    where = "at every grid point, not between them" if missed else "wherever it is known"
    if largest == 0:
        return f"K = 0 {where}"
    if collapsed:
        return f"grey: |K| is at most {short(largest)}{f' {where}' * missed}"
    return "black line: K = 0"


# --- The law at one point -------------------------------------------------------------------------


def _number(number: float) -> str:
    """A number within LaTeX, a power of ten where it would be long; no zero has a sign."""
    text = f"{number:z.4g}"
    digits, mark, power = text.partition("e")
    return rf"{digits}\cdot 10^{{{int(power)}}}" if mark else text


def _bracketed(number: float) -> str:
    text = _number(number)
    return rf"({text})" if number < 0 or "cdot" in text else text


def law_latex(at: theory.LawAtPoint) -> str:
    """The law with the numbers of one point in it."""
    top = rf"{_bracketed(at.rho.value)}^4 \cdot {_bracketed(at.hessian.value)}"
    squares = (at.rho_u, at.rho_v, at.foot)
    below = " + ".join(rf"{_bracketed(each.value)}^2" for each in squares)
    return rf"\small K = \frac{{{top}}}{{\left({below}\right)^2}}"


def readout(scalar: bool) -> list[tuple[str, list[str]]]:
    """What is read off under the pointer: the law with the numbers there, and K as measured."""
    return [*(BY_LAW if scalar else [("mean gate", ["gated_gate"])]), *MEASURED]


def law_rows(at: theory.LawAtPoint) -> dict[str, list[str]]:
    """The table of all numbers of a point with their bounds."""
    numbers = [getattr(at, name) for name in LAW_ROWS.values()]
    return {
        "Number": list(LAW_ROWS),
        "Value": [_ten_digits(each.value) for each in numbers],
        "Error at most": [error_text(each.error) for each in numbers],
    }


def law_sentence(at: theory.LawAtPoint) -> str:
    """What the sign of the Hessian's determinant says at a point."""
    hessian = at.hessian
    if not abs(hessian.value) > hessian.error:
        off, k_off = (abs(each.value) + each.error for each in (hessian, at.gaussian))
        if hessian.value == 0:
            return f"det Hess(1/g) is 0 here to within {error_text(off)}, and so is K."
        return (
            f"det Hess(1/g) is within {error_text(off)} of zero here, K within {error_text(k_off)}:"
            " their signs are inconclusive."
        )
    shape = "a bowl or a dome" if hessian.value > 0 else "a saddle"
    sign = "positive" if hessian.value > 0 else "negative"
    return f"1/g is {shape} here: det Hess(1/g) is {sign}, and so is K."

"""Sentences about gates, written from the numbers on the screen."""

from __future__ import annotations

from gating_core.theory import GateCase, LawAtPoint, WithError
from ui.common.words import beyond_text, error_text, percent, plus_minus, short
from ui.gates.frames import LAW_PARTS, Compared, GateFrame
from ui.gates.picture import GatePicture
from ui.gates.shipped import TileNumbers

ONE_VALUE = 1e-9  # relative: a range that is no longer is written as one number


def range_text(ends: tuple[float | None, float | None]) -> str:
    """The least and the largest K, as one number where three figures cannot tell them apart.

    An end that is nothing beside the other is written as 0: next to where K vanishes, that is.
    """
    least, largest = ends
    if least is None or largest is None:
        return "K not known"
    if largest - least <= ONE_VALUE * max(abs(least), abs(largest)):
        return f"K = {short(largest)}"
    nothing = ONE_VALUE * (largest - least)
    ends_text = [short(end) if abs(end) > nothing else "0" for end in (least, largest)]
    return f"K {' to '.join(ends_text)}"


def tile_line(numbers: TileNumbers) -> str:
    """What stands under a tile's name."""
    return f"{numbers.verdict}  \n{range_text((numbers.least, numbers.largest))}"


def caption(frame: GateFrame) -> str:
    """The verdict of one frame, and what it is said from."""
    return f"**{frame.verdict}** · {range_text(frame.range or (None, None))}{_doubt(frame)}"


def _doubt(frame: GateFrame) -> str:
    parts = ["" if frame.largest_error != frame.largest_error
             else f", each known to {error_text(frame.largest_error)} or better"]  # fmt: skip
    if frame.largest_bend == frame.largest_bend:
        parts.append(f" · |H| up to {short(frame.largest_bend)}")
    if frame.share_undecided > 0:
        parts.append(f" · undecided: {percent(frame.share_undecided)} of the area")
    if frame.share_lost:
        parts.append(f" · no gate on {percent(frame.share_lost)} of the chart")
    return "".join(parts)


def reading(frame: GateFrame, exact: str) -> str:
    """One paragraph: K in closed form, called ``exact``, and by the law, beside the measured."""
    parts = [f"**At λ = {frame.strength:.2f}** the sheet is **{frame.verdict}**."]
    if frame.exact is not None:
        parts.append(_exact_text(frame, frame.exact, exact))
    elif 0 < frame.strength < 1:
        parts.append("K has no closed form at this strength.")
    if frame.law is not None:
        name = "The law and the general geometry"
        parts.append(f"{name} {_agreement(frame.law)}.")
    else:
        parts.append("The law is for scalar gates; this one has a gate for each channel.")
    if frame.share_lost:
        parts.append(
            f"On {percent(frame.share_lost)} of the chart the formula is no gate (not positive, or"
            " not finite): hatched, and nothing is said there."
        )
    return " ".join(parts)


def _exact_text(frame: GateFrame, found: Compared, name: str) -> str:
    if found.constant and found.value == 0:
        return f"Exact K = 0 and the measured K {_agreement(found)}."
    where = "" if found.constant else " in the middle"
    measured = plus_minus(*frame.middle)
    return (
        f"Exact K{where} = {name if found.constant and frame.strength == 1 else ''}"
        f"{f'{found.value:.10g}'.replace('-', '−')}, measured {measured}: they {_agreement(found)}."
    )


def _agreement(found: Compared) -> str:
    """That two ways to K agree at every point, or that they do not, by how much."""
    if found.deviation != found.deviation:
        return "cannot be compared: no point is resolved"
    says = "agree at every resolved point" if found.agrees else "**do not agree**"
    return (
        f"{says}: largest difference {error_text(found.deviation) if found.deviation else '0'},"
        f" allowed there {error_text(found.allowed)}"
    )


def exact_name(case: GateCase, radius: float) -> str:
    """What the closed form of a case is called before its value."""
    if case.title == "sphere by gating":
        return f"1/r² = 1/{radius:g}² = "
    return "1/D = 1/3 = " if case.kind == "normalisation" else ""


def legend_note(picture: GatePicture, frames: tuple[GateFrame, ...]) -> str:
    """What the strip of colours and the pictures do not show by themselves."""
    low, high = picture.gate_scale.ends
    parts = ["black line: K = 0", f"gate: dark {short(low)}, bright {short(high)}"]
    if picture.scale.collapsed:
        parts[0] = "K = 0 wherever it is known"
    if picture.scale.soft is not None and not picture.scale.collapsed:
        parts.append(f"asinh scale, linear within ±{short(picture.scale.soft)}")
    if picture.scale.beyond > 0:
        parts.append(beyond_text(picture.scale.beyond))
    if any(frame.share_lost for frame in frames):
        parts.append("hatched: no gate, or K not known")
    if picture.boxes_vary:
        parts.append("each λ in a box of its own")
    if picture.cut:
        parts.append("left open: farther than a million from the origin")
    return " · ".join(parts)


# --- The law --------------------------------------------------------------------------------------

LAW = (
    r"K = \frac{\rho^4 \,\det\mathrm{Hess}\,\rho}"
    r"{\left(\rho_u^2 + \rho_v^2 + (\rho - u\rho_u - v\rho_v)^2\right)^2}"
)


def _number(number: float) -> str:
    """A number within LaTeX, a power of ten where it would be long; no zero has a sign."""
    text = f"{number:z.4g}"
    digits, mark, power = text.partition("e")
    return rf"{digits}\cdot 10^{{{int(power)}}}" if mark else text


def _bracketed(number: float) -> str:
    text = _number(number)
    return rf"({text})" if number < 0 or "cdot" in text else text


def law_latex(at: LawAtPoint) -> str:
    """The law with the numbers of one point in it."""
    top = rf"{_bracketed(at.rho.value)}^4 \cdot {_bracketed(at.hessian.value)}"
    squares = (at.rho_u, at.rho_v, at.foot)
    below = " + ".join(rf"{_bracketed(each.value)}^2" for each in squares)
    return rf"\small K = \frac{{{top}}}{{\left({below}\right)^2}}"


MEASURED = [("K measured", ["gated_gaussian"]), ("error", ["gated_error"]),
            ("|H|", ["gated_mean"])]  # fmt: skip
BY_LAW = [
    ("g", ["gated_gate"]),
    ("det Hess(1/g)", ["gated_law_hessian"]),
    ("K by the law = ({})⁴ · ({}) / ({})² = {}", [f"gated_law_{name}" for name in LAW_PARTS]),
]


def readout(scalar: bool) -> list[tuple[str, list[str]]]:
    """What is read off under the pointer: the law with the numbers there, and K as measured."""
    return [*(BY_LAW if scalar else [("mean gate", ["gated_gate"])]), *MEASURED]


def with_error(number: WithError) -> str:
    """A number with its bound."""
    return plus_minus(number.value, number.error)


LAW_ROWS = {  # of the table of numbers: a field of `LawAtPoint`
    "g (in force)": "gate",
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


def law_rows(at: LawAtPoint) -> dict[str, list[str]]:
    """The table of all numbers of a point with their bounds."""
    found: list[WithError] = [getattr(at, name) for name in LAW_ROWS.values()]
    return {
        "Number": list(LAW_ROWS),
        "Value": [f"{each.value:.10g}".replace("-", "−") for each in found],
        "Error at most": [error_text(each.error) if each.error > 0 else "0" for each in found],
    }


def law_sentence(at: LawAtPoint) -> str:
    """What the sign of the Hessian's determinant says at a point."""
    hessian = at.hessian
    if not abs(hessian.value) > hessian.error:
        off, k_off = (abs(each.value) + each.error for each in (hessian, at.gaussian))
        return (
            f"det Hess(1/g) is within {error_text(off)} of zero here, K within {error_text(k_off)}:"
            " no sign is known of either."
        )
    shape = "a bowl or a dome" if hessian.value > 0 else "a saddle"
    sign = "positive" if hessian.value > 0 else "negative"
    return f"1/g is {shape} here: det Hess(1/g) is {sign}, and K has its sign."


DERIVATION = (
    r"A point of the image is $Y = g\,(u, v, 1)$. With $m = (\rho_u, \rho_v, \rho - u\rho_u -"
    r" v\rho_v)$ one has $\langle Y, m\rangle = 1$ and $\langle Y_u, m\rangle = \langle Y_v,"
    r" m\rangle = 0$: $m$ is normal to the image. Differentiating once more, $\langle Y_{ab},"
    r" m\rangle = -\rho_{ab}/\rho$; and $\det(\text{metric}) = |m|^2/\rho^6$. The Gauss equation"
    r" $K = (n_{uu} n_{vv} - n_{uv}^2)/\det(\text{metric})$ with $n_{ab} = -\rho_{ab}/(\rho |m|)$"
    r" gives $K = \rho^4 \det\mathrm{Hess}\,\rho \,/\, |m|^4$: zero exactly where"
    r" $\det\mathrm{Hess}(1/g)$ is, and of its sign elsewhere."
)
ELEMENTWISE = (
    r"Each channel has a gate of its own, so that the law for scalar gates does not apply; K is"
    r" measured by the general geometry, $K = (\langle n_{uu}, n_{vv}\rangle - |n_{uv}|^2)/\det"
    r" g$."
)


def alt_text(case: GateCase, frame: GateFrame) -> str:
    """A picture in words."""
    return f"{case.title}: {frame.verdict}, {range_text(frame.range or (None, None))}."

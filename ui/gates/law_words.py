"""The law with the numbers of one point: as LaTeX, as a table, as a sentence, under the pointer."""

from __future__ import annotations

from gating_core.theory import LawAtPoint
from ui.common.words import error_text
from ui.gates.frames import LAW_PARTS


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


def law_rows(at: LawAtPoint) -> dict[str, list[str]]:
    """The table of all numbers of a point with their bounds."""
    numbers = [getattr(at, name) for name in LAW_ROWS.values()]
    return {
        "Number": list(LAW_ROWS),
        "Value": [f"{each.value:.10g}".replace("-", "−") for each in numbers],
        "Error at most": [error_text(each.error) for each in numbers],
    }


def law_sentence(at: LawAtPoint) -> str:
    """What the sign of the Hessian's determinant says at a point."""
    hessian = at.hessian
    if not abs(hessian.value) > hessian.error:
        off, k_off = (abs(each.value) + each.error for each in (hessian, at.gaussian))
        return (
            f"det Hess(1/g) is within {error_text(off)} of zero here, K within {error_text(k_off)}:"
            " their signs are not known."
        )
    shape = "a bowl or a dome" if hessian.value > 0 else "a saddle"
    sign = "positive" if hessian.value > 0 else "negative"
    return f"1/g is {shape} here: det Hess(1/g) is {sign}, and so is K."

"""A gallery of gates and their known curvature, the sphere by gating first, and gates for a shape.

All act on the sheet (u, v, 1) over [-1, 1]^2, and those of the gallery are formulas: one for a
scalar gate, three for one gate per channel. Where K is known in closed form it is given, derived by
hand and not from `curvature_formula`: for quadrics from their equation F = 0 by
K = grad F adj(Hess F) grad F / |grad F|^4
(Goldman, *Curvature formulas for implicit curves and surfaces*, CAGD 22, 2005).

A star-shaped surface is a radius R for every direction. The gate g = R(y/|y|) / |y| moves every
point y of the sheet along its ray to the surface: its image is the part of the shape that the
sheet covers, seen from the origin. A sigmoid gate lies in (0, 1), so that it
reaches exactly the shapes that lie between the origin and the sheet.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from gating_core.checks import check_choice, check_number
from gating_core.jets.bounded import Bounded
from gating_core.theory.curvature_formula import sheet
from gating_core.theory.formula import Formula, parse_formula

RADIUS_RANGE = (0.05, 20.0)
FIRST_RADIUS = 0.8
# A network of three tanh units, fitted to the values of the sphere's gate (Levenberg-Marquardt, at
# commit 538eb623), its weights rounded to hundredths.
LEARNED = (
    "sigmoid(1.13*tanh(0.85*u+1.36*v+1.01)+1.1*tanh(0.84-1.52*u)"
    "+1.13*tanh(0.85*u-1.36*v+1.01)-1.23)"
)
FIRST_FORMULA = "sigmoid(2*sin(2*u)*v)"
SEMI_AXES = (1.25, 0.75)  # of the ellipsoid, the third is 1; their squares are exact in float64
SHRINK = 0.2  # eps of the gate 1 - eps (u^2 + v^2)
Exact = Callable[[Bounded, Bounded], Bounded]  # K at coordinates u and v (N,)


@dataclass(frozen=True)
class GateCase:
    """A gate on the sheet (u, v, 1), its known curvature, and an explanation.

    ``formulas`` are one, or three: one for each channel. ``exact`` is K at full strength (at every
    strength if ``at_every_strength``), with its own rounding bound. ``why`` is a sentence.
    """

    title: str
    kind: str  # "scalar", "channelwise", "elementwise" or "normalisation"
    formulas: tuple[Formula, ...]
    why: str
    exact: Exact | None = None
    at_every_strength: bool = False

    @property
    def scalar(self) -> bool:
        """True if all channels have one gate, so that the formula for scalar gates applies."""
        return len(self.formulas) == 1

    def gate(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1) or (N, 3): the gate at chart points (N, 2)."""
        return torch.cat([formula(points) for formula in self.formulas], -1)

    def exact_at(self, strength: float) -> Exact | None:
        """K in closed form at a ``strength``; at 0 the sheet is flat."""
        if strength == 0:
            return _zero
        return self.exact if strength == 1 or self.at_every_strength else None


def _formulas(*texts: str) -> tuple[Formula, ...]:
    return tuple(map(parse_formula, texts))


# --- K in closed form -----------------------------------------------------------------------------


def _zero(u: Bounded, v: Bounded) -> Bounded:
    return Bounded(torch.zeros_like(u.value))


def _spherical(u: Bounded, v: Bounded, square: float, radius: float = 1.0) -> Bounded:
    """1 / (square radius^2)."""
    r = Bounded(torch.full_like(u.value, radius))
    return 1 / (square * (r * r))


def _ellipsoidal(u: Bounded, v: Bounded) -> Bounded:
    a2, b2 = (axis**2 for axis in SEMI_AXES)
    z2 = 1 / (u * u / a2 + v * v / b2 + 1)  # of the image, and so the gate's square
    level = z2 * (u * u / (a2 * a2) + v * v / (b2 * b2) + 1)
    return 1 / (a2 * b2 * (level * level))


def _hyperboloid(u: Bounded, v: Bounded) -> Bounded:
    """F = x^2 - y^2 + 3 z^2 - z, on which the gate 1 / (3 + u^2 - v^2) puts the sheet."""
    z = 1 / (3 + u * u - v * v)
    x, y, slope = 2 * (z * u), 2 * (z * v), 6 * z - 1  # of the gradient, up to the sign of y
    x2, y2, s2 = x * x, y * y, slope * slope
    size = x2 + y2 + s2
    return (12 * y2 - 12 * x2 - 4 * s2) / (size * size)


def _shrunk(u: Bounded, v: Bounded) -> Bounded:
    """The gate 1 - eps t, t = u^2 + v^2: a surface of revolution; 4 eps^2 at its tip."""
    t = u * u + v * v
    rho = 1 / (1 - SHRINK * t)
    lean = SHRINK * (t * rho)
    foot = 1 - 2 * lean
    normal = 4 * SHRINK * (lean * rho) + foot * foot
    square = 2 * SHRINK * (rho * rho)
    return square * square * (1 + 4 * lean) / (normal * normal)


def _monkey(u: Bounded, v: Bounded) -> Bounded:
    t, m = u * u + v * v, u * u * u - 3 * (u * v * v)
    rho, foot = 3 + m, 3 - 2 * m
    normal = 9 * (t * t) + foot * foot
    ratio = rho * rho / normal
    return -36 * (t * (ratio * ratio))


# --- Cases with parameters ------------------------------------------------------------------------


def sphere_case(radius: float = FIRST_RADIUS) -> GateCase:
    """The gate radius / |y|, which puts the sheet on a sphere about the origin."""
    check_number("radius", radius, *RADIUS_RANGE)
    return GateCase(
        "sphere by gating",
        "scalar",
        _formulas(f"{float(radius)!r}/sqrt(u^2+v^2+1)"),
        "Divided by its length, each point lands at one distance from 0: no paper covers a sphere.",
        partial(_spherical, square=1.0, radius=float(radius)),
    )


def own_case(text: str = FIRST_FORMULA) -> GateCase:
    """Build a case from a visitor's formula; `FormulaError` if it is not one."""
    return GateCase(
        "your own formula",
        "scalar",
        (parse_formula(text),),
        "K > 0 where 1/g is a bowl or a dome, K < 0 where a saddle, 0 where straight along a line.",
    )


# --- The gallery ----------------------------------------------------------------------------------

# Of u + v: with a gate of u alone the straight lines would be parallel, and the image a cylinder.
_OVER_ONE_COORDINATE = "sigmoid(2*(u+v))", "sigmoid(1-1.5*(u+v))", "sigmoid(u+v+0.5)"
_A, _B = SEMI_AXES

GALLERY: dict[str, GateCase] = {
    "constant": GateCase(
        "constant gate", "scalar", _formulas("0.6"),
        "One factor for all points: a smaller sheet, flat as before.",
        _zero, True,
    ),
    "channelwise": GateCase(
        "channelwise gate", "channelwise",
        _formulas("sigmoid(1.5*u)", "sigmoid(1-v)", "0.7"),
        "Each channel has a factor of its own along its axis: the grid is warped within one plane.",
        _zero, True,
    ),
    "projective": GateCase(
        "projective gate", "scalar", _formulas("1/(3+u+0.5*v)"),
        "1/g is affine: the factors project the sheet onto another plane, lines stay straight.",
        _zero, True,
    ),
    "one direction": GateCase(
        "gate of one coordinate", "scalar", _formulas("sigmoid(2*u+v)"),
        "The factor changes along one line: across it the sheet stays straight, rolled like paper.",
        _zero, True,
    ),
    "two directions": GateCase(
        "two directions, yet K = 0", "scalar", _formulas("1/(3+u^2+v)"),
        "The factor changes along two lines, but 1/g bends along one alone: the sheet is rolled.",
        _zero,
    ),
    "distance": GateCase(
        "gate of a distance", "scalar", _formulas("1/sqrt((u+1.6)^2+v^2)"),
        "1/g is the distance from a point outside: rays from it become the lines of a cylinder.",
        _zero,
    ),
    "ruled": GateCase(
        "elementwise gate of one coordinate", "elementwise", _formulas(*_OVER_ONE_COORDINATE),
        "Channels have factors of their own, equal along u + v = const: these lines stay, twisted.",
    ),
    "sphere": sphere_case(),
    "ellipsoid": GateCase(
        "ellipsoidal gate", "scalar", _formulas(f"1/sqrt((u/{_A})^2+(v/{_B})^2+1)"),
        "Pulled onto an ellipsoid: 1/g is a bowl, and K is largest where that is most pointed.",
        _ellipsoidal,
    ),
    "saddle": GateCase(
        "saddle gate", "scalar", _formulas("1/(3+u^2-v^2)"),
        "1/g rises along one line and falls along another: stretched into a hyperboloid, K < 0.",
        _hyperboloid,
    ),
    "bump": GateCase(
        "bump gate", "scalar", _formulas("0.4+0.5*exp(-3*(u^2+v^2))"),
        "The middle is pulled least: its top becomes a dome, K > 0, and its slope a saddle, K < 0.",
    ),
    "quadratic": GateCase(
        "quadratic gate", "scalar", _formulas(f"1-{SHRINK}*(u^2+v^2)"),
        f"Outer points are pulled more, into a cap: K = 4 eps² in its middle, with eps = {SHRINK}.",
        _shrunk,
    ),
    "monkey saddle": GateCase(
        "monkey saddle gate", "scalar", _formulas("1/(3+u^3-3*u*v^2)"),
        "1/g falls along three lines and rises between: K is zero at one point, and else negative.",
        _monkey,
    ),
    "learned": GateCase(
        "learned sigmoid gate", "scalar", _formulas(LEARNED),
        "The sphere's factors to within 0.03, learned by a sigmoid, but K has both signs.",
    ),
    "rms norm": GateCase(
        "no gate, but RMSNorm", "normalisation", _formulas("sqrt(3/(u^2+v^2+1))"),
        "Normalisation divides by the length, too: the sheet comes to lie on a sphere, K = 1/D.",
        partial(_spherical, square=3.0),
    ),
    "own": own_case(),
}  # fmt: skip


# --- Gates for a shape ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A star-shaped surface: ``radius`` maps unit vectors, (N, 1) thrice, to distances (N, 1)."""

    radius: Callable[..., torch.Tensor]
    why: str


SHAPES: dict[str, Shape] = {
    "sphere": Shape(lambda x, y, z: 1 + 0 * x, "all distances from the origin are equal"),
    "ellipsoid": Shape(
        lambda x, y, z: (x * x / 1.5625 + y * y / 0.5625 + z * z).rsqrt(),
        "semi-axes 1.25, 0.75 and 1",
    ),
    "bumpy sphere": Shape(
        lambda x, y, z: 1 + 0.12 * (torch.cos(x * 4) * torch.cos(y * 4)),
        "a sphere with waves in two directions",
    ),
    "rounded cube": Shape(
        lambda *d: torch.cat([(x * x) * (x * x) for x in d], -1).sum(-1, True).sqrt().rsqrt(),
        "the sum of fourth powers is constant",
    ),
    "saddle": Shape(  # of 1/g = 2.5 in its middle
        lambda x, y, z: z / (2.5 * z * z + x * x - y * y),
        "a piece of a hyperboloid of one sheet",
    ),
}


@dataclass(frozen=True)
class DesignedGate:
    """A callable (N, 2) -> (N, 1): the gate for ``size`` times the shape called ``name``."""

    name: str
    size: float = 1.0

    def __post_init__(self) -> None:
        check_choice("shape", self.name, SHAPES)
        check_number("size", self.size, 0.05, 5.0)

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1): the shape's radius over the sheet's distance from 0, at ``points`` (N, 2)."""
        y = sheet(points)
        over = (y * y).sum(-1, keepdim=True).rsqrt()
        return self.size * (SHAPES[self.name].radius(*(y * over).split(1, -1)) * over)

"""Is what is said of a whole chart true between the points, and said as it is known?"""

import mpmath
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.geometry.cells import BROKEN, OUTSIDE, Cells
from gating_core.geometry.grid import square_grid
from gating_core.geometry.verdict import PROVED
from gating_core.theory.enclosure import GateJudge
from gating_core.theory.expression import parts_of
from gating_core.theory.formula import FormulaError
from gating_core.theory.gallery import own_case
from gating_core.theory.measure import measure_gate
from gating_core.theory.whole_chart import (
    BENT,
    NEGATIVE,
    PLANE,
    POSITIVE,
    UNDECIDED,
)
from tests.core import exact
from tests.core.theory.test_formula import Exact
from tests.profiles import fuzz

GRID = square_grid(61)
COARSE = square_grid(9)

# --- Against 60 digits and more -------------------------------------------------------------------


def exact_sign(formula, u, v):
    """The sign of det Hess(1/g) at 200 digits; ``None`` where g is no gate or has no derivatives.

    Zero is what is nothing beside its own terms.
    """
    try:
        with mpmath.workdps(exact.DIGITS):
            values = [part.at(Exact, mpmath.mpf(u), mpmath.mpf(v))
                      for part in parts_of(formula.expression)]  # fmt: skip
        if any(isinstance(x, mpmath.mpc) for x in values):  # the absolute value of one is real
            return None
        rows = exact.jet(lambda m, u, v: [formula.expression.at(Exact, u, v)], u, v)
    except (ZeroDivisionError, ValueError, OverflowError, mpmath.libmp.ComplexResult):
        return None
    parts = [row[0] for row in rows]
    real = all(isinstance(x, mpmath.mpf) and mpmath.isfinite(x) for x in parts)
    if not real or not mpmath.mpf(10) ** -12 < parts[0] < mpmath.mpf(10) ** 12:
        return None
    with mpmath.workdps(exact.DIGITS):
        g, a, b, uu, uv, vv = parts
        terms = [g * uu * vv, -g * uv**2, -2 * a**2 * vv, 4 * a * b * uv, -2 * b**2 * uu]
        size = max(1, *(abs(x) for x in parts)) ** 3
        value = mpmath.fsum(terms)
        return 0 if abs(value) < size * mpmath.mpf(10) ** -50 else 1 if value > 0 else -1


SAYS = {POSITIVE: {1}, NEGATIVE: {-1}, PLANE: {0}, BENT: {0}}


def check_point(formula, whole, u, v):
    """A proved verdict is right at a point, unless that is where the gate is said to break."""
    judge = GateJudge(formula, 0.0, (formula,))
    cell = Cells(torch.tensor([[u, v]], dtype=torch.float64), torch.full((1, 2), 2.0**-9).double())
    (found,), _ = judge(cell)
    sign = exact_sign(formula, u, v)
    if sign is None or int(found) == BROKEN:
        return
    assert int(found) != OUTSIDE
    assert sign in SAYS[whole.word] | ({0} if whole.weak else set())


NUMBERS = st.sampled_from(["2", "3", "0.5", "0.1", "1.7", "pi", "5", "30"])
LEAVES = st.one_of(st.sampled_from(["u", "v", "u", "v", "(u+v)", "(u-0.3)", "(v-0.21)"]), NUMBERS)
PLAIN = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({}{}{})".format, inner, st.sampled_from("+-*/+*"), inner),
        st.builds("({})^{}".format, inner, st.sampled_from(["2", "3", "4", "0.5", "1.5", "-1"])),
        st.builds("{}({})".format, st.sampled_from(
            ["sin", "cos", "tan", "exp", "log", "sqrt", "sigmoid", "tanh", "abs"]), inner),
    ),
    max_leaves=6,
)  # fmt: skip
HARD = st.one_of(  # kinks, tears, peaks, and what repeats with a grid's step
    st.builds("1/(2+abs({0}-{1})+abs({2})*{3})".format, PLAIN, NUMBERS, PLAIN, NUMBERS),
    st.builds("2+abs({0}-0.01)/({0}-0.01)/2".format, PLAIN),
    st.builds("{2}+exp(-1e{3}*((u-0.{0})^2+(v-0.{1})^2))".format,
              st.integers(1, 99), st.integers(1, 99), NUMBERS, st.integers(1, 6)),
    st.builds("1/(2+(sin({0}*pi*u)*sin({0}*pi*v))^{1})".format,
              st.sampled_from([15, 30, 60]), st.sampled_from([1, 2, 4])),
    st.builds("1/({0}+({1})^2)".format, NUMBERS, PLAIN),
    st.builds("sigmoid({0})".format, PLAIN),
)  # fmt: skip
COORDINATES = st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(text=st.one_of(PLAIN, HARD), points=st.lists(st.tuples(COORDINATES, COORDINATES),
                                                    min_size=3, max_size=3))  # fmt: skip
@fuzz(100)
def test_no_formula_is_called_proved_against_a_point_of_60_digits(text, points):
    try:
        case = own_case(text)
    except FormulaError:
        return
    whole = measure_gate(case, 1.0, COARSE).whole
    assert (whole.knowledge is None) == (whole.word == UNDECIDED)
    if whole.knowledge == PROVED:
        for u, v in points:
            check_point(case.formulas[0], whole, u, v)

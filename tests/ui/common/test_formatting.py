"""Sentences say what the numbers say."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gating_core import numerals
from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import build_attention
from gating_core.experiments.comparison.frames import cut_of
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.keys import OneSign
from gating_core.geometry.surface import measure_surface
from gating_core.training.trained import MeanInterval
from tests.each import each
from ui.common import formatting


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.57039, 0.00059, "1.5704 ± 0.0006"),
        (73.21, 4.04, "73.2 ± 4.1"),  # 5 would add a quarter to it,
        (3.0, 0.0, "3"),
        (1.4, 1.3, "1.4 ± 1.3"),  # to one figure the error would be the larger
        (-0.04, 0.002, "−0.040 ± 0.002"),
        (1234567.0, 300000.0, "1.2e6 ± 3e5"),
        (1.23456789, 3e-25, "1.23457 (error below 3e-25)"),
        (399.0, 20000.0, "between −20000 and 21000"),
        (float("nan"), 1.0, "undetermined"),
        (1.0, float("inf"), "undetermined"),
    ],
)
def test_errors_are_rounded_up_to_what_adds_little(value, error, text):
    assert formatting.plus_minus(value, error) == text


def test_what_cannot_be_negative_is_at_most_so_much():
    assert formatting.plus_minus(399.0, 20000.0, least=0.0) == "at most 21000"
    assert formatting.plus_minus(0.0, 4e9, least=0.0) == "at most 4.0e9"
    assert formatting.plus_minus(4.21, 0.02, least=0.0) == "4.21 ± 0.02"


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.888, 0.006, "88.8 ± 0.6\u00a0%"),
        (0.97, 0.05, "97\u00a0% (92 to 100\u00a0%)"),  # no accuracy is 102 %
        (0.02, 0.03, "2\u00a0% (0 to 5\u00a0%)"),
        (1.0, 0.0, "100\u00a0%"),
        (0.5, math.nan, "50\u00a0%"),  # of one seed
    ],
)
def test_an_accuracy_and_its_interval_stay_within_what_can_be(mean, half, text):
    assert formatting.accuracy_text(MeanInterval(mean, half)) == text


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.176, 0.0371, "**The gate helps by 17.6 ± 3.8 points**, paired over 16 seeds"),
        (-0.031, 0.01, "**The gate hurts by 3.1 ± 1.0 points**, paired over 16 seeds"),
        (0.012, 0.0179, "**No significant difference** (16 seeds): 1.2 ± 1.8 points, paired"),
    ],
)
def test_a_paired_difference_says_that_it_is_paired(mean, half, text):
    assert formatting.paired_text(MeanInterval(mean, half), 16, "the gate") == text


FINITE = st.floats(allow_nan=False, allow_infinity=False)
SIZES = st.floats(0, allow_nan=False, allow_infinity=False)
NUMBER = r"−?\d+(?:\.\d+)?(?:e-?\d+)?"


def read(text):
    """The numbers in a text, exactly."""
    return [Fraction(found.replace("−", "-")) for found in re.findall(NUMBER, text)]


def assert_readable(text, length):
    assert len(text) <= length
    assert "nan" not in text.lower()
    assert "inf" not in text.lower()
    assert "--" not in text
    for number in re.findall(NUMBER, text):
        digits, _, power = number.partition("e")
        figures = digits.removeprefix("−").removeprefix("0")  # the zero before a point is none
        assert sum(map(str.isdigit, figures)) <= numerals.FIGURES
        assert Fraction(digits.replace("−", "-")) or "−" not in digits, "a minus before a zero"
        assert not power or Fraction(digits.replace("−", "-"))


@given(value=FINITE, error=SIZES, positive=st.booleans())
@example(value=399.0, error=20000.0, positive=True)
@example(value=-0.0, error=5e-324, positive=False)
@example(value=0.5, error=1.4e-306, positive=False)
@example(value=1.0, error=1e100, positive=True)
@example(value=1.0, error=1e100, positive=False)
@example(value=1.7976931348623157e308, error=1.7976931348623157e308, positive=False)
def test_every_number_with_its_error_can_be_read_and_reads_back(value, error, positive):
    value = abs(value) if positive else value
    text = formatting.plus_minus(value, error, 0.0 if positive else -math.inf)
    assert_readable(text, 36)
    exact, doubt = Fraction(repr(value)), Fraction(repr(error))
    found = read(text)
    if "±" in text:
        assert doubt <= found[1] < abs(found[0])
        assert abs(found[0] - exact) <= found[1]
        assert error < abs(value)
        assert found[1] <= doubt * Fraction(11, 10)
    elif "error below" in text:
        assert doubt <= found[1]
        assert abs(found[0] - exact) <= abs(exact) * Fraction(1, 10**5)
    elif "between" in text:
        assert found[0] <= exact - doubt
        assert exact + doubt <= found[1]
        assert found[1] - found[0] <= 2 * doubt * Fraction(5, 4)
    elif "at most" in text:
        assert positive
        assert exact + doubt <= found[0]
        assert error >= value
    else:
        assert error == 0


@given(FINITE)
@example(-0.0)
@example(-1e-300)
@example(99999.7)
def test_every_short_number_can_be_read_and_reads_back(x):
    text = formatting.short(x)
    assert_readable(text, 11)
    assert abs(read(text)[0] - Fraction(repr(x))) <= abs(Fraction(repr(x))) / 200


@given(SIZES)
def test_every_error_is_rounded_up_to_one_figure(x):
    assert formatting.error_text(math.inf) == "no bound"
    text = formatting.error_text(x)
    assert_readable(text, 8)
    (found,) = read(text)
    assert Fraction(repr(x)) <= found <= 2 * Fraction(repr(x))


@given(st.floats(0, 1))
@example(0.4625)
@example(1e-17)
@example(1 - 1e-16)
def test_every_share_is_the_nearest_percent_and_never_none_or_all_of_what_is_not(share):
    text = formatting.percent(share)
    (found,) = read(text.replace("\u00a0%", ""))
    assert_readable(text, 16)
    if text.startswith("less"):
        assert 0 < share < 0.01
    elif text.startswith("more"):
        assert 0.99 < share < 1
    else:
        assert abs(found - 100 * Fraction(share)) <= Fraction(1, 2)
        assert (found == 0, found == 100) == (share == 0, share == 1)


@pytest.mark.parametrize(
    ("share", "text"),
    [(-1e-17, "0\u00a0%"), (-0.0, "0\u00a0%"), (math.nan, "undetermined"), (0.271, "27\u00a0%")],
)
def test_shares_that_rounding_has_moved(share, text):
    assert formatting.percent(share) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [(4.1e40, "4.10e40"), (7976.2, "7976"), (9.996, "10.0"), (0.03, "0.0300"), (-2e-7, "-2.00e-7"),
     (0, "0"), (math.nan, "nan")],
)  # fmt: skip
def test_numbers_with_all_their_figures(x, text):
    assert formatting.figures(x) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.5, "0.5"),
        (2000.0, "2000"),
        (1e-5, "10<sup>−5</sup>"),
        (2e12, "2·10<sup>12</sup>"),
    ],
)
def test_numbers_on_an_axis(x, text):
    assert formatting.tick_text(x) == text


def integral(value, error, *flags):
    return Integral(*(torch.tensor(x) for x in (value, error, *(flags or (True,)))))


@pytest.mark.parametrize(
    ("total", "flat", "text"),
    [
        (integral(0.0, 1e-9), True, "0"),
        (integral(4.21, 0.02), False, "4.21 ± 0.02"),
        (integral(4.21, 0.02, False), False, "at least 4.21 ± 0.02"),
        (integral(4.21, 0.02, True, False), False, "4.21 ± 0.02"),
        (integral(4.0, 3.0), False, "undetermined"),
        (integral(4.0, 28672.0), False, "undetermined"),
    ],
)
def test_totals_carry_their_doubt(total, flat, text):
    assert formatting.total_text(total, flat) == text


@pytest.mark.parametrize(
    ("total", "flat", "text"),
    [
        (integral(7.0, 3.0, False), False, "at least 7 ± 3, not converged to 10\u00a0%"),
        (integral(7.0, 0.5), False, "7.0 ± 0.5"),
        (integral(7.0, 5.0), False, "undetermined"),
        (integral(7.0, 3.0), True, "0"),
    ],
)
def test_a_settled_total_that_is_not_sure_says_so(total, flat, text):
    assert formatting.final_total_text(total, flat) == text


@pytest.mark.parametrize(
    ("total", "flat", "text"),
    [
        (integral(1.18268, 0.00061), False, "1.18"),
        (integral(18.3, 0.45), False, "18"),  # an error of 0.45 leaves no tenth
        (integral(0.0517, 0.0008), False, "0.052"),
        (integral(9.996, 0.001), False, "10.0"),
        (integral(7.0, 0.5), False, "7.0 ± 0.5"),
        (integral(4.21, 0.02, False), False, "at least 4.21 ± 0.02"),
        (integral(4.21, 0.001), True, "0"),
    ],
)
def test_a_headline_has_the_figures_that_its_error_leaves(total, flat, text):
    assert formatting.headline_text(total, flat) == text


FLAT, TORUS, BENT = (
    measure_surface(SURFACES[name].chart, square_grid(21))
    for name in ("warped plane", "torus", "cylinder")
)
ESTIMATED = measure_surface(SURFACES["cylinder"].chart, square_grid(21), bound="estimate")
# As where three of four keys are collinear: K = 0 is proved, and a bound says that it bends.
KEYS = replace(BENT, signs=(OneSign(0, "three of the four keys are collinear"),))
PROVED = measure_surface(build_attention(AttentionConfig(), (3,)), square_grid(9))
FOUR = measure_surface(build_attention(AttentionConfig(value_count=4), (0,)), square_grid(9))
LOST = replace(FLAT, gaussian_error=np.full_like(FLAT.gaussian_error, 1e6))


def test_doubt_is_written_from_the_field():
    doubt = formatting.doubt_text
    assert doubt(integral(0.0, 1e-9), FLAT.verdicts[0]) == (
        "no curvature beyond rounding error, seen at 882 points, not proved"
    )
    assert doubt(integral(0.0, 0.0), PROVED.verdicts[0]) == (
        "flat (proved: it lies in the plane of three fixed values)"
    )
    assert doubt(integral(0.0, 0.0), KEYS.verdicts[0]).startswith("bent, not curved (proved")
    assert "flat" not in doubt(integral(4.0, 0.1), TORUS.verdicts[0])
    assert "lower estimate" in doubt(integral(4.0, 0.1, False), TORUS.verdicts[0])
    assert "folds too sharply" in doubt(integral(4.0, 3.0), TORUS.verdicts[0])


def test_one_verdict_for_sentence_point_and_shares():
    """The same word everywhere, and shares that add up to one."""
    for surface, word, start in (
        (FLAT, "flat", "without curvature (seen at 882 points, not proved)"),
        (PROVED, "flat", "flat (proved"),
        (BENT, "bent, not curved", "bent, without curvature (seen at 882 points, not proved)"),
        (ESTIMATED, "bent, not curved", "without curvature (seen at 882 points, not proved)"),
        (KEYS, "bent, not curved", "bent, not curved (proved: three of the four keys are coll"),
        (TORUS, "curved", "curved, established at the sample points: "),
        (LOST, "undetermined", "undetermined"),
        (FOUR, "curved", "curved: K < 0 on the whole chart (proved: the four keys are in"),
    ):  # fmt: skip
        (verdict,) = surface.verdicts
        assert verdict.word == word
        assert formatting.verdict_text(verdict).startswith(start)
        shares = verdict.positive, verdict.negative, verdict.flat, verdict.undetermined
        assert sum(shares) == pytest.approx(1, abs=1e-12)
        assert (verdict.flat == 1) == (word in ("flat", "bent, not curved"))
        assert (verdict.undetermined == 1) == (word == "undetermined")
        assert np.isnan(surface.known).all() == (word == "undetermined")
    assert formatting.curvature_text(FLAT, (0, 3, 4)) == "0"
    for surface in (PROVED, KEYS):
        assert formatting.curvature_text(surface, (0, 3, 4)) == "0 (proved)"
    assert formatting.curvature_text(LOST, (0, 3, 4)).startswith("undetermined: |K| at most 1")
    assert "±" in formatting.curvature_text(
        TORUS, (0, 3, 4)
    ) or "error" in formatting.curvature_text(TORUS, (0, 3, 4))


@pytest.mark.parametrize(
    ("mean", "half", "start"),
    [
        (0.19, 0.03, "**Tanh gate helps by 19.0 ± 3.0 points**, against no gate"),
        (-0.05, 0.01, "**Tanh gate hurts by 5.0 ± 1.0 points**"),
        (-0.01, 0.02, "**No significant difference** between tanh gate and no gate (16 seeds): −1"),
    ],
)
def test_differences_are_read_with_their_interval(mean, half, start):
    said = formatting.difference_text(MeanInterval(mean, half), 16, "tanh gate", "no gate")
    assert said.startswith(start)


@given(st.floats(-1, 1), st.floats(0, 1))
def test_nothing_helps_or_hurts_where_the_printed_interval_touches_zero(mean, half):
    said = formatting.difference_text(MeanInterval(mean, half), 16, "the gate", "no gate")
    ((value, error),) = re.findall(r"([−\d.]+) ± ([\d.]+) points", said)
    size, error = abs(float(value.replace("−", "-"))), float(error)
    assert ("helps" in said or "hurts" in said) == (size > error)
    assert abs(size - abs(100 * mean)) <= 0.05 + 1e-9
    assert -1e-9 <= error - 100 * half <= 0.1 + 1e-9


U, V = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41))


@pytest.mark.parametrize(
    ("margin", "text"),
    [
        (U * U + V * V - 0.3, "a closed loop"),
        (U + 0.3 * V, "an open line"),
        (U * U - 0.2, "2 open lines"),
        (1 + 0 * U, "nothing at all"),
        (np.minimum((U - 0.5) ** 2, (U + 0.5) ** 2) + V * V - 0.1, "2 closed loops"),
        ((U * U + V * V - 0.1) * (U - 0.7), "a closed loop and an open line"),
    ],
)
def test_cuts_are_counted(margin, text):
    assert cut_of(margin, np.linspace(-1, 1, len(margin))).text == text


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
@example(1.0, 1e-300)
@example(0.0, 5e-324)
def test_an_interval_is_rounded_outwards(low, width):
    high = low + width
    text = formatting.between_text(low, high)
    if low == high:
        return
    ends = [Fraction(end.replace("−", "-")) for end in re.findall(r"−?[\d.]+(?:e-?\d+)?", text)]
    assert ends[0] <= Fraction(low)
    assert Fraction(high) <= ends[1]
    slack = max(Fraction(high) - Fraction(low), Fraction(max(abs(low), abs(high))) / 10**4)
    assert ends[1] - ends[0] <= Fraction(high) - Fraction(low) + slack


@each([(1.18286, 1.18289, "between 1.18286 and 1.18289"), (0.0, 0.123, "at most 0.13"),
       (1e-9, 170.3, "at most 180"), (0.4912, math.inf, "at least 0.491"),
       (0.0, math.inf, formatting.UNKNOWN), (2.0, 2.0, "2")])  # fmt: skip
def test_an_interval_of_what_is_not_negative(low, high, text):
    assert formatting.between_text(low, high, least=0.0) == text


@pytest.mark.parametrize(("mean", "half", "none", "said"), [
    (-0.02, 0.01, 0.0, "**A gate reduces the loss**"),
    (0.02, 0.01, 0.0, "**A gate increases the loss**"),
    (-0.02, 0.03, 0.0, "**The effect of a gate on the loss is inconclusive**"),
    (0.02, 0.02, 0.0, "**The effect of a gate on the loss is inconclusive**"),
    (0.9, 0.05, 1.0, "**A gate reduces the loss**"),
    (1.1, 0.05, 1.0, "**A gate increases the loss**"),
    (1.1, 0.2, 1.0, "**The effect of a gate on the loss is inconclusive**"),
])  # fmt: skip
def test_an_effect_is_told_only_beyond_its_interval(mean, half, none, said):
    assert formatting.effect(MeanInterval(mean, half), "a gate", "the loss", none) == said

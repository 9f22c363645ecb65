"""Do the sentences say what the numbers say?"""

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.experiments.comparison.frames import cut_of
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import measure_surface
from gating_core.training.trained import MeanInterval
from ui.common import words


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.57039, 0.00059, "1.5704 ± 0.0006"),
        (4.2065, 0.0238, "4.21 ± 0.03"),
        (22.31, 2.04, "22 ± 3"),
        (1234.0, 96.0, "1234 ± 100"),
        (0.5, 0.00999, "0.50 ± 0.01"),
        (4.7449, 0.0912, "4.7 ± 0.1"),
        (4.7449, 0.0021, "4.745 ± 0.003"),
        (512.3, 30, "512 ± 30"),
        (3.0, 0.0, "3"),
        (float("nan"), 1.0, "not a number"),
        (1.0, float("inf"), "not a number"),
    ],
)
def test_errors_are_rounded_up_to_one_figure(value, error, text):
    assert words.plus_minus(value, error) == text


@pytest.mark.parametrize(("number", "text"), [(3.2e-13, "1e-12"), (1e-12, "1e-12"), (0.02, "1e-1")])
def test_powers_of_ten_are_rounded_up(number, text):
    assert words.power_of_ten(number) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (2.1e-25, "3e-25"),
        (0.02, "0.02"),
        (0.096, "0.1"),
        (9.5e-9, "1e-8"),
        (0.0, "0"),
        (float("inf"), "inf"),
    ],
)
def test_errors_are_rounded_up(error, text):
    assert words.error_text(error) == text


@pytest.mark.parametrize(
    ("x", "text"), [(4.1e40, "4.1e40"), (7976.2, "7976"), (1.5, "1.50"), (-2e-7, "-2e-7"), (0, "0")]
)
def test_numbers_with_all_their_figures(x, text):
    assert words.figures(x) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.5, "0.5"),
        (20.0, "20"),
        (2000.0, "2000"),
        (1e-5, "10<sup>−5</sup>"),
        (2e12, "2·10<sup>12</sup>"),
    ],
)
def test_numbers_on_an_axis(x, text):
    assert words.tick_text(x) == text


def integral(value, error, complete=True):
    return Integral(*(torch.tensor(x) for x in (value, error, complete)))


@pytest.mark.parametrize(
    ("total", "flat", "text"),
    [
        (integral(0.0, 1e-9), True, "0"),
        (integral(4.21, 0.02), False, "4.21 ± 0.02"),
        (integral(4.21, 0.02, False), False, "at least 4.21 ± 0.02"),
        (integral(4.0, 3.0), False, "not settled"),
        (integral(4.0, 28672.0), False, "not settled"),
    ],
)
def test_totals_carry_their_doubt(total, flat, text):
    assert words.total_text(total, flat) == text


def test_doubt_is_written_from_the_field():
    flat = measure_surface(SURFACES["warped plane"].chart, square_grid(21))
    curved = measure_surface(SURFACES["torus"].chart, square_grid(21))
    assert "flat to rounding" in words.total_doubt(integral(0.0, 1e-9), flat, 0)
    assert "flat" not in words.total_doubt(integral(4.0, 0.1), curved, 0)
    assert "lower estimate" in words.total_doubt(integral(4.0, 0.1, False), curved, 0)
    assert "folds too sharply" in words.total_doubt(integral(4.0, 3.0), curved, 0)


@pytest.mark.parametrize(
    ("mean", "half", "start"),
    [
        (0.19, 0.03, "**Tanh gate helps by 19.0 ± 3.0 points**, against no gate"),
        (-0.05, 0.01, "**Tanh gate hurts by 5.0 ± 1.0 points**"),
        (0.0404, 0.0396, "**No difference that 16 seeds can show**"),  # 4.0 ± 4.0
        (0.0412, 0.0396, "**Tanh gate helps by 4.1 ± 4.0 points**"),
        (0.01, 0.02, "**No difference that 16 seeds can show** between tanh gate and no gate"),
        (
            -0.01,
            0.02,
            "**No difference that 16 seeds can show** between tanh gate and no gate: −1.0",
        ),
        (0.0, 0.0, "**No difference that 16 seeds can show**"),
    ],
)
def test_differences_are_read_with_their_interval(mean, half, start):
    said = words.difference_text(MeanInterval(mean, half), 16, "tanh gate", "no gate")
    assert said.startswith(start)


@given(st.floats(-1, 1), st.floats(0, 1))
def test_nothing_helps_or_hurts_where_the_printed_interval_touches_zero(mean, half):
    said = words.difference_text(MeanInterval(mean, half), 16, "the gate", "no gate")
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

"""Points and numbers of a link are read as browsers write them."""

import pytest

from ui.common.links import GRID_SIZE, parse_numbers, parse_pick


@pytest.mark.parametrize("text", ["", "1", "1.", ".1", "1.2.3", "-1.2", "a.b", "1e1.2", "²." "3",
                                  f"{GRID_SIZE}.0", "9" * 5000 + ".1"])  # fmt: skip
def test_points_that_are_none(text):
    assert parse_pick(text) is None


def test_points_of_the_grid():
    assert parse_pick("0.60") == (0, 60)
    assert parse_pick("0.60", 31) is None


@pytest.mark.parametrize(
    "text", ["", "a", "1,", "1;2", "nan", "1,inf", "1e999", "1_0", "1, +2", "１"]
)
def test_numbers_that_are_none(text):
    assert parse_numbers(text) is None


def test_numbers():
    assert parse_numbers(" 1, -2.5,3e-1") == (1.0, -2.5, 0.3)

"""Is everything a link can say either used or named?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.links import GRID_SIZE, PARAMETERS, link_problems, parse_pick

GOOD = {
    "gated": "false", "strength": "0.35", "task": "moons", "depth": "3", "gate": "headwise",
    "seed": "7", "colour": "curvature", "explore": "true", "pick": "20.30",
}  # fmt: skip
BAD = {
    "gated": "maybe", "strength": "1.5", "task": "spiral of death", "depth": "9", "gate": "ungated",
    "seed": "-1", "colour": "rainbow", "explore": "2", "pick": "61.3",
}  # fmt: skip


def test_every_parameter_has_an_example():
    assert set(GOOD) == set(BAD) == set(PARAMETERS)


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_good_values_are_quiet_and_bad_ones_get_one_sentence(name):
    assert link_problems({name: [GOOD[name]]}) == []
    (problem,) = link_problems({name: [BAD[name]]})
    assert f"`{name}`" in problem
    assert BAD[name] in problem
    assert "Shown instead" in problem


@given(st.dictionaries(st.sampled_from(sorted(PARAMETERS)), st.lists(st.text(), max_size=3)))
def test_no_link_is_too_strange(parameters):
    for problem in link_problems(parameters):
        assert len(problem) < 300


@pytest.mark.parametrize("text", ["", "1", "1.", ".1", "1.2.3", "-1.2", "a.b", "1e1.2", "²." "3",
                                  f"{GRID_SIZE}.0", "9" * 5000 + ".1"])  # fmt: skip
def test_points_that_are_none(text):
    assert parse_pick(text) is None


def test_points_of_the_grid():
    assert parse_pick("0.60") == (0, 60)

"""A test for many cases runs them all and names those that fail."""

import pytest

from tests.each import each


def test_all_cases_run_and_each_that_fails_is_named():
    seen = []

    def is_small(number, limit):
        seen.append(number)
        assert number < limit

    each([(1, 3), (2, 3)])(is_small)()
    with pytest.raises(AssertionError) as one:
        each([(1, 3), (4, 3), (2, 3)])(is_small)()
    assert one.value.__notes__ == ["This was the case (4, 3)."]
    with pytest.raises(ExceptionGroup, match="2 of 3 cases"):
        each([(5, 3), (4, 3), (2, 3)])(is_small)()
    assert seen == [1, 2, 1, 4, 2, 5, 4, 2]

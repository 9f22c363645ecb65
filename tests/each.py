"""One test for many quick cases: to report each as a test would take longer than to run it."""

from collections.abc import Callable, Iterable
from typing import Any


def each(cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make a test that runs for all ``cases``, and names those it fails for.

    A case that is a tuple is the test's arguments, any other one its only argument::

        @each([("landing", "seed"), ("manifold", "grid")])
        def test_a_parameter(page, name): ...
    """

    cases = list(cases)
    assert cases

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            failures = []
            for case in cases:
                try:
                    test(*case) if isinstance(case, tuple) else test(case)
                except AssertionError as error:
                    error.add_note(f"This was the case {case!r}.")
                    failures.append(error)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(cases)} cases", failures)

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorate

"""How many examples tests with Hypothesis try: few in `make test`, many in `make soak`.

A property (`@given` alone) is tried 15 times, in `make soak` 250 times. Whatever anybody may put
into a link or a file is `@fuzz()`: 30 times, in `make soak` 10,000 times.
"""

import os

from hypothesis import HealthCheck, settings

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"


def load_profile() -> None:
    """Make the profile that the environment names the one of all tests."""
    common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
    settings.register_profile("default", max_examples=15, derandomize=True, **common)
    settings.register_profile("soak", max_examples=250, **common)
    settings.load_profile("soak" if SOAK else "default")


def fuzz(examples: int = 30, *, soak: int = 10_000) -> settings:
    """Settings of a fuzz test: how many examples, and how many in `make soak`."""
    return settings(max_examples=soak if SOAK else examples)

"""Settings shared by all tests."""

import os

import torch
from hypothesis import HealthCheck, settings

# pytest-xdist runs several processes: one torch thread in each.
torch.set_num_threads(1)

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("default", max_examples=25, derandomize=True, **_COMMON)
settings.register_profile("soak", max_examples=10_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

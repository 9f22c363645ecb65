"""How does each of our processes behave: threads, garbage collection?

Imported once, before anything is computed.
"""

from __future__ import annotations

import gc

import torch
from threadpoolctl import threadpool_limits

import gating_core  # noqa: F401  (heavy imports come before the freeze below)

# Sessions are threads of one process, workers are many: more threads of torch or of BLAS would only
# fight for the cores (two of BLAS, waiting for each other, doubled the cost of a picture).
torch.set_num_threads(1)
threadpool_limits(1)


# Streamlit collects garbage fully after every run. What the imports made never becomes garbage.
gc.collect()


gc.freeze()

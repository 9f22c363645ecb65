"""Does the quick study run from the command line, and are its theorems true in it?"""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from gating_core.claims import SELECTIONS, Store

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 300  # on a machine that does something else, too: it takes less than 30


def test_the_quick_study_is_complete_and_its_theorems_hold(path):
    words = (sys.executable, "-m", "gating_core.claims", "run", "--quick", "--json", "--store")
    done = subprocess.run([*words, str(path)], cwd=ROOT, text=True, timeout=SECONDS,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr  # no cluster's chatter
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[-1]["complete"]
    assert all(one["done"] <= other["done"] for one, other in pairwise(told))
    with Store(path, readable=True) as store:
        models, stacks = store.models(), store.stacks()
    assert len(models) == SELECTIONS["quick"].size.models
    assert not [row.error for row in models if row.error]
    ungated = [row for row in models if row.variant == "ungated"]
    assert all(row.chart_flat and row.flat and row.total_curvature == 0 for row in ungated)  # C1
    gated = [row for row in models if row.variant in ("sigmoid", "silu")]
    positive = [row for row in gated if row.chart_positive_share > 0]
    assert len(positive) > len(gated) / 2  # C2
    assert sum(bool(row.chart_flat) for row in gated) < len(gated) / 10
    for seed in range(16):  # C7
        fitted = [row for row in stacks if row.seed == seed and row.small]
        depths = np.log([row.depth for row in fitted])
        for name, exponent, slack in (("centre_curvature", 2, 0.02), ("proxy", 1, 0.05)):
            sizes = np.log([getattr(row, name) for row in fitted])
            assert abs(np.polyfit(depths, sizes, 1)[0] - exponent) <= slack

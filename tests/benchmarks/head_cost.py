"""Seconds of the processor and memory for the heads of a published model, against their goals.

Weights and states are random, of the sizes of all-MiniLM-L6-v2 and of a head of Llama: the sizes
alone matter. From a text's states to total curvature with its bound, planes included. Memory is the
peak of the process, its imports included.
"""

from __future__ import annotations

import resource
import time

import numpy as np
import torch

from gating_core.checkpoints import Layer, head_map, measure_head, principal_plane
from gating_core.geometry.grid import square_grid
from tests.benchmarks.table import Row, significant
from tests.benchmarks.timing import spread

ROUNDS = 3
CASES = {  # layers, heads, D, d, n, points along a side; seconds and GB at most
    "72 heads of MiniLM's size": ((6, 12, 384, 32, 64, 31), 4.0, 0.5),
    "a head of Llama's size": ((1, 1, 4096, 128, 512, 61), 2.0, 2.0),
}


def rows(process: str) -> list[Row]:
    """Both cases, the smaller first: the peak of memory only grows."""
    torch.set_num_threads(1)
    return [row for name in CASES for row in _rows(name)]


def _rows(name: str) -> list[Row]:
    (layers, heads, width, channels, keys, side), most_seconds, most_gb = CASES[name]
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    shape = heads, channels, width
    scale = width**-0.5
    parts = [
        (Layer(number, "bert", normal(*shape) * 2 * scale, normal(*shape) * 2 * scale,
               normal(*shape) * scale, causal=False), normal(keys, width))
        for number in range(layers)
    ]  # fmt: skip
    grid, seconds = square_grid(side), []
    for _ in range(ROUNDS):
        start = time.process_time()
        for layer, states in parts:
            plane = principal_plane(states)
            for head in range(heads):
                measure_head(head_map(layer, states, head, plane), grid)
        seconds.append(time.process_time() - start)
    taken = np.array(seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kB on Linux
    sizes = f"N {side}², D {width}, d {channels}, n {keys}"
    return [
        Row(name, f"{significant(float(np.median(taken)))} s", "goal", f"{most_seconds:g} s",
            spread(taken / most_seconds), sizes, goal=1.0),
        Row(f"{name}: memory", f"{peak:.2f} GB", "goal", f"{most_gb:g} GB",
            spread(np.array([peak / most_gb])), sizes, goal=1.0),
    ]  # fmt: skip

"""Random numbers: one generator per (seed, name), never a global state.

Two models that share a parameter's name and a seed share that parameter bit for bit, whatever
else they contain and however many are made together.
"""

from __future__ import annotations

import hashlib

import torch


def generator(seed: int, name: str) -> torch.Generator:
    """A fresh ``torch.Generator`` that depends on nothing but ``seed`` and ``name``."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def normal(seeds: tuple[int, ...], name: str, shape: tuple[int, ...], scale: float) -> torch.Tensor:
    """(S, *shape) float64: independent normals with standard deviation ``scale``."""
    draws = {
        seed: torch.randn(shape, generator=generator(seed, name), dtype=torch.float64)
        for seed in set(seeds)
    }
    return torch.stack([draws[seed] for seed in seeds]) * scale

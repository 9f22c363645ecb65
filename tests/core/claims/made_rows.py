"""Rows as a study could have found them, made from numbers whose truth is known."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from gating_core.claims.models import ModelRow, StackRow

TASKS = ("linear", "offset", "xor", "circle", "spiral")
VARIANTS = ("ungated", "sigmoid", "matched", "additive")
SEEDS = range(16)
BLANK = ModelRow(
    key="",
    code="c0de",
    part="base",
    task="",
    variant="",
    source="memory",
    depth=1,
    values=3,
    model_dim=8,
    seed=0,
    together=64,
    steps=400,
    parameters=100,
    train_accuracy=0.8,
    test_accuracy=0.8,
    train_loss=0.4,
    test_loss=0.4,
    total_curvature=1.0,
    total_error=0.0,
    total_complete=True,
    positive_curvature=0.5,
    flat=False,
    positive_share=0.5,
    negative_share=0.5,
    undecided_share=0.0,
    resolved_share=1.0,
    largest_curvature=1.0,
    largest_bound=1e-9,
    chart_flat=False,
    chart_largest=1.0,
    chart_bound=1e-9,
    chart_positive_share=0.5,
    proxy=1.0,
    normalised_proxy=1.0,
    seconds=0.01,
)
FLAT = dict(
    flat=True,
    total_curvature=0.0,
    positive_curvature=0.0,
    chart_flat=True,
    chart_largest=1e-30,
    chart_bound=1e-20,
    chart_positive_share=0.0,
)
MEASURED = [
    name
    for name in ModelRow.__annotations__
    if "None" in ModelRow.__annotations__[name] and name != "error"
]
Change = Callable[[str, str, int, np.random.Generator], dict]


def nothing(task: str, variant: str, seed: int, rng: np.random.Generator) -> dict:
    return {}


def made(
    change: Change = nothing,
    seed: int = 0,
    tasks: Iterable[str] = TASKS,
    variants: Iterable[str] = VARIANTS,
    seeds: Iterable[int] = SEEDS,
) -> list[ModelRow]:
    """One row of each; ``change`` says what is otherwise. Without it no variant differs at all."""
    rng = np.random.default_rng(seed)
    seeds, variants = list(seeds), list(variants)
    rows = []
    for task in tasks:
        level = 0.8 + rng.normal(0, 0.02, len(seeds))  # a seed's data, which its models share
        for variant in variants:
            for place, each in enumerate(seeds):
                noise = rng.normal(0, 1, 5)
                numbers = dict(
                    test_accuracy=level[place] + 0.004 * noise[0],
                    total_curvature=float(np.exp(noise[1])),
                    proxy=float(np.exp(noise[2])),
                    normalised_proxy=float(np.exp(noise[3])),
                    positive_curvature=float(np.exp(noise[4])),
                )
                if variant in ("ungated", "matched"):
                    numbers |= FLAT
                numbers |= change(task, variant, each, rng)
                rows.append(
                    replace(
                        BLANK,
                        key=f"{task}/{variant}/{each}",
                        task=task,
                        variant=variant,
                        seed=each,
                        **numbers,
                    )
                )
    return rows


def failed(row: ModelRow) -> ModelRow:
    """The same model, of which nothing could be found out."""
    return replace(row, **dict.fromkeys(MEASURED), error="training diverged at step 17")


def stacks(slope: float = 2.0, proxy_slope: float = 1.0, seeds: Iterable[int] = SEEDS) -> list:
    """Stacks of 16 layers whose curvature and proxy are powers of depth."""
    rows = []
    for seed in seeds:
        eps = 0.001 * (1 + seed / 16)
        for depth in range(1, 17):
            centre = (2 * eps) ** 2 * depth**slope
            rows.append(
                StackRow(
                    f"stack/{seed}/{depth}",
                    "c0de",
                    seed,
                    depth,
                    eps,
                    4 * centre,
                    1e-6 * centre,
                    centre,
                    1e-12 * centre,
                    eps * depth**proxy_slope,
                    depth * eps * 2 <= 0.05,
                    0.01,
                )
            )
    return rows

"""Training and test data of a given kind for each seed.

The kinds are `TASKS`; own data comes from ``gating_core.tasks.own``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.checks import check_choice, check_integer, check_number, check_seeds
from gating_core.randomness import generator
from gating_core.tasks.rules import TASKS, Sample

POINTS_RANGE = (8, 100_000)
NOISE_RANGE = (0.0, 1.0)
LABEL_NOISE_RANGE = (0.0, 0.5)
BALANCE_RANGE = (0.1, 0.9)
TRAIN_SHARE_RANGE = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class Task:
    """One data set per seed: points (S, N, 2) float64, labels (S, N) int64 from 0."""

    name: str
    seeds: tuple[int, ...]
    class_count: int
    train_points: np.ndarray
    train_labels: np.ndarray
    test_points: np.ndarray
    test_labels: np.ndarray


def make_task(
    name: str,
    points: int = 256,
    noise: float = 0.0,
    test_points: int = 1000,
    seeds: Iterable[int] = (0,),
    label_noise: float = 0.0,
    balance: float | None = None,
) -> Task:
    """Training and test data for each seed, drawn separately.

    ``noise`` is the standard deviation of the jitter added to every coordinate after labelling,
    in units of half the square's side. ``label_noise`` is the share of training labels, 0 to 0.5,
    that are changed to another class; the test labels stay right, and so do the points.
    ``balance``, 0.1 to 0.9, is the share of class 0 among training and test points alike, for
    tasks of two classes; ``None`` leaves it as the task has it. ``ValueError`` names the argument
    that is out of range.
    """
    check_choice("task", name, TASKS)
    check_integer("points", points, *POINTS_RANGE)
    check_integer("test_points", test_points, *POINTS_RANGE)
    check_number("noise", noise, *NOISE_RANGE)
    check_number("label_noise", label_noise, *LABEL_NOISE_RANGE)
    class_count = TASKS[name].class_count
    if balance is not None:
        check_number("balance", balance, *BALANCE_RANGE)
        if class_count != 2:
            raise ValueError(
                f"balance is {balance!r}; it must be None for {name!r}, which has {class_count}"
                " classes"
            )
    seeds = check_seeds(seeds)

    def draw(part: str, count: int) -> Sample:
        samples = []
        for seed in seeds:
            rng = generator(seed, f"{name}/{part}")
            drawn, labels = _draw(name, rng, count, balance)
            jitter = torch.randn(count, 2, generator=rng, dtype=torch.float64).numpy()
            samples.append((drawn + noise * jitter, labels.astype(np.int64)))
        return np.stack([p for p, _ in samples]), np.stack([q for _, q in samples])

    train_points, train_labels = draw("train", points)
    flipped = [
        _with_label_noise(labels, generator(seed, f"{name}/label noise"), label_noise, class_count)
        for seed, labels in zip(seeds, train_labels, strict=True)
    ]
    test = draw("test", test_points)
    return Task(name, seeds, class_count, train_points, np.stack(flipped), *test)


def split_counts(total: int, train_share: float) -> tuple[int, int]:
    """How many of ``total`` points train and how many test, at least 8 of either.

    ``make_task(name, points=train, test_points=test)`` with what this returns is a data set of
    ``total`` points of which ``train_share``, 0.1 to 0.9, are for training.
    """
    least, most = POINTS_RANGE
    check_integer("total", total, 2 * least, most)
    check_number("train_share", train_share, *TRAIN_SHARE_RANGE)
    train = min(max(round(train_share * total), least), total - least)
    return train, total - train


def _draw(name: str, rng: torch.Generator, count: int, balance: float | None) -> Sample:
    """``count`` points of the task; with ``balance`` exactly that share, rounded, of class 0."""
    points, labels = TASKS[name].rule(rng, count)
    if balance is None:
        return points, labels
    zeros = round(balance * count)
    counts = (zeros, count - zeros)
    # The surplus of a larger draw is dropped and the rest mixed, as one class comes first.
    size = count
    while any(np.sum(labels == label) < share for label, share in enumerate(counts)):
        size *= 2
        points, labels = TASKS[name].rule(rng, size)
    chosen = [np.flatnonzero(labels == label)[:share] for label, share in enumerate(counts)]
    order = np.concatenate(chosen)[torch.randperm(count, generator=rng).numpy()]
    return points[order], labels[order]


def _with_label_noise(
    labels: np.ndarray, rng: torch.Generator, share: float, class_count: int
) -> np.ndarray:
    """``labels`` (N,) with ``share`` of them, rounded, changed to another class.

    The labels changed at a small share are among those changed at a larger one.
    """
    order = torch.randperm(len(labels), generator=rng).numpy()
    shift = torch.randint(1, class_count, (len(labels),), generator=rng).numpy()
    chosen = order[: round(share * len(labels))]
    out = labels.copy()
    out[chosen] = (labels[chosen] + shift[chosen]) % class_count
    return out

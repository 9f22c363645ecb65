"""All shipped models in one table: what is measured of each, and its differences from no gate.

Shapes: S seeds, N texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.lm.approximations.top_k import SIZES
from gating_core.lm.config import ModelConfig
from gating_core.lm.losses import Arrays
from gating_core.lm.measurements.resampling import (
    LEVEL,
    PairedDifference,
    family_p,
    loss_difference,
)
from gating_core.lm.measurements.stored import EFFICIENT, load_measured, read_measured
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import MODELS
from gating_core.lm.times import QUARTILES, Seconds, load_times
from gating_core.training import MeanInterval, mean_interval

BASE = "none"  # the model that the others are compared with
KEPT = 8  # keys of each query, under top-k attention in every head
LEAST_SEEDS = 3  # for a verdict
# A number of one model from its arrays, by name. `KeyError`: it does not apply to that model.
NUMBERS: Mapping[str, Callable[[Arrays], float]] = {
    "loss": lambda x: x["strengths.sums"][-1].sum() / x["strengths.counts"].sum(),  # in nats
    "first_share": lambda x: x["sinks.by_text"].mean(),  # of the weights of later queries
    "rank": lambda x: x["ranks.outputs"][1].mean(),  # effective, before W_O, mean of heads
    "added": lambda x: added(x).sum() / x["truncation.counts"].sum(),  # by top-k, in nats
    "shut": lambda x: x["gates.shut"].mean(),  # share of gate values below `SHUT`
    "calibration": lambda x: x["confidence.values"][0],  # expected calibration error
}


@dataclass(frozen=True, eq=False)
class OverviewRow:
    """Measurements of one architecture by the names of `NUMBERS`, as far as they apply."""

    name: str
    config: ModelConfig
    seeds: tuple[int, ...]
    parameters: int
    values: dict[str, MeanInterval]  # over seeds (Student t, 95 %)
    changes: dict[str, PairedDifference]  # from `BASE`, paired by seed; of losses by text, too
    # (3,): quartiles of the ratios to `BASE` within repeats of a time; None where it is not timed.
    step_time: np.ndarray | None  # of a training step
    token_time: np.ndarray | None  # of reading a token


def added(arrays: Arrays) -> np.ndarray:
    """(N,): what top-k attention with `KEPT` keys adds to the loss of each text, in nats."""
    sums = arrays["truncation.sums"].astype(float)
    return sums[SIZES.index(KEPT)] - sums[-1]


def load_overview() -> list[OverviewRow]:
    """Return `overview` of all that is bundled."""
    efficient, times = read_measured(EFFICIENT), load_times()
    measured = {
        model: arrays | (efficient[model].arrays if model in efficient else {})
        for model, arrays in load_measured().items()
    }
    return overview(measured, times.steps, times.tokens)


def overview(
    measured: Mapping[tuple[str, int], Arrays], steps: Seconds, tokens: Seconds
) -> list[OverviewRow]:
    """Return a row for each architecture of the table with two measured seeds at least.

    Args:
        measured: Arrays by name and seed.
        steps: Processor seconds (R,) of a training step by name.
        tokens: Processor seconds (R,) of a token by name.
    """
    seeds = {name: tuple(seed for of, seed in measured if of == name) for name in MODELS}
    rows = []
    for name in (name for name in MODELS if len(seeds[name]) > 1):
        models = [measured[name, seed] for seed in seeds[name]]
        pairs = [
            (measured[name, seed], measured[BASE, seed])
            for seed in seeds[name]
            if seed in seeds[BASE]
        ]
        ratios = (
            np.percentile(np.array(times[name]) / np.array(times[BASE]), QUARTILES)
            if name in times
            else None
            for times in (steps, tokens)
        )
        rows.append(
            OverviewRow(
                name,
                MODELS[name],
                seeds[name],
                sum(weight.numel() for weight in LanguageModel(MODELS[name]).parameters()),
                {key: mean_interval(of) for key, of in numbers(models).items()},
                {} if name == BASE or len(pairs) < 2 else differences(pairs),
                *ratios,
            )
        )
    return rows


def numbers(models: Sequence[Arrays]) -> dict[str, np.ndarray]:
    """(S,) by name: those of `NUMBERS` that apply to all ``models``."""
    found = {}
    for name, number in NUMBERS.items():
        try:
            found[name] = np.array([float(number(arrays)) for arrays in models])
        except KeyError:
            continue
    return found


def differences(pairs: Sequence[tuple[Arrays, Arrays]]) -> dict[str, PairedDifference]:
    """Return the differences within ``pairs`` by name: the first less the second, over pairs.

    Where both are losses of the same texts, the interval is over seeds and texts.
    """
    own, base = (numbers(models) for models in zip(*pairs, strict=True))
    found = {}
    for name in (name for name in own if name in base):
        by_seed = own[name] - base[name]
        found[name] = PairedDifference(by_seed, mean_interval(by_seed).half_width)
    for name, counts, of_texts in (
        ("loss", "strengths.counts", lambda x: x["strengths.sums"][-1]),
        ("added", "truncation.counts", added),
    ):
        if name in found:
            sums, base_sums = (
                np.stack([of_texts(x) for x in models]) for models in zip(*pairs, strict=True)
            )
            found[name] = loss_difference(sums, base_sums, pairs[0][0][counts])
    return found


def significant(rows: Sequence[OverviewRow], name: str) -> dict[str, int]:
    """Return the sign of each difference called ``name`` by row; 0 where it is not significant.

    By Holm's p over all ``rows`` that are compared, with `LEAST_SEEDS` at least.
    """
    found = {
        row.name: of
        for row in rows
        if (of := row.changes.get(name)) is not None and len(of.by_seed) >= LEAST_SEEDS
    }
    adjusted = family_p([*found.values()])
    return {
        row: int(np.sign(of.mean)) if p < LEVEL else 0
        for (row, of), p in zip(found.items(), adjusted, strict=True)
    }

"""All shipped models in one table: test loss against no gate, and what a gate is said to change.

Shapes: S seeds, N texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.lm.config import ModelConfig
from gating_core.lm.losses import Arrays
from gating_core.lm.measurements.resampling import PairedDifference, loss_difference
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import MODELS
from gating_core.lm.times import load_times
from gating_core.training import MeanInterval, mean_interval

BASE = "none"  # the model that the others are compared with
QUARTILES = (25, 50, 75)


@dataclass(frozen=True, eq=False)
class OverviewRow:
    """Measurements of one architecture; intervals are over its seeds (Student t, 95 %)."""

    name: str
    config: ModelConfig
    seeds: tuple[int, ...]
    parameters: int
    loss: MeanInterval  # nats per character, on held-out texts
    delta_loss: PairedDifference | None  # against `BASE`, over the seeds of both
    first_share: MeanInterval  # of the first token in the weights of later queries
    rank: MeanInterval  # effective, of head outputs before W_O, mean of heads
    shut: MeanInterval | None  # share of gate values below `SHUT`
    calibration: MeanInterval  # expected calibration error
    seconds: np.ndarray | None  # (3,) per token, quartiles over repeats
    time_ratio: np.ndarray | None  # (3,): quartiles of the ratio to `BASE` within repeats


def overview(
    measured: Mapping[tuple[str, int], Arrays], times: Mapping[str, Sequence[float]] | None = None
) -> list[OverviewRow]:
    """Return a row for each architecture of the table with two measured seeds at least.

    Args:
        measured: Arrays by name and seed, as `load_measured` returns them.
        times: Seconds (R,) per token by name; default: the bundled ones.
    """
    times = load_times().tokens if times is None else times
    seeds = {name: tuple(seed for of, seed in measured if of == name) for name in MODELS}

    def stacked(name: str, array: str, used: tuple[int, ...]) -> np.ndarray:
        return np.stack([measured[name, seed][array] for seed in used]).astype(float)

    rows = []
    for name in (name for name in MODELS if len(seeds[name]) > 1):
        own, config = seeds[name], MODELS[name]
        shared = tuple(seed for seed in own if seed in seeds[BASE])
        sums, counts = (stacked(name, f"strengths.{part}", own) for part in ("sums", "counts"))
        difference = None
        if name != BASE and len(shared) > 1:
            losses, base = (
                stacked(model, "strengths.sums", shared)[:, -1] for model in (name, BASE)
            )
            difference = loss_difference(losses, base, counts[0])
        shut = stacked(name, "gates.shut", own).mean((1, 2)) if config.gate else None
        seconds, base_seconds = (
            np.array(times[of]) if of in times else None for of in (name, BASE)
        )
        rows.append(
            OverviewRow(
                name,
                config,
                own,
                sum(weight.numel() for weight in LanguageModel(config).parameters()),
                loss=mean_interval(sums[:, -1].sum(-1) / counts.sum(-1)),
                delta_loss=difference,
                first_share=mean_interval(stacked(name, "sinks.by_text", own).mean((1, 2))),
                rank=mean_interval(stacked(name, "ranks.outputs", own)[:, 1].mean((1, 2))),
                shut=None if shut is None else mean_interval(shut),
                calibration=mean_interval(stacked(name, "confidence.values", own)[:, 0]),
                seconds=None if seconds is None else np.percentile(seconds, QUARTILES),
                time_ratio=None
                if seconds is None or base_seconds is None
                else np.percentile(seconds / base_seconds, QUARTILES),
            )
        )
    return rows

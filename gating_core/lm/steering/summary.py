"""Summaries of the experiment: means with intervals, comparisons, calibration of the classifier.

Shapes: S seeds, L layers, K kinds of direction, A strengths, N prompts for each target language, C
cells.
Intervals are 95 %: those over prompts (bootstrap) and over seeds (Student's t) add in quadrature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.lm.resampling import PairedDifference, ends, loss_difference, text_draws
from gating_core.lm.shipped import SEEDS
from gating_core.lm.steering.experiment import (
    DIRECTIONS,
    MODES,
    QUANTITIES,
    REFERENCES,
    Arrays,
    fluent_success,
    load_steering,
)
from gating_core.lm.steering.shipped import STEERED
from gating_core.training import mean_interval

FEATURE = DIRECTIONS.index("feature")
# And the shares that follow: "fluent", see `fluent_success`; "wordless": texts without a whole
# word, which have no share of real words.
SUMMARISED = (*QUANTITIES, "fluent", "wordless")


@dataclass(frozen=True, eq=False)
class Outcome:
    """Means of outcomes, with the half widths of their intervals over prompts and seeds."""

    texts: int  # of each cell
    means: dict[str, np.ndarray]  # by quantity (L, K, A)
    half_widths: dict[str, np.ndarray]
    references: dict[str, dict[str, float]]  # means by name and quantity

    def best(self, layer: int) -> tuple[int, int, int]:
        """Return where the feature succeeds most often after a layer: (layer, kind, strength)."""
        return layer, FEATURE, int(self.means["success"][layer, FEATURE].argmax())


def means_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means (C,) of values (S, C, languages, N), and the half widths of their intervals.

    With one seed the interval is over prompts alone. NaN are left out; the mean of a cell of NaN
    alone is NaN.
    """
    counted = np.isfinite(values)
    sums = np.where(counted, values, 0.0).sum(-2, dtype=float)  # (S, C, N)
    counts = counted.sum(-2)
    draws = text_draws(values.shape[-1])
    with np.errstate(invalid="ignore"):  # 0 / 0
        by_seed = sums.sum(-1) / counts.sum(-1)
        means = sums.sum((0, -1)) / counts.sum((0, -1))
        resampled = draws @ sums.sum(0).T / (draws @ counts.sum(0).T)
    some = np.isfinite(means)
    half_widths = np.full(len(means), np.nan)
    if some.any():
        low, high = ends(resampled[:, some])
        finite = [cell[np.isfinite(cell)] for cell in by_seed.T[some]]
        seeds = [mean_interval(cell).half_width if len(cell) > 1 else 0.0 for cell in finite]
        half_widths[some] = np.hypot(seeds, (high - low) / 2)
    return means, half_widths


def summarise(tables: Sequence[Arrays], gate: str, mode: str, languages: slice) -> Outcome:
    """Return the means of the outcomes of models with a ``gate``, one of ``tables`` for each seed.

    Args:
        tables: Outcomes as in `load_steering`.
        gate: Name of the models.
        mode: One of `MODES`.
        languages: The target languages, of `corpus.LANGUAGES`.
    """
    row, whole = [*MODES].index(mode), []
    for arrays in tables:
        wordless = {
            key.replace("words", "wordless"): np.isnan(values).astype(float)
            for key, values in arrays.items()
            if key.endswith("words")
        }
        whole.append({**arrays, **fluent_success(arrays, gate), **wordless})
    means, half_widths = {}, {}
    for name in SUMMARISED:
        values = np.stack([table[name][:, :, :, row, languages] for table in whole])
        cells = means_of(values.reshape(len(values), -1, *values.shape[-2:]))
        means[name], half_widths[name] = (part.reshape(values.shape[1:4]) for part in cells)
    references = {
        what: {
            name: float(
                means_of(np.stack([table[f"{what}.{name}"][None, languages] for table in whole]))[
                    0
                ][0]
            )
            for name in SUMMARISED
        }
        for what in REFERENCES
    }
    return Outcome(values[:, 0, 0, 0].size, means, half_widths, references)


def gate_difference(languages: slice, mode: str) -> list[PairedDifference]:
    """Return by layer how much more often the feature succeeds with a gate than without.

    Means over all strengths, bundled models, paired by seed.
    """
    outcomes = load_steering()
    plain, gated = (
        np.stack(
            [_success(outcomes[name, seed], languages, mode).mean((1, 2)) for seed in SEEDS], 1
        )
        for name in STEERED
    )  # (L, S, N)
    return [
        loss_difference(*both, np.ones(plain.shape[-1])) for both in zip(gated, plain, strict=True)
    ]


def _success(arrays: Arrays, languages: slice, mode: str = "released") -> np.ndarray:
    """Success (L, A, languages, N) of the feature."""
    return arrays["success"][:, FEATURE, :, [*MODES].index(mode), languages]

"""What the shipped experiment says: means over prompts and seeds, and their intervals.

Shapes: S seeds, L layers, K kinds of direction, A strengths, N prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from gating_core.at_work import PairedDifference, bootstrap_reliability, loss_difference
from gating_core.language import LANGUAGES
from gating_core.steering import (
    DIRECTIONS,
    MODES,
    QUANTITIES,
    STRENGTHS,
    load_steering,
    other_verses,
    windows,
)
from ui.steering import measured
from ui.steering.controls import BOTH
from ui.steering.request import Model
from ui.work.cache import NUMBERS_CACHE, cached

SUCCESS, NATS, WORDS, BACK = QUANTITIES
UNSTEERED, PROMPTED = "unsteered", "prompted"
FEATURE = DIRECTIONS.index("feature")
CALIBRATION_RESAMPLES = 400


@st.cache_resource(show_spinner=False)
def shipped() -> dict[Model, dict[str, np.ndarray]]:
    """Load the outcomes of all models."""
    return load_steering()


def seeds(name: str) -> list[int]:
    """Return the seeds of the models called ``name`` that were steered."""
    return [seed for of, seed in shipped() if of == name]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Means with the half widths of their 95 % intervals over prompts and seeds."""

    means: dict[str, np.ndarray]  # by quantity (L, K, A)
    widths: dict[str, np.ndarray]
    references: dict[str, dict[str, PairedDifference]]  # by name and quantity


def mean_of(values: np.ndarray) -> PairedDifference:
    """Return the mean of values (S, 1 or 2 languages, N) with its interval; NaN are left out."""
    counted = np.isfinite(values).all(0)
    sums = np.where(counted, values, 0.0).sum(1)
    return loss_difference(sums, np.zeros_like(sums), counted.sum(0))


def filled(arrays: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    """Return the outcomes ``key`` of a model: a text without a whole word has no real one."""
    return np.nan_to_num(arrays[key]) if key.endswith(WORDS) else arrays[key]


def _values(name: str, key: str, of: Sequence[int]) -> np.ndarray:
    """Outcomes (S, ...) by seed."""
    return np.stack([filled(shipped()[name, seed], key) for seed in of])


def _languages(target: str) -> slice:
    number = 0 if target == BOTH else LANGUAGES.index(target)
    return slice(number, None if target == BOTH else number + 1)


@cached("Adding up …", on=NUMBERS_CACHE)
def outcome(name: str, mode: str, target: str) -> Outcome:
    """Return the outcomes of the models called ``name``, steered to ``target`` or `BOTH`."""
    of, to, row = seeds(name), _languages(target), list(MODES).index(mode)
    means, widths = {}, {}
    for quantity in QUANTITIES:
        values = _values(name, quantity, of)[:, :, :, :, row, to]
        cells = [
            mean_of(values[:, layer, kind, strength])
            for layer in range(values.shape[1])
            for kind in range(values.shape[2])
            for strength in range(values.shape[3])
        ]
        shape = values.shape[1:4]  # fmt: skip
        means[quantity] = np.reshape([cell.mean for cell in cells], shape)
        widths[quantity] = np.reshape([cell.half_width for cell in cells], shape)
    references = {
        what: {quantity: mean_of(_values(name, f"{what}.{quantity}", of)[:, to])
               for quantity in QUANTITIES}
        for what in (UNSTEERED, PROMPTED)
    }  # fmt: skip
    return Outcome(means, widths, references)


@cached(on=NUMBERS_CACHE)
def gate_difference(gated: str, ungated: str, mode: str, target: str) -> list[PairedDifference]:
    """Return by layer how much more often the feature succeeds with a gate, over all strengths."""
    of = sorted({*seeds(gated)} & {*seeds(ungated)})
    to, row = _languages(target), list(MODES).index(mode)
    both = [_values(name, SUCCESS, of)[:, :, FEATURE, :, row, to].mean((2, 3))
            for name in (gated, ungated)]  # fmt: skip
    return [loss_difference(both[0][:, layer], both[1][:, layer], np.ones(both[0].shape[-1]))
            for layer in range(both[0].shape[1])]  # fmt: skip


@cached(on=NUMBERS_CACHE)
def calibration() -> tuple[np.ndarray, np.ndarray, float]:
    """Return the classifier's bins (3, b), their intervals (2, b), and the share it gets right.

    On windows of verses that it has not seen: how sure it is of the likelier language, and how
    often that is right.
    """
    verses, judged = other_verses(), measured.opening().judged.astype(float)
    _, spanish = windows(verses)
    lengths = [np.bincount(windows([verse])[1], minlength=len(LANGUAGES)) for verse in verses]
    groups = np.concatenate([np.repeat(np.arange(len(verses)), counts)
                             for counts in np.transpose(lengths)])  # fmt: skip
    right = (judged > 0.5) == spanish.astype(bool)
    result = bootstrap_reliability(np.maximum(judged, 1 - judged), right, groups,
                                  CALIBRATION_RESAMPLES)  # fmt: skip
    bins = np.stack([result.whole.confidence, result.whole.frequency, result.whole.counts])
    return bins, result.frequency_ends, float(right.mean())


def best(of: Outcome, kind: int = FEATURE) -> tuple[int, int]:
    """Return layer and strength, as places, at which a kind of direction succeeds most often."""
    layer, strength = np.unravel_index(of.means[SUCCESS][:, kind].argmax(),
                                       (of.means[SUCCESS].shape[0], len(STRENGTHS)))  # fmt: skip
    return int(layer), int(strength)

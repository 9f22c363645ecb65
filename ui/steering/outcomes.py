"""The experiment, shipped or measured in a job; means over prompts and seeds, and their intervals.

Shapes: S seeds, L layers, K kinds of direction, A strengths, N prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

import gating_core.steering as core
from gating_core.at_work import (
    PairedDifference,
    bootstrap_reliability,
    ends,
    loss_difference,
    text_draws,
)
from gating_core.language import LANGUAGES
from gating_core.training import mean_interval
from ui.common.language_models import UNGATED
from ui.steering import measured
from ui.steering.request import BOTH, DEPTH, NESTED, RELEASED, Model, OutcomeSelection
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.shared import split_over_workers

Arrays = Mapping[str, np.ndarray]  # outcomes of a model, by name
CORE_SECONDS = 120.0  # of one core, for a model
START, START_BUTTON = "Measure this model here", "measure_grid"


def _measure(request: core.GridRequest) -> Iterator[Any]:
    parts = core.parts_of(DEPTH)
    for item in split_over_workers(core.measure_parts, parts, request):
        yield core.assembled(DEPTH, parts, item) if isinstance(item, tuple) else item


GRID: CachedJobs[core.GridRequest, Arrays] = CachedJobs("steering_grid", _measure, NUMBERS_CACHE)


def draw_start() -> None:
    """Draw the button that starts a job, with about how long it takes when nothing else runs."""
    minutes = max(1, round(CORE_SECONDS / 60 / pool.POOL.size))
    unit = "minute" if minutes == 1 else "minutes"
    jobs.draw_again(GRID.name, f"{START}, about {minutes} {unit}", "play_arrow", START_BUTTON)


def measured_here(request: core.GridRequest | None) -> tuple[Arrays | None, Job | None]:
    """Return what was measured here, and the job that measures it, if the visitor has started it.

    A job about another request ends.
    """
    job, clicked = jobs.current(GRID.name), jobs.clicked_again(GRID.name)
    if request is not None and (clicked or (job is not None and job.about == (request,))):
        if clicked and job is not None:
            job.forget()
        return GRID.fetch(request)
    if job is not None:
        job.cancel()
    return (None if request is None else GRID.cached((request,)).get(request)), None


SUCCESS, BAYES, NATS, WORDS, BACK = core.QUANTITIES
FLUENT, WORDLESS = "fluent", "wordless"  # shares that follow from them
SHOWN = (*core.QUANTITIES, FLUENT, WORDLESS)
UNSTEERED, PROMPTED = "unsteered", "prompted"
FEATURE = core.DIRECTIONS.index("feature")
CALIBRATION_RESAMPLES = 400
PAIR = (next(name for name in core.STEERED if name != UNGATED), UNGATED)  # with a gate, without


@st.cache_resource(show_spinner=False)
def shipped() -> dict[Model, dict[str, np.ndarray]]:
    """Load the outcomes of all models."""
    return core.load_steering()


def common_seeds() -> list[int]:
    """Return the seeds of which the models of `PAIR` were both steered."""
    return sorted(
        seed for name, seed in shipped() if name == PAIR[0] and (PAIR[1], seed) in shipped()
    )


@dataclass(frozen=True)
class OutcomeSource:
    """The models whose outcomes are shown."""

    name: str
    seeds: tuple[int, ...]
    draw: int = 0
    here: bool = False  # measured here, not shipped


def source_of(
    selection: OutcomeSelection, here: Arrays | None
) -> tuple[OutcomeSource, dict[Model, Arrays]]:
    """Return what can be shown, and its outcomes: those measured ``here``, or the shipped ones."""
    name, of = selection.name, selection.seeds
    if here is not None:
        return OutcomeSource(name, of, selection.draw, True), {(name, of[0]): here}
    return OutcomeSource(name, of), {(name, seed): shipped()[name, seed] for seed in of}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Means with the half widths of their 95 % intervals over prompts and seeds."""

    texts: int  # of each cell
    means: dict[str, np.ndarray]  # by quantity (L, K, A)
    widths: dict[str, np.ndarray]
    references: dict[str, dict[str, float]]  # means by name and quantity


def means_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means (C,) of values (S, C, 1 or 2 languages, N), and their half widths.

    The intervals over prompts and over seeds add by squares; with one seed the first alone is
    known. NaN are left out; a cell of NaN alone has the mean NaN.
    """
    counted = np.isfinite(values)
    sums, counts = np.where(counted, values, 0.0).sum(-2, dtype=float), counted.sum(-2)  # (S, C, N)
    draws = text_draws(values.shape[-1])
    with np.errstate(invalid="ignore"):  # 0 / 0
        by_seed = sums.sum(-1) / counts.sum(-1)
        means = sums.sum((0, -1)) / counts.sum((0, -1))
        resampled = draws @ sums.sum(0).T / (draws @ counts.sum(0).T)
    some = np.isfinite(means)
    half_widths = np.full(len(means), np.nan)
    if some.any():
        low, high = ends(resampled[:, some])
        seeds = [mean_interval(finite).half_width if len(finite := of[np.isfinite(of)]) > 1 else 0.0
                 for of in by_seed.T[some]]  # fmt: skip
        half_widths[some] = np.hypot(seeds, (high - low) / 2)
    return means, half_widths


def derived(arrays: Arrays, name: str) -> dict[str, np.ndarray]:
    """Return the outcomes of a model with the gate ``name``, and the shares that follow from them.

    `FLUENT`: see `gating_core.steering.fluent_success`. `WORDLESS`: texts without a whole word,
    which have no share of real words.
    """
    wordless = {key.replace(WORDS, WORDLESS): np.isnan(values).astype(float)
                for key, values in arrays.items() if key.endswith(WORDS)}  # fmt: skip
    return {**arrays, **core.fluent_success(arrays, name), **wordless}


def _values(tables: Sequence[Arrays], key: str) -> np.ndarray:
    """Outcomes (S, ...) by seed."""
    return np.stack([arrays[key] for arrays in tables])


def _languages(target: str) -> slice:
    number = 0 if target == BOTH else LANGUAGES.index(target)
    return slice(number, None if target == BOTH else number + 1)


@cached("Adding up …", on=NUMBERS_CACHE)
def outcome(source: OutcomeSource, mode: str, target: str, _arrays: Sequence[Arrays]) -> Outcome:
    """Return the outcomes of a source, its ``_arrays``, steered to ``target`` or `BOTH`."""
    to, row = _languages(target), list(core.MODES).index(mode)
    means, widths = {}, {}
    tables = [derived(arrays, source.name) for arrays in _arrays]
    for quantity in SHOWN:
        values = _values(tables, quantity)[:, :, :, :, row, to]
        cells = means_of(values.reshape(len(values), -1, *values.shape[-2:]))
        means[quantity], widths[quantity] = (part.reshape(values.shape[1:4]) for part in cells)
    references = {
        what: {quantity: float(means_of(_values(tables, f"{what}.{quantity}")[:, None, to])[0][0])
               for quantity in SHOWN}
        for what in (UNSTEERED, PROMPTED)
    }  # fmt: skip
    texts = len(_arrays) * (to.stop - to.start if to.stop else len(LANGUAGES)) * values.shape[-1]
    return Outcome(texts, means, widths, references)


@cached(on=NUMBERS_CACHE)
def depth_difference(
    source: OutcomeSource, target: str, _arrays: Sequence[Arrays]
) -> tuple[int, int, PairedDifference]:
    """Compare the best layer of the first half with that of the second, released.

    Both layers, and the first's success minus the second's, at the best strength of each.
    """
    to, row = _languages(target), list(core.MODES).index(RELEASED)
    success = _values(_arrays, SUCCESS)[:, :, FEATURE, :, row, to].sum(-2)  # (S, L, A, N)
    sums = success.sum((0, -1))  # (L, A)
    half = len(sums) // 2
    first, second = int(sums[:half].max(-1).argmax()), half + int(sums[half:].max(-1).argmax())
    languages = np.full(success.shape[-1], to.stop - to.start if to.stop else len(LANGUAGES))
    early, late = (success[:, layer, sums[layer].argmax()] for layer in (first, second))
    return first, second, loss_difference(early, late, languages)


@cached(on=NUMBERS_CACHE)
def gate_difference(mode: str, target: str) -> list[PairedDifference]:
    """Return by layer how much more often the feature succeeds with a gate, over all strengths."""
    to, row = _languages(target), list(core.MODES).index(mode)
    gated, plain = (
        _values([shipped()[name, seed] for seed in common_seeds()], SUCCESS)
        [:, :, FEATURE, :, row, to].mean((2, 3)).swapaxes(0, 1) for name in PAIR
    )  # (L, S, N)  # fmt: skip
    return [loss_difference(*both, np.ones(plain.shape[-1]))
            for both in zip(gated, plain, strict=True)]  # fmt: skip


@cached("Reading the dictionaries …", on=NUMBERS_CACHE)
def apart_difference() -> list[PairedDifference]:
    """Return by layer how much larger the best feature's AUC is with a gate; over seeds alone.

    Features are those of `NESTED`, which are pushed along; AUC is that of held-out verses.
    """
    seeds, best_auc = common_seeds(), []
    for name in PAIR:
        dictionaries = [core.load_dictionaries(name, seed).kinds[NESTED] for seed in seeds]
        auc = np.stack([one.statistics.auc for one in dictionaries]).astype(float)
        best_auc.append(np.maximum(auc, 1 - auc).max(-1))
    return [PairedDifference(layer, mean_interval(layer).half_width if len(seeds) > 1 else 0.0)
            for layer in (best_auc[0] - best_auc[1]).T]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibration of a classifier: confidence in the likelier language, and its accuracy."""

    characters: int  # that it sees
    bins: np.ndarray  # (3, b): confidence, share that is right, count
    ends: np.ndarray  # (2, b): intervals of the shares
    right: float  # of all

    @property
    def count(self) -> int:
        """The number of texts."""
        return int(self.bins[2].sum())

    @property
    def gap(self) -> float:
        """Accuracy minus mean confidence."""
        sure, came, counts = self.bins
        return float(np.average(came - sure, weights=counts))


@cached(on=NUMBERS_CACHE)
def calibrations() -> list[Calibration]:
    """Return the classifier's calibration on the ends of windows that it has not seen."""
    verses = core.other_verses()
    _, spanish = core.windows(verses)
    lengths = [np.bincount(core.windows([verse])[1], minlength=len(LANGUAGES)) for verse in verses]
    groups = np.concatenate([np.repeat(np.arange(len(verses)), counts)
                             for counts in np.transpose(lengths)])  # fmt: skip
    results = []
    for characters, judged in zip(
        core.JUDGED_ENDS, measured.opening().judged.astype(float), strict=True
    ):
        right = (judged > 0.5) == spanish.astype(bool)
        result = bootstrap_reliability(np.maximum(judged, 1 - judged), right, groups,
                                      CALIBRATION_RESAMPLES)  # fmt: skip
        bins = np.stack([result.whole.confidence, result.whole.frequency, result.whole.counts])
        results.append(Calibration(characters, bins, result.frequency_ends, float(right.mean())))
    return results


def best(outcome: Outcome) -> tuple[int, int]:
    """Return the indices of layer and strength at which the feature succeeds most often."""
    means = outcome.means[SUCCESS][:, FEATURE]
    layer, strength = np.unravel_index(means.argmax(), (len(means), len(core.STRENGTHS)))
    return int(layer), int(strength)

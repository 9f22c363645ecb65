"""All trained models in one table: what is measured of each, and its differences from no gate.

Shapes: S seeds, N texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.lm.efficient.top_k import SIZES
from gating_core.lm.measurements import (
    QUARTILES,
    Arrays,
    Model,
    Times,
    load_efficient,
    load_measured,
    load_times,
)
from gating_core.lm.model import LanguageModel, ModelConfig
from gating_core.lm.resampling import PairedDifference, loss_difference, widened
from gating_core.lm.shipped import MODELS, SEEDS
from gating_core.training import MeanInterval, mean_interval

BASE = "none"  # the model that the others are compared with
KEPT = 8  # keys of each query, under top-k attention in every head
# A number of one model from its arrays, by name; "added" of models with "truncation." alone.
NUMBERS: Mapping[str, Callable[[Arrays], float]] = {
    "loss": lambda x: x["strengths.sums"][-1].sum() / x["strengths.counts"].sum(),  # in nats
    "first_share": lambda x: x["sinks.by_text"].mean(),  # of the weights of later queries
    "rank": lambda x: x["ranks.outputs"][1].mean(),  # effective, before W_O, mean of heads
    "added": lambda x: added(x).sum() / x["truncation.counts"].sum(),  # by top-k, in nats
}


@dataclass(frozen=True, eq=False)
class OverviewRow:
    """Measurements of one architecture by the names of `NUMBERS`, as far as they apply."""

    name: str
    config: ModelConfig
    parameters: int
    values: dict[str, MeanInterval]  # over seeds (Student t, 95 %)
    changes: dict[str, PairedDifference]  # from `BASE`, paired by seed; of losses by text, too
    # (3,): quartiles of the ratios to `BASE` within repeats of a time.
    step_time: np.ndarray  # of a training step
    token_time: np.ndarray  # of reading a token


def added(arrays: Arrays) -> np.ndarray:
    """(N,): what top-k attention with `KEPT` keys adds to the loss of each text, in nats."""
    sums = arrays["truncation.sums"].astype(float)
    return sums[SIZES.index(KEPT)] - sums[-1]


def load_overview() -> list[OverviewRow]:
    """Return `overview` of all that is bundled."""
    efficient = load_efficient()
    measured = {model: x | efficient.get(model, {}) for model, x in load_measured().items()}
    return overview(measured, load_times())


def overview(measured: Mapping[Model, Arrays], times: Times) -> list[OverviewRow]:
    """Return a row for each architecture all of whose `SEEDS` are ``measured``."""
    models = {
        name: [measured[name, seed] for seed in SEEDS]
        for name in MODELS
        if all((name, seed) in measured for seed in SEEDS)
    }
    return [
        OverviewRow(
            name,
            MODELS[name],
            sum(weight.numel() for weight in LanguageModel(MODELS[name]).parameters()),
            {key: mean_interval(of) for key, of in numbers(of_seeds).items()},
            {} if name == BASE else differences(of_seeds, models[BASE]),
            *(
                np.percentile(np.array(seconds[name]) / np.array(seconds[BASE]), QUARTILES)
                for seconds in (times.steps, times.tokens)
            ),
        )
        for name, of_seeds in models.items()
    ]


def numbers(models: Sequence[Arrays]) -> dict[str, np.ndarray]:
    """(S,) by name: those of `NUMBERS` that apply to all ``models``."""
    return {
        name: np.array([float(number(arrays)) for arrays in models])
        for name, number in NUMBERS.items()
        if name != "added" or all("truncation.sums" in arrays for arrays in models)
    }


def differences(models: Sequence[Arrays], base: Sequence[Arrays]) -> dict[str, PairedDifference]:
    """Return ``models`` less those of the ``base`` by name, paired by seed.

    Where both are losses of the same texts, the interval is over seeds and texts.
    """
    own, others = numbers(models), numbers(base)
    found = {}
    for name in own:
        by_seed = own[name] - others[name]
        found[name] = PairedDifference(by_seed, mean_interval(by_seed).half_width)
    for name, counts, of_texts in (
        ("loss", "strengths.counts", lambda x: x["strengths.sums"][-1]),
        ("added", "truncation.counts", added),
    ):
        if name in found:
            sums, base_sums = (np.stack([of_texts(x) for x in side]) for side in (models, base))
            found[name] = loss_difference(sums, base_sums, models[0][counts])
    return found


def compared(rows: Sequence[OverviewRow], name: str) -> dict[str, PairedDifference]:
    """Return each difference called ``name`` by row, `widened` for all ``rows`` that have one."""
    found = {row.name: row.changes[name] for row in rows if name in row.changes}
    return dict(zip(found, widened([*found.values()]), strict=True))

"""Learning curves: how many training points does gated and ungated attention need?

The models are those of comparisons (`gating_core.experiments.comparison`), the rules of difference
and of equality those of the study (`gating_core.claims`).
Shapes: V = 2 variants, the ungated one first, S seeds, L numbers of training points.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.checks import check_choice, check_integer, check_number
from gating_core.claims.claim import (
    NOT_ENOUGH,
    NOT_SUPPORTED,
    PARTLY,
    SUPPORTED,
    THRESHOLDS,
    Thresholds,
)
from gating_core.claims.equality import equality_word
from gating_core.claims.statistics import Equivalence, Paired, equivalence, holm, paired
from gating_core.experiments.comparison.setting import LIMITS, VARIANTS, Setting
from gating_core.tasks.task import make_task
from gating_core.training.ensemble import batches_of
from gating_core.training.trained import MeanInterval, mean_interval
from gating_core.training.trainer import Trainer

COUNTS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)  # training points
TEST_POINTS = 1000
UNGATED = "ungated"
LEVEL_RANGE = (0.5, 0.999)  # of accuracy
BETTER, WORSE, EQUAL, NO_ADVANTAGE, OPEN, FEW = (
    "gated better", "ungated better", "no difference", "no advantage", "not decided",
    "not enough data",
)  # fmt: skip
WORDS_OF_EQUALITY = {SUPPORTED: EQUAL, PARTLY: NO_ADVANTAGE, NOT_SUPPORTED: OPEN, NOT_ENOUGH: FEW}


@dataclass(frozen=True)
class CurvesRequest:
    """A task and two models that differ in the gate alone, trained on more and more points."""

    task: str = "circle"  # a key of TASKS
    source: str = "tokens"
    gate: str = "sigmoid"  # a key of VARIANTS
    model_dim: int = 4
    value_count: int = 3
    label_noise: float = 0.0
    seed: int = 0  # the first of the seeds
    seed_count: int = 16  # S
    steps: int = 800  # of every training, whatever the number of points

    def __post_init__(self) -> None:
        check_choice("gate", self.gate, [name for name in VARIANTS if name != UNGATED])
        check_integer("seed_count", self.seed_count, 2, LIMITS["seed_count"][1])
        _ = self.setting  # checks all other fields

    @property
    def setting(self) -> Setting:
        """The comparison of both models, but for the number of points."""
        return Setting(
            task=self.task, source=self.source, variants=(UNGATED, self.gate),
            model_dim=self.model_dim, value_count=self.value_count, label_noise=self.label_noise,
            seed=self.seed, seed_count=self.seed_count, steps=self.steps,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """``accuracy`` (V, S, L) on test points, after training on ``counts`` (L,) points."""

    request: CurvesRequest
    counts: np.ndarray
    accuracy: np.ndarray

    def differences(self, t: Thresholds = THRESHOLDS) -> tuple[Difference, ...]:
        """Gated less ungated, seed by seed, at every number of points; Holm's p over these."""
        seeds = self.request.setting.seeds
        gained = self.accuracy[1] - self.accuracy[0]  # (S, L)
        each = [paired(seeds, column, t.confidence) for column in gained.T]
        enough = len(seeds) >= t.fewest_seeds
        p = holm([one.p if enough else np.nan for one in each])
        tests = [equivalence(seeds, column, t.margin, t.level) for column in gained.T]
        return tuple(
            Difference(int(count), one, test, float(value), _word(one, test, float(value), t))
            for count, one, test, value in zip(self.counts, each, tests, p, strict=True)
        )

    def needed(self, level: float) -> tuple[Needed, Needed]:
        """How many points each variant needs to reach the accuracy ``level``, 0.5 to 0.999."""
        check_number("level", level, *LEVEL_RANGE)
        ungated, gated = (needed(self.counts, curves, level) for curves in self.accuracy)
        return ungated, gated

    def ratio(self, level: float, t: Thresholds = THRESHOLDS) -> Ratio:
        """Points that the gated model needs for ``level``, relative to the ungated one."""
        ungated, gated = self.needed(level)
        known = ungated.reached | gated.reached
        seeds = np.array(self.request.setting.seeds)[known]
        logs = np.log2(gated.points / ungated.points)[known]
        of = paired(seeds.tolist(), logs, t.confidence) if known.any() else None
        bounded = int((known & ~(ungated.inside & gated.inside)).sum())
        if of is None or of.count < t.fewest_seeds:
            return Ratio(of, bounded, 0, FEW)
        # More points than the gated model was given, or fewer than the ungated one, raise a ratio.
        fewer, more = (gated, ungated) if of.mean < 0 else (ungated, gated)
        late, early = ~fewer.reached, more.reached & ~more.inside
        against = int((known & (late | early)).sum())
        word = BETTER if of.mean < 0 else WORSE
        return Ratio(of, bounded, against, OPEN if of.p > t.level or against else word)


@dataclass(frozen=True, eq=False)
class Difference:
    """Of the test accuracy with ``count`` training points, as a share; see `LearningCurves`."""

    count: int
    measured: Paired
    equality: Equivalence
    p: float  # Holm's; NaN with too few seeds
    word: str


def _word(one: Paired, test: Equivalence, p: float, t: Thresholds) -> str:
    """Decide as claim C4 does, both ways, and where there is no difference as C5 does."""
    if p <= t.level:
        return BETTER if one.mean > 0 else WORSE
    return FEW if np.isnan(p) else WORDS_OF_EQUALITY[equality_word(test, t)]


@dataclass(frozen=True, eq=False)
class Needed:
    """The numbers of training points (S,) with which each seed reaches a level.

    ``reached`` (S,): whether it does at all; one that does not has the largest number tried, which
    is too few. ``inside`` (S,): whether the number lies between those tried; a seed that begins
    above the level has the smallest one, which is too many.
    """

    points: np.ndarray
    reached: np.ndarray
    inside: np.ndarray

    @property
    def log2(self) -> MeanInterval | None:
        """The mean of log2 of the points, with its interval; ``None`` if half do not reach it."""
        return mean_interval(np.log2(self.points)) if self.reached.mean() > 0.5 else None


@dataclass(frozen=True, eq=False)
class Ratio:
    """log2 of gated over ungated points, seed by seed, where at least one of both gets there.

    ``bounded`` of the seeds stand at an end of the numbers tried, where their ratio has a bound
    only; of these, ``against`` may truly lie further on the other side than measured. ``word``:
    `BETTER` where the gated model needs fewer, `WORSE`, `OPEN` or `FEW`; with any seed ``against``
    it is `OPEN`.
    """

    measured: Paired | None
    bounded: int
    against: int
    word: str


def needed(counts: np.ndarray, accuracy: np.ndarray, level: float) -> Needed:
    """Where curves ``accuracy`` (S, L) first reach ``level``, linear in log n between ``counts``.

    ``ValueError`` for other shapes.
    """
    if accuracy.ndim != 2 or accuracy.shape[1] != len(counts):
        raise ValueError(
            f"accuracy has shape {accuracy.shape} for {len(counts)} counts; it must be (S, L)"
        )
    above = accuracy >= level
    reached, first = np.asarray(above.any(1)), above.argmax(1)
    inside = reached & (first > 0)
    rows, after = np.arange(len(accuracy)), np.where(inside, first, 1)
    low, high = accuracy[rows, after - 1], accuracy[rows, after]
    share = np.where(inside, (level - low) / np.where(inside, high - low, 1), 0.0)
    logs = np.log(counts)
    points = np.exp(logs[after - 1] + share * (logs[after] - logs[after - 1]))
    points = np.where(inside, points, np.where(reached, counts[0], counts[-1]))
    return Needed(points, reached, inside)


def accuracies_at(
    counts: Sequence[int], request: CurvesRequest
) -> Generator[np.ndarray | None, None, None]:
    """Yield (V, S) for each of ``counts``: test accuracy after training on so many points; pauses.

    All seeds of both variants are one batch where their shapes agree. Raises `TrainingDiverged`.
    """
    setting = request.setting
    for count in counts:
        task = make_task(request.task, count, 0.0, TEST_POINTS, setting.seeds, request.label_noise)
        accuracy: dict[str, np.ndarray] = {}
        for names in batches_of(setting.configs):
            configs = [setting.configs[name] for name in names]
            trainer = Trainer(configs, task, setting.recipe(count))
            yield from trainer.advance(request.steps)
            snapshots = yield from trainer.snapshots()
            for name, snapshot in zip(names, snapshots, strict=True):
                accuracy[name] = snapshot.test_accuracy
        yield np.stack([accuracy[name] for name in (UNGATED, request.gate)])


def curves_of(request: CurvesRequest, accuracies: Sequence[np.ndarray]) -> LearningCurves:
    """The curves of what `accuracies_at` yielded for `COUNTS`: (V, S) for each."""
    return LearningCurves(request, np.array(COUNTS, dtype=float), np.stack(accuracies, -1))

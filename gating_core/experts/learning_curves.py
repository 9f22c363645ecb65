"""Learning curves: how many training points does gated and ungated attention need?

The models are those of `gating_core.experiments.comparison`, the rules of difference and of
equality those of the study (`gating_core.claims`).
Shapes: V = 2 variants, the ungated one first, S seeds, L numbers of training points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.assets import ASSETS
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.claims.accuracy import equality_word
from gating_core.claims.claim import THRESHOLDS, Thresholds, Word
from gating_core.claims.statistics import Equivalence, Paired, equivalence, holm, paired
from gating_core.experiments.comparison.setting import LIMITS, VARIANTS, Setting
from gating_core.progress import Progress, silent
from gating_core.records import load_record
from gating_core.tasks.task import make_task
from gating_core.training.trained import MeanInterval, mean_interval
from gating_core.training.trainer import Trainer, batches_of

CURVES = ASSETS / "experts" / "curves.safetensors"  # bundled
COUNTS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)  # training points
UNGATED = "ungated"
BETTER, WORSE, EQUAL, NO_ADVANTAGE, INCONCLUSIVE, FEW = (
    "gated better",
    "ungated better",
    "no difference",
    "no advantage",
    "inconclusive",
    "not enough data",
)
WORDS_OF_EQUALITY = {
    Word.SUPPORTED: EQUAL,
    Word.PARTLY: NO_ADVANTAGE,
    Word.NOT_SUPPORTED: INCONCLUSIVE,
    Word.NOT_ENOUGH: FEW,
}


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
        """The comparison of both models; its number of points is not used."""
        return Setting(
            task=self.task,
            source=self.source,
            variants=(UNGATED, self.gate),
            model_dim=self.model_dim,
            value_count=self.value_count,
            label_noise=self.label_noise,
            seed=self.seed,
            seed_count=self.seed_count,
            steps=self.steps,
        )


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """``accuracy`` (V, S, L) on test points, after training on ``counts`` (L,) points."""

    request: CurvesRequest
    counts: np.ndarray
    accuracy: np.ndarray

    def differences(self, t: Thresholds = THRESHOLDS) -> tuple[Difference, ...]:
        """Gated minus ungated, paired by seed, at every number of points; Holm's p over these."""
        seeds = self.request.setting.seeds
        gained = self.accuracy[1] - self.accuracy[0]  # (S, L)
        pairs = [paired(seeds, column, t.confidence) for column in gained.T]
        enough = len(seeds) >= t.fewest_seeds
        p = holm([pair.p if enough else np.nan for pair in pairs])
        tests = [equivalence(seeds, column, t.margin, t.level) for column in gained.T]
        return tuple(
            Difference(int(count), pair, float(value), _word(pair, test, float(value), t))
            for count, pair, test, value in zip(self.counts, pairs, tests, p, strict=True)
        )

    def needed(self, level: float) -> tuple[Needed, Needed]:
        """Return the points that each variant needs for the accuracy ``level``, 0.5 to 0.999."""
        check_number("level", level, 0.5, 0.999)
        ungated, gated = (needed(self.counts, curves, level) for curves in self.accuracy)
        return ungated, gated

    def ratio(self, level: float, t: Thresholds = THRESHOLDS) -> Ratio:
        """Points that the gated model needs for ``level``, relative to the ungated one."""
        ungated, gated = self.needed(level)
        usable = ungated.reached | gated.reached
        seeds = np.array(self.request.setting.seeds)[usable]
        logs = np.log2(gated.points / ungated.points)[usable]
        result = paired(seeds.tolist(), logs, t.confidence) if usable.any() else None
        bounded = int((usable & ~(ungated.inside & gated.inside)).sum())
        if result is None or result.count < t.fewest_seeds:
            return Ratio(result, bounded, 0, FEW)
        # More points than the gated model was given, or fewer than the ungated one, raise a ratio.
        fewer, more = (gated, ungated) if result.mean < 0 else (ungated, gated)
        late, early = ~fewer.reached, more.reached & ~more.inside
        against = int((usable & (late | early)).sum())
        word = BETTER if result.mean < 0 else WORSE
        if result.p > t.level or against:
            word = INCONCLUSIVE
        return Ratio(result, bounded, against, word)


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference of test accuracies, as shares, with ``count`` training points."""

    count: int
    measured: Paired
    p: float  # Holm's; NaN with too few seeds
    word: str


def _word(measured: Paired, test: Equivalence, p: float, t: Thresholds) -> str:
    """The verdict by the rule of claim C4 in both directions, else by C5's for equality."""
    if p <= t.level:
        return BETTER if measured.mean > 0 else WORSE
    return FEW if np.isnan(p) else WORDS_OF_EQUALITY[equality_word(test, t)]


@dataclass(frozen=True, eq=False)
class Needed:
    """The numbers of training points (S,) with which each seed reaches a level.

    ``reached`` (S,): whether a seed reaches it at all; if not, its number is the largest tried, a
    lower bound. ``inside`` (S,): whether the number lies between those tried; a seed that starts
    above the level has the smallest number tried, an upper bound.
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
    """log2 of gated over ungated points, paired by seed, where at least one reaches the level.

    For ``bounded`` of the seeds a number is at an end of those tried, so that their ratio is only a
    bound; for ``against`` of these the true ratio may be less in favour of ``word`` than the bound.
    ``word``: `BETTER` where the gated model needs fewer, `WORSE`, `INCONCLUSIVE` or `FEW`; with any
    seed ``against`` it is `INCONCLUSIVE`.
    """

    measured: Paired | None
    bounded: int
    against: int
    word: str


def needed(counts: np.ndarray, accuracy: np.ndarray, level: float) -> Needed:
    """Find where curves ``accuracy`` (S, L), linear in log n between ``counts``, reach ``level``.

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
    counts: Sequence[int], request: CurvesRequest, progress: Progress = silent
) -> Iterator[np.ndarray]:
    """Yield test accuracies (V, S) after training on each of ``counts`` points.

    All seeds of both variants are one batch where their shapes agree. Raises `TrainingDiverged`.
    """
    setting = request.setting
    for count in counts:
        task = make_task(request.task, count, 0.0, 1000, setting.seeds, request.label_noise)
        accuracy: dict[str, np.ndarray] = {}
        for names in batches_of(setting.configs):
            configs = [setting.configs[name] for name in names]
            trainer = Trainer(configs, task, setting.recipe(count))
            trainer.advance(request.steps, progress)
            for name, snapshot in zip(names, trainer.snapshots(progress), strict=True):
                accuracy[name] = snapshot.test_accuracy
        yield np.stack([accuracy[name] for name in (UNGATED, request.gate)])


def curves_of(request: CurvesRequest, accuracies: Sequence[np.ndarray]) -> LearningCurves:
    """The curves from the accuracies (V, S) that `accuracies_at` yields for each of `COUNTS`."""
    return LearningCurves(request, np.array(COUNTS, dtype=float), np.stack(accuracies, -1))


def load_curves() -> LearningCurves:
    """The bundled learning curves."""
    return load_record(LearningCurves, CURVES, "holds no learning curves")

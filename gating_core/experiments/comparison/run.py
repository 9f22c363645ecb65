"""A training run: its frames, and the checkpoints to train it further from.

Shapes: S seeds, T frames.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gating_core.checks import check_integer
from gating_core.experiments.comparison.setting import LIMITS, Setting
from gating_core.progress import Progress, silent
from gating_core.tasks.task import Task
from gating_core.training.trained import TrainedEnsemble
from gating_core.training.trainer import (
    SNAPSHOTS,
    Checkpoint,
    Snapshot,
    Trainer,
    TrainingDiverged,
    batches_of,
    ensemble_of,
    snapshot_steps,
)


@dataclass(frozen=True, eq=False)
class Frame:
    """All variants after ``step`` steps, by name."""

    step: int
    snapshots: dict[str, Snapshot]


@dataclass(frozen=True, eq=False)
class TrainedVariant:
    """One variant along a run.

    ``ensemble`` has the final weights; ``states`` are those of every frame by name, (T, S, ...);
    ``test_loss`` (T, S). ``seconds`` is the time of training, without snapshots, divided evenly
    among the variants trained ``together``.
    """

    ensemble: TrainedEnsemble
    test_loss: np.ndarray
    states: dict[str, np.ndarray]
    seconds: float
    together: tuple[str, ...]


@dataclass(frozen=True)
class Divergence:
    """The end of a diverged run: ``members`` are (variant, seed), ``text`` is a sentence."""

    step: int
    members: tuple[tuple[str, int], ...]
    text: str


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run up to its last frame: complete, stopped or diverged.

    ``batches`` are the variants that were trained together, with the ``seconds`` it took and the
    ``checkpoints`` from which they can go on after the last frame.
    """

    setting: Setting
    task: Task
    frames: tuple[Frame, ...]
    batches: tuple[tuple[str, ...], ...]
    seconds: tuple[float, ...]
    checkpoints: tuple[Checkpoint | None, ...]  # None where there is no frame yet, or from a file
    divergence: Divergence | None = None

    @property
    def steps(self) -> np.ndarray:
        """(T,): the frames' steps, from 0."""
        return np.array([frame.step for frame in self.frames])

    @property
    def complete(self) -> bool:
        """True if the run has all steps of its setting."""
        return bool(self.frames) and self.frames[-1].step == self.setting.steps

    @property
    def ended(self) -> bool:
        """True if there is nothing left to train."""
        return self.complete or self.divergence is not None

    @property
    def resumable(self) -> bool:
        """True if the run can be trained further."""
        return self.divergence is None and None not in self.checkpoints

    @cached_property
    def variants(self) -> dict[str, TrainedVariant]:
        """The variants by name, in the setting's order."""
        variants = {}
        for names, seconds in zip(self.batches, self.seconds, strict=True):
            for name in names:
                snapshots = [frame.snapshots[name] for frame in self.frames]
                parts = snapshots[-1].state
                variants[name] = TrainedVariant(
                    ensemble_of(self.setting.configs[name], self.setting.seeds, snapshots),
                    np.stack([s.test_loss for s in snapshots]),
                    {part: np.stack([s.state[part] for s in snapshots]) for part in parts},
                    seconds / len(names),
                    names,
                )
        return {name: variants[name] for name in self.setting.variants}


MORE_SNAPSHOTS = 20  # of the added steps of a complete run, evenly spaced


def train_setting(
    setting: Setting, snapshots: int = SNAPSHOTS, progress: Progress = silent
) -> Iterator[TrainedRun]:
    """Train ``setting`` from its initial weights, with the same result at every call.

    Yields the run so far at each of about ``snapshots`` steps, dense early; their number changes no
    weight. A run that diverges ends with one that has its ``divergence``, and all frames so far.
    ``progress`` is called with the share done after every step, and within every snapshot.
    """
    progress(0.0)
    task = setting.make_task()
    batches = tuple(batches_of(setting.configs))
    checkpoints = (None,) * len(batches)
    begin = TrainedRun(setting, task, (), batches, (0.0,) * len(batches), checkpoints)
    yield from _run(begin, snapshot_steps(setting.steps, snapshots), progress)


def train(setting: Setting, progress: Progress = silent) -> TrainedRun:
    """Train ``setting`` from its initial weights, with the same result at every call.

    Args:
        setting: Task, variants, seeds and training configuration.
        progress: Called with the share done, 0 to 1, after every step. What it raises, such as
            `Cancelled`, ends the training.

    Returns:
        The run with about forty frames; one that diverged ends early and has its ``divergence``.

    Example:
        >>> from gating_core import Setting, train
        >>> run = train(Setting(task="circle", steps=20, seed_count=2, points=32))
        >>> run.complete, run.variants["sigmoid"].ensemble.test_accuracy.shape[1]
        (True, 2)
    """
    *_, run = train_setting(setting, progress=progress)
    return run


def train_further(run: TrainedRun, steps: int, progress: Progress = silent) -> Iterator[TrainedRun]:
    """Train ``run`` for ``steps`` more steps, as if it had never stopped.

    Yields and reports as `train_setting` does. The runs keep the frames of ``run``, and have the
    setting of one of that length. ``ValueError`` for a run that has diverged, or that was read from
    a file, which holds only the weights.
    """
    if run.divergence is not None:
        raise ValueError(f"this run cannot go on: {run.divergence.text}")
    if not run.resumable:
        raise ValueError("this run cannot go on: the optimiser's memory is not known")
    done = run.frames[-1].step
    check_integer("steps", steps, 1, LIMITS["steps"][1] - done)
    longer = replace(run.setting, steps=done + steps)
    if longer == run.setting:  # it was stopped: the marks that it has not reached
        marks = [mark for mark in snapshot_steps(longer.steps) if mark > done]
    else:
        count = min(steps, MORE_SNAPSHOTS)
        marks = (done + np.linspace(0, steps, count + 1)[1:].round().astype(int)).tolist()
    return _run(replace(run, setting=longer), marks, progress)


class _Batch:
    """The variants that are trained as one ensemble."""

    def __init__(self, run: TrainedRun, index: int) -> None:
        configs = run.setting.configs
        self.names = run.batches[index]
        self.seconds = run.seconds[index]
        recipe = run.setting.recipe(run.task.train_points.shape[1])
        self.trainer = Trainer(
            [configs[name] for name in self.names],
            run.task,
            recipe,
            run.checkpoints[index],
            price=run.setting.make_price(),
        )

    def advance(self, step: int, progress: Progress) -> None:
        """Train until ``step``, and measure the time, without that of ``progress``."""
        begin = time.perf_counter()

        def report(share: float | None) -> None:
            nonlocal begin
            self.seconds += time.perf_counter() - begin
            progress(share)
            begin = time.perf_counter()

        self.trainer.advance(step, report)

    def diverged(self, error: TrainingDiverged) -> Divergence:
        """Describe the divergence with the variants' names."""
        names = [self.names[index] for index in error.indices]
        members = tuple(zip(names, error.seeds, strict=True))
        return Divergence(error.step, members, f"{', '.join(dict.fromkeys(names))}: {error}")


def _run(run: TrainedRun, marks: Sequence[int], progress: Progress) -> Iterator[TrainedRun]:
    """Train all batches of ``run`` to each mark in turn."""
    batches = [_Batch(run, index) for index in range(len(run.batches))]
    whole = len(batches) * run.setting.steps

    def report(_: float | None) -> None:
        progress(sum(batch.trainer.step for batch in batches) / whole)

    for mark in marks:
        frame = Frame(mark, {})
        for batch in batches:
            try:
                batch.advance(mark, report)
                snapshots = batch.trainer.snapshots(report)
            except TrainingDiverged as error:
                yield replace(run, divergence=batch.diverged(error))
                return
            frame.snapshots.update(zip(batch.names, snapshots, strict=True))
        run = replace(
            run,
            frames=(*run.frames, frame),
            seconds=tuple(batch.seconds for batch in batches),
            checkpoints=tuple(batch.trainer.checkpoint for batch in batches),
        )
        yield run

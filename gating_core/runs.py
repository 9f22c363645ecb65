"""What is left of a run? Its frames, and all that it takes to go on.

Shapes: S seeds, T frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gating_core.results import TrainedEnsemble
from gating_core.setting import Setting
from gating_core.tasks import Task
from gating_core.trainer import Checkpoint, Snapshot


@dataclass(frozen=True, eq=False)
class Frame:
    """All variants after ``step`` steps, by name."""

    step: int
    snapshots: dict[str, Snapshot]


@dataclass(frozen=True, eq=False)
class TrainedVariant:
    """One variant along a run.

    ``ensemble`` has the final weights; ``states`` are those of every frame by name, (T, S, ...);
    ``test_loss`` (T, S). ``seconds`` is what training took, looking not counted; variants trained
    ``together`` share it evenly.
    """

    ensemble: TrainedEnsemble
    test_loss: np.ndarray
    states: dict[str, np.ndarray]
    seconds: float
    together: tuple[str, ...]


@dataclass(frozen=True)
class Divergence:
    """Where a run broke off: ``members`` are (variant, seed), ``text`` says it in a sentence."""

    step: int
    members: tuple[tuple[str, int], ...]
    text: str


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run as far as it got: to its end, until it was stopped, or until it diverged.

    ``batches`` are the variants that were trained together, with the ``seconds`` it took and the
    ``checkpoints`` from which they can go on after the last frame.
    """

    setting: Setting
    task: Task
    frames: tuple[Frame, ...]
    batches: tuple[tuple[str, ...], ...]
    seconds: tuple[float, ...]
    checkpoints: tuple[Checkpoint | None, ...]  # None where there is no frame yet
    divergence: Divergence | None = None

    @property
    def steps(self) -> np.ndarray:
        """(T,): the frames' steps, from 0."""
        return np.array([frame.step for frame in self.frames])

    @property
    def complete(self) -> bool:
        """Whether it got to the end of its setting."""
        return bool(self.frames) and self.frames[-1].step == self.setting.steps

    @cached_property
    def variants(self) -> dict[str, TrainedVariant]:
        """The variants by name, in the setting's order."""
        return {name: self._variant(name) for name in self.setting.variants}

    def _variant(self, name: str) -> TrainedVariant:
        found = [frame.snapshots[name] for frame in self.frames]
        names, seconds = next(
            (names, seconds)
            for names, seconds in zip(self.batches, self.seconds, strict=True)
            if name in names
        )
        return TrainedVariant(
            ensemble=TrainedEnsemble(
                config=self.setting.configs[name],
                seeds=self.setting.seeds,
                steps=self.steps,
                train_loss=np.stack([s.train_loss for s in found]),
                train_accuracy=np.stack([s.train_accuracy for s in found]),
                test_accuracy=np.stack([s.test_accuracy for s in found]),
                state=found[-1].state,
            ),
            test_loss=np.stack([s.test_loss for s in found]),
            states={part: np.stack([s.state[part] for s in found]) for part in found[-1].state},
            seconds=seconds / len(names),
            together=names,
        )

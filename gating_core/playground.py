"""What happens when a setting is run? All variants learn in lockstep, and are looked at on the way.

`start` and `go_on` are iterators that give way at least every third of a second. They are stopped
by not asking for more; the run that they yielded last is then what there is.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from gating_core.config import check_integer
from gating_core.runs import Divergence, Frame, TrainedRun
from gating_core.setting import STEPS_RANGE, Setting
from gating_core.train import snapshot_steps
from gating_core.trainer import Trainer, TrainingDiverged
from gating_core.variants import batches_of

MORE_SNAPSHOTS = 20  # of what a complete run is continued by, evenly spaced

Event = float | TrainedRun


def start(setting: Setting) -> Iterator[Event]:
    """Run ``setting`` from its initial weights: the same again, whenever it is called.

    Yields the share done, 0 to 1, about ten times a second, and at each of about forty steps,
    dense early, the `TrainedRun` so far. A run that diverges ends with one that says where, and
    that has all frames it had.
    """
    yield 0.0
    task = setting.make_task()
    batches = tuple(batches_of(setting.configs))
    nothing = (None,) * len(batches)
    begin = TrainedRun(setting, task, (), batches, (0.0,) * len(batches), nothing)
    yield from _run(begin, snapshot_steps(setting.steps))


def go_on(run: TrainedRun, steps: int) -> Iterator[Event]:
    """``steps`` more from the last frame of ``run``, as if it had never stopped.

    Yields as `start` does. The runs have the frames of ``run``, too, and the setting of one that
    was as long from the beginning. ``ValueError`` for a run that has diverged.
    """
    if run.divergence is not None:
        raise ValueError(f"this run cannot go on: {run.divergence.text}")
    done = run.frames[-1].step
    check_integer("steps", steps, 1, STEPS_RANGE[1] - done)
    longer = replace(run.setting, steps=done + steps)
    if longer == run.setting:  # it was stopped on its way: the moments that it has not come to
        marks = [mark for mark in snapshot_steps(longer.steps) if mark > done]
    else:
        count = min(steps, MORE_SNAPSHOTS)
        marks = (done + np.linspace(0, steps, count + 1)[1:].round().astype(int)).tolist()
    return _run(replace(run, setting=longer), marks)


class _Batch:
    """The variants that are trained as one."""

    def __init__(self, run: TrainedRun, place: int) -> None:
        configs = run.setting.configs
        self.names = run.batches[place]
        self.seconds = run.seconds[place]
        recipe = run.setting.recipe(run.task.train_points.shape[1])
        self.trainer = Trainer(
            [configs[name] for name in self.names], run.task, recipe, run.checkpoints[place]
        )

    def advance(self, step: int) -> Iterator[None]:
        """Train until ``step``, and keep the time."""
        work, going = self.trainer.advance(step), True
        while going:
            begin = time.perf_counter()
            going = next(work, True) is None
            self.seconds += time.perf_counter() - begin
            yield

    def look(self, frame: Frame) -> Iterator[None]:
        """Add this batch's snapshots to ``frame``."""
        found = yield from self.trainer.snapshots()
        frame.snapshots.update(zip(self.names, found, strict=True))

    def diverged(self, error: TrainingDiverged) -> Divergence:
        """What happened, with the variants' names."""
        names = [self.names[place] for place in error.places]
        members = tuple(zip(names, error.seeds, strict=True))
        return Divergence(error.step, members, f"{', '.join(dict.fromkeys(names))}: {error}")


def _run(run: TrainedRun, marks: Sequence[int]) -> Iterator[Event]:
    """Train all batches of ``run`` to one mark after the other."""
    batches = [_Batch(run, place) for place in range(len(run.batches))]
    for mark in marks:
        frame = Frame(mark, {})
        for batch in batches:
            try:
                for _ in itertools.chain(batch.advance(mark), batch.look(frame)):
                    done = sum(each.trainer.step for each in batches)
                    yield done / (len(batches) * run.setting.steps)
            except TrainingDiverged as error:
                yield replace(run, divergence=batch.diverged(error))
                return
        run = replace(
            run,
            frames=(*run.frames, frame),
            seconds=tuple(batch.seconds for batch in batches),
            checkpoints=tuple(batch.trainer.checkpoint for batch in batches),
        )
        yield run

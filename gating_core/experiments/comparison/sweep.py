"""What does a trained gate do as it is dialled up? One member, strength by strength.

Its weights stay as they were trained. At every strength the classifier is the best one for the
surface that there is (`refitted`), and the total curvature is refined until it is settled.

Shapes: T strengths, D model dimension, C classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.attention.classifier import Classifier
from gating_core.experiments.budget import affordable_steps
from gating_core.experiments.comparison.clearest import clearest_member
from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.refit import refitted
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.geometry.integrals import Integral

STEPS = 20
POINTS = 40_000  # for the total at one strength: half a second, a layer
STRENGTHS = tuple(round(i / STEPS, 2) for i in range(STEPS + 1))


@dataclass(frozen=True, eq=False)
class StrengthSweep:
    """One ``member`` of a run's gated variant at each of `STRENGTHS`.

    Read-outs ``weight`` (T, D, C) and ``bias`` (T, C); ``total`` is the integral of |K| dA (T,),
    NaN where it has not been ``measured`` (T,) yet.
    """

    member: int
    weight: np.ndarray
    bias: np.ndarray
    total: Integral
    measured: np.ndarray

    def model(self, run: TrainedRun) -> Classifier:
        """The member at all strengths as an ensemble of T, with its read-outs."""
        ensemble = run.variants[run.setting.compared[1]].ensemble
        model = strengths_model(ensemble, self.member, STRENGTHS)
        model.weight.data, model.bias.data = torch.tensor(self.weight), torch.tensor(self.bias)
        return model


def sweep_strengths(run: TrainedRun) -> Iterator[StrengthSweep | None]:
    """The clearest member of ``run``, with more and more totals; gives way in between.

    The ends of the dial are measured first.
    """
    member = clearest_member(run)
    yield None
    ensemble = run.variants[run.setting.compared[1]].ensemble
    points, labels = run.task.train_points[member], run.task.train_labels[member]
    model = refitted(strengths_model(ensemble, member, STRENGTHS), points, labels)
    unknown = torch.full((len(STRENGTHS),), torch.nan, dtype=torch.float64)
    found = StrengthSweep(
        member,
        model.weight.numpy(),
        model.bias.numpy(),
        Integral(unknown, unknown, unknown > 0),
        np.zeros(len(STRENGTHS), dtype=bool),
    )
    yield found
    for place in (STEPS, 0, *range(STEPS - 1, 0, -1)):
        alone = strengths_model(ensemble, member, [STRENGTHS[place]]).attention
        integrals = yield from affordable_steps(alone, ensemble.config, points=POINTS)
        found = _with_total(found, place, integrals.absolute)
        yield found


def _with_total(sweep: StrengthSweep, place: int, total: Integral) -> StrengthSweep:
    here = torch.arange(len(STRENGTHS)) == place
    parts = (
        torch.where(here, new.reshape(-1), old)
        for new, old in (
            (total.value, sweep.total.value),
            (total.error, sweep.total.error),
            (total.complete, sweep.total.complete),
        )
    )
    return replace(sweep, total=Integral(*parts), measured=sweep.measured | here.numpy())

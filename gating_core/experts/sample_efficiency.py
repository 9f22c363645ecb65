"""Sample efficiency: the data that it takes to learn the experts, and to predict.

A teacher is measured n times on a fixed design, with noise, and a student of the same kind is
fitted by least squares. Its errors against n, for many teachers at once, each a repeat.
Shapes: R repeats, L numbers n of data, N points of the design, D model dimension, E experts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from gating_core.assets import ASSETS
from gating_core.checks import check_integer, check_number
from gating_core.experts.students import (
    PARAMETER_SCALE,
    POINTS,
    Sizes,
    Student,
    expected,
    least_squares,
    make_design,
)
from gating_core.progress import Progress, silent
from gating_core.randomness import normal
from gating_core.records import load_record
from gating_core.training.trained import MeanInterval, mean_interval

SAMPLES = ASSETS / "experts" / "samples.safetensors"  # bundled
MOST_STARTS = 6
FIRST_STEPS = 50  # of a fit, after which it is continued or restarted


@dataclass(frozen=True)
class SampleRequest:
    """Teachers, and how often each of them is measured, with how much noise.

    Every repeat has a seed, and with it a teacher and a design of its own. ``decades`` are the
    first and the last power of ten of n.
    """

    sizes: Sizes = field(default_factory=Sizes)
    noise: float = 0.3  # standard deviation of one measurement of one output
    decades: tuple[int, int] = (3, 7)
    repeats: int = 12  # R
    seed: int = 0  # of the first repeat; the next repeats have the next seeds

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, Sizes):
            raise ValueError(f"sizes is {self.sizes!r}; it must be Sizes")
        check_number("noise", self.noise, 0.01, 3.0)
        for decade in self.decades:
            check_integer("decades", decade, 2, 8)
        if len(self.decades) != 2 or self.decades[0] >= self.decades[1]:
            raise ValueError(f"decades is {self.decades!r}; there must be two, and they must rise")
        check_integer("repeats", self.repeats, 2, 64)
        check_integer("seed", self.seed, 0, 9999)

    @property
    def seeds(self) -> tuple[int, ...]:
        """(R,): the seed of each repeat."""
        return tuple(range(self.seed, self.seed + self.repeats))

    def cost(self, gate: str) -> float:
        """An estimate of the cost of learning for one gate: numbers in the Jacobians of all fits.

        Each number costs more in large problems, because J^T J is computed, too.
        """
        count = Student(self.sizes, gate).parameter_count
        fits = self.repeats * len(self.counts)
        return fits * POINTS * self.sizes.model_dim * count * (1 + count / 100)

    @property
    def counts(self) -> np.ndarray:
        """(L,): the numbers n of data."""
        first, last = self.decades
        return 10.0 ** np.arange(first, last + 1)

    def deviation(self, points: int) -> np.ndarray:
        """(L,): standard deviation of the mean of n / ``points`` measurements of one output."""
        return self.noise * np.sqrt(points / self.counts)


@dataclass(frozen=True, eq=False)
class Learned:
    """Results of students with one ``gate``: errors (R, L), measured and expected by theory.

    ``expert`` is the distance of an expert from the teacher's (`expert_errors`), ``prediction`` the
    root mean square error of the student's outputs. ``excess`` is the fit's mean square relative to
    the noise's, 1 or less, and ``starts`` how many random starts were tried. ``expert_theory`` (R,
    L) is infinite where no amount of data determines the experts, NaN with one expert too many: the
    theory does not hold there. ``size`` (R,) is the mean norm of a teacher's experts.
    """

    request: SampleRequest
    gate: str
    expert: np.ndarray
    prediction: np.ndarray
    excess: np.ndarray
    starts: np.ndarray
    expert_theory: np.ndarray
    prediction_theory: np.ndarray
    size: np.ndarray
    non_identifiable: int  # directions of parameter space in which outputs do not change

    @property
    def reached(self) -> np.ndarray:
        """(R, L): whether the fit is as good as the noise allows."""
        return self.excess <= most_excess(POINTS * self.request.sizes.model_dim)

    @cached_property
    def slopes(self) -> dict[str, Slope]:
        """The slopes of both errors, by name."""
        return {
            name: slope(self.request.counts, getattr(self, name))
            for name in ("expert", "prediction")
        }


ARRAYS = ("expert", "prediction", "excess", "starts", "expert_theory", "prediction_theory", "size")


@dataclass(frozen=True, eq=False)
class Slope:
    """The slope of log error against log n: of every repeat (R,), and the mean with its interval.

    -1/2 is the usual rate, 1 / sqrt(n); 0: data do not help.
    """

    values: np.ndarray
    mean: MeanInterval


def slope(counts: np.ndarray, errors: np.ndarray) -> Slope:
    """Fit a line to each repeat's ``errors`` (R, L), all positive, against ``counts`` (L,)."""
    if errors.ndim != 2 or errors.shape[1] != len(counts) or len(counts) < 2:
        raise ValueError(
            f"errors has shape {errors.shape} for {len(counts)} counts; it must be (R, L), L > 1"
        )
    if not (np.isfinite(errors).all() and (errors > 0).all()):
        raise ValueError("errors contains values without a logarithm; all must be positive")
    x = np.log(counts) - np.log(counts).mean()
    values = np.log(errors) @ x / (x @ x)
    return Slope(values, mean_interval(values))


def expert_errors(estimate: torch.Tensor, truth: torch.Tensor) -> np.ndarray:
    """Distances of each true expert from the estimated one that the best matching gives it.

    Args:
        estimate: (..., E', D, D), E' >= E, maps of experts (`expert_maps`) in any order.
        truth: (..., E, D, D).

    Returns:
        (..., E): Frobenius distances, in the unit of the maps. Every true expert has a partner of
        its own; the matching has the smallest sum. Unmatched maps of ``estimate`` do not count.
        ``ValueError`` for other shapes.

    Source: Kuhn (1955), as `scipy.optimize.linear_sum_assignment`.
    """
    from scipy.optimize import linear_sum_assignment  # here: a tenth of a second to import

    same = estimate.shape[:-3] == truth.shape[:-3] and estimate.shape[-2:] == truth.shape[-2:]
    if truth.ndim < 3 or not same or estimate.shape[-3] < truth.shape[-3]:
        raise ValueError(
            f"estimate has shape {tuple(estimate.shape)} and truth {tuple(truth.shape)}; they must"
            " be (..., E', D, D) and (..., E, D, D) with E' no less than E"
        )
    costs = (truth.flatten(-2).unsqueeze(-2) - estimate.flatten(-2).unsqueeze(-3)).norm(dim=-1)
    flat = costs.reshape(-1, *costs.shape[-2:]).numpy()
    errors = [cost[linear_sum_assignment(cost)] for cost in flat]
    return np.array(errors).reshape(truth.shape[:-2])


def most_excess(count: int) -> float:
    """The largest mean square of ``count`` residuals, over the noise's, that noise can explain."""
    # By four standard deviations of chi-squared.
    return 1 + 4.0 * (2 / count) ** 0.5


def learn(
    seeds: Sequence[int], request: SampleRequest, gate: str, progress: Progress = silent
) -> Iterator[Learned]:
    """Yield the results of each of the ``seeds``, one repeat after the other.

    All fits of all n are one batch. A fit starts at random; where after `FIRST_STEPS` steps its
    residuals are larger than the noise explains, it restarts, with at most `MOST_STARTS` starts.
    The best one is continued to its end.
    """
    seeds, sizes = tuple(seeds), request.sizes
    teacher, student = Student(sizes, gate, teaches=True), Student(sizes, gate)
    designs = [make_design(sizes, seed) for seed in seeds]
    inputs = [torch.stack(parts) for parts in zip(*designs, strict=True)]
    truths = _drawn(teacher, seeds, "teacher")
    clean = torch.func.vmap(teacher.layer)(truths, *inputs)  # (R, N D)
    deviation = torch.from_numpy(request.deviation(POINTS))
    levels, size = len(deviation), clean.shape[1]
    noise = normal(seeds, "experts.noise", (levels, size), 1.0)
    targets = (clean[:, None] + deviation[:, None] * noise).flatten(0, 1)  # (R L, N D)
    inputs = [each.repeat_interleave(levels, 0) for each in inputs]
    variance = deviation.square().repeat(len(seeds))

    best = torch.full((len(targets),), torch.inf, dtype=torch.float64)
    vectors = torch.zeros(len(targets), student.parameter_count, dtype=torch.float64)
    starts = torch.zeros(len(targets), dtype=torch.int64)
    most = most_excess(size)
    for start in range(MOST_STARTS):
        retried = (best > most).nonzero().squeeze(-1)
        if not len(retried):
            break
        begin = _drawn(student, seeds, f"start.{start}", levels).flatten(0, 1)
        fitted, costs = least_squares(
            student.layer,
            targets[retried],
            begin[retried],
            [each[retried] for each in inputs],
            FIRST_STEPS,
            progress,
        )
        excess = costs / (variance[retried] * size)
        better = excess < best[retried]
        vectors[retried] = torch.where(better[:, None], fitted, vectors[retried])
        best[retried] = torch.where(better, excess, best[retried])
        starts[retried] += 1
    vectors, costs = least_squares(student.layer, targets, vectors, inputs, progress=progress)
    best = costs / (variance * size)

    outputs = torch.func.vmap(student.layer)(vectors, *inputs)
    by_repeat = {
        "prediction": (outputs.unflatten(0, (-1, levels)) - clean[:, None]).square().mean(-1)
        ** 0.5,
        "excess": best.unflatten(0, (-1, levels)),
        "starts": starts.unflatten(0, (-1, levels)),
    }
    experts, true = student.experts(vectors).unflatten(0, (-1, levels)), teacher.experts(truths)
    errors = expert_errors(experts, true[:, None].expand(-1, levels, -1, -1, -1)).mean(-1)
    for row, (truth, design) in enumerate(zip(truths, designs, strict=True)):
        theory = expected(teacher, truth, design)
        deviations = np.nan if sizes.one_too_many else request.deviation(POINTS)
        yield Learned(
            request,
            gate,
            expert=errors[row : row + 1],
            **{name: array[row : row + 1].numpy() for name, array in by_repeat.items()},
            expert_theory=np.full((1, levels), theory.expert * deviations),
            prediction_theory=np.full((1, levels), theory.prediction * deviations),
            size=true[row].flatten(1).norm(dim=-1).mean()[None].numpy(),
            non_identifiable=theory.non_identifiable,
        )


def gathered(parts: Sequence[Learned]) -> Learned:
    """The results of several repeats as one."""
    first = parts[0]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
    return Learned(first.request, first.gate, **arrays, non_identifiable=first.non_identifiable)


def _drawn(student: Student, seeds: tuple[int, ...], name: str, *axes: int) -> torch.Tensor:
    """(R, ..., P): random parameters; students of all gates share those in common."""
    parts = [
        normal(seeds, f"experts.{name}.{part}", (*axes, *shape), PARAMETER_SCALE)
        for part, shape in student.shapes.items()
    ]
    return torch.cat([part.flatten(1 + len(axes)) for part in parts], -1)


def load_samples() -> dict[str, Learned]:
    """The bundled errors of experts, by gate."""
    return load_record(dict[str, Learned], SAMPLES, "holds no errors of experts")

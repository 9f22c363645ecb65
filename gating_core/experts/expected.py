"""Theory of least squares: errors to first order, and directions that data do not determine.

Shapes: N points, D model dimension, E experts, P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.experts.students import Design, Student
from gating_core.forward_mode import one_at_a_time

UNDECIDED = 1e-9  # singular values of a Jacobian, relative to the largest, that count as zero
MOVED = 1e-6  # share of an expert's derivative in undetermined directions, from which on it counts


@dataclass(frozen=True)
class Expected:
    """Errors for noise of deviation 1 in every output of the design, to first order."""

    expert: float  # infinite where outputs do not determine the experts
    prediction: float
    undecided: int


def expected(student: Student, vector: torch.Tensor, design: Design) -> Expected:
    """The errors of least squares near the truth ``vector`` (P,), if noise is small.

    The covariance of parameters is the pseudoinverse of J^T J, J the Jacobian of outputs
    (N D, P); an expert's error is the root of the trace of its own covariance, which is infinite
    where a direction in which no output changes moves the expert. Source: Cramer and Rao, as in
    van der Vaart (1998), Asymptotic Statistics, chapter 5.
    """
    derivative = one_at_a_time(torch.func.jacfwd(student.layer))
    jacobian = derivative(vector, *design.parts)
    _, values, directions = torch.linalg.svd(jacobian, full_matrices=False)
    determined = values > UNDECIDED * values[0]
    rank = int(determined.sum())
    derivatives = one_at_a_time(torch.func.jacfwd(student.experts))(vector).flatten(
        1, 2
    )  # (E, D D, P)
    # Directions beyond the smaller of N D and P are undetermined, too: they are in the remainder.
    inside = derivatives @ directions[determined].mT
    remainder = derivatives - inside @ directions[determined]
    errors = (inside / values[determined]).square().sum((1, 2)).sqrt()
    moved = bool(remainder.norm() > MOVED * derivatives.norm())
    return Expected(
        expert=float("inf") if moved else float(errors.mean()),
        prediction=(rank / len(jacobian)) ** 0.5,
        undecided=len(vector) - rank,
    )

"""What theory expects of least squares: errors to first order, and directions that stay open.

Shapes: N points, D model dimension, E experts, P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.experts.students import Design, Student
from gating_core.forward_mode import one_at_a_time

UNDECIDED = 1e-9  # singular values of a Jacobian, relative to the largest, that count as zero
MOVED = 1e-6  # of an expert's derivative, relative: what lies in open directions counts


@dataclass(frozen=True)
class Expected:
    """Errors for noise of deviation 1 in every output of the design, to first order."""

    expert: float  # infinite where outputs do not decide the experts
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
    known = values > UNDECIDED * values[0]
    rank = int(known.sum())
    moves = one_at_a_time(torch.func.jacfwd(student.experts))(vector).flatten(1, 2)  # (E, D D, P)
    # Directions beyond the smaller of N D and P are unknown, too: what is left of the whole.
    inside = moves @ directions[known].mT
    left = moves - inside @ directions[known]
    errors = (inside / values[known]).square().sum((1, 2)).sqrt()
    moved = bool(left.norm() > MOVED * moves.norm())
    return Expected(
        expert=float("inf") if moved else float(errors.mean()),
        prediction=(rank / len(jacobian)) ** 0.5,
        undecided=len(vector) - rank,
    )

"""Nonlinear least squares for many small problems at once: Levenberg-Marquardt.

SciPy's `least_squares` solves one problem at a time, here some hundred times slower.
Shapes: B problems, K residuals, P parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from gating_core.forward_mode import one_at_a_time
from gating_core.progress import Progress, silent

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-1, 1e-10, 1e8
EASED, RAISED = 0.3, 4.0  # factors of the damping after an accepted and a rejected step
SOLVED = 1e-7  # cosine of the angle between the residuals and any column of the Jacobian
CHUNK_NUMBERS = 400_000  # of the Jacobians computed at a time: they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Fits:
    """``vectors`` (B, P) and their ``costs`` (B,): sums of squared residuals."""

    vectors: torch.Tensor
    costs: torch.Tensor


def least_squares(
    model: Callable[..., torch.Tensor],
    targets: torch.Tensor,
    starts: torch.Tensor,
    inputs: Sequence[torch.Tensor] = (),
    steps: int = 150,
    progress: Progress = silent,
) -> Fits:
    """Fit ``model``, a map of one vector (P,) to (K,), to each of ``targets`` (B, K).

    ``model`` gets each problem's own part of ``inputs`` (B, ...) as further arguments. Each problem
    begins at its own row of ``starts`` (B, P), has a damping of its own, and takes at most
    ``steps`` steps; it is solved when its residuals are orthogonal to its Jacobian. ``progress`` is
    called with ``None`` several times a step. Where outputs do not depend on a direction of
    parameters, the damping keeps the vector's component along it. ``ValueError`` for arguments of
    other shapes. Sources: Marquardt (1963), J. Soc. Indust. Appl. Math. 11, 431; the end as in
    MINPACK (gtol).
    """
    if targets.ndim != 2 or starts.ndim != 2 or len(targets) != len(starts):
        raise ValueError(
            f"targets has shape {tuple(targets.shape)} and starts {tuple(starts.shape)}; they must"
            " be (B, K) and (B, P)"
        )
    values = torch.func.vmap(model)
    jacobians = one_at_a_time(torch.func.vmap(torch.func.jacfwd(model)))
    vectors = starts.clone()
    residuals = values(vectors, *inputs) - targets
    costs = (residuals**2).sum(-1)
    damping = torch.full_like(costs, FIRST_DAMPING)
    solved = torch.zeros_like(costs, dtype=torch.bool)
    identity = torch.eye(starts.shape[1], dtype=starts.dtype)
    size = max(1, CHUNK_NUMBERS // (targets.shape[1] * starts.shape[1]))
    for _ in range(steps):
        active = (~solved).nonzero().squeeze(-1)
        if not len(active):
            break
        for batch in active.split(size):
            batch_inputs = [each[batch] for each in inputs]
            jacobian = jacobians(vectors[batch], *batch_inputs)
            square = jacobian.mT @ jacobian + damping[batch, None, None] * identity
            slope = (jacobian.mT @ residuals[batch].unsqueeze(-1)).squeeze(-1)
            scale = jacobian.square().sum(-2).sqrt() * costs[batch, None].sqrt()
            solved[batch] = (slope.abs() <= SOLVED * scale).all(-1)
            new_vectors = vectors[batch] - torch.linalg.solve(square, slope)
            new_residuals = values(new_vectors, *batch_inputs) - targets[batch]
            cost = (new_residuals**2).sum(-1)
            better = cost < costs[batch]
            vectors[batch] = torch.where(better[:, None], new_vectors, vectors[batch])
            residuals[batch] = torch.where(better[:, None], new_residuals, residuals[batch])
            costs[batch] = torch.where(better, cost, costs[batch])
            damping[batch] = (damping[batch] * torch.where(better, EASED, RAISED)).clamp(
                LEAST_DAMPING, MOST_DAMPING
            )
            progress(None)
    return Fits(vectors, costs)

"""Planes of states, on which a head is measured: charts [-1, 1]^2 of what its query reads.

Shapes: T tokens, D width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.attention import SMALLEST_WEIGHT
from gating_core.checks import check_integer, check_number

# Chart coordinates of the three tokens of a `token_plane`.
TRIANGLE = ((-0.75, -0.65), (0.75, -0.65), (0.0, 0.65))


@dataclass(frozen=True, eq=False)
class Plane:
    """A chart (u, v) of states: origin + u e1 + v e2.

    Attributes:
        state: (3, D): the origin and the directions e1 and e2.
        tokens: The three tokens that the plane goes through, or ``None``.
        corners: (3, 2): where they stand in the chart, or ``None``.
        weights: (3, 3) or ``None``: on the attention-weight chart the weights of the three tokens,
            at the origin and along e1 and e2; a head's scores are then not asked.
    """

    state: torch.Tensor
    tokens: tuple[int, int, int] | None = None
    corners: torch.Tensor | None = None
    weights: torch.Tensor | None = None

    def project(self, states: torch.Tensor) -> torch.Tensor:
        """Return the chart coordinates (T, 2) of the points of the plane nearest to ``states``."""
        return (states - self.state[0]) @ torch.linalg.pinv(self.state[1:])


def principal_plane(states: torch.Tensor, width: float = 2.0) -> Plane:
    """Return the principal plane of ``states`` (T, D).

    The chart reaches ``width`` standard deviations from the mean along the two leading principal
    axes. ``ValueError`` for states that span no plane.
    """
    states = _checked(states)
    check_number("width", width, 1e-6, 1e6)
    mean = states.mean(0)
    centred = states - mean
    # From the (T, T) products: D is the larger. Their eigenvectors are the left singular vectors.
    squares, left = torch.linalg.eigh(centred @ centred.T)
    lengths = squares[-2:].flip(0).clamp(min=0).sqrt()
    if len(states) < 3 or not lengths[1] > 1e-7 * lengths[0]:
        raise ValueError(f"the {len(states)} states span no plane; take a longer text")
    axes = left[:, -2:].flip(1).T @ centred / lengths[:, None]
    axes = axes * axes.gather(1, axes.abs().argmax(1, keepdim=True)).sign()  # one of two signs
    deviations = lengths / len(states) ** 0.5
    return Plane(torch.cat([mean[None], axes * (deviations * width)[:, None]]))


def token_plane(states: torch.Tensor, a: int, b: int, c: int) -> Plane:
    """Return the plane through the states of three tokens, which stand at `TRIANGLE`."""
    corners = torch.tensor(TRIANGLE, dtype=torch.float64)
    three, tokens = _three(states, a, b, c)
    return Plane(_affine(corners) @ three, tokens, corners)


def weight_plane(states: torch.Tensor, a: int, b: int, c: int) -> Plane:
    """Return the attention-weight chart through three tokens of a context.

    At each point the attention weights of the tokens are prescribed, all others are 0, and the
    state is the same average of the three tokens' states. On the chart every weight is at least
    .02; the tokens themselves stand outside of it.
    """
    three, tokens = _three(states, a, b, c)
    # Orthogonal to (1, 1, 1), and as long as each other.
    directions = torch.tensor([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]], dtype=torch.float64)
    directions = directions / directions.norm(dim=1, keepdim=True)
    directions = directions * ((1 / 3 - SMALLEST_WEIGHT) / directions.abs().sum(0).max())
    weights = torch.cat([torch.full((1, 3), 1 / 3, dtype=torch.float64), directions])
    corners = (torch.eye(3, dtype=torch.float64) - 1 / 3) @ torch.linalg.pinv(directions)
    return Plane(weights @ three, tokens, corners, weights)


def _affine(corners: torch.Tensor) -> torch.Tensor:
    """(3, 3): from what stands at three ``corners`` (3, 2) to origin and directions."""
    ones = torch.ones(3, 1, dtype=torch.float64)
    return torch.linalg.inv(torch.cat([ones, corners], 1))


def _three(
    states: torch.Tensor, a: int, b: int, c: int
) -> tuple[torch.Tensor, tuple[int, int, int]]:
    states = _checked(states)
    for token in (a, b, c):
        check_integer("token", token, 0, len(states) - 1)
    three = states[[a, b, c]]
    if len({a, b, c}) < 3:
        raise ValueError("a token is named twice, and two states span no plane; name a third one")
    if torch.linalg.matrix_rank(three[1:] - three[0]) < 2:
        raise ValueError("the three states lie on one line and span no plane; name other tokens")
    return three, (a, b, c)


def _checked(states: torch.Tensor) -> torch.Tensor:
    states = torch.as_tensor(states, dtype=torch.float64)
    if states.ndim != 2 or not states.isfinite().all():
        raise ValueError(f"states has shape {tuple(states.shape)}; it must be (T, D), all finite")
    return states
